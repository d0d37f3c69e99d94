//! What is written for one reader is kept for a moment, for others that read the same run in the same way.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use headwater_protocol::RunId;
use headwater_runtime::Run;
use tokio::sync::{Mutex, watch};

use super::{Ending, From, View, pace::Pace, pen::Pen, reader::Reader};
use crate::ApiError;

/// How much is kept of a stream that several readers share.
const KEPT: usize = 256 << 10;

/// The streams that are being read.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    known: Known,
    pace: Arc<Pace>,
    closing: watch::Sender<bool>,
    readers: Readers,
}

/// How many readers each run has that had one lately.
type Readers = Arc<StdMutex<HashMap<RunId, usize>>>;

/// A reader of a run, counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Attached {
    run: RunId,
    readers: Readers,
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = readers.get_mut(&self.run) {
            *count = count.saturating_sub(1);
        }
        // That a reader has left matters until the next message, so old ones may be forgotten.
        if readers.len() >= 1_024 && readers.len().is_power_of_two() {
            readers.retain(|_, count| *count > 0);
        }
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            known: Known::default(),
            pace: Arc::default(),
            closing: watch::Sender::new(false),
            readers: Readers::default(),
        }
    }
}

impl Streams {
    /// Lets go of all readers: they come back, here or elsewhere.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether its readers are let go.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Counts a reader of a run.
    pub(crate) fn attach(&self, run: &RunId) -> Attached {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers.entry(run.clone()).or_default() += 1;
        Attached { run: run.clone(), readers: self.readers.clone() }
    }

    /// How many readers a run has here.
    pub(crate) fn readers(&self, run: &RunId) -> usize {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).get(run).copied().unwrap_or(0)
    }

    /// Whether a run had readers here, and has lost them. One that has just begun has none yet.
    pub(crate) fn was_left(&self, run: &RunId) -> bool {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).get(run) == Some(&0)
    }

    /// How many bytes are kept for readers that share a stream.
    pub(crate) fn bytes_held(&self) -> usize {
        let shared: Vec<_> = self.known.all().values().filter_map(Weak::upgrade).collect();
        shared.iter().map(|shared| shared.ring().bytes).sum()
    }

    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// A reader of a run.
    pub(crate) async fn reader(
        &self,
        run: Run,
        view: View,
        from: From,
        ending: Ending,
    ) -> Result<Reader, ApiError> {
        let (view, known, pace) = (Arc::new(view), self.known.clone(), self.pace.clone());
        // Where an earlier response ended, its reader's encoder stands otherwise than all others.
        let since = from.since();
        let key = format!("{}/{since}/{ending:?}/{}", run.id(), view.key());
        let begins = matches!(from, From::Start | From::Response(_));
        let found = known.find(&key);
        if let Some(shared) = found.as_ref().filter(|shared| begins && shared.ring().is_whole()) {
            return Ok(Reader::with_others(run, shared.clone(), since, pace));
        }
        let pen = Pen::new(&run, view, &from).await?;
        if begins && found.is_none() {
            return Ok(Reader::with_others(run, known.share(key, pen, ending, true), since, pace));
        }
        let others = pen.may_join().then_some((known, key));
        Ok(Reader::alone(run, pen, ending, others, pace))
    }
}

/// The streams that are shared, by what their readers have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<StdMutex<HashMap<String, Weak<Shared>>>>);

impl Known {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Weak<Shared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &str) -> Option<Arc<Shared>> {
        self.all().get(key).and_then(Weak::upgrade)
    }

    /// Makes a stream that others may join.
    fn share(&self, key: String, pen: Pen, ending: Ending, whole: bool) -> Arc<Shared> {
        let ring =
            Ring { batches: VecDeque::new(), whole, first: 0, bytes: 0, after: pen.after, over: false };
        let view = pen.view().clone();
        let shared = Arc::new(Shared {
            view,
            ending,
            since: pen.since(),
            ring: StdMutex::new(ring),
            source: Mutex::new(Source { pen, fresh: whole, caught_up: false }),
        });
        let mut all = self.all();
        if all.len() >= 64 && all.len().is_power_of_two() {
            all.retain(|_, stream| stream.strong_count() > 0);
        }
        all.insert(key, Arc::downgrade(&shared));
        shared
    }

    /// The stream that a reader goes on with which has read everything up to here, and the number of its next batch.
    ///
    /// An encoder that has seen the same records is in the same state, however they were merged, and between two batches
    /// nobody has seen a part of what comes next.
    pub(super) fn join(&self, key: &str, pen: Pen, ending: Ending) -> (Arc<Shared>, u64) {
        let found = self.find(key).and_then(|shared| {
            let next = shared.ring().number_after(pen.after)?;
            Some((shared, next))
        });
        found.unwrap_or_else(|| (self.share(key.to_owned(), pen, ending, false), 0))
    }
}

