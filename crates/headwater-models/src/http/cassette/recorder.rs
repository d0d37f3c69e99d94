//! Records exchanges as they happen.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::Instant;

use super::file::{
    BodyBytes, BodyEnd, ENDING, Exchange, FORMAT, RecordedPiece, RecordedRequest, RecordedResponse,
};
use crate::{
    ModelError, ModelErrorKind,
    http::reply::{Body, HttpReply},
};

/// Response headers that are recorded. All others may hold secrets.
const KEPT_HEADERS: [&str; 7] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "request-id",
    "x-request-id",
    "x-should-retry",
    "x-goog-request-id",
];

/// Maximum size of a recorded response.
const LARGEST: usize = 64 * 1024 * 1024;

/// A shorter key is a placeholder, and removing it would damage ordinary words.
const SHORTEST_KEY: usize = 8;

/// Replacement for a removed key.
const REMOVED: &str = "[removed]";

/// Records exchanges in a folder, one file each. Clones share the folder.
///
/// ```
/// use headwater_models::http::{Recorder, Transport};
///
/// # let folder = std::env::temp_dir().join(format!("headwater-doc-{}", std::process::id()));
/// let transport = Transport::new()?.recording(Recorder::new(&folder)?);
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), headwater_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recorder(Arc<RecordingFolder>);

#[derive(Debug)]
struct RecordingFolder {
    path: PathBuf,
    state: Mutex<RecorderState>,
}

#[derive(Debug, Default)]
struct RecorderState {
    /// How often each request was made.
    asked: HashMap<String, u32>,
    /// Why recording failed. Further requests are refused, because an incomplete cassette is worse than none.
    problem: Option<String>,
}

/// Creates a folder that only its owner may read.
fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Recorder {
    /// Records into a folder, which is created if missing. Existing files are kept.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = folder.as_ref().to_owned();
        make_folder(&path).map_err(|error| {
            let message = format!("cannot create the folder {}: {error}", path.display());
            ModelError::new(ModelErrorKind::InvalidRequest, message)
        })?;
        Ok(Self(Arc::new(RecordingFolder { path, state: Mutex::default() })))
    }

    /// Begins to record an exchange.
    pub(in crate::http) fn begin(&self, asked: OutgoingRequest<'_>) -> Result<Recording, ModelError> {
        if let Some(problem) = &self.0.state().problem {
            let message = format!("recording has stopped: {problem}");
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message).provider(asked.provider));
        }
        Ok(Recording {
            folder: Arc::clone(&self.0),
            begun: Instant::now(),
            key: asked.key.map(str::to_owned),
            size: 0,
            exchange: Exchange {
                format: FORMAT,
                provider: asked.provider.to_owned(),
                request: RecordedRequest::new(asked.encoded),
                response: RecordedResponse {
                    status: 0,
                    headers: Vec::new(),
                    pieces: Vec::new(),
                    end: BodyEnd::Left,
                },
            },
        })
    }
}

/// A request about to be sent.
pub(in crate::http) struct OutgoingRequest<'a> {
    pub(in crate::http) provider: &'a str,
    /// The key, to be removed wherever it appears.
    pub(in crate::http) key: Option<&'a str>,
    pub(in crate::http) encoded: &'a crate::wire::EncodedRequest,
}

impl RecordingFolder {
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an exchange under an unused name.
    fn keep(&self, exchange: &Exchange) {
        let mut state = self.state();
        let (provider, fingerprint) =
            (exchange.provider.replace(['/', '\\'], "-"), exchange.request.fingerprint());
        let asked = state.asked.entry(fingerprint.clone()).or_default();
        let path = loop {
            *asked += 1;
            let path = self.path.join(format!("{provider}-{fingerprint}-{asked:03}{ENDING}"));
            if !path.exists() {
                break path;
            }
        };
        if let Err(error) = exchange.write(&path) {
            state.problem = Some(format!("{}: {error}", path.display()));
        }
    }
}

/// An exchange in progress. It is written when dropped, if there was a response.
pub(in crate::http) struct Recording {
    folder: Arc<RecordingFolder>,
    begun: Instant,
    key: Option<String>,
    size: usize,
    exchange: Exchange,
}

impl Recording {
    /// Records the head of a response, and its body as it is read.
    pub(in crate::http) fn of(mut self, reply: HttpReply) -> HttpReply {
        self.exchange.response.status = reply.status;
        let kept = reply.headers.iter().filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str()));
        self.exchange.response.headers = kept.cloned().collect();
        HttpReply { body: Box::pin(RecordingBody { recording: self, body: reply.body }), ..reply }
    }

    fn piece(&mut self, bytes: &Bytes) {
        self.size += bytes.len();
        if self.size > LARGEST {
            return;
        }
        let at = self.begun.elapsed().as_millis() as u64;
        let content = match (BodyBytes::new(bytes), &self.key) {
            (BodyBytes::Text(text), Some(key)) if key.len() >= SHORTEST_KEY => {
                BodyBytes::Text(text.replace(key, REMOVED))
            }
            (content, _) => content,
        };
        self.exchange.response.pieces.push(RecordedPiece { at, bytes: content });
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.size > LARGEST {
            let problem = format!("a response exceeds {LARGEST} bytes");
            self.folder.state().problem = Some(problem);
        } else if self.exchange.response.status != 0 {
            self.folder.keep(&self.exchange);
        }
    }
}

/// A body that is recorded as it is read.
struct RecordingBody {
    recording: Recording,
    body: Body,
}

impl Stream for RecordingBody {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(self.body.as_mut().poll_next(cx));
        match &item {
            Some(Ok(bytes)) => self.recording.piece(bytes),
            Some(Err(_)) => self.recording.exchange.response.end = BodyEnd::Broken,
            None => self.recording.exchange.response.end = BodyEnd::Complete,
        }
        Poll::Ready(item)
    }
}
