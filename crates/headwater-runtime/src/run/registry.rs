//! The runs that this process drives.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use headwater_protocol::{RunId, RunStatus};
use tokio::{sync::Notify, task::AbortHandle, time::Instant};

use super::{resuming::ResumingRuns, turn::BegunTurn};
use crate::{Error, Result, error::ErrorKind, node::ActiveRun};

/// How long a reader of a session waits at most for the cleanup of a turn that has sent its end.
pub(crate) const SETTLING: Duration = Duration::from_secs(1);

/// The runs driven by this process, by id.
#[derive(Debug, Default)]
pub(crate) struct Drivers {
    pub(crate) all: HashMap<RunId, DriverEntry>,
    /// The agent's waiting runs, as far as known here.
    pub(super) waiting: HashSet<RunId>,
    /// The count of waiting runs in progress.
    pub(super) counting: WaitingCount,
    /// Whether a task watches the inboxes of the runs.
    pub(super) watching: bool,
    /// Whether new and resumed runs are left to other processes.
    pub(crate) draining: bool,
    /// Whether this process has stopped driving runs.
    pub(crate) closed: bool,
    /// Notified when the last run is no longer driven here.
    idle: Arc<Notify>,
}

/// A count of waiting runs, page by page of the open requests.
#[derive(Debug, Default)]
pub(crate) struct WaitingCount {
    /// The last key of the previous page; `None` restarts the count.
    after: Option<String>,
    /// The runs found so far, and those that have started to wait here since.
    pub(super) runs: HashSet<RunId>,
}

impl Drivers {
    /// The position of the count.
    pub(super) fn counted_to(&self) -> Option<String> {
        self.counting.after.clone()
    }

    /// Counts the runs of a page. Returns the number of waiting runs after the last page.
    pub(super) fn count_waiting(
        &mut self,
        runs: impl Iterator<Item = RunId>,
        next: Option<String>,
    ) -> Option<usize> {
        let (counting, all) = (&mut self.counting, &self.all);
        counting.runs.extend(runs.filter(|run| !all.contains_key(run)));
        counting.after = next;
        if counting.after.is_some() {
            return None;
        }
        self.waiting = std::mem::take(&mut counting.runs);
        Some(self.waiting.len())
    }
}

#[derive(Debug)]
pub(crate) struct DriverEntry {
    wake: Arc<Notify>,
    pub(crate) task: Option<AbortHandle>,
    pub(crate) run: Weak<ActiveRun>,
    /// The session's turn, if this process has started it.
    turn: Option<Arc<dyn BegunTurn>>,
    /// Notified when the run is no longer driven here.
    left: Arc<Notify>,
    pub(super) since: Instant,
}

/// The place of a run among the drivers of this process. It is taken before the run's lease is claimed and
/// released with the lease, so that a process never drives a run twice and never takes over a run from
/// itself, whatever the store reports about the lease.
#[derive(Debug)]
pub(crate) struct DriverSeat {
    drivers: Arc<Mutex<Drivers>>,
    pub(super) run: RunId,
    pub(super) wake: Arc<Notify>,
}

impl Drop for DriverSeat {
    fn drop(&mut self) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = drivers.all.remove(&self.run) {
            driver.left.notify_waiters();
        }
        if drivers.is_empty() {
            drivers.idle.notify_waiters();
        }
    }
}

impl Drivers {
    /// Number of runs driven here.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// A run that is active in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalRun {
    /// Its id, the argument of `Agent::run`.
    pub run: RunId,
    /// Its owner.
    pub owner: Option<String>,
    /// How long it has been driven here, since it was started or last resumed.
    pub active: Duration,
}

/// The runs driven by this process. Cheap to clone; clones share state. An agent reloaded from its file
/// shares the registry of its predecessor, so that either can wake and stop a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunRegistry {
    drivers: Arc<Mutex<Drivers>>,
    pub(crate) resuming: ResumingRuns,
}

