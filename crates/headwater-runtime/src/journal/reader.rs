//! Reading the records of a journal in order.

use headwater_protocol::{Event, Origin, Record};
use headwater_store::{JournalId, Page, ReadLimit, Store};
use serde::{Deserialize, Serialize};

use super::{
    Effect, JournalEntry,
    entry::EmitId,
    record::{Bases, RecordKind, StoredEvent, parse, read_continuation, state_in_snapshot, unreadable},
};
use crate::Result;

/// Reads the records of one journal, in order.
/// Most deltas are written as continuations of an earlier one, so a reader needs the deltas before: it starts
/// at the start of a journal, after a snapshot, or with [`RecordReader::prepare`] anywhere.
/// after a snapshot, or with [`RecordReader::prepare`] anywhere.
#[derive(Debug, Default)]
pub struct RecordReader {
    bases: Bases,
    /// The base of the last event, if that was a delta.
    last: Option<u64>,
}

/// The part of a record that readers see.
#[derive(Debug, Clone, PartialEq)]
pub enum VisibleRecord<'a> {
    /// An event.
    Event(Box<Record>),
    /// More text for the block of the last event, which is a delta.
    Continuation(&'a str),
    /// An answer to a request of the run. Its consequences are in later records.
    Answered,
    /// Not visible: the record is for replay only.
    Hidden,
}

/// A record with its data for replay. A snapshot has none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredRecord {
    pub(crate) event: Option<Event>,
    pub(crate) origin: Origin,
    pub(crate) emit: Option<EmitId>,
    pub(crate) effect: Option<Effect>,
}

impl StoredRecord {
    /// The text that later records may extend, if the record is only a delta of a block.
    pub(crate) fn growing_text(&mut self) -> Option<&mut String> {
        let alone = self.emit.is_none() && self.effect.is_none();
        match &mut self.event {
            Some(Event::BlockDelta(block)) if alone && block.metadata.is_none() => Some(&mut block.delta),
            _ => None,
        }
    }
}

impl From<StoredEvent> for StoredRecord {
    fn from(stored: StoredEvent) -> Self {
        let StoredEvent { event, origin, emit, effect } = stored;
        Self { event: Some(event), origin, emit, effect }
    }
}

