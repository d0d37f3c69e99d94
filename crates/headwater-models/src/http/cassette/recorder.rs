//! Keeps exchanges as they happen.

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

use super::file::{Answered, Asked, Content, ENDING, End, Exchange, FORMAT, Piece};
use crate::{
    ModelError, ModelErrorKind,
    http::transport::{Body, Reply},
};

/// The headers of an answer that are worth keeping. All others may hold secrets.
const KEPT_HEADERS: [&str; 7] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "request-id",
    "x-request-id",
    "x-should-retry",
    "x-goog-request-id",
];

/// The largest answer that is kept.
const LARGEST: usize = 64 * 1024 * 1024;

/// Anything shorter is no key but a placeholder, and would be found in ordinary words.
const SHORTEST_KEY: usize = 8;

/// What stands where a key stood.
const REMOVED: &str = "[removed]";

/// Keeps exchanges in a folder, one file for each. Clones keep them in the same one.
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
pub struct Recorder(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How often each request was made.
    asked: HashMap<String, u32>,
    /// Why something could not be kept. Nothing more is asked after that: a cassette with holes is worse than none.
    problem: Option<String>,
}

/// Makes a folder that only its owner may read.
fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Recorder {
    /// Keeps exchanges in a folder, which is made if it is not there. What is in it stays.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = folder.as_ref().to_owned();
        make_folder(&path).map_err(|error| {
            let message = format!("the folder {} cannot be made: {error}", path.display());
            ModelError::new(ModelErrorKind::InvalidRequest, message)
        })?;
        Ok(Self(Arc::new(Folder { path, state: Mutex::default() })))
    }

    /// Begins to keep an exchange.
    pub(in crate::http) fn begin(&self, asked: Asking<'_>) -> Result<Recording, ModelError> {
        if let Some(problem) = &self.0.state().problem {
            let message = format!("what the provider says cannot be kept any more: {problem}");
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
                request: Asked::new(asked.encoded),
                response: Answered { status: 0, headers: Vec::new(), pieces: Vec::new(), end: End::Left },
            },
        })
    }
}

/// A request that is about to be made.
pub(in crate::http) struct Asking<'a> {
    pub(in crate::http) provider: &'a str,
    /// The key, so that it is removed wherever it shows up.
    pub(in crate::http) key: Option<&'a str>,
    pub(in crate::http) encoded: &'a crate::wire::Encoded,
}

impl Folder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an exchange under a name that no other has.
    fn keep(&self, exchange: &Exchange) {
        let mut state = self.state();
        let (provider, mark) = (exchange.provider.replace(['/', '\\'], "-"), exchange.request.mark());
        let asked = state.asked.entry(mark.clone()).or_default();
        let path = loop {
            *asked += 1;
            let path = self.path.join(format!("{provider}-{mark}-{asked:03}{ENDING}"));
            if !path.exists() {
                break path;
            }
        };
        if let Err(error) = exchange.write(&path) {
            state.problem = Some(format!("{}: {error}", path.display()));
        }
    }
}

/// An exchange that is being kept. It is written when it is dropped, if anything was answered.
pub(in crate::http) struct Recording {
    folder: Arc<Folder>,
    begun: Instant,
    key: Option<String>,
    size: usize,
    exchange: Exchange,
}

impl Recording {
    /// Keeps the head of an answer, and its body as it is read.
    pub(in crate::http) fn of(mut self, reply: Reply) -> Reply {
        self.exchange.response.status = reply.status;
        let kept = reply.headers.iter().filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str()));
        self.exchange.response.headers = kept.cloned().collect();
        Reply { body: Box::pin(Recorded { recording: self, body: reply.body }), ..reply }
    }

    fn piece(&mut self, bytes: &Bytes) {
        self.size += bytes.len();
        if self.size > LARGEST {
            return;
        }
        let at = self.begun.elapsed().as_millis() as u64;
        let content = match (Content::new(bytes), &self.key) {
            (Content::Text(text), Some(key)) if key.len() >= SHORTEST_KEY => {
                Content::Text(text.replace(key, REMOVED))
            }
            (content, _) => content,
        };
        self.exchange.response.pieces.push(Piece { at, bytes: content });
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.size > LARGEST {
            let problem = format!("an answer has more than {LARGEST} bytes");
            self.folder.state().problem = Some(problem);
        } else if self.exchange.response.status != 0 {
            self.folder.keep(&self.exchange);
        }
    }
}

/// A body that is kept as it is read.
struct Recorded {
    recording: Recording,
    body: Body,
}

impl Stream for Recorded {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(self.body.as_mut().poll_next(cx));
        match &item {
            Some(Ok(bytes)) => self.recording.piece(bytes),
            Some(Err(_)) => self.recording.exchange.response.end = End::Broken,
            None => self.recording.exchange.response.end = End::Complete,
        }
        Poll::Ready(item)
    }
}
