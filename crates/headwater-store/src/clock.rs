//! The time, so that tests can set it.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970, as the store's clock tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The time that is `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// Tells the time to a store.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Time;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that moves only when it is told to.
///
/// ```
/// use std::time::Duration;
/// use headwater_store::{Clock, ManualClock, Time};
///
/// let clock = ManualClock::at(1_000);
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(clock.now(), Time(3_000));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at so many milliseconds.
    #[must_use]
    pub const fn at(milliseconds: u64) -> Self {
        Self(AtomicU64::new(milliseconds))
    }

    /// Moves the clock on.
    pub fn advance(&self, duration: Duration) {
        self.0.fetch_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

impl<T: Clock> Clock for std::sync::Arc<T> {
    fn now(&self) -> Time {
        (**self).now()
    }
}
