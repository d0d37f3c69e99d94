//! Encoding of a record in a run's journal: a tag byte, then the content.
//!
//! | tag | content |
//! |---|---|
//! | event | JSON: the event, its origin, and its data for replay |
//! | effect | JSON: the effect |
//! | answer | as effect, for one that ends a wait: recognised without decoding the content |
//! | snapshot | checksum (8 bytes) of sequence number and content; JSON: the fold of earlier records |
//! | continuation | the sequence number of the delta that it continues (LEB128), then the text, as UTF-8 |
//!
//! Nearly all records of a run are deltas of one text, from one origin. Only the first of them, the *base*,
//! is written as an event; the others are continuations of it. A new driver and a snapshot start with new
//! bases, so a reader that starts there never meets a continuation of an earlier record. Continuations of one
//! base start with the same bytes, which the embedded store writes once.

use std::collections::VecDeque;

use bytes::Bytes;
use headwater_protocol::{Event, Origin, RunState, StructuredOp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::{Effect, Fold, entry::EmitId};
use crate::{Error, Result, error::ErrorKind, limits};

/// The format version: the upper half of the first byte.
const FORMAT: u8 = 3;

/// Number of texts that may grow concurrently before the oldest needs a new base. Readers keep the same
/// number.
const MAX_BASES: usize = 16;

/// Size of a snapshot's checksum in bytes.
const CHECKSUM: usize = 8;

/// The kind of a record: the lower half of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    Event = 1,
    Effect = 2,
    Answer = 3,
    Snapshot = 4,
    Continuation = 5,
}

impl RecordKind {
    fn tag(self) -> u8 {
        (FORMAT << 4) | self as u8
    }

    /// Splits the body of a record into its tag and content.
    pub(super) fn split(record: &headwater_store::Record) -> Result<(Self, &[u8])> {
        let refuse = |why: String| Err(unreadable(record.seq, &why));
        let Some((tag, content)) = record.body.split_first() else { return refuse("it is empty".to_owned()) };
        if tag >> 4 != FORMAT {
            return refuse(format!(
                "it has format {}, and this program reads format {FORMAT}: open the store with the program that wrote it, \
                 or begin with an empty one",
                tag >> 4
            ));
        }
        let kind = match tag & 15 {
            1 => Self::Event,
            2 => Self::Effect,
            3 => Self::Answer,
            4 => Self::Snapshot,
            5 => Self::Continuation,
            other => return refuse(format!("it has the unknown kind {other}")),
        };
        Ok((kind, content))
    }
}

/// An event for writing.
#[derive(Debug, Serialize)]
struct EventContent<'a> {
    event: &'a Event,
    #[serde(skip_serializing_if = "is_nowhere")]
    origin: &'a Origin,
    /// Its emit number within a node, so that it is not emitted again when the node is run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    emit: Option<&'a EmitId>,
    /// Its data for replay. One record, so that a crash cannot leave one without the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'a Effect>,
}

fn is_nowhere(origin: &&Origin) -> bool {
    **origin == Origin::default()
}

/// An event as read.
#[derive(Debug, Deserialize)]
pub(super) struct StoredEvent {
    pub(super) event: Event,
    #[serde(default)]
    pub(super) origin: Origin,
    pub(super) emit: Option<EmitId>,
    pub(super) effect: Option<Effect>,
}

impl StoredEvent {
    /// Whether later deltas may continue it. Writer and reader must agree.
    fn may_be_base(&mut self) -> bool {
        self.emit.is_none() && self.effect.is_none() && growing_text(&mut self.event).is_some()
    }
}

/// A delta that others continue, without its text.
#[derive(Debug)]
pub(crate) struct DeltaBase {
    seq: u64,
    pub(super) event: Event,
    pub(super) origin: Origin,
}

impl DeltaBase {
    /// The delta with the text of a continuation.
    pub(super) fn with_text(&self, text: &str) -> Event {
        let mut event = self.event.clone();
        if let Some(slot) = growing_text(&mut event) {
            text.clone_into(slot);
        }
        event
    }
}

