//! A bounded buffer of encoded bytes, shared by readers of the same run in the same dialect.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use headwater_runtime::Run;
use tokio::sync::Mutex;

use super::{ReaderView, StreamEnd, stream_encoder::StreamEncoder};
use crate::ApiError;

/// The size of a shared buffer.
const RING_BYTES: usize = 256 << 10;

/// The shared streams, by run, position and view.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedStreams(Arc<StdMutex<HashMap<String, Weak<SharedStream>>>>);

impl SharedStreams {
    pub(super) fn all(&self) -> MutexGuard<'_, HashMap<String, Weak<SharedStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<SharedStream>> {
        self.all().get(key).and_then(Weak::upgrade)
    }

    /// Creates a stream that others may join.
    pub(super) fn share(
        &self,
        key: String,
        encoder: StreamEncoder,
        ending: StreamEnd,
        whole: bool,
    ) -> Arc<SharedStream> {
        let ring =
            Ring { batches: VecDeque::new(), whole, first: 0, bytes: 0, after: encoder.after, over: false };
        let view = encoder.view().clone();
        let shared = Arc::new(SharedStream {
            view,
            ending,
            since: encoder.since(),
            ring: StdMutex::new(ring),
            source: Mutex::new(BatchWriter { encoder, fresh: whole, caught_up: false }),
        });
        let mut all = self.all();
        if all.len() >= 64 && all.len().is_power_of_two() {
            all.retain(|_, stream| stream.strong_count() > 0);
        }
        all.insert(key, Arc::downgrade(&shared));
        shared
    }

    /// The shared stream for a reader at this record, and the number of its next batch. Encoders that have
    /// read the same records are in the same state, however the records were merged, and between two batches
    /// no reader has received part of the next one.
    pub(super) fn join(
        &self,
        key: &str,
        encoder: StreamEncoder,
        ending: StreamEnd,
    ) -> (Arc<SharedStream>, u64) {
        let found = self.find(key).and_then(|shared| {
            let next = shared.ring().number_after(encoder.after)?;
            Some((shared, next))
        });
        found.unwrap_or_else(|| (self.share(key.to_owned(), encoder, ending, false), 0))
    }
}

/// A stream for several readers.
#[derive(Debug)]
pub(super) struct SharedStream {
    pub(super) view: Arc<ReaderView>,
    pub(super) ending: StreamEnd,
    /// The end of the previous response, or 0.
    pub(super) since: u64,
    /// The latest batches. Never locked across an await.
    ring: StdMutex<Ring>,
    /// Encodes more: locked by the first reader that needs more.
    source: Mutex<BatchWriter>,
}

#[derive(Debug)]
struct BatchWriter {
    encoder: StreamEncoder,
    /// Whether there are frames to write even without new records.
    fresh: bool,
    /// Whether all records were written at the last read: then a reader can wait without reading again.
    caught_up: bool,
}

/// The latest batches.
#[derive(Debug)]
pub(super) struct Ring {
    batches: VecDeque<EncodedBatch>,
    /// Whether it holds the stream from the start.
    whole: bool,
    /// The number of the first batch in it.
    first: u64,
    pub(super) bytes: usize,
    /// The last encoded record.
    after: u64,
    over: bool,
}

/// Frames that were encoded together.
#[derive(Debug, Clone)]
pub(super) struct EncodedBatch {
    pub(super) bytes: Bytes,
    /// Its last record, and the epoch of that record.
    pub(super) after: u64,
    pub(super) epoch: u64,
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum ReadResult {
    Batch(EncodedBatch),
    /// Nothing yet, after this record.
    Nothing(u64),
    /// The next batch is no longer buffered.
    Behind,
    Over,
}

impl SharedStream {
    pub(super) fn ring(&self) -> MutexGuard<'_, Ring> {
        // The ring is consistent between any two calls.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The batch of a number, if it is buffered, or the error that ended the stream.
    fn buffered(self: &Arc<Self>, next: u64) -> Option<ReadResult> {
        let mut ring = self.ring();
        let Some(at) = next.checked_sub(ring.first) else { return Some(ReadResult::Behind) };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        // A single reader gets the batch itself, not a copy.
        let batch = if Arc::strong_count(self) == 1 { ring.take(at) } else { ring.batches.get(at).cloned() };
        match batch {
            Some(batch) => Some(ReadResult::Batch(batch)),
            None => ring.over.then_some(ReadResult::Over),
        }
    }

    /// The batch of a number, if it can be produced now.
    pub(super) async fn next(self: &Arc<Self>, run: &Run, next: u64) -> Result<ReadResult, ApiError> {
        if let Some(given) = self.buffered(next) {
            return Ok(given);
        }
        let mut source = self.source.lock().await;
        loop {
            // Another reader may have produced it first.
            if let Some(given) = self.buffered(next) {
                return Ok(given);
            }
            let BatchWriter { encoder, fresh, caught_up } = &mut *source;
            if std::mem::take(caught_up) {
                return Ok(ReadResult::Nothing(encoder.after));
            }
            let Some(page) = encoder.next_page(run).await? else { continue };
            if page.records.is_empty() && !*fresh && !page.tail.closed {
                return Ok(ReadResult::Nothing(encoder.after.min(page.tail.last)));
            }
            // If this is dropped while it waits, it is repeated.
            *fresh = true;
            let over = encoder.write_page(run, &page, self.ending).await?;
            *fresh = false;
            *caught_up = !over && encoder.after == page.tail.last;
            self.ring().push(
                EncodedBatch { bytes: encoder.take(), after: encoder.after, epoch: encoder.epoch },
                over,
            );
        }
    }
}

impl Ring {
    /// Whether the buffer holds the stream from the start.
    pub(super) fn is_whole(&self) -> bool {
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

    fn push(&mut self, batch: EncodedBatch, over: bool) {
        self.bytes += batch.bytes.len();
        self.after = batch.after;
        self.over = over;
        self.batches.push_back(batch);
        while self.bytes > RING_BYTES && self.batches.len() > 1 {
            self.forget(1);
        }
    }

    /// Removes a batch and all before it.
    fn take(&mut self, at: usize) -> Option<EncodedBatch> {
        if at >= self.batches.len() {
            return None;
        }
        self.forget(at);
        let batch = self.batches.pop_front()?;
        self.first += 1;
        self.bytes -= batch.bytes.len();
        Some(batch)
    }

    /// Removes the oldest batches.
    fn forget(&mut self, count: usize) {
        for batch in self.batches.drain(..count.min(self.batches.len())) {
            self.first += 1;
            self.bytes -= batch.bytes.len();
        }
    }
}
