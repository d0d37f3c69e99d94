//! Writing a run's journal, and keeping its fold beside it.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use headwater_protocol::{Event, Origin, Record, RunState, Usage};
use headwater_store::{Class, Lease, Receipt, Store};
use tokio::sync::{Notify, oneshot};

use super::{Effect, Fold, entry::EmitId, record::RecordEncoder, text_ref};
use crate::{Error, Result, error::ErrorKind};

/// A snapshot is written when the records since the last one have this many bytes, and at least
/// [`SNAPSHOT_GROWTH`] times the size of that snapshot. So all snapshots of a run together have at most a
/// third more bytes than its final state, and a reader that re-attaches reads at most three times the last
/// snapshot after it.
const SNAPSHOT_BYTES: usize = 256 << 10;
const SNAPSHOT_GROWTH: usize = 3;

/// A waiting run is read again when it is answered. So a snapshot is written when the records since the last
/// one have this many bytes, and at least a quarter of the size of that snapshot.
const WAIT_SNAPSHOT_BYTES: usize = 4 << 10;
const WAIT_SNAPSHOT_SHARE: usize = 4;

/// Reserve beyond the limit for the end of a run and its takeovers, so that an oversized run still ends with
/// an event, also after a crash.
const RESERVED_BYTES: u64 = 256 << 10;

/// A run with less room than this is not resumed: it could write hardly more than its takeover.
const MIN_ROOM_BYTES: u64 = 256;

/// The writer at the end of a run's journal.
#[derive(Debug)]
pub(crate) struct Journal {
    lease: Lease,
    shared: Arc<JournalCore>,
}

#[derive(Debug)]
struct JournalCore {
    store: Arc<dyn Store>,
    inner: Mutex<WriterState>,
    /// Notified when the queue is empty, and when the journal failed.
    drained: Notify,
}

#[derive(Debug)]
struct WriterState {
    fold: Fold,
    room: JournalRoom,
    /// Whether records may use the reserve.
    reserve_open: bool,
    max_record: usize,
    encoder: RecordEncoder,
    /// The last event's origin: the next one usually has the same.
    origin: Origin,
    /// Records waiting for room in the store, in order. Later records queue behind them.
    queue: VecDeque<QueuedRecord>,
    /// The error that stopped the queue: nothing can be appended after it.
    failed: Option<headwater_store::Error>,
}

/// Size limit of a run's journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalRoom {
    limit: u64,
    reserved: u64,
}

impl JournalRoom {
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

/// A record waiting for room in the store.
#[derive(Debug)]
struct QueuedRecord {
    class: Class,
    body: Bytes,
    appended: oneshot::Sender<headwater_store::Result<Receipt>>,
}

/// The fold of the records so far, locked. No record can be written meanwhile.
#[derive(Debug)]
pub(crate) struct FoldGuard<'a>(MutexGuard<'a, WriterState>);

impl Deref for FoldGuard<'_> {
    type Target = Fold;

    fn deref(&self) -> &Fold {
        &self.0.fold
    }
}

impl DerefMut for FoldGuard<'_> {
    fn deref_mut(&mut self) -> &mut Fold {
        &mut self.0.fold
    }
}

