//! Calls to an engine that may be away for a while.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use super::{Answer, EngineFault};
use crate::{Error, ErrorKind, Result};

/// How long to pause before a call is repeated, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pauses between repeated calls. They differ between processes, so that those that lost the same engine do not all
/// reconnect at the same moment.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(FIRST_PAUSE)
    }

    pub(super) async fn pause(&mut self) {
        let jitter = u64::from(random_u64() as u8) * u64::try_from(self.0.as_micros()).unwrap_or(0) / 512;
        tokio::time::sleep(self.0 + Duration::from_micros(jitter)).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

/// Calls an engine, and again while it cannot be reached. The call is given how often it was made before.
///
/// # Errors
/// What the engine refuses; [`Unavailable`](ErrorKind::Unavailable) when it was away for longer than `patience`.
pub(super) async fn call<T, F>(patience: Duration, mut ask: impl FnMut(u32) -> F) -> Result<T>
where
    F: Future<Output = Answer<T>>,
{
    let begun = Instant::now();
    let mut backoff = Backoff::new();
    for repeated in 0.. {
        match ask(repeated).await {
            Ok(answer) => return Ok(answer),
            Err(EngineFault::Refused(error)) => return Err(error),
            Err(EngineFault::Unreachable(error)) if begun.elapsed() >= patience => {
                return Err(unavailable(&error, begun.elapsed()));
            }
            Err(EngineFault::Unreachable(_)) => backoff.pause().await,
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "the engine cannot be reached"))
}

fn unavailable(error: &Error, waited: Duration) -> Error {
    let message =
        format!("the store's engine cannot be reached for {} s: {error}; try again", waited.as_secs());
    Error::new(ErrorKind::Unavailable, message)
}

/// A number that no other call has.
pub(crate) fn random_u64() -> u64 {
    // A process without random numbers cannot make secrets either; the moment is good enough to tell two calls apart.
    getrandom::u64().unwrap_or_else(|_| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or(0)
    })
}
