//! Recovering runs in the background: those whose process died, that were answered meanwhile, or that waited too long.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use headwater_runtime::{Agent, Tended};
use tokio::{runtime::Handle, task::JoinHandle};

use crate::{Agents, Limits, Server, server::WeakServer};

/// How often a server recovers the runs of its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Recovery {
    /// Several times within the lease of its agents, so that a dead process is noticed soon.
    #[default]
    Automatic,
    /// At this interval.
    Every(Duration),
    /// Never. Another process does it, or the application calls [`Server::recover`] itself.
    Off,
}

/// The task that recovers runs, from the first use of a server's routes until the server is dropped.
#[derive(Debug, Default)]
pub(crate) struct Recovering(Mutex<Option<JoinHandle<()>>>);

impl Recovering {
    /// Starts the task, once, if there is a runtime to run it.
    pub(crate) fn ensure_started(&self, server: &Server) {
        if server.options().recovery == Recovery::Off {
            return;
        }
        let mut task = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            *task = Some(runtime.spawn(keep_recovering(server.downgrade())));
        }
    }
}

impl Drop for Recovering {
    fn drop(&mut self) {
        let task = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
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
            // Watched first: what is handed over while this server looks wakes it again.
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

/// A pause between three quarters and five quarters of the given one, so that servers that were started together do not look
/// at the same moment.
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
pub(crate) async fn recover(agents: &Agents, limits: &Limits) {
    for agent in agents.all() {
        let active: usize = agents.all().iter().map(Agent::driving).sum();
        match agent.tend_within(limits.active_runs.saturating_sub(active)).await {
            Ok(tended) => log(&agent, &tended),
            Err(error) => {
                tracing::error!(agent = agent.name(), error = ?error.message(), "cannot recover runs");
            }
        }
    }
}

fn log(agent: &Agent, tended: &Tended) {
    let agent = agent.name();
    for run in &tended.taken_over {
        tracing::info!(agent, %run, "took over a run whose process had died");
    }
    for run in &tended.answered {
        tracing::info!(agent, %run, "resumed a run that had been answered");
    }
    for run in &tended.expired {
        tracing::info!(agent, %run, "gave up what a run had waited for too long");
    }
    // What cannot go on was logged once, when that was found out.
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
