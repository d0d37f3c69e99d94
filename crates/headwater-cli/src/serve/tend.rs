//! Looking after runs whose process died, at the start and ever after.

use std::time::Duration;

use headwater_runtime::{Agent, Tended};

/// Takes up what nobody drives.
pub(crate) async fn tend(agents: &[Agent]) {
    for agent in agents {
        match agent.tend().await {
            Ok(tended) => tell(agent, &tended),
            Err(error) => tracing::error!(agent = agent.name(), %error, "cannot look after the runs"),
        }
    }
}

/// How often to look: several times in a lease, so that a dead process is soon noticed.
pub(crate) fn period(lease: Duration) -> Duration {
    (lease / 6).clamp(Duration::from_millis(200), Duration::from_secs(5))
}

fn tell(agent: &Agent, tended: &Tended) {
    let agent = agent.name();
    for run in &tended.taken_over {
        tracing::info!(agent, %run, "took over a run whose process had died");
    }
    for run in &tended.answered {
        tracing::info!(agent, %run, "took up a run that had been answered");
    }
    for run in &tended.expired {
        tracing::info!(agent, %run, "gave up what a run had waited for too long");
    }
    for (run, why) in &tended.stuck {
        tracing::warn!(agent, %run, why, "a run cannot go on here");
    }
}
