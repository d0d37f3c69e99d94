//! Writing a run's journal, and keeping its state beside it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use headwater_protocol::{Event, Origin, Record, RunState, Usage};
use headwater_store::{Class, Lease, Receipt, Store};
use tokio::sync::{Notify, oneshot};

use super::{Effect, entry::Emitted, record::RecordEncoder};
use crate::{Error, Result, error::ErrorKind, usage};

/// A snapshot is written when the events since the last one have so many bytes, and at least [`SNAPSHOT_GROWTH`] times
/// those of that snapshot. So all snapshots of a run together have at most a third more bytes than its final state, and a
/// reader that re-attaches reads at most three times the last snapshot after it.
const SNAPSHOT_BYTES: usize = 256 << 10;
const SNAPSHOT_GROWTH: usize = 3;

/// What the end of a run and its takeovers may take beyond its limit, so that a run that is too large still ends with an
/// event, also after a crash.
const RESERVED_BYTES: u64 = 256 << 10;

/// A run with less room than this is not resumed: it could hardly write more than that it was resumed.
const MIN_ROOM_BYTES: u64 = 256;

/// The end of a run's journal.
#[derive(Debug)]
pub(crate) struct Journal {
    lease: Lease,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    inner: Mutex<Inner>,
    /// Notified when nothing waits for room any more, and when the journal failed.
    drained: Notify,
}

#[derive(Debug)]
struct Inner {
    state: RunState,
    usage: Usage,
    last: u64,
    /// The bytes of all records.
    total: u64,
    room: Room,
    /// Whether records may use the reserve.
    reserve_open: bool,
    max_record: usize,
    /// The bytes of the events since the last snapshot.
    bytes: usize,
    /// The last snapshot: where it is, and its size.
    snapshot: u64,
    snapshot_bytes: usize,
    encoder: RecordEncoder,
    /// The last origin that an event had: the next one mostly has the same.
    origin: Origin,
    /// The records for which the store had no room, in order. All that follows waits behind them.
    queue: VecDeque<Queued>,
    /// Why the queue could not be written: nothing can be appended after it.
    failed: Option<headwater_store::Error>,
}

/// How many bytes the journal of a run may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    limit: u64,
    reserved: u64,
}

impl Room {
    pub(crate) fn new(store: &dyn Store, max_bytes: u64) -> Self {
        let store_limit = store.limits().journal;
        let reserved = RESERVED_BYTES.min(store_limit / 4);
        Self { limit: max_bytes.min(store_limit - reserved), reserved }
    }

    /// Refuses to resume a run whose journal is full.
    pub(crate) fn check_resume(self, used: u64) -> Result<()> {
        if used.saturating_add(MIN_ROOM_BYTES) < self.limit {
            return Ok(());
        }
        let message = format!("run journal is full: {used} of {} bytes (`max_run_bytes`)", self.limit);
        Err(Error::new(ErrorKind::TooLarge, message))
    }
}

/// A record that waits until the store has room.
#[derive(Debug)]
struct Queued {
    class: Class,
    body: Bytes,
    appended: oneshot::Sender<headwater_store::Result<Receipt>>,
}

/// How a journal goes on: what the records before add up to.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) state: RunState,
    pub(crate) usage: Usage,
    /// The bytes of the records before.
    pub(crate) bytes: u64,
    /// The newest snapshot, and its size.
    pub(crate) snapshot: u64,
    pub(crate) snapshot_bytes: usize,
}

impl Journal {
    /// The journal of a lease, whose records may have so many bytes.
    pub(crate) fn new(store: Arc<dyn Store>, lease: Lease, beginning: Beginning, max_bytes: u64) -> Self {
        let (max_record, room) = (store.limits().record, Room::new(&*store, max_bytes));
        let inner = Inner {
            state: beginning.state,
            usage: beginning.usage,
            last: lease.first.saturating_sub(1),
            total: beginning.bytes,
            room,
            reserve_open: false,
            max_record,
            bytes: 0,
            snapshot: beginning.snapshot,
            snapshot_bytes: beginning.snapshot_bytes,
            encoder: RecordEncoder::default(),
            origin: Origin::default(),
            queue: VecDeque::new(),
            failed: None,
        };
        Self { lease, shared: Arc::new(Shared { store, inner: Mutex::new(inner), drained: Notify::new() }) }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner()
    }

    /// Waits until the store has room for more. Whatever can be slowed down waits for it before it produces the next
    /// record: a disk that stalls then stalls the model's stream, and costs no memory and no attempt.
    pub(crate) async fn room(&self) -> Result<()> {
        loop {
            let drained = self.shared.drained.notified();
            let mut drained = std::pin::pin!(drained);
            drained.as_mut().enable();
            {
                let inner = self.inner();
                if let Some(error) = &inner.failed {
                    return Err(error.clone().into());
                }
                if inner.queue.is_empty() {
                    break;
                }
            }
            drained.await;
        }
        Ok(self.shared.store.room().await?)
    }

    /// Whether the store has taken all records so far: what is written next comes after them.
    pub(crate) fn is_drained(&self) -> bool {
        self.inner().queue.is_empty()
    }

    /// Lets the end of the run, or the records of a takeover, use the reserve.
    pub(crate) fn open_reserve(&self) {
        self.inner().reserve_open = true;
    }

