//! Writing a run's journal, and keeping its state beside it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use headwater_protocol::{Event, EventKind, Origin, PartId, Record, RunState, Usage};
use headwater_store::{Class, Lease, Receipt, Store};
use serde::Serialize;

use super::{
    Effect, Teller,
    entry::{Emitted, WrittenEffect, WrittenEvent, WrittenSnapshot},
};
use crate::{Error, Result, error::ErrorKind, usage};

/// A snapshot is due after so many records, or so many bytes of them.
const SNAPSHOT_RECORDS: u32 = 1_000;
const SNAPSHOT_BYTES: usize = 256 << 10;

/// The end of a run's journal.
#[derive(Debug)]
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    lease: Lease,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: RunState,
    usage: Usage,
    last: u64,
    records: u32,
    bytes: usize,
    snapshot: u64,
    /// The last origin that an event had: the next one mostly has the same.
    origin: Origin,
    /// The last event, if it was a delta: the next one mostly goes on with it.
    spoken: Option<Spoken>,
}

/// A delta that was written, and how the next one of the same text is.
#[derive(Debug)]
struct Spoken {
    kind: EventKind,
    id: PartId,
    around: Teller,
}

impl Spoken {
    /// What goes on with it, as it is written.
    fn body(&self, event: &Event) -> Option<Bytes> {
        let (Event::TextDelta { id, delta, metadata: None }
        | Event::ReasoningDelta { id, delta, metadata: None }) = event
        else {
            return None;
        };
        if *id != self.id || event.kind() != self.kind {
            return None;
        }
        self.around.write(delta)
    }

    fn new(event: &Event, body: &[u8]) -> Option<Self> {
        let (Event::TextDelta { id, .. } | Event::ReasoningDelta { id, .. }) = event else { return None };
        let mut around = Teller::default();
        around.learn(event, body);
        Some(Self { kind: event.kind(), id: id.clone(), around })
    }
}

impl Journal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        lease: Lease,
        state: RunState,
        usage: Usage,
        snapshot: u64,
    ) -> Self {
        let last = lease.first.saturating_sub(1);
        let origin = Origin::default();
        let inner = Inner { state, usage, last, records: 0, bytes: 0, snapshot, origin, spoken: None };
        Self { store, lease, inner: Mutex::new(inner) }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // What is inside is whole between any two calls.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an event that is part of an attempt: seen at once.
    pub(crate) fn delta(&self, origin: &Origin, event: Event) -> Result<()> {
        self.event(Class::Delta, origin, event, None, None).map(drop)
    }

    /// Writes an event that is seen when it is durable.
    pub(crate) fn fact(&self, origin: &Origin, event: Event) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, None, None)
    }

    /// Writes an effect together with what readers are told of it, so that after a crash both are there or neither.
    pub(crate) fn told(&self, effect: &Effect, origin: &Origin, event: Event) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, None, Some(effect))
    }

    /// Writes what node code emits.
    pub(crate) fn emit(&self, origin: &Origin, event: Event, emitted: &Emitted) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, Some(emitted), None)
    }

    fn event(
        &self,
        class: Class,
        origin: &Origin,
        event: Event,
        emit: Option<&Emitted>,
        effect: Option<&Effect>,
    ) -> Result<Receipt> {
        let mut inner = self.inner();
        let known = std::mem::take(&mut inner.origin);
        let goes_on = known == *origin && emit.is_none() && effect.is_none();
        let spoken = inner.spoken.take().filter(|_| goes_on);
        let (body, spoken) = match spoken.as_ref().and_then(|spoken| spoken.body(&event)) {
            Some(body) => (body, spoken),
            None => {
                let body = body(&WrittenEvent { event: &event, origin, emit, effect })?;
                let spoken = Spoken::new(&event, &body).filter(|_| emit.is_none() && effect.is_none());
                (body, spoken)
            }
        };
        let origin = if known == *origin { known } else { origin.clone() };
        let record = Record::new(inner.last + 1, event).from(origin);
        // What the state cannot take is refused before anyone sees it.
        inner.state.apply(&record).map_err(|error| Error::new(ErrorKind::Structured, error.to_string()))?;
        (inner.origin, inner.spoken) = (record.origin, spoken);
        let receipt = self.append(&mut inner, class, body)?;
        if inner.records >= SNAPSHOT_RECORDS || inner.bytes >= SNAPSHOT_BYTES {
            // Durable when what it sums up is: nothing waits for it.
            self.write_snapshot(&mut inner, Class::Delta)?;
        }
        Ok(receipt)
    }

    /// Writes an effect.
    pub(crate) fn effect(&self, effect: &Effect) -> Result<Receipt> {
        let body = body(&WrittenEffect { effect })?;
        self.append(&mut self.inner(), Class::Fact, body)
    }

    /// Writes the whole state.
    pub(crate) fn snapshot(&self) -> Result<Receipt> {
        self.write_snapshot(&mut self.inner(), Class::Fact)
    }

    fn write_snapshot(&self, inner: &mut Inner, class: Class) -> Result<Receipt> {
        let body = body(&WrittenSnapshot { snapshot: &inner.state })?;
        let receipt = self.append(inner, class, body)?;
        inner.snapshot = receipt.last();
        inner.records = 0;
        inner.bytes = 0;
        Ok(receipt)
    }

    fn append(&self, inner: &mut Inner, class: Class, body: Bytes) -> Result<Receipt> {
        let size = body.len();
        let receipt = self.store.append(&self.lease, class, &[body])?;
        inner.last = receipt.last();
        inner.records += 1;
        inner.bytes += size;
        Ok(receipt)
    }

    /// The newest snapshot.
    pub(crate) fn last_snapshot(&self) -> u64 {
        self.inner().snapshot
    }

    /// Adds what a pass used.
    pub(crate) fn used(&self, used: &Usage) {
        usage::add(&mut self.inner().usage, used);
    }

    /// What the run has used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.inner().usage.clone()
    }

    /// Looks at the state so far.
    pub(crate) fn with_state<T>(&self, look: impl FnOnce(&RunState) -> T) -> T {
        look(&self.inner().state)
    }
}

fn body(entry: &impl Serialize) -> Result<Bytes> {
    let mut bytes = Vec::with_capacity(192);
    serde_json::to_writer(&mut bytes, entry)
        .map_err(|error| Error::new(ErrorKind::State, format!("a record does not serialise: {error}")))?;
    Ok(bytes.into())
}
