//! The writer thread. While one fsync runs, the next commit gathers.

use std::{
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{EmbeddedState, core::Core};
use crate::{Error, Result};

/// How long the log must be idle before it is marked as durable to its end.
const IDLE: Duration = Duration::from_secs(1);

/// Starts the writer.
pub(super) fn start(shared: &Arc<EmbeddedState>) -> Result<thread::JoinHandle<()>> {
    let shared = shared.clone();
    thread::Builder::new()
        .name("headwater-store".to_owned())
        .spawn(move || run(&shared))
        .map_err(|error| Error::io("starting the store's writer", error))
}

fn run(shared: &EmbeddedState) {
    while !shared.quit.load(Ordering::SeqCst) {
        if wait_for_work(shared) {
            // A failure has stopped the store, and all waiting callers have the error.
            let _ = shared.commit();
        } else if let Err(cause) = maintain(shared) {
            shared.core().stop(cause);
        }
    }
    close(shared);
}

/// Waits until a commit should begin. `false` for housekeeping when there is nothing to write, or to stop.
fn wait_for_work(shared: &EmbeddedState) -> bool {
    let idle = {
        let log = shared.log();
        log.sync_after().or((!log.marked).then_some(IDLE))
    };
    let mut core = shared.core();
    let mut window_ends = None;
    loop {
        if shared.quit.load(Ordering::SeqCst) {
            return false;
        }
        let (some, urgent) = core.pending();
        if some && urgent {
            wait_for_gathering(shared, core);
            return true;
        }
        let timeout = if some {
            let ends = *window_ends.get_or_insert_with(|| Instant::now() + shared.options.delta_window);
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            Some(left)
        } else {
            idle
        };
        match timeout {
            None => core = shared.wake.wait(core).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let (back, result) =
                    shared.wake.wait_timeout(core, timeout).unwrap_or_else(PoisonError::into_inner);
                core = back;
                if result.timed_out() && !core.pending().0 {
                    return false;
                }
            }
        }
    }
}

/// Waits until the callers that are gathering changes have called all of them.
fn wait_for_gathering(shared: &EmbeddedState, mut core: MutexGuard<'_, Core>) {
    let ends = Instant::now() + shared.options.gather_window;
    loop {
        // Before the check: a release after the check finds it, and wakes the writer once it waits.
        shared.writer_waits.store(true, Ordering::SeqCst);
        let left = ends.saturating_duration_since(Instant::now());
        if shared.gathering.load(Ordering::SeqCst) == 0 || left.is_zero() {
            shared.writer_waits.store(false, Ordering::SeqCst);
            return;
        }
        core = shared.gathered.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn maintain(shared: &EmbeddedState) -> Result<()> {
    if shared.quit.load(Ordering::SeqCst) || shared.core().running().is_err() {
        return Ok(());
    }
    let mut log = shared.log();
    if log.sync_after().is_some() {
        return log.sync(shared.options.clock.monotonic());
    }
    log.mark()
}

/// Writes everything that is left and marks the log as complete.
fn close(shared: &EmbeddedState) {
    while let Ok(true) = shared.commit() {}
    if shared.core().running().is_err() {
        return;
    }
    let mut log = shared.log();
    let now = shared.options.clock.monotonic();
    // No caller is left; data that is not durable is found at the next open.
    let _ = log.sync(now).and_then(|()| log.mark()).and_then(|()| log.sync(now));
}
