//! The clocks of a store, replaceable in tests.
//!
//! There are two clocks. The wall clock gives the time of events; a person or NTP may set it at any moment.
//! The monotonic clock measures elapsed time in this process and is never set. Leases, which decide whether a
//! driver has died, use the monotonic clock alone, and retention never runs ahead of it.

use std::{
    fmt,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970 on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The time `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(duration)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// Milliseconds on a clock that is never set. Only differences within one process are meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Monotonic(pub u64);

impl Monotonic {
    /// The moment `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(duration)))
    }

    /// The time since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The clocks of a store.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The wall time. It may jump forward or back.
    fn now(&self) -> Time;

    /// A clock that only moves forward, at the same rate as the timers that renew leases.
    fn monotonic(&self) -> Monotonic;
}

/// The system's clocks.
///
/// The monotonic clock is that of [`Instant`], which tokio's timers use too. On Linux and macOS it stands
/// still while the machine is suspended: a lease and its renewal timer pause together, so that a suspended
/// machine does not wake up with every lease expired.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time(milliseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    fn monotonic(&self) -> Monotonic {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Monotonic(milliseconds(START.elapsed()))
    }
}

/// Clocks that only move when a test moves them.
///
/// ```
/// use std::time::Duration;
/// use headwater_store::{Clock, ManualClock, Monotonic, Time};
///
/// let clock = ManualClock::at(1_000);
/// clock.advance(Duration::from_secs(2));
/// assert_eq!((clock.now(), clock.monotonic()), (Time(3_000), Monotonic(2_000)));
///
/// clock.set_wall(Time(500));
/// assert_eq!((clock.now(), clock.monotonic()), (Time(500), Monotonic(2_000)));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    wall: AtomicU64,
    monotonic: AtomicU64,
}

impl ManualClock {
    /// Clocks with this wall time in milliseconds.
    #[must_use]
    pub const fn at(milliseconds: u64) -> Self {
        Self { wall: AtomicU64::new(milliseconds), monotonic: AtomicU64::new(0) }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, duration: Duration) {
        self.wall.fetch_add(milliseconds(duration), Ordering::SeqCst);
        self.monotonic.fetch_add(milliseconds(duration), Ordering::SeqCst);
    }

    /// Sets the wall clock, as a person or NTP does. No time passes.
    pub fn set_wall(&self, time: Time) {
        self.wall.store(time.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Monotonic {
        Monotonic(self.monotonic.load(Ordering::SeqCst))
    }
}

impl<T: Clock> Clock for Arc<T> {
    fn now(&self) -> Time {
        (**self).now()
    }

    fn monotonic(&self) -> Monotonic {
        (**self).monotonic()
    }
}

/// Expiry times of values and closed journals. While the store is open nothing expires early, whatever
/// happens to the wall clock.
///
/// Expiry is stored as wall time, so that it is meaningful after a restart. Deadlines use the later of wall
/// and monotonic time when set, and the earlier when checked, so a clock step can only delay expiry: at most
/// by the step, and until the store is reopened. Expired items stay expired when the clock is set back.
#[derive(Debug)]
pub(crate) struct Retention {
    clock: Arc<dyn Clock>,
    opened: (Time, Monotonic),
    latest: AtomicU64,
}

impl Retention {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let opened = (clock.now(), clock.monotonic());
        Self { clock, opened, latest: AtomicU64::new(0) }
    }

    fn passed(&self) -> Time {
        let (wall, monotonic) = self.opened;
        wall.after(self.clock.monotonic().since(monotonic))
    }

    /// The deadline of an item that is kept for this long.
    pub(crate) fn deadline(&self, keep: Duration) -> Time {
        self.clock.now().max(self.passed()).after(keep)
    }

    /// Items with this deadline or an earlier one have expired.
    pub(crate) fn now(&self) -> Time {
        let now = self.clock.now().min(self.passed());
        Time(self.latest.fetch_max(now.0, Ordering::SeqCst).max(now.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_expires_only_after_its_time() {
        let day = Duration::from_secs(86_400);
        for stepped in [day, Duration::from_secs(40), Duration::ZERO] {
            for (put, then) in [(1, 2), (2, 1), (0, 1), (1, 0), (0, 2), (2, 0)] {
                let clock = Arc::new(ManualClock::at(day.as_millis() as u64 * 9));
                let retention = Retention::new(clock.clone());
                let walls =
                    [Time(clock.now().0 - milliseconds(stepped)), clock.now(), clock.now().after(stepped)];
                clock.set_wall(walls[put]);
                let deadline = retention.deadline(Duration::from_secs(60));
                clock.set_wall(walls[then]);
                clock.advance(Duration::from_secs(59));
                assert!(retention.now() < deadline, "early: {stepped:?} {put} {then}");
                clock.set_wall(Time(u64::MAX / 2));
                clock.advance(Duration::from_secs(1));
                if put <= 1 {
                    assert!(retention.now() >= deadline, "late: {stepped:?} {put} {then}");
                }
            }
        }
    }
}
