//! How a record of a journal is written and read.

use headwater_protocol::{Event, Origin, Record, RunState};
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
        let body: Body = serde_json::from_slice(&record.body).map_err(|error| unreadable(record, &error))?;
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
        serde_json::from_slice(&record.body).map_err(|error| unreadable(record, &error))
    }
}