/// The deltas that may be continued, oldest first.
#[derive(Debug, Default)]
pub(super) struct Bases(VecDeque<DeltaBase>);

impl Bases {
    /// Adds the event of a record, if it may be continued.
    pub(super) fn learn(&mut self, seq: u64, stored: &mut StoredEvent) {
        if stored.may_be_base() {
            let mut event = stored.event.clone();
            if let Some(text) = growing_text(&mut event) {
                *text = String::new();
            }
            self.push(DeltaBase { seq, event, origin: stored.origin.clone() });
        }
    }

    /// Adds an event that precedes all known ones.
    pub(super) fn learn_earlier(&mut self, seq: u64, stored: &mut StoredEvent) {
        self.learn(seq, stored);
        self.0.make_contiguous().sort_by_key(|base| base.seq);
    }

    pub(super) fn get(&self, seq: u64) -> Option<&DeltaBase> {
        self.0.iter().rev().find(|base| base.seq == seq)
    }

    fn push(&mut self, base: DeltaBase) {
        if self.0.len() >= MAX_BASES {
            self.0.pop_front();
        }
        // Most runs have one text at a time.
        if self.0.is_empty() {
            self.0.reserve_exact(1);
        }
        self.0.push_back(base);
    }
}

/// Encodes the records of one driver. Deltas that continue another one become continuations.
#[derive(Debug, Default)]
pub(crate) struct RecordEncoder {
    bases: Bases,
}

impl RecordEncoder {
    /// Encodes the event with this sequence number. After appending it, pass the returned base to
    /// [`RecordEncoder::appended`].
    pub(crate) fn event(
        &self,
        seq: u64,
        event: &mut Event,
        origin: &Origin,
        emit: Option<&EmitId>,
        effect: Option<&Effect>,
    ) -> Result<(Bytes, Option<DeltaBase>)> {
        let mut base = None;
        // Replay looks up emits and effects, and reads whole records only.
        if emit.is_none()
            && effect.is_none()
            && let Some(text) = growing_text(event).map(std::mem::take)
        {
            let mut bases = self.bases.0.iter().rev();
            // The text was removed, so the rest must be equal.
            let continued = bases.find(|base| base.event == *event && base.origin == *origin);
            if let Some(continued) = continued {
                let body = continuation(continued.seq, &text);
                restore(event, text);
                return Ok((body, None));
            }
            base = Some(DeltaBase { seq, event: event.clone(), origin: origin.clone() });
            restore(event, text);
        }
        let body = readable(json(RecordKind::Event, &EventContent { event, origin, emit, effect })?)?;
        Ok((body, base))
    }

    /// Registers an appended record as a base for continuations.
    pub(crate) fn appended(&mut self, base: Option<DeltaBase>) {
        if let Some(base) = base {
            self.bases.push(base);
        }
    }

    pub(crate) fn effect(effect: &Effect) -> Result<Bytes> {
        let kind = match effect {
            Effect::Answered { .. } => RecordKind::Answer,
            _ => RecordKind::Effect,
        };
        readable(json(kind, effect)?)
    }

    /// Encodes the fold of the records before this sequence number. Later records start with new bases.
    pub(crate) fn snapshot(&mut self, seq: u64, fold: &Fold) -> Result<Bytes> {
        self.bases.0.clear();
        let mut bytes = vec![RecordKind::Snapshot.tag()];
        // The checksum is filled in below, so that the JSON, which can be large, is written once and not
        // copied.
        bytes.extend_from_slice(&[0; CHECKSUM]);
        write_json(&mut bytes, fold)?;
        let checksum = checksum(seq, bytes.get(1 + CHECKSUM..).unwrap_or_default());
        if let Some(slot) = bytes.get_mut(1..=CHECKSUM) {
            slot.copy_from_slice(&checksum);
        }
        Ok(bytes.into())
    }
}