impl Journal {
    /// The journal of a lease, limited to `max_bytes`. The fold covers the records so far.
    pub(crate) fn new(store: Arc<dyn Store>, lease: Lease, mut fold: Fold, max_bytes: u64) -> Self {
        let (max_record, room) = (store.limits().record, JournalRoom::new(&*store, max_bytes));
        fold.last = lease.first.saturating_sub(1);
        let inner = WriterState {
            fold,
            room,
            reserve_open: false,
            max_record,
            encoder: RecordEncoder::default(),
            origin: Origin::default(),
            queue: VecDeque::new(),
            failed: None,
        };
        Self {
            lease,
            shared: Arc::new(JournalCore { store, inner: Mutex::new(inner), drained: Notify::new() }),
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    fn inner(&self) -> MutexGuard<'_, WriterState> {
        self.shared.inner()
    }

    /// Waits until the store has room. Producers that can be slowed down wait for it before each record: a
    /// disk that stalls then stalls the model's stream, and costs no memory and no attempt.
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

    /// Whether [`Journal::room`] would return at once.
    pub(crate) fn has_room(&self) -> bool {
        let inner = self.inner();
        inner.failed.is_none() && inner.queue.is_empty() && self.shared.store.has_room()
    }

    /// Whether the store has accepted all records so far: later writes come after them.
    pub(crate) fn is_drained(&self) -> bool {
        self.inner().queue.is_empty()
    }

    /// Lets the end of the run, or the records of a takeover, use the reserve.
    pub(crate) fn open_reserve(&self) {
        self.inner().reserve_open = true;
    }

    /// Restores the reserve for the end.
    pub(crate) fn close_reserve(&self) {
        self.inner().reserve_open = false;
    }

    /// Appends an event of an attempt: visible at once.
    pub(crate) fn delta(&self, origin: &Origin, event: Event) -> Result<()> {
        self.event(Class::Delta, origin, event, None, None).map(drop)
    }

    /// Appends an event that becomes visible when it is durable.
    pub(crate) fn fact(&self, origin: &Origin, event: Event) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, None, None)
    }

    /// Appends an effect together with its event, so that after a crash both or neither exist.
    pub(crate) fn effect_with_event(&self, effect: Effect, origin: &Origin, event: Event) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, None, Some(effect))
    }

    /// Appends an event emitted by node code, with its [fingerprint](super::fingerprint).
    pub(crate) fn emit(
        &self,
        origin: &Origin,
        event: Event,
        emitted: &EmitId,
        fingerprint: String,
    ) -> Result<Receipt> {
        self.event(Class::Fact, origin, event, Some((emitted, fingerprint)), None)
    }

    fn event(
        &self,
        class: Class,
        origin: &Origin,
        mut event: Event,
        emit: Option<(&EmitId, String)>,
        effect: Option<Effect>,
    ) -> Result<Receipt> {
        let mut inner = self.inner();
        let seq = inner.fold.last + 1;
        let emitted = emit.as_ref().map(|(emitted, _)| *emitted);
        let shorter = effect.as_ref().and_then(|effect| text_ref::shorten(effect, &inner.fold.state));
        let stored = shorter.as_ref().or(effect.as_ref());
        let (body, base) = inner.encoder.event(seq, &mut event, origin, emitted, stored)?;
        inner.takes(body.len())?;
        let known = std::mem::take(&mut inner.origin);
        let origin = if known == *origin { known } else { origin.clone() };
        let record = Record::new(seq, event).from(origin);
        // An event that the state rejects is refused before anyone sees it.
        inner.fold.event(&record, emit, effect.is_some())?;
        inner.origin = record.origin;
        let receipt = self.append(&mut inner, class, body)?;
        inner.encoder.appended(base);
        if let Some(effect) = effect {
            inner.fold.effect(effect);
        }
        self.snapshot_if_due(&mut inner)?;
        Ok(receipt)
    }

    /// Appends an effect.
    pub(crate) fn effect(&self, effect: Effect) -> Result<Receipt> {
        let body = RecordEncoder::effect(&effect)?;
        let mut inner = self.inner();
        inner.takes(body.len())?;
        let receipt = self.append(&mut inner, Class::Fact, body)?;
        inner.fold.effect(effect);
        self.snapshot_if_due(&mut inner)?;
        Ok(receipt)
    }

    fn snapshot_if_due(&self, inner: &mut WriterState) -> Result<()> {
        let due = SNAPSHOT_BYTES.max(inner.fold.snapshot_bytes.saturating_mul(SNAPSHOT_GROWTH));
        if inner.fold.tail_bytes >= due { self.write_snapshot(inner) } else { Ok(()) }
    }

    /// Writes a snapshot before the run waits, if much was written since the last one: its next driver starts
    /// there.
    pub(crate) fn snapshot_for_wait(&self) -> Result<()> {
        let mut inner = self.inner();
        let due = WAIT_SNAPSHOT_BYTES.max(inner.fold.snapshot_bytes / WAIT_SNAPSHOT_SHARE);
        if inner.fold.tail_bytes >= due { self.write_snapshot(&mut inner) } else { Ok(()) }
    }

    /// Writes a snapshot, unless it is too large for a record or for the run's remaining room. It is durable
    /// when the records before it are, so nothing waits for it.
    fn write_snapshot(&self, inner: &mut WriterState) -> Result<()> {
        let WriterState { encoder, fold, .. } = &mut *inner;
        let body = encoder.snapshot(fold.last + 1, fold)?;
        let size = body.len();
        if inner.takes(size).is_ok() {
            drop(self.append(inner, Class::Delta, body)?);
            inner.fold.count_snapshot(size);
        } else {
            // The next attempt comes after that many more bytes.
            (inner.fold.tail_bytes, inner.fold.snapshot_bytes) = (0, size);
        }
        Ok(())
    }

    /// Appends a record, or queues it while the store has no room.
    fn append(&self, inner: &mut WriterState, class: Class, body: Bytes) -> Result<Receipt> {
        if let Some(error) = &inner.failed {
            return Err(error.clone().into());
        }
        let size = body.len();
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
        inner.fold.count(receipt.last(), size);
        Ok(receipt)
    }

    pub(crate) fn last_snapshot(&self) -> u64 {
        self.inner().fold.snapshot
    }

    /// The fold of the records so far.
    pub(crate) fn fold(&self) -> FoldGuard<'_> {
        FoldGuard(self.inner())
    }

    /// The run's usage so far.
    pub(crate) fn usage(&self) -> Usage {
        self.inner().fold.usage.clone()
    }

    /// The usage so far, by model.
    pub(crate) fn usage_by_model(&self) -> BTreeMap<String, Usage> {
        self.inner().fold.usage_by_model.clone()
    }

    /// Reads the state so far.
    pub(crate) fn with_state<T>(&self, look: impl FnOnce(&RunState) -> T) -> T {
        look(&self.inner().fold.state)
    }
}

