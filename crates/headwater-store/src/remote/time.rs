//! The engine's time, as this process knows it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use super::{EngineTime, Options};
use crate::{Clock, Monotonic, Time};

/// Estimates the engine's time between two answers of the engine, and measures leases on this process's own clock.
#[derive(Debug)]
pub(crate) struct EngineClock {
    clock: Arc<dyn Clock>,
    /// The engine's time minus this process's monotonic time.
    offset: AtomicI64,
    simulated: bool,
}

impl EngineClock {
    pub(crate) fn new(options: &Options) -> Self {
        let clock = options.clock.clone();
        // Stepping the wall clock later moves nothing: only the monotonic clock is read from here on.
        let offset = signed(clock.now().0).wrapping_sub(signed(clock.monotonic().0));
        let simulated = matches!(options.engine_time, EngineTime::Simulated);
        Self { clock, offset: AtomicI64::new(offset), simulated }
    }

    /// What the engine's clock says now, by its last answer.
    pub(crate) fn estimate(&self) -> Time {
        let now = signed(self.clock.monotonic().0).wrapping_add(self.offset.load(Ordering::Relaxed));
        Time(u64::try_from(now).unwrap_or(0))
    }

    /// Takes note of what the engine's clock said just now.
    pub(crate) fn observe(&self, now: u64) {
        if !self.simulated {
            let offset = signed(now).wrapping_sub(signed(self.clock.monotonic().0));
            self.offset.store(offset, Ordering::Relaxed);
        }
    }

    /// The time that the engine is to use instead of its own; `None` in production.
    pub(crate) fn simulated(&self) -> Option<u64> {
        self.simulated.then(|| self.estimate().0)
    }

    pub(crate) fn monotonic(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// A moment on the engine's clock as one on this process's, given what the engine's clock said just now.
    pub(crate) fn local(&self, moment: u64, engine_now: u64) -> Monotonic {
        self.monotonic().after(Duration::from_millis(moment.saturating_sub(engine_now)))
    }
}

fn signed(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}
