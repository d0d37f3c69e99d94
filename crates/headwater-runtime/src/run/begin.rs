//! Starting a run: its journal, its first records, its summary, and the task that drives it.

use std::sync::Arc;

use headwater_protocol::{Event, Message, MessageStarted, Role, RunId, RunStarted, StructuredInvalidated};
use headwater_store::{Lease, Receipt, together};

use super::{Run, Runs, registry::DriverSeat, start::Start, turn::BegunTurn, walk::Walk};
use crate::{
    Error, Result, Workflow,
    error::ErrorKind,
    id::fresh_run,
    journal::{Effect, Fold, RecordedWalk, RunSpec, run_exists},
    node::ActiveRun,
};

/// What a run begins with.
#[derive(Debug)]
pub(crate) struct RunBeginning {
    pub(crate) spec: RunSpec,
    /// The conversation before it, where the spec only says where that is.
    pub(crate) prior: Option<Vec<Message>>,
}

impl From<RunSpec> for RunBeginning {
    fn from(spec: RunSpec) -> Self {
        Self { spec, prior: None }
    }
}

impl Runs {
    /// Starts a run. It is durable when this returns, and continues by itself.
    pub(crate) async fn start(self: &Arc<Self>, start: Start) -> Result<Run> {
        let workflow = self.workflows.choose(start.workflow.as_deref())?;
        start.check(&self.env.options)?;
        let run = match start.run {
            Some(run) => run,
            None => fresh_run()?,
        };
        let mut spec = start.spec;
        workflow.id().clone_into(&mut spec.workflow);
        workflow.version().clone_into(&mut spec.version);
        spec.agent.clone_from(&self.env.agent);
        spec.created = self.env.now();
        self.begin(run.clone(), spec.into()).await?;
        Ok(self.handle(run))
    }

    /// Begins a run: it is durable when this returns.
    pub(crate) async fn begin(self: &Arc<Self>, run: RunId, beginning: RunBeginning) -> Result<()> {
        self.workflows.version(&beginning.spec.workflow, &beginning.spec.version)?;
        let Some(seat) = self.registry.seat(&run)? else { return Err(run_exists(&run)) };
        let lease = self.journals.create(&run).await?;
        self.begin_in(seat, lease, beginning, None).await
    }

    /// Starts a run in a prepared journal, as the turn of a session whose head already names it.
    pub(crate) async fn begin_in(
        self: &Arc<Self>,
        seat: DriverSeat,
        lease: Lease,
        RunBeginning { spec, prior }: RunBeginning,
        turn: Option<Arc<dyn BegunTurn>>,
    ) -> Result<()> {
        let workflow = self.workflows.version(&spec.workflow, &spec.version)?;
        let journal = self.journals.writer(lease.clone(), Fold::default());
        let shared = ActiveRun::new(seat.run.clone(), self.services.clone(), spec.into(), journal);
        let shared = Arc::new(shared.with_prior(prior));
        if let Err(error) = together(&*self.env.store, self.write_beginning(&shared, &workflow)).await {
            if error.kind() == ErrorKind::TooLarge {
                // It can never start.
                let _ = self.journals.discard(&lease).await;
            }
            return Err(error);
        }
        if turn.is_some() {
            self.registry.set_turn(&seat.run, turn);
        }
        let walk = Walk::new(workflow, shared.spec.input.clone(), &shared.spec.data);
        self.spawn(seat, shared, walk, RecordedWalk::default(), false);
        Ok(())
    }

    async fn write_beginning(&self, shared: &ActiveRun, workflow: &Workflow) -> Result<()> {
        let spec = &shared.spec;
        let started = RunStarted {
            run: Some(shared.id.clone()),
            session: spec.session.clone(),
            workflow: Some(spec.workflow.clone()),
            model: self.answering_model(workflow),
            ..RunStarted::default()
        };
        let effect = Effect::Begun(Box::new(RunSpec::clone(spec)));
        drop(shared.journal.effect_with_event(effect, &shared.origin(), Event::RunStarted(started))?);
        let mut last = begin_message(shared)?;
        for gone in &spec.invalidated {
            let (stream, checkpoint) = (gone.stream.clone(), gone.checkpoint.clone());
            last = shared.append(Event::StructuredInvalidated(StructuredInvalidated {
                stream,
                checkpoint,
                ..Default::default()
            }))?;
        }
        // All writes in one commit.
        let last = async { last.await.map_err(Error::from) };
        futures_util::try_join!(self.summaries.record_running(shared), last).map(drop)
    }

    /// The name of the model that answers in a workflow, if it is known before a call: the workflow's model,
    /// or the agent's only one.
    pub(crate) fn answering_model(&self, workflow: &Workflow) -> Option<String> {
        match &workflow.graph().model {
            Some(model) => Some(model.resolve(&self.services.models).ok()?.name().to_owned()),
            None => self.services.models.only(),
        }
    }
}

/// Appends the event that starts the run's message.
pub(super) fn begin_message(shared: &ActiveRun) -> Result<Receipt> {
    let (message, role) = (shared.message.clone(), Role::Assistant);
    shared.append(Event::MessageStarted(MessageStarted { message, role, ..Default::default() }))
}
