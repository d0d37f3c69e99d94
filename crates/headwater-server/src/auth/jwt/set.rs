//! Keys that may be replaced by whoever publishes them.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use super::key::{self, Key};

/// How long a set is not fetched again: whoever invents names of keys must not make us ask for each.
const PAUSE: Duration = Duration::from_secs(60);

/// A JSON Web Key Set as it is published now.
pub type Fetched = Pin<Box<dyn Future<Output = Result<String, Box<dyn Error + Send + Sync>>> + Send>>;

/// Keys, and a way to get them anew.
pub(super) struct KeySet {
    keys: RwLock<Arc<[Key]>>,
    source: Option<Source>,
}

struct Source {
    fetch: Box<dyn Fn() -> Fetched + Send + Sync>,
    /// When it was asked last. Held while it is asked, so that it is asked once for all who wait.
    asked: Mutex<Option<Instant>>,
}

impl KeySet {
    pub(super) fn new(keys: Vec<Key>) -> Self {
        Self { keys: RwLock::new(keys.into()), source: None }
    }

    pub(super) fn fetched_by(self, fetch: impl Fn() -> Fetched + Send + Sync + 'static) -> Self {
        Self { source: Some(Source { fetch: Box::new(fetch), asked: Mutex::default() }), ..self }
    }

    /// The keys that are known now.
    pub(super) fn now(&self) -> Arc<[Key]> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gets the set anew if it has no key of this name, and was not fetched just now.
    pub(super) async fn look_for(&self, kid: &str) {
        let Some(source) = &self.source else { return };
        if self.has(kid) {
            return;
        }
        let mut asked = source.asked.lock().await;
        if self.has(kid) || asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return;
        }
        // Also if this is dropped before there is an answer.
        *asked = Some(Instant::now());
        let keys = match (source.fetch)().await {
            Ok(text) => key::set(&text).map_err(Into::into),
            Err(error) => Err(error),
        };
        match keys {
            Ok(keys) => *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys.into(),
            Err(error) => {
                tracing::warn!(%error, "the set of keys cannot be fetched: the one that is known stays");
            }
        }
    }

    fn has(&self, kid: &str) -> bool {
        self.now().iter().any(|key| key.is_named(kid))
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} keys)", self.now().len())
    }
}
