//! Runs: starting, driving, answering, stopping, resuming and recovering them.
//!
//! [`Runs`] is the layer between the journals and the sessions. It accesses sessions only through
//! [`TurnHost`].

mod answer;
mod awaits;
mod begin;
mod drive;
mod drive_task;
mod events;
mod execute;
mod finish;
mod handle;
mod handover;
mod list;
mod notice;
mod recover;
mod registry;
mod resuming;
mod show;
mod snapshot;
mod start;
mod summary;
mod takeover;
mod trace;
mod turn;
mod unknown;
mod wake;
mod walk;
mod workflows;

use std::sync::{Arc, Weak};

use headwater_protocol::{Event, Message, RunId};

pub(crate) use awaits::awaits;
pub(crate) use begin::RunBeginning;
pub use events::lost_after;
pub(crate) use execute::{NodeOutcome, execute};
pub use handle::{Run, RunOutcome};
pub use list::{Owners, RunFilter, RunPage, RunPlace};
pub use notice::RunNotice;
pub use recover::RecoveryReport;
pub use registry::LocalRun;
pub(crate) use registry::{DriverSeat, RunRegistry, SETTLING};
pub(crate) use show::show;
pub use start::Start;
pub use summary::RunSummary;
pub(crate) use summary::Summaries;
pub(crate) use takeover::ResumeCause;
pub use trace::RunTrace;
pub(crate) use turn::{BegunTurn, HISTORY_GONE, TurnHost};
pub(crate) use unknown::unknown_run;
pub(crate) use walk::{Walk, WalkEnd};
pub(crate) use workflows::Workflows;

use crate::{
    Error, Result,
    environment::Environment,
    error::ErrorKind,
    journal::{Journals, RunSpec},
    node::{ActiveRun, NodeServices},
    question::Questions,
};

/// The runs of an agent.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) env: Arc<Environment>,
    pub(crate) journals: Journals,
    pub(crate) questions: Questions,
    pub(crate) summaries: Summaries,
    pub(crate) workflows: Workflows,
    pub(crate) services: Arc<NodeServices>,
    pub(crate) registry: RunRegistry,
    /// Weak, since the session layer holds this. Every caller holds the session layer too, and so does the
    /// task of a run.
    turns: Weak<dyn TurnHost>,
}

impl Runs {
    pub(crate) fn new(
        services: Arc<NodeServices>,
        workflows: Workflows,
        registry: RunRegistry,
        turns: Weak<dyn TurnHost>,
    ) -> Self {
        let env = services.env.clone();
        Self {
            journals: Journals::new(env.clone()),
            questions: services.questions.clone(),
            summaries: Summaries::new(env.clone()),
            env,
            workflows,
            services,
            registry,
            turns,
        }
    }

    /// A handle of a run by id. Does not check that it exists.
    pub(crate) fn handle(self: &Arc<Self>, run: impl Into<RunId>) -> Run {
        Run::new(run.into(), self.clone())
    }

    /// The conversation before a run, where its spec only says where that is.
    pub(crate) async fn prior_messages(&self, spec: &RunSpec) -> Result<Option<Vec<Message>>> {
        match &spec.history {
            Some(history) => self.turns()?.messages_of(history).await.map(Some),
            None => Ok(None),
        }
    }

    fn turns(&self) -> Result<Arc<dyn TurnHost>> {
        self.turns.upgrade().ok_or_else(|| Error::new(ErrorKind::Busy, "the agent was dropped"))
    }

    /// The event that announces the checkpoint of a run's turn to readers; `None` if the run is not a turn.
    async fn checkpoint_event(&self, run: &ActiveRun) -> Result<Option<Event>> {
        let Some(session) = run.spec.session_key() else { return Ok(None) };
        match self.registry.turn_of(&run.id) {
            Some(turn) => Ok(turn.checkpoint_event()),
            None => self.turns()?.checkpoint_event(&session, &run.id).await,
        }
    }
}
