//! One reader of a run. It encodes for itself until it has caught up, then shares the stream with others.

use std::sync::Arc;

use bytes::Bytes;
use headwater_runtime::Run;
use headwater_store::{Cursor, JournalId, Place};

use super::{
    ReadFrom, StreamEnd,
    pacing::WritePacing,
    shared_stream::{EncodedBatch, ReadResult, SharedStream, SharedStreams},
    stream_encoder::StreamEncoder,
};
use crate::ApiError;

/// One reader of a run.
#[derive(Debug)]
pub(crate) struct JournalReader {
    run: Run,
    journal: JournalId,
    source: ReaderMode,
    /// Whether it received data since it last waited.
    given: bool,
    pace: Arc<WritePacing>,
}

#[derive(Debug)]
enum ReaderMode {
    Alone(Box<UnsharedStream>),
    Shared {
        shared: Arc<SharedStream>,
        /// The number of the next batch.
        next: u64,
        /// The last record read, and its epoch; 0 if unknown.
        after: u64,
        epoch: u64,
    },
    Over,
}

/// A stream with one reader.
#[derive(Debug)]
struct UnsharedStream {
    encoder: StreamEncoder,
    ending: StreamEnd,
    fresh: bool,
    over: bool,
    /// The shared streams to join.
    others: Option<(SharedStreams, String)>,
}

impl JournalReader {
    /// A reader that encodes for itself, and joins a shared stream once it has caught up.
    pub(super) fn alone(
        run: Run,
        encoder: StreamEncoder,
        ending: StreamEnd,
        others: Option<(SharedStreams, String)>,
        pace: Arc<WritePacing>,
    ) -> Self {
        let alone = UnsharedStream { encoder, ending, fresh: true, over: false, others };
        Self::of(run, ReaderMode::Alone(Box::new(alone)), pace)
    }

    /// A reader that starts at the same place as others.
    pub(super) fn with_others(
        run: Run,
        shared: Arc<SharedStream>,
        after: u64,
        pace: Arc<WritePacing>,
    ) -> Self {
        Self::of(run, ReaderMode::Shared { shared, next: 0, after, epoch: 0 }, pace)
    }

    fn of(run: Run, source: ReaderMode, pace: Arc<WritePacing>) -> Self {
        Self { journal: run.id().as_str().into(), run, source, given: false, pace }
    }

    /// The next bytes, when available; `None` at the end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let mut failed = None;
        loop {
            let given = match &mut self.source {
                ReaderMode::Alone(alone) => Box::pin(alone.next(&self.run)).await?,
                ReaderMode::Shared { shared, next, after, epoch } => {
                    let given = shared.next(&self.run, *next).await?;
                    if let ReadResult::Batch(batch) = &given {
                        (*next, *after, *epoch) = (*next + 1, batch.after, batch.epoch);
                    }
                    given
                }
                ReaderMode::Over => return Ok(None),
            };
            match given {
                ReadResult::Batch(batch) if batch.bytes.is_empty() => {}
                ReadResult::Batch(batch) => {
                    self.given = true;
                    return Ok(Some(batch.bytes));
                }
                ReadResult::Nothing(after) => {
                    if let Some(error) = failed {
                        return Err(error);
                    }
                    self.join();
                    if std::mem::take(&mut self.given) {
                        self.pace.pause().await;
                    }
                    // The record may have been lost in a takeover: the next read reports that.
                    let waited = self.run.store().wait(&self.journal, after).await;
                    failed = waited.err().map(ApiError::from);
                }
                // Boxed: it is rare, and would make every reader larger.
                ReadResult::Behind => Box::pin(self.fall_behind()).await?,
                ReadResult::Over => return Ok(None),
            }
        }
    }

    /// Joins a shared stream at the same position.
    fn join(&mut self) {
        let ReaderMode::Alone(alone) = &mut self.source else { return };
        let Some((known, key)) = alone.others.take() else { return };
        if let ReaderMode::Alone(alone) = std::mem::replace(&mut self.source, ReaderMode::Over) {
            let UnsharedStream { encoder, ending, .. } = *alone;
            let (after, epoch) = (encoder.after, encoder.epoch);
            let (shared, next) = known.join(&key, encoder, ending);
            self.source = ReaderMode::Shared { shared, next, after, epoch };
        }
    }

    /// Handles a reader that fell behind the shared buffer: it encodes for itself from here on.
    async fn fall_behind(&mut self) -> Result<(), ApiError> {
        if let ReaderMode::Shared { shared, after, epoch, .. } = &self.source {
            let from = match shared.since {
                0 => from_record(&self.run, &self.journal, *epoch, *after).await?,
                since => ReadFrom::Response(since),
            };
            let mut encoder = StreamEncoder::new(&self.run, shared.view.clone(), &from).await?;
            if !matches!(from, ReadFrom::Lost(_)) {
                encoder.pass(&self.run, *after).await?;
            }
            let alone =
                UnsharedStream { encoder, ending: shared.ending, fresh: false, over: false, others: None };
            self.source = ReaderMode::Alone(Box::new(alone));
        }
        Ok(())
    }
}

/// The position after a record of an epoch. The record is lost if its driver was fenced out before it was written.
async fn from_record(run: &Run, journal: &JournalId, epoch: u64, seq: u64) -> Result<ReadFrom, ApiError> {
    let read = ReadFrom::After { seq, frame: 0 };
    let Some(info) = run.store().info(journal).await? else { return Ok(read) };
    let cursor = Cursor { journal: journal.clone(), epoch, seq, frame: 0, count: 0 };
    Ok(match cursor.place(journal, &info) {
        Ok(Place::Moved(kept)) => ReadFrom::Lost(kept),
        _ => read,
    })
}

impl UnsharedStream {
    async fn next(&mut self, run: &Run) -> Result<ReadResult, ApiError> {
        if self.over {
            return Ok(ReadResult::Over);
        }
        let encoder = &mut self.encoder;
        let Some(page) = encoder.next_page(run).await? else {
            return Ok(ReadResult::Batch(EncodedBatch {
                bytes: encoder.take(),
                after: encoder.after,
                epoch: encoder.epoch,
            }));
        };
        if page.records.is_empty() && !self.fresh && !page.tail.closed {
            return Ok(ReadResult::Nothing(encoder.after.min(page.tail.last)));
        }
        // If this is dropped while it waits, it is repeated.
        self.fresh = true;
        self.over = encoder.write_page(run, &page, self.ending).await?;
        self.fresh = false;
        Ok(ReadResult::Batch(EncodedBatch {
            bytes: encoder.take(),
            after: encoder.after,
            epoch: encoder.epoch,
        }))
    }
}
