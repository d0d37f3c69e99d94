//! Recovering runs without a driver, and handing own runs over to other processes.

use headwater_store::Watch;

use super::Agent;
use crate::{RecoveryReport, Result, keys::HANDOVERS};

impl Agent {
    /// Takes over the runs whose process died and those with an answer in their inbox, expires requests, and
    /// removes data whose retention is over. Call it when a process starts, and every few seconds.
    ///
    /// A run or a session that cannot be read or driven is skipped: it is logged once, left alone for a
    /// minute, and blocks neither recovery of the others nor retention.
    ///
    /// # Errors
    /// When the store as a whole fails. All steps are still tried.
    pub async fn recover(&self) -> Result<RecoveryReport> {
        self.recover_within(usize::MAX).await
    }

    /// As [`Agent::recover`], but takes over at most `room` runs whose process died: the rest is left to
    /// other processes, or to the next call.
    ///
    /// # Errors
    /// As [`Agent::recover`].
    pub async fn recover_within(&self, room: usize) -> Result<RecoveryReport> {
        let runs = &self.runs;
        let mut report = RecoveryReport::default();
        let steps = [
            runs.recover_expired(&mut report, room).await,
            runs.recover_addressed(&mut report).await,
            runs.expire_due(&mut report).await,
            runs.count_waiting().await,
            self.sessions.recover_all().await,
            self.env().store.sweep().await.map(drop).map_err(Into::into),
        ];
        steps.into_iter().collect::<Result<()>>().map(|()| report)
    }

    /// Drives no further runs: new ones are refused, and runs that are answered or whose process died are
    /// left to other processes. Runs active here continue.
    pub fn drain(&self) {
        self.runs.registry.lock().draining = true;
    }

    /// Stops driving, and lets the leases of the active runs expire now, so that another process takes them
    /// over at once. Returns how many were handed over.
    ///
    /// Running models and tools are dropped. Their unfinished work is repeated or not, as after a crash.
    pub async fn hand_over(&self) -> usize {
        self.runs.hand_over().await
    }

    /// Wakes when another process has handed its runs over. [`Agent::recover`] takes them over then.
    #[must_use]
    pub fn watch_handovers(&self) -> Watch {
        self.env().store.watch(HANDOVERS)
    }

    /// Stops driving, as if the process had died: the journals stay as they are, and the process that
    /// [recovers](Agent::recover) next takes the runs over when the leases have expired.
    pub fn abandon(&self) {
        let mut drivers = self.runs.registry.lock();
        drivers.closed = true;
        for driver in drivers.all.drain().filter_map(|(_, driver)| driver.task) {
            driver.abort();
        }
    }
}