impl RecordReader {
    /// Reads the visible part of the next record.
    ///
    /// # Errors
    /// When it is not a record of a run.
    pub fn read<'a>(&mut self, record: &'a headwater_store::Record) -> Result<VisibleRecord<'a>> {
        let (kind, content) = RecordKind::split(record)?;
        Ok(match kind {
            RecordKind::Event => VisibleRecord::Event(visible(record, self.event(record, content)?)),
            RecordKind::Continuation => {
                let (base, text) = continuation(record, content)?;
                if self.continues(base) {
                    VisibleRecord::Continuation(text)
                } else {
                    VisibleRecord::Event(visible(record, self.expand(record, base, text)?))
                }
            }
            RecordKind::Answer => VisibleRecord::Answered,
            RecordKind::Effect | RecordKind::Snapshot => VisibleRecord::Hidden,
        })
    }

    /// Reads the next record in full.
    ///
    /// # Errors
    /// When it is not a record of a run.
    pub fn entry(&mut self, record: &headwater_store::Record) -> Result<JournalEntry> {
        let (kind, content) = RecordKind::split(record)?;
        Ok(match kind {
            RecordKind::Effect | RecordKind::Answer => JournalEntry::Effect(parse(record.seq, content)?),
            RecordKind::Snapshot => JournalEntry::Snapshot(Box::new(state_in_snapshot(record)?)),
            RecordKind::Event | RecordKind::Continuation => {
                JournalEntry::Event(visible(record, self.whole(record, kind, content)?))
            }
        })
    }

    /// Reads the event of the next record; `None` if it has none.
    ///
    /// # Errors
    /// When it is not a record of a run.
    pub fn visible_event(&mut self, record: &headwater_store::Record) -> Result<Option<Box<Record>>> {
        let (kind, content) = RecordKind::split(record)?;
        Ok(match kind {
            RecordKind::Event | RecordKind::Continuation => {
                Some(visible(record, self.whole(record, kind, content)?))
            }
            _ => None,
        })
    }

    /// Reads the effect of the next record, alone or beside an event, as JSON, if there is one.
    ///
    /// # Errors
    /// When it is not a record of a run.
    pub fn effect(&mut self, record: &headwater_store::Record) -> Result<Option<serde_json::Value>> {
        let effect = self.stored(record)?.effect.map(serde_json::to_value);
        effect.transpose().map_err(|error| unreadable(record.seq, &error))
    }

    /// Reads the next record with its data for replay.
    pub(crate) fn stored(&mut self, record: &headwater_store::Record) -> Result<StoredRecord> {
        let (kind, content) = RecordKind::split(record)?;
        Ok(match kind {
            RecordKind::Event | RecordKind::Continuation => self.whole(record, kind, content)?.into(),
            RecordKind::Effect | RecordKind::Answer => {
                StoredRecord { effect: Some(parse(record.seq, content)?), ..StoredRecord::default() }
            }
            RecordKind::Snapshot => StoredRecord::default(),
        })
    }

    /// The text of the next record, if it continues the last event's block.
    pub(crate) fn more<'a>(&mut self, record: &'a headwater_store::Record) -> Option<&'a str> {
        let (RecordKind::Continuation, content) = RecordKind::split(record).ok()? else { return None };
        let (base, text) = read_continuation(record.seq, content)?;
        self.continues(base).then_some(text)
    }

    /// Reads the bases of a page's continuations, for a reader that starts after them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn prepare(&mut self, store: &dyn Store, journal: &JournalId, page: &Page) -> Result<()> {
        let Some(first) = page.records.first().map(|record| record.seq) else { return Ok(()) };
        for record in &page.records {
            let (RecordKind::Continuation, content) = RecordKind::split(record)? else { continue };
            let Some((base, _)) = read_continuation(record.seq, content) else { continue };
            if base >= first || self.bases.get(base).is_some() {
                continue;
            }
            let one = ReadLimit { records: 1, bytes: 1 };
            let page = store.read(journal, base - 1, one).await?;
            if let Some(record) = page.records.first()
                && let (RecordKind::Event, content) = RecordKind::split(record)?
            {
                self.bases.learn_earlier(record.seq, &mut parse(record.seq, content)?);
            }
        }
        Ok(())
    }

    fn event(&mut self, record: &headwater_store::Record, content: &[u8]) -> Result<StoredEvent> {
        let mut stored: StoredEvent = parse(record.seq, content)?;
        self.bases.learn(record.seq, &mut stored);
        self.last = self.bases.get(record.seq).map(|_| record.seq);
        Ok(stored)
    }

    /// Whether a continuation of this base is more text of the last event.
    fn continues(&self, base: u64) -> bool {
        self.last == Some(base) && self.bases.get(base).is_some_and(|base| base.event.may_grow())
    }

    /// The delta that a continuation represents.
    fn expand(&mut self, record: &headwater_store::Record, base: u64, text: &str) -> Result<StoredEvent> {
        let Some(known) = self.bases.get(base) else {
            let why = format!("it continues record {base}, which was not read");
            return Err(unreadable(record.seq, &why));
        };
        self.last = Some(base);
        let (event, origin) = (known.with_text(text), known.origin.clone());
        Ok(StoredEvent { event, origin, emit: None, effect: None })
    }

    fn whole(
        &mut self,
        record: &headwater_store::Record,
        kind: RecordKind,
        content: &[u8],
    ) -> Result<StoredEvent> {
        if kind == RecordKind::Event {
            return self.event(record, content);
        }
        let (base, text) = continuation(record, content)?;
        self.expand(record, base, text)
    }
}

fn continuation<'a>(record: &headwater_store::Record, content: &'a [u8]) -> Result<(u64, &'a str)> {
    read_continuation(record.seq, content).ok_or_else(|| unreadable(record.seq, &"it continues nothing"))
}

fn visible(record: &headwater_store::Record, stored: StoredEvent) -> Box<Record> {
    Box::new(Record::new(record.seq, stored.event).at(record.time.0).from(stored.origin))
}

/// Whether a record of the store is an answer, which has no visible part.
pub(crate) fn is_answer(record: &headwater_store::Record) -> bool {
    matches!(RecordKind::split(record), Ok((RecordKind::Answer, _)))
}

/// Whether a record of the store is the whole state so far.
pub(crate) fn is_snapshot(record: &headwater_store::Record) -> bool {
    matches!(RecordKind::split(record), Ok((RecordKind::Snapshot, _)))
}
