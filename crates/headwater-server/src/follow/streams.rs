//! The open streams of a server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, PoisonError, Weak},
};

use headwater_protocol::RunId;
use headwater_runtime::Run;
use tokio::sync::watch;

use super::{
    ReadFrom, ReaderView, StreamEnd, journal_reader::JournalReader, pacing::WritePacing,
    shared_stream::SharedStreams, stream_encoder::StreamEncoder,
};
use crate::ApiError;

/// The open streams.
#[derive(Debug, Clone)]
pub(crate) struct OpenStreams {
    known: SharedStreams,
    pace: Arc<WritePacing>,
    closing: watch::Sender<bool>,
    readers: Readers,
}

/// Number of readers of each run that had one recently.
type Readers = Arc<StdMutex<HashMap<RunId, usize>>>;

/// A reader of a run, counted until it is dropped.
#[derive(Debug)]
pub(crate) struct AttachedReader {
    run: RunId,
    readers: Readers,
}

impl Drop for AttachedReader {
    fn drop(&mut self) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = readers.get_mut(&self.run) {
            *count = count.saturating_sub(1);
        }
        // A departed reader matters only until the next message, so old entries may be dropped.
        if readers.len() >= 1_024 && readers.len().is_power_of_two() {
            readers.retain(|_, count| *count > 0);
        }
    }
}

impl Default for OpenStreams {
    fn default() -> Self {
        Self {
            known: SharedStreams::default(),
            pace: Arc::default(),
            closing: watch::Sender::new(false),
            readers: Readers::default(),
        }
    }
}

impl OpenStreams {
    /// Ends all streams: readers reconnect, here or to another server.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether the streams are being ended.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Counts a reader of a run.
    pub(crate) fn attach(&self, run: &RunId) -> AttachedReader {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers.entry(run.clone()).or_default() += 1;
        AttachedReader { run: run.clone(), readers: self.readers.clone() }
    }

    /// Number of readers of a run here.
    pub(crate) fn readers(&self, run: &RunId) -> usize {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).get(run).copied().unwrap_or(0)
    }

    /// Whether a run had readers here and lost them. A run that has just started has had none.
    pub(crate) fn was_left(&self, run: &RunId) -> bool {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).get(run) == Some(&0)
    }

    /// Number of bytes buffered for shared streams.
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
        view: ReaderView,
        from: ReadFrom,
        ending: StreamEnd,
    ) -> Result<JournalReader, ApiError> {
        let (view, known, pace) = (Arc::new(view), self.known.clone(), self.pace.clone());
        // An encoder that continues an earlier response cannot be shared with others.
        let since = from.since();
        let key = format!("{}/{since}/{ending:?}/{}", run.id(), view.key());
        let begins = matches!(from, ReadFrom::Start | ReadFrom::Response(_));
        let found = known.find(&key);
        if let Some(shared) = found.as_ref().filter(|shared| begins && shared.ring().is_whole()) {
            return Ok(JournalReader::with_others(run, shared.clone(), since, pace));
        }
        let encoder = StreamEncoder::new(&run, view, &from).await?;
        if begins && found.is_none() {
            return Ok(JournalReader::with_others(run, known.share(key, encoder, ending, true), since, pace));
        }
        let others = encoder.may_join().then_some((known, key));
        Ok(JournalReader::alone(run, encoder, ending, others, pace))
    }
}
