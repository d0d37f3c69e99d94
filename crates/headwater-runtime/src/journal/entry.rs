//! How a record of a journal is written and read.

use headwater_protocol::{BlockDelta, Event, Origin, Record, RunState};
use serde::{Deserialize, Serialize};

use super::{Effect, Emits};
use crate::{Error, Result, error::ErrorKind};

/// What a record of a run's journal holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Entry {
    /// Something that readers see.
    Event(Box<Record>),
    /// Something that only replay needs, as JSON.
    Effect(serde_json::Value),
    /// The whole state so far.
    Snapshot(Box<RunState>),
}

impl Entry {
    /// Reads a record of the store.
    ///
    /// # Errors
    /// When it is not one of a run.
    pub fn read(record: &headwater_store::Record) -> Result<Self> {
        #[derive(Deserialize)]
        struct Body {
            event: Option<Event>,
            #[serde(default)]
            origin: Origin,
            effect: Option<serde_json::Value>,
            snapshot: Option<Box<RunState>>,
        }
        if let Some((event, origin)) = delta(record) {
            return Ok(Self::Event(Box::new(Record::new(record.seq, event).at(record.time.0).from(origin))));
        }
        let body: Body = crate::codec::decode(&record.body).map_err(|error| unreadable(record, &error))?;
        match body {
            Body { event: Some(event), origin, .. } => {
                Ok(Self::Event(Box::new(Record::new(record.seq, event).at(record.time.0).from(origin))))
            }
            Body { effect: Some(effect), .. } => Ok(Self::Effect(effect)),
            Body { snapshot: Some(snapshot), .. } => Ok(Self::Snapshot(snapshot)),
            Body { .. } => {
                Err(Error::new(ErrorKind::Store, format!("record {} is of no known kind", record.seq)))
            }
        }
    }

    /// Reads what readers see of a record of the store, and nothing of a record that they do not see.
    ///
    /// # Errors
    /// When it is not one of a run.
    pub fn event(record: &headwater_store::Record) -> Result<Option<Box<Record>>> {
        if is_snapshot(record) || record.body.starts_with(b"{\"effect\":") {
            return Ok(None);
        }
        Ok(match Self::read(record)? {
            Self::Event(event) => Some(event),
            _ => None,
        })
    }
}

/// Whether a record of the store is the whole state so far.
pub(crate) fn is_snapshot(record: &headwater_store::Record) -> bool {
    record.body.starts_with(b"{\"snapshot\":")
}

/// Whether a record of the store is an answer, and readers are told no more of it.
pub(crate) fn is_answer(record: &headwater_store::Record) -> bool {
    record.body.starts_with(b"{\"effect\":{\"answered\":")
}

/// Nearly all records are deltas of a text. Whoever knows the type before reads one in a third of the time, since
/// nothing has to be kept until the type is known.
pub(crate) fn delta(record: &headwater_store::Record) -> Option<(Event, Origin)> {
    #[derive(Deserialize)]
    struct Body {
        event: BlockDelta,
        #[serde(default)]
        origin: Origin,
    }
    if !record.body.starts_with(br#"{"event":{"type":"block-delta","#) {
        return None;
    }
    let Body { event, origin } = crate::codec::decode(&record.body).ok()?;
    Some((Event::BlockDelta(event), origin))
}

pub(super) fn unreadable(record: &headwater_store::Record, error: &serde_json::Error) -> Error {
    let message = format!("record {} of the journal cannot be read: {error}", record.seq);
    Error::new(ErrorKind::Store, message).with_code("journal.unreadable")
}

/// A record as it is written and as replay reads it.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenEvent<'a> {
    pub(crate) event: &'a Event,
    #[serde(skip_serializing_if = "is_nowhere")]
    pub(crate) origin: &'a Origin,
    /// What a node emitted, so that it is not emitted again when the node is run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) emit: Option<&'a Emitted>,
    /// What replay needs of it. One record, so that a crash cannot leave one without the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effect: Option<&'a Effect>,
}

/// Which emit of which visit an event is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Emitted {
    pub(crate) visit: String,
    pub(crate) number: usize,
}

impl Emitted {
    /// Notes it. What a try that failed emitted from there on is forgotten: this try emits something else.
    pub(crate) fn note(self, emits: &mut Emits, fingerprint: String) {
        let emits = emits.entry(self.visit).or_default();
        emits.split_off(&self.number);
        emits.insert(self.number, fingerprint);
    }
}

fn is_nowhere(origin: &&Origin) -> bool {
    **origin == Origin::default()
}

#[derive(Debug, Serialize)]
pub(crate) struct WrittenEffect<'a> {
    pub(crate) effect: &'a Effect,
}

#[derive(Debug, Serialize)]
pub(crate) struct WrittenSnapshot<'a> {
    pub(crate) snapshot: &'a RunState,
}

#[derive(Debug, Deserialize)]
pub(super) struct Stored {
    pub(super) event: Option<Event>,
    #[serde(default)]
    pub(super) origin: Origin,
    pub(super) emit: Option<Emitted>,
    pub(super) effect: Option<Effect>,
}

impl Stored {
    pub(super) fn read(record: &headwater_store::Record) -> Result<Self> {
        crate::codec::decode(&record.body).map_err(|error| unreadable(record, &error))
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{BlockKind, PartId};
    use headwater_store::{Class, Time};

    use super::*;

    #[test]
    fn a_delta_is_read_as_it_was_written() {
        let origin = Origin { node: Some("n".into()), visit: Some(2), ..Origin::default() };
        let (id, metadata) = (PartId::from("a1.0"), Some(serde_json::json!({ "p": [1, null] })));
        let delta = || "a \"b\"\n\u{1F30A}".to_owned();
        let events = [
            Event::BlockDelta(BlockDelta::new(BlockKind::Text, id.clone(), delta())),
            Event::BlockDelta(BlockDelta {
                metadata: metadata.clone(),
                ..BlockDelta::new(BlockKind::Text, id.clone(), delta())
            }),
            Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, id.clone(), delta())),
            Event::BlockDelta(BlockDelta {
                metadata,
                ..BlockDelta::new(BlockKind::Reasoning, id, String::new())
            }),
        ];
        for (event, origin) in events.iter().flat_map(|event| {
            [(event, &origin), (event, &Origin::default())].map(|(event, origin)| (event, origin.clone()))
        }) {
            let written = WrittenEvent { event, origin: &origin, emit: None, effect: None };
            let body = serde_json::to_vec(&written).unwrap();
            let stored = headwater_store::Record {
                seq: 7,
                epoch: 1,
                time: Time(9),
                class: Class::Delta,
                body: body.into(),
            };
            assert_eq!(super::delta(&stored), Some((event.clone(), origin.clone())), "the short way");
            let expected = Record::new(7, event.clone()).at(9).from(origin);
            let Entry::Event(read) = Entry::read(&stored).unwrap() else { panic!("not an event") };
            assert_eq!(*read, expected);
        }
    }
}
