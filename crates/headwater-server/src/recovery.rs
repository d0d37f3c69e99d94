//! Recovers runs in the background: runs that lost their driver, were answered, or waited too long.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use headwater_runtime::{Agent, RecoveryReport};

use crate::{Agents, Limits, Server, options::Recovery, server::WeakServer, webhook_delivery};

impl Server {
    /// Recovers runs once: takes over runs whose process died, resumes answered runs, and closes expired
    /// questions. [`Server::router`] does so at an interval.
    pub async fn recover(&self) {
        if let Err(error) = self.members().renew(&self.stores()).await {
            tracing::debug!(%error, "cannot count the servers that share the store");
        }
        recover(self.agents(), &self.options().limits).await;
    }

    /// Recovers runs in the background, until the server is dropped.
    pub(crate) fn ensure_recovering(&self) {
        if self.options().recovery != Recovery::Off {
            self.recovery_task().ensure_started(|| keep_recovering(self.downgrade()));
        }
        if self.options().webhooks.is_some() {
            self.webhook_task().ensure_started(|| webhook_delivery::keep_delivering(self.downgrade()));
        }
    }
}

/// Holds the server only while it looks, so that it is dropped with its routes.
async fn keep_recovering(server: WeakServer) {
    loop {
        let (pause, handovers) = {
            let Some(server) = server.upgrade().filter(|server| !server.is_leaving()) else {
                return;
            };
            // Watch before reading: a run that is handed over during the read wakes this server again.
            let handovers = watch_handovers(server.agents());
            server.recover().await;
            (interval(server.options().recovery, server.agents()), handovers)
        };
        tokio::select! {
            () = tokio::time::sleep(jittered(pause)) => {}
            () = handovers => {}
        }
    }
}

/// Waits until a server that shares a store with these agents hands its runs over.
fn watch_handovers(agents: &Agents) -> impl Future<Output = ()> + use<> {
    let mut stores = Vec::new();
    let mut watches = Vec::new();
    for agent in agents.all() {
        if !stores.iter().any(|store| Arc::ptr_eq(store, agent.store())) {
            stores.push(agent.store().clone());
            watches.push(agent.watch_handovers());
        }
    }
    async move {
        let changes = watches.iter_mut().map(|watch| Box::pin(watch.changed()));
        let mut changes: FuturesUnordered<_> = changes.collect();
        if changes.next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// A random pause between three quarters and five quarters of the given one, so that servers started together
/// do not poll at the same time.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1_000;
    pause * 3 / 4 + pause * u32::try_from(random).unwrap_or_default() / 2_000
}

fn interval(recovery: Recovery, agents: &Agents) -> Duration {
    let lease = agents.all().iter().map(Agent::lease).min().unwrap_or(Duration::from_secs(30));
    match recovery {
        Recovery::Every(interval) => interval,
        Recovery::Automatic | Recovery::Off => {
            (lease / 6).clamp(Duration::from_millis(200), Duration::from_secs(5))
        }
    }
}

/// Recovers the runs of agents once. No more are taken over than the server may have active.
async fn recover(agents: &Agents, limits: &Limits) {
    for agent in agents.all() {
        let active: usize = agents.all().iter().map(Agent::driving).sum();
        match agent.recover_within(limits.active_runs.saturating_sub(active)).await {
            Ok(report) => log(&agent, &report),
            Err(error) => {
                tracing::error!(agent = agent.name(), error = ?error.message(), "cannot recover runs");
            }
        }
    }
}

fn log(agent: &Agent, report: &RecoveryReport) {
    let agent = agent.name();
    for run in &report.taken_over {
        tracing::info!(agent, %run, "took over a run whose process had died");
    }
    for run in &report.answered {
        tracing::info!(agent, %run, "resumed a run that had been answered");
    }
    for run in &report.expired {
        tracing::info!(agent, %run, "a question of a run expired");
    }
    // Runs that cannot continue were logged once, when that was found.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_and_stay_near_the_interval() {
        let pause = Duration::from_secs(4);
        let pauses: Vec<_> = (0..50).map(|_| jittered(pause)).collect();
        assert!(pauses.iter().all(|it| (pause * 3 / 4..=pause * 5 / 4).contains(it)), "{pauses:?}");
        assert!(pauses.iter().any(|it| *it != pauses[0]));
    }
}