/// The text of a delta that later deltas may extend, if everything else of them is equal.
fn growing_text(event: &mut Event) -> Option<&mut String> {
    match event {
        Event::BlockDelta(block) if block.metadata.is_none() => Some(&mut block.delta),
        Event::ToolInputDelta(input) => Some(&mut input.delta),
        Event::Structured(update) => match &mut update.op {
            StructuredOp::TextDelta { delta, .. } => Some(delta),
            _ => None,
        },
        _ => None,
    }
}

fn restore(event: &mut Event, text: String) {
    if let Some(slot) = growing_text(event) {
        *slot = text;
    }
}

fn continuation(base: u64, text: &str) -> Bytes {
    let mut bytes = Vec::with_capacity(text.len() + 4);
    bytes.push(RecordKind::Continuation.tag());
    let mut rest = base;
    while rest >= 0x80 {
        bytes.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes.extend_from_slice(text.as_bytes());
    bytes.into()
}

/// The sequence number of the base and the text of a continuation.
pub(super) fn read_continuation(seq: u64, content: &[u8]) -> Option<(u64, &str)> {
    let (mut base, mut shift) = (0u64, 0u32);
    // A u64 has at most ten groups of seven bits: damaged data must not shift further.
    for (at, byte) in content.iter().enumerate().take(10) {
        base |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            let text = std::str::from_utf8(content.get(at + 1..)?).ok()?;
            return (1..seq).contains(&base).then_some((base, text));
        }
    }
    None
}

fn json(kind: RecordKind, content: &impl Serialize) -> Result<Bytes> {
    let mut bytes = Vec::with_capacity(192);
    bytes.push(kind.tag());
    write_json(&mut bytes, content)?;
    Ok(bytes.into())
}

fn write_json(bytes: &mut Vec<u8>, content: &impl Serialize) -> Result<()> {
    serde_json::to_writer(bytes, content)
        .map_err(|error| Error::new(ErrorKind::State, format!("a record does not serialise: {error}")))
}

/// Reads a snapshot, or the fields of it that `T` has.
///
/// # Errors
/// When the record is not a snapshot, or is damaged: everything after it builds on it, and not every store
/// has checksums of its own.
pub(super) fn read_snapshot<T: DeserializeOwned>(record: &headwater_store::Record) -> Result<T> {
    let (RecordKind::Snapshot, content) = RecordKind::split(record)? else {
        return Err(unreadable(record.seq, &"it is not a snapshot"));
    };
    let Some((expected, json)) = content.split_at_checked(CHECKSUM) else {
        return Err(unreadable(record.seq, &"it is a snapshot without a checksum"));
    };
    if checksum(record.seq, json) != expected {
        return Err(unreadable(record.seq, &"it is a snapshot that does not fit its checksum"));
    }
    parse(record.seq, json)
}

/// The state of the run in a snapshot.
///
/// # Errors
/// As for [`read_snapshot`].
pub(crate) fn state_in_snapshot(record: &headwater_store::Record) -> Result<RunState> {
    #[derive(Deserialize)]
    struct OnlyState {
        state: RunState,
    }
    Ok(read_snapshot::<OnlyState>(record)?.state)
}

fn checksum(seq: u64, json: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::new().chain_update(seq.to_le_bytes()).chain_update(json).finalize();
    let mut checksum = [0; CHECKSUM];
    checksum.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    checksum
}

/// Refuses a record nested so deeply that it could not be read back, here or from inside a session.
fn readable(body: Bytes) -> Result<Bytes> {
    limits::check_text(&limits::record(), "a record", body.get(1..).unwrap_or_default())?;
    Ok(body)
}

/// Reads the JSON of a record.
pub(super) fn parse<'de, T: Deserialize<'de>>(seq: u64, content: &'de [u8]) -> Result<T> {
    crate::codec::decode(content).map_err(|error| unreadable(seq, &error))
}

pub(super) fn unreadable(seq: u64, why: &dyn std::fmt::Display) -> Error {
    let message = format!("record {seq} of the journal cannot be read: {why}");
    Error::new(ErrorKind::Store, message).with_code("journal.unreadable")
}