impl RunRegistry {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Drivers> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the driver of a run, if it is in this process.
    pub(crate) fn wake(&self, run: &RunId) -> bool {
        match self.lock().all.get(run) {
            Some(driver) => {
                driver.wake.notify_one();
                true
            }
            None => false,
        }
    }

    /// Whether this process drives a run, or is about to.
    pub(crate) fn drives(&self, run: &RunId) -> bool {
        self.lock().all.contains_key(run)
    }

    /// Whether this process drives a run that has sent its end or its wait, and is writing the remaining
    /// data.
    pub(crate) fn is_settling(&self, run: &RunId) -> bool {
        let driven = self.lock().all.get(run).and_then(|driver| driver.run.upgrade());
        driven.is_some_and(|run| !run.phase.is_driven())
    }

    /// Waits until a run is no longer driven here, for at most [`SETTLING`].
    pub(crate) async fn wait_until_settled(&self, run: &RunId) {
        let Some(left) = self.lock().all.get(run).map(|driver| driver.left.clone()) else { return };
        let mut left = std::pin::pin!(left.notified());
        left.as_mut().enable();
        if self.drives(run) {
            let _ = tokio::time::timeout(SETTLING, left).await;
        }
    }

    /// Waits until no run is driven here.
    pub(crate) async fn idle(&self) {
        let idle = self.lock().idle.clone();
        loop {
            let mut left = std::pin::pin!(idle.notified());
            left.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            left.await;
        }
    }

    /// The turn that a run is, if this process has begun it.
    pub(crate) fn turn_of(&self, run: &RunId) -> Option<Arc<dyn BegunTurn>> {
        self.lock().all.get(run)?.turn.clone()
    }

    pub(super) fn set_turn(&self, run: &RunId, turn: Option<Arc<dyn BegunTurn>>) {
        if let Some(driver) = self.lock().all.get_mut(run) {
            driver.turn = turn;
        }
    }

    /// From here on the journal holds the progress of the run.
    pub(crate) fn forget_turn(&self, run: &RunId) {
        self.set_turn(run, None);
    }

    /// The newest snapshot of a run that this process drives.
    pub(super) fn snapshot_of(&self, run: &RunId) -> Option<u64> {
        let run = self.lock().all.get(run)?.run.upgrade()?;
        Some(run.journal.last_snapshot())
    }

    /// Takes a run's place among the drivers; `None` if it is taken.
    pub(crate) fn seat(&self, run: &RunId) -> Result<Option<DriverSeat>> {
        let mut drivers = self.lock();
        if drivers.all.contains_key(run) {
            return Ok(None);
        }
        if drivers.closed || drivers.draining {
            let message = format!("run {run} is not driven here: this process is stopping");
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let wake = Arc::new(Notify::new());
        let driver = DriverEntry {
            wake: wake.clone(),
            task: None,
            run: Weak::new(),
            turn: None,
            left: Arc::default(),
            since: Instant::now(),
        };
        drivers.all.insert(run.clone(), driver);
        Ok(Some(DriverSeat { drivers: self.drivers.clone(), run: run.clone(), wake }))
    }

    /// The runs that this process drives.
    pub(crate) fn active(&self) -> Vec<Arc<ActiveRun>> {
        self.lock().all.values().filter_map(|driver| driver.run.upgrade()).collect()
    }

    /// The driven runs that have neither ended nor wait.
    pub(crate) fn local_runs(&self) -> Vec<LocalRun> {
        let drivers = self.lock();
        let active = drivers.all.values().filter_map(|driver| {
            let run = driver.run.upgrade()?;
            let runs = run.journal.with_state(|state| state.run().status == RunStatus::Running);
            let (owner, active) = (run.spec.owner.clone(), driver.since.elapsed());
            runs.then(|| LocalRun { run: run.id.clone(), owner, active })
        });
        active.collect()
    }
}
