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

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// How long it is repeated.
    pub(super) patience: Duration,
    /// How much longer the last attempt may take. Attempts wait for a connection behind those of other calls, so their
    /// own limits do not add up to one of the call.
    pub(super) attempt: Duration,
}

impl CallLimits {
    pub(super) fn longest(self) -> Duration {
        self.patience.saturating_add(self.attempt)
    }
}

/// Calls an engine, and again while it cannot be reached. The call is given how often it was made before.
///
/// # Errors
/// What the engine refuses; [`Unavailable`](ErrorKind::Unavailable) when it was away for longer than these limits.
pub(super) async fn call<T, F>(limits: CallLimits, mut ask: impl FnMut(u32) -> F) -> Result<T>
where
    F: Future<Output = Answer<T>>,
{
    let begun = Instant::now();
    let mut last = Error::new(ErrorKind::Unavailable, "it does not answer");
    let calls = async {
        let mut backoff = Backoff::new();
        for repeated in 0.. {
            match ask(repeated).await {
                Ok(answer) => return Ok(answer),
                Err(EngineFault::Refused(error)) => return Err(error),
                Err(EngineFault::Unreachable(error)) => last = error,
            }
            if begun.elapsed() >= limits.patience {
                break;
            }
            backoff.pause().await;
        }
        Err(unavailable(&last, begun.elapsed()))
    };
    let called = tokio::time::timeout(limits.longest(), calls).await;
    called.unwrap_or_else(|_| Err(unavailable(&last, begun.elapsed())))
}

pub(super) fn unavailable(error: &Error, waited: Duration) -> Error {
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