impl JournalCore {
    fn inner(&self) -> MutexGuard<'_, WriterState> {
        // The content is consistent between any two calls, so poisoning can be ignored.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends queued records, as far as the store has room. Returns whether the queue is empty.
    fn drain(&self, lease: &Lease) -> bool {
        let mut inner = self.inner();
        while let Some(next) = inner.queue.front() {
            let appended = self.store.append(lease, next.class, std::slice::from_ref(&next.body));
            match appended {
                Err(error) if *error.kind() == headwater_store::ErrorKind::Busy => return false,
                Err(error) => inner.fail(&error),
                Ok(receipt) => {
                    if let Some(written) = inner.queue.pop_front() {
                        // Most records have no waiting receiver.
                        let _ = written.appended.send(Ok(receipt));
                    }
                }
            }
        }
        true
    }
}

/// Appends queued records when the store has room. Ends with the journal.
async fn drain(journal: Weak<JournalCore>, lease: Lease) {
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

impl WriterState {
    /// Refuses a record that exceeds the run's room.
    fn takes(&self, size: usize) -> Result<()> {
        let max = self.max_record;
        if size > max {
            let message = format!("a record of the run has {size} bytes, at most {max} are kept");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        let JournalRoom { limit, reserved } = self.room;
        let limit = if self.reserve_open { limit.saturating_add(reserved) } else { limit };
        if size as u64 > limit.saturating_sub(self.fold.bytes) {
            let used = self.fold.bytes;
            let message =
                format!("run journal is full: {used} + {size} bytes exceed {limit} (`max_run_bytes`)");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(())
    }

    /// Fails all queued records.
    fn fail(&mut self, error: &headwater_store::Error) {
        for lost in self.queue.drain(..) {
            let _ = lost.appended.send(Err(error.clone()));
        }
        self.failed = Some(error.clone());
    }

    fn queue(&mut self, class: Class, body: Bytes) -> Receipt {
        let (appended, receipt) = oneshot::channel();
        self.queue.push_back(QueuedRecord { class, body, appended });
        let seq = self.fold.last + 1;
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

/// A permanent refusal by the store ends the run; other errors concern the store.
fn refused(error: headwater_store::Error) -> Error {
    use headwater_store::ErrorKind::{Full, TooLarge};
    match error.kind() {
        TooLarge => Error::new(ErrorKind::TooLarge, error.to_string()),
        Full => Error::new(ErrorKind::TooLarge, error.to_string()).with_code("journal.full"),
        _ => error.into(),
    }
}
