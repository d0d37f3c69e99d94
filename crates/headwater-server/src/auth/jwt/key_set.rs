//! The keys of tokens, and how a published set of them stays current.
//!
//! A published set is fetched again while it is in use, so that a key that its issuer has removed is refused after at most the
//! set's maximum age. Half of that age is a margin: from then on a request starts a fetch in the background, and only a set that
//! is past its age makes requests wait for one.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use super::key::{self, Origin, VerificationKey};

/// The shortest time between two fetches, so that invented key ids do not cause one each.
const PAUSE: Duration = Duration::from_secs(60);

/// Default lifetime of a set, which its issuer or the settings may shorten.
const MAX_AGE: Duration = Duration::from_secs(10 * 60);

/// How long after its maximum age a set is still used while fetching fails.
const GRACE: Duration = Duration::from_secs(60 * 60);

/// A JSON Web Key Set as it is published.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PublishedKeys {
    /// The set.
    pub text: String,
    /// The lifetime allowed by its issuer, as in `Cache-Control: max-age`.
    pub max_age: Option<Duration>,
}

impl PublishedKeys {
    /// Sets the allowed lifetime; the settings may shorten it.
    #[must_use]
    pub fn max_age(mut self, age: Option<Duration>) -> Self {
        self.max_age = age;
        self
    }
}

impl From<String> for PublishedKeys {
    fn from(text: String) -> Self {
        Self { text, max_age: None }
    }
}

/// A fetch of a published set.
pub type KeyFetch = Pin<Box<dyn Future<Output = Result<PublishedKeys, Box<dyn Error + Send + Sync>>> + Send>>;

pub(super) struct KeySet {
    current: RwLock<Current>,
    source: Option<KeySource>,
}

#[derive(Clone)]
struct Current {
    keys: Arc<[VerificationKey]>,
    fetched: Instant,
    /// The lifetime allowed by the issuer.
    allowed: Option<Duration>,
}

struct KeySource {
    fetch: Box<dyn Fn() -> KeyFetch + Send + Sync>,
    max_age: Duration,
    /// When the last fetch started. Locked during a fetch, so that one fetch serves all requests that wait.
    started: Mutex<Option<Instant>>,
}

/// The set is too old to be trusted and cannot be fetched.
#[derive(Debug)]
pub(super) struct TooOld;

impl KeySet {
    pub(super) fn new(keys: Vec<VerificationKey>) -> Self {
        let current = Current { keys: keys.into(), fetched: Instant::now(), allowed: None };
        Self { current: RwLock::new(current), source: None }
    }

    pub(super) fn published(
        first: &PublishedKeys,
        fetch: impl Fn() -> KeyFetch + Send + Sync + 'static,
    ) -> Result<Self, key::KeyError> {
        let set = Self::new(key::set(&first.text, Origin::Published)?);
        set.replace(|current| current.allowed = first.max_age);
        let source = KeySource { fetch: Box::new(fetch), max_age: MAX_AGE, started: Mutex::default() };
        Ok(Self { source: Some(source), ..set })
    }

    pub(super) fn set_max_age(&mut self, age: Duration) {
        if let Some(source) = &mut self.source {
            source.max_age = age;
        }
    }

    pub(super) fn keys(&self) -> Arc<[VerificationKey]> {
        self.current().keys
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, change: impl FnOnce(&mut Current)) {
        change(&mut self.current.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Refreshes a published set before a token with this key id is verified.
    pub(super) async fn refresh(self: &Arc<Self>, kid: Option<&str>) -> Result<(), TooOld> {
        let Some(source) = &self.source else { return Ok(()) };
        let current = self.current();
        let max_age = source.max_age_of(&current);
        let age = current.fetched.elapsed();
        let unknown = kid.is_some_and(|kid| !current.has(kid));
        if age >= max_age || unknown {
            self.fetch(|current| {
                current.fetched.elapsed() < max_age && kid.is_none_or(|kid| current.has(kid))
            })
            .await;
        } else if age >= max_age / 2
            && source.started.try_lock().is_ok_and(|started| source.may_start(*started))
        {
            let set = self.clone();
            tokio::spawn(async move { set.fetch(|current| current.fetched.elapsed() < max_age / 2).await });
        }
        if self.current().fetched.elapsed() < max_age + GRACE { Ok(()) } else { Err(TooOld) }
    }

    /// Fetches the set, unless another request has just done it.
    async fn fetch(&self, is_enough: impl Fn(&Current) -> bool) {
        let Some(source) = &self.source else { return };
        let mut started = source.started.lock().await;
        if is_enough(&self.current()) || !source.may_start(*started) {
            return;
        }
        // Set before the answer: a request that is dropped while it waits has still caused a fetch.
        *started = Some(Instant::now());
        let read = match (source.fetch)().await {
            Ok(published) => key::set(&published.text, Origin::Published)
                .map(|keys| (keys, published.max_age))
                .map_err(Into::into),
            Err(error) => Err(error),
        };
        match read {
            Ok((keys, allowed)) => self.replace(|current| {
                *current = Current { keys: keys.into(), fetched: Instant::now(), allowed };
            }),
            Err(error) => {
                let age = self.current().fetched.elapsed().as_secs();
                tracing::warn!(?error, age, "cannot fetch the key set: the last one stays in use for now");
            }
        }
    }
}

impl Current {
    fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.is_named(kid))
    }
}

impl KeySource {
    fn pause(&self) -> Duration {
        PAUSE.min(self.max_age)
    }

    fn may_start(&self, last: Option<Instant>) -> bool {
        last.is_none_or(|last| last.elapsed() >= self.pause())
    }

    fn max_age_of(&self, current: &Current) -> Duration {
        // An issuer that forbids caching is fetched at the shortest allowed interval.
        current.allowed.map_or(self.max_age, |allowed| allowed.clamp(self.pause(), self.max_age))
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} keys)", self.keys().len())
    }
}