    /// Keeps the reserve for the end again.
    pub(crate) fn close_reserve(&self) {
        self.inner().reserve_open = false;
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
        mut event: Event,
        emit: Option<&Emitted>,
        effect: Option<&Effect>,
    ) -> Result<Receipt> {
        let mut inner = self.inner();
        let seq = inner.last + 1;
        let (body, base) = inner.encoder.event(seq, &mut event, origin, emit, effect)?;
        inner.takes(body.len())?;
        let known = std::mem::take(&mut inner.origin);
        let origin = if known == *origin { known } else { origin.clone() };
        let record = Record::new(seq, event).from(origin);
        // What the state cannot take is refused before anyone sees it.
        inner.state.apply(&record).map_err(|error| Error::new(ErrorKind::Structured, error.to_string()))?;
        inner.origin = record.origin;
        if effect.is_none() {
            // An effect takes room in the journal and none in the state.
            inner.bytes += body.len();
        }
        let receipt = self.append(&mut inner, class, body)?;
        inner.encoder.appended(base);
        if inner.bytes >= SNAPSHOT_BYTES.max(inner.snapshot_bytes.saturating_mul(SNAPSHOT_GROWTH)) {
            self.write_snapshot(&mut inner)?;
        }
        Ok(receipt)
    }

    /// Writes an effect.
    pub(crate) fn effect(&self, effect: &Effect) -> Result<Receipt> {
        let body = RecordEncoder::effect(effect)?;
        let mut inner = self.inner();
        inner.takes(body.len())?;
        self.append(&mut inner, Class::Fact, body)
    }

    /// Writes the whole state, unless it is larger than a record may be or than what is left for the run. Durable when
    /// what it sums up is: nothing waits for it.
    fn write_snapshot(&self, inner: &mut Inner) -> Result<()> {
        let Inner { encoder, state, .. } = &mut *inner;
        let body = encoder.snapshot(state)?;
        // Also one that is not written: the next one is tried when there is that much more.
        (inner.bytes, inner.snapshot_bytes) = (0, body.len());
        if inner.takes(body.len()).is_ok() {
            inner.snapshot = self.append(inner, Class::Delta, body)?.last();
        }
        Ok(())
    }

    /// Appends a record, or queues it while the store has no room.
    fn append(&self, inner: &mut Inner, class: Class, body: Bytes) -> Result<Receipt> {
        if let Some(error) = &inner.failed {
            return Err(error.clone().into());
        }
        let size = body.len() as u64;
        let receipt = if inner.queue.is_empty() {
            match self.shared.store.append(&self.lease, class, std::slice::from_ref(&body)) {
                Err(error) if *error.kind() == headwater_store::ErrorKind::Busy => {
                    tokio::spawn(drain(Arc::downgrade(&self.shared), self.lease.clone()));
                    inner.queue(class, body)
                }
                appended => appended.map_err(refused)?,
            }
        } else {
            inner.queue(class, body)
        };
        inner.last = receipt.last();
        inner.total += size;
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

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // What is inside is whole between any two calls.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends what waits, as far as the store has room. Gives whether nothing waits any more.
    fn drain(&self, lease: &Lease) -> bool {
        let mut inner = self.inner();
        while let Some(next) = inner.queue.front() {
            let appended = self.store.append(lease, next.class, std::slice::from_ref(&next.body));
            match appended {
                Err(error) if *error.kind() == headwater_store::ErrorKind::Busy => return false,
                Err(error) => inner.fail(&error),
                Ok(receipt) => {
                    if let Some(written) = inner.queue.pop_front() {
                        // Most records are awaited by nothing.
                        let _ = written.appended.send(Ok(receipt));
                    }
                }
            }
        }
        true
    }
}

/// Appends what waits for room, and ends with the journal.
async fn drain(journal: Weak<Shared>, lease: Lease) {
    loop {
        let Some(store) = journal.upgrade().map(|journal| journal.store.clone()) else { return };
        let room = store.room().await;
        let Some(journal) = journal.upgrade() else { return };
        if let Err(error) = room {
            journal.inner().fail(&error);
        }
        if journal.drain(&lease) {
            journal.drained.notify_waiters();
            return;
        }
        // There was room, and other journals took it.
        tokio::task::yield_now().await;
    }
}

impl Inner {
    /// Refuses a record that the run has no room for.
    fn takes(&self, size: usize) -> Result<()> {
        let max = self.max_record;
        if size > max {
            let message = format!("a record of the run has {size} bytes, at most {max} are kept");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let Room { limit, reserved } = self.room;
        let limit = if self.reserve_open { limit.saturating_add(reserved) } else { limit };
        if size as u64 > limit.saturating_sub(self.total) {
            let used = self.total;
            let message =
                format!("run journal is full: {used} + {size} bytes exceed {limit} (`max_run_bytes`)");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(())
    }

    /// Gives up what waits for room.
    fn fail(&mut self, error: &headwater_store::Error) {
        for lost in self.queue.drain(..) {
            let _ = lost.appended.send(Err(error.clone()));
        }
        self.failed = Some(error.clone());
    }

    fn queue(&mut self, class: Class, body: Bytes) -> Receipt {
        let (appended, receipt) = oneshot::channel();
        self.queue.push_back(Queued { class, body, appended });
        let seq = self.last + 1;
        let settled = Box::pin(async move {
            match receipt.await {
                Ok(receipt) => receipt?.await.map(drop),
                Err(_) => {
                    let message = "the run was let go before the store had room for its record";
                    Err(headwater_store::Error::new(headwater_store::ErrorKind::Busy, message))
                }
            }
        });
        Receipt::later(seq, seq, settled)
    }
}

/// What a store refuses for ever ends the run; everything else is about the store.
fn refused(error: headwater_store::Error) -> Error {
    use headwater_store::ErrorKind::{Full, TooLarge};
    match error.kind() {
        TooLarge => Error::new(ErrorKind::TooLarge, error.to_string()),
        Full => Error::new(ErrorKind::TooLarge, error.to_string()).with_code("journal.full"),
        _ => error.into(),
    }
}