/// A stream that several may read.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) view: Arc<View>,
    pub(super) ending: Ending,
    /// Where the response ended after which it began, or 0.
    pub(super) since: u64,
    /// What was written last. Never held while something is waited for.
    ring: StdMutex<Ring>,
    /// What writes more: held by whichever reader wants more first.
    source: Mutex<Source>,
}

#[derive(Debug)]
struct Source {
    pen: Pen,
    /// There is something to write, even if the journal has nothing new.
    fresh: bool,
    /// All was written that the journal had at the last look: whoever wants more may wait for it without looking again.
    caught_up: bool,
}

/// What was written last.
#[derive(Debug)]
struct Ring {
    batches: VecDeque<Batch>,
    /// It began at the beginning.
    whole: bool,
    /// The number of the first that is kept.
    first: u64,
    bytes: usize,
    /// The last record of all that was written.
    after: u64,
    over: bool,
}

/// What was written in one go.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) bytes: Bytes,
    /// The last record of it, and the epoch of that record.
    pub(super) after: u64,
    pub(super) epoch: u64,
}

/// What a reader is given.
#[derive(Debug)]
pub(super) enum Given {
    Batch(Batch),
    /// Nothing yet, after this record.
    Nothing(u64),
    /// What comes next is no longer kept.
    Behind,
    Over,
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        // What is inside is whole between any two calls.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The batch of a number, if it is there already, or why it will never be.
    fn kept(self: &Arc<Self>, next: u64) -> Option<Given> {
        let mut ring = self.ring();
        let Some(at) = next.checked_sub(ring.first) else { return Some(Given::Behind) };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        // What only one reader wants is given away, not copied.
        let batch = if Arc::strong_count(self) == 1 { ring.take(at) } else { ring.batches.get(at).cloned() };
        match batch {
            Some(batch) => Some(Given::Batch(batch)),
            None => ring.over.then_some(Given::Over),
        }
    }

    /// The batch of a number, if it can be had now.
    pub(super) async fn next(self: &Arc<Self>, run: &Run, next: u64) -> Result<Given, ApiError> {
        if let Some(given) = self.kept(next) {
            return Ok(given);
        }
        let mut source = self.source.lock().await;
        loop {
            // Another reader may have been here first.
            if let Some(given) = self.kept(next) {
                return Ok(given);
            }
            let Source { pen, fresh, caught_up } = &mut *source;
            if std::mem::take(caught_up) {
                return Ok(Given::Nothing(pen.after));
            }
            let Some(page) = pen.next_page(run).await? else { continue };
            if page.records.is_empty() && !*fresh && !page.tail.closed {
                return Ok(Given::Nothing(pen.after.min(page.tail.last)));
            }
            // If this is dropped while it waits, it is done again.
            *fresh = true;
            let over = pen.write_page(run, &page, self.ending).await?;
            *fresh = false;
            *caught_up = !over && pen.after == page.tail.last;
            self.ring().push(Batch { bytes: pen.take(), after: pen.after, epoch: pen.epoch }, over);
        }
    }
}

impl Ring {
    /// Whether all of the stream is there, from its beginning.
    fn is_whole(&self) -> bool {
        self.whole && self.first == 0
    }

    /// The number of the batch after a record, if one ends there.
    fn number_after(&self, record: u64) -> Option<u64> {
        if self.after == record {
            return Some(self.first + self.batches.len() as u64);
        }
        let at = self.batches.iter().position(|batch| batch.after == record)?;
        Some(self.first + at as u64 + 1)
    }

    fn push(&mut self, batch: Batch, over: bool) {
        self.bytes += batch.bytes.len();
        self.after = batch.after;
        self.over = over;
        self.batches.push_back(batch);
        while self.bytes > KEPT && self.batches.len() > 1 {
            self.forget(1);
        }
    }

    /// Takes a batch out, if it is there, and lets go of those before it.
    fn take(&mut self, at: usize) -> Option<Batch> {
        if at >= self.batches.len() {
            return None;
        }
        self.forget(at);
        let batch = self.batches.pop_front()?;
        self.first += 1;
        self.bytes -= batch.bytes.len();
        Some(batch)
    }

    /// Lets go of the oldest.
    fn forget(&mut self, count: usize) {
        for batch in self.batches.drain(..count.min(self.batches.len())) {
            self.first += 1;
            self.bytes -= batch.bytes.len();
        }
    }
}
