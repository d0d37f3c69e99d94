//! Recovering runs in the background: those whose process died, that were answered meanwhile, or that waited too long.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use headwater_runtime::{Agent, Tended};
use tokio::{runtime::Handle, task::JoinHandle};

use crate::{Agents, Server, server::WeakServer};

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
        let pause = {
            let Some(server) = server.upgrade().filter(|server| !server.is_leaving()) else {
                return;
            };
            server.recover().await;
            interval(server.options().recovery, server.agents())
        };
        tokio::time::sleep(pause).await;
    }
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

/// Recovers the runs of agents once.
pub(crate) async fn recover(agents: &Agents) {
    for agent in agents.all() {
        match agent.tend().await {
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
