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

/// How long a reader of a session waits at most for a turn that has sent its end to be put away.
pub(crate) const SETTLING: Duration = Duration::from_secs(1);

/// The runs that this process drives, by their names.
#[derive(Debug, Default)]
pub(crate) struct Drivers {
    pub(crate) all: HashMap<RunId, DriverEntry>,
    /// The runs of the agent that wait for an answer, as far as it is known here.
    pub(super) waiting: HashSet<RunId>,
    /// The count of them that is under way.
    pub(super) counting: WaitingCount,
    /// Whether a task watches the inboxes of the runs.
    pub(super) watching: bool,
    /// Whether new runs, and runs that are resumed, are left to other processes.
    pub(crate) draining: bool,
    /// Whether nothing is driven here any more.
    pub(crate) closed: bool,
    /// Tells when the last run is no longer driven here.
    idle: Arc<Notify>,
}

/// A count of the runs that wait, page by page of the open questions.
#[derive(Debug, Default)]
pub(crate) struct WaitingCount {
    /// The last key of the page before; the count begins anew without one.
    after: Option<String>,
    /// The runs that were found so far, and those that have begun to wait here meanwhile.
    pub(super) runs: HashSet<RunId>,
}

impl Drivers {
    /// How far the runs that wait are counted.
    pub(super) fn counted_to(&self) -> Option<String> {
        self.counting.after.clone()
    }

    /// Counts the runs of a page. Returns how many wait, if that was the last page.
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
    /// The turn of a session that the run is, if this process has begun it.
    turn: Option<Arc<dyn BegunTurn>>,
    /// Tells when the run is no longer driven here.
    left: Arc<Notify>,
    pub(super) since: Instant,
}

/// The place of a run among the drivers of this process. It is taken before the run's lease is claimed and given back
/// when the lease is, so that a process never drives a run twice and never takes over a run from itself, whatever the
/// store says about the lease.
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
    /// How many runs are driven here.
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
    /// The id that `Agent::run` takes.
    pub run: RunId,
    /// Whose it is.
    pub owner: Option<String>,
    /// For how long it has been driven here, since it was begun or last resumed.
    pub active: Duration,
}

/// The runs that this process drives. Cheap to clone; all clones are one. An agent that is read again from its file shares the
/// registry of the one before it, so that a run can be woken and stopped through either.
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

    /// Whether this process drives a run that has sent its end or its wait, and writes what the run leaves.
    pub(crate) fn is_settling(&self, run: &RunId) -> bool {
        let driven = self.lock().all.get(run).and_then(|driver| driver.run.upgrade());
        driven.is_some_and(|run| !run.phase.is_driven())
    }

    /// Waits until a run is no longer driven here, for a while.
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

    /// From here on the journal says how far the run is.
    pub(crate) fn forget_turn(&self, run: &RunId) {
        self.set_turn(run, None);
    }

    /// The newest snapshot of a run that this process drives.
    pub(super) fn snapshot_of(&self, run: &RunId) -> Option<u64> {
        let run = self.lock().all.get(run)?.run.upgrade()?;
        Some(run.journal.last_snapshot())
    }

    /// Takes the place of a run among the drivers; nothing if it is taken.
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

    /// Those of them that have neither ended nor wait.
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
