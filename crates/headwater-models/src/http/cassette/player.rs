//! Replays recorded exchanges.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    diff::{Difference, abbreviate, differences},
    file::{BodyEnd, ENDING, Exchange, RecordedRequest},
};
use crate::{ModelError, ModelErrorKind, http::reply::HttpReply, wire::EncodedRequest};

/// Answers requests from the exchanges of a folder. The n-th identical request gets the n-th recorded
/// response, or the last one when there are no more.
///
/// ```no_run
/// use headwater_models::{Models, http::{Player, Transport}};
///
/// let models = Models::new().transport(Transport::new()?.playing(Player::new("cassettes")?));
/// let model = models.get("openai:gpt-5.1")?; // no key is needed
/// # Ok::<(), headwater_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Player {
    kept: Arc<LoadedExchanges>,
    timed: bool,
}

#[derive(Debug)]
struct LoadedExchanges {
    folder: PathBuf,
    exchanges: Vec<(String, Exchange)>,
    /// How often each exchange was played.
    played: Mutex<HashMap<usize, u32>>,
}

impl Player {
    /// Loads the exchanges of a folder.
    ///
    /// # Errors
    /// If the folder cannot be read or has no exchanges, or if one of them is invalid.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let broken = |what: String| ModelError::new(ModelErrorKind::InvalidRequest, what);
        let unreadable = |error: std::io::Error| {
            broken(format!("the folder {} cannot be read: {error}", folder.display()))
        };
        let mut exchanges = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(ENDING) {
                let exchange = Exchange::read(&path).map_err(|error| broken(format!("{name}: {error}")))?;
                exchanges.push((name, exchange));
            }
        }
        if exchanges.is_empty() {
            return Err(broken(format!(
                "the folder {} has no exchanges: record some first",
                folder.display()
            )));
        }
        // The number at the end of the file name gives the order of recording.
        exchanges.sort_by(|(left, _), (right, _)| left.cmp(right));
        let kept = LoadedExchanges { folder: folder.to_owned(), exchanges, played: Mutex::default() };
        Ok(Self { kept: Arc::new(kept), timed: false })
    }

    /// Delivers each piece after its recorded delay instead of immediately.
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// The recorded response to a request.
    pub(in crate::http) fn reply(
        &self,
        provider: &str,
        encoded: &EncodedRequest,
    ) -> Result<HttpReply, ModelError> {
        let asked = RecordedRequest::new(encoded);
        let same =
            |exchange: &Exchange| exchange.request.path == asked.path && exchange.request.body == asked.body;
        let mut found = None;
        {
            let mut played = self.kept.played.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, (_, exchange)) in
                self.kept.exchanges.iter().enumerate().filter(|(_, kept)| same(&kept.1))
            {
                found = Some((at, exchange));
                if !played.contains_key(&at) {
                    break;
                }
            }
            if let Some((at, _)) = found {
                *played.entry(at).or_default() += 1;
            }
        }
        let Some((at, exchange)) = found else {
            return Err(self.mismatch(provider, &asked));
        };
        let mut pieces = VecDeque::new();
        for piece in &exchange.response.pieces {
            let bytes = piece.bytes.bytes().map_err(|error| {
                let name = self.kept.exchanges.get(at).map_or("", |(name, _)| name);
                let message = format!("{name}: a piece of the answer cannot be read: {error}");
                ModelError::new(ModelErrorKind::InvalidRequest, message).provider(provider)
            })?;
            pieces.push_back((piece.at, bytes));
        }
        let played = PlaybackBody {
            pieces,
            end: exchange.response.end,
            provider: provider.to_owned(),
            begun: self.timed.then(Instant::now),
            wait: None,
        };
        Ok(HttpReply {
            status: exchange.response.status,
            headers: exchange.response.headers.clone(),
            body: Box::pin(played),
        })
    }

    /// An error that shows how a request differs from the most similar recorded one.
    fn mismatch(&self, provider: &str, asked: &RecordedRequest) -> ModelError {
        let of_path = self.kept.exchanges.iter().filter(|(_, kept)| kept.request.path == asked.path);
        let nearest = of_path
            .map(|(name, kept)| (name, differences(&kept.request.body, &asked.body)))
            .min_by_key(|(_, differences)| differences.len());
        let folder = self.kept.folder.display();
        let message = match nearest {
            Some((name, differences)) => {
                let more = match differences.len() {
                    0 | 1 => String::new(),
                    count => format!(" (and at {} more)", count - 1),
                };
                let place = differences.first().map(describe).unwrap_or_default();
                format!(
                    "no answer was recorded in {folder} for this request to {}: the nearest is {name}, which \
                     differs at {place}{more}",
                    asked.path
                )
            }
            None => {
                let mut paths: Vec<_> =
                    self.kept.exchanges.iter().map(|(_, kept)| kept.request.path.as_str()).collect();
                paths.sort_unstable();
                paths.dedup();
                let paths = paths.join(", ");
                format!("no request to {} was recorded in {folder}: recorded paths are {paths}", asked.path)
            }
        };
        ModelError::new(ModelErrorKind::InvalidRequest, message).provider(provider)
    }
}

fn describe(difference: &Difference) -> String {
    let Difference { path, recorded, asked } = difference;
    format!(
        "`{path}`: {} was recorded, {} is requested",
        abbreviate(recorded.as_ref()),
        abbreviate(asked.as_ref())
    )
}

/// A response body that is replayed.
struct PlaybackBody {
    pieces: VecDeque<(u64, Bytes)>,
    end: BodyEnd,
    provider: String,
    /// Start of the playback, if recorded delays are kept.
    begun: Option<Instant>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Stream for PlaybackBody {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let (Some(begun), Some((at, _))) = (this.begun, this.pieces.front()) {
            let due = begun + Duration::from_millis(*at);
            let wait = this.wait.get_or_insert_with(|| Box::pin(sleep_until(due)));
            std::task::ready!(wait.as_mut().poll(cx));
            this.wait = None;
        }
        Poll::Ready(match (this.pieces.pop_front(), this.end) {
            (Some((_, bytes)), _) => Some(Ok(bytes)),
            (None, BodyEnd::Complete) => None,
            (None, _) => {
                this.end = BodyEnd::Complete;
                let message = "the recorded answer ends here, before it was complete";
                Some(Err(ModelError::new(ModelErrorKind::Cut, message).provider(&this.provider)))
            }
        })
    }
}
