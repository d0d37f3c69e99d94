//! Replays a recorded run with the current code, using its journal, and reports the first difference.
//!
//! Nothing happens outside: no model, tool or person is called, and the run's journal is only read. Writes of
//! nodes go to a temporary store in memory.

use std::{collections::HashMap, sync::Arc};

use headwater_protocol::{ErrorInfo, Event, RunFinished, RunId};
use headwater_store::{JournalId, Memory, Store};
use serde_json::{Value, json};

use crate::{
    Agent, Error, Result,
    error::ErrorKind,
    id::fresh_id,
    journal::{FoldReader, Journal, NodeExit, Visit, WalkStep},
    node::{ActiveRun, Divergence, DivergenceKind, NodeServices, NodeVisit, Rehearsal},
    question::Questions,
    run::{NodeOutcome, Walk, WalkEnd, Workflows, execute, show},
};

/// Report of a replay.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The replayed run. Its journal is not changed.
    pub run: RunId,
    /// Number of node visits run again.
    pub visits: usize,
    /// Number of hooks answered from the journal.
    pub hooks: usize,
    /// The first difference between the current code and the journal.
    pub divergence: Option<Divergence>,
}

impl ReplayReport {
    /// Whether the current code matches the journal.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.divergence.is_none()
    }
}

/// Replays a recorded run with the agent's current workflows, and reports the first difference.
///
/// The newest version of a workflow is used, whatever version the run started with. A run that waits, was
/// stopped or was cut is followed to the end of its journal.
///
/// ```
/// use std::sync::Arc;
/// use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Start, Workflow, replay};
/// use headwater_store::Memory;
///
/// async fn greet(_cx: Cx, name: String) -> NodeResult {
///     Ok(Next::message(format!("Hello {name}!")))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
/// let agent = Agent::builder().workflow(hello).store(Arc::new(Memory::new())).build()?;
/// let run = agent.start(Start::new("world")).await?;
/// run.outcome().await?;
///
/// let replayed = replay(&agent, run.id().clone()).await?;
/// assert!(replayed.is_same(), "{:?}", replayed.divergence);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When there is no such run, it belongs to another agent, the agent lacks one of its workflows, or the store
/// fails.
pub async fn replay(agent: &Agent, run: impl Into<RunId>) -> Result<ReplayReport> {
    let run = run.into();
    let recorded = agent.run(run.clone()).recorded().await?;
    let end = recorded.into_iter().rev().find(|event| event.kind().ends_run());
    let mut fold = FoldReader::read_whole(&**agent.store(), &JournalId::from(run.as_str())).await?;
    let spec = fold.spec(run.as_str())?;
    if spec.agent != agent.name() {
        let message = format!("run {run} belongs to agent `{}`, this is `{}`", spec.agent, agent.name());
        return Err(Error::new(ErrorKind::Foreign, message));
    }
    let mut versions: Vec<String> = fold.workflows().into_iter().map(str::to_owned).collect();
    versions.push(format!("{}@{}", spec.workflow, spec.version));
    let store = Arc::new(Memory::new());
    let workflows = agent.runs.workflows.as_versions(&versions)?;
    let env = Arc::new(agent.env().on_store(store.clone(), fresh_id("replay")?));
    let services = Arc::new(NodeServices {
        models: agent.runs.services.models.without_keys(),
        tools: agent.runs.services.tools.clone(),
        questions: Questions::new(env.clone()),
        env: env.clone(),
    });
    let workflow = workflows.version(&spec.workflow, &spec.version)?;
    let walk = Walk::new(workflow, spec.input.clone(), &spec.data);
    let recorded = std::mem::take(&mut fold.walk.steps);
    let rehearsal = Rehearsal::new(&recorded);
    let lease = store.claim(&run.as_str().into(), &env.process, env.options.lease).await?;
    let hooks = fold.hooks.len();
    // The replay writes to its own journal.
    (fold.bytes, fold.tail_bytes) = (0, 0);
    let journal = Journal::new(store, lease, fold, u64::MAX);
    let prior = agent.runs.prior_messages(&spec).await?;
    let shared = ActiveRun::new(run.clone(), services, spec, journal);
    let shared = shared.with_prior(prior).rehearsing(rehearsal);
    let mut replay = Replay { run: Arc::new(shared), workflows, walk, open: HashMap::new(), visits: 0 };
    let divergence = replay.follow(recorded, end).await?;
    Ok(ReplayReport { run, visits: replay.visits, hooks, divergence })
}

struct Replay {
    run: Arc<ActiveRun>,
    workflows: Workflows,
    walk: Walk,
    /// The visits that have started and not finished.
    open: HashMap<Visit, (Arc<NodeVisit>, NodeOutcome)>,
    visits: usize,
}

impl Replay {
    /// Follows the recorded steps, and runs every node on the way. The order is the journal's, so that each
    /// node gets the recorded state.
    async fn follow(&mut self, recorded: Vec<WalkStep>, end: Option<Event>) -> Result<Option<Divergence>> {
        for walked in recorded {
            let divergence = match walked {
                WalkStep::Entered(visit) => self.enter(visit).await?,
                WalkStep::Failed(_) => None,
                WalkStep::Left(left) => self.leave(&left)?,
            };
            if divergence.is_some() {
                return Ok(divergence);
            }
        }
        Ok(self.end(end.as_ref()))
    }

    async fn enter(&mut self, visit: Visit) -> Result<Option<Divergence>> {
        if self.walk.is_over()
            && let Some(divergence) = self.transit(&visit)?
        {
            return Ok(Some(divergence));
        }
        let wanted = self.walk.next_visit().map(|next| next.to_string());
        let elsewhere = || {
            let recorded = Some(Value::from(visit.to_string()));
            Divergence::new(
                DivergenceKind::Path,
                &visit.to_string(),
                recorded,
                wanted.clone().map(Value::from),
            )
        };
        let Ok(entry) = self.walk.enter(&visit) else { return Ok(Some(elsewhere())) };
        let Some(node) = self.walk.workflow().graph().nodes.get(&visit.node) else {
            return Ok(Some(elsewhere()));
        };
        let (handler, options) = (node.run.clone(), node.options.clone());
        let rehearsal = self.run.rehearsal.as_ref();
        let retried = rehearsal.is_some_and(|rehearsal| rehearsal.was_retried(&visit));
        let executed = execute(self.run.clone(), entry, retried, handler, options).await;
        self.visits += 1;
        self.open.insert(visit, executed);
        Ok(self.noted())
    }

    /// Continues with the workflow of the next visit, after the transition of the previous one.
    fn transit(&mut self, next: &Visit) -> Result<Option<Divergence>> {
        let (id, version) = next.workflow.split_once('@').unwrap_or((&next.workflow, ""));
        let recorded = Some(Value::from(id));
        match self.walk.ended() {
            WalkEnd::Transition(transition) if transition.to == id => {
                let workflow = self.workflows.version(id, version)?;
                let limit = self.run.options().max_transitions;
                self.walk.transit(workflow, transition.payload, limit)?;
                Ok(None)
            }
            WalkEnd::Transition(transition) => {
                let asked = Some(Value::from(transition.to));
                Ok(Some(Divergence::new(DivergenceKind::Path, &next.to_string(), recorded, asked)))
            }
            WalkEnd::Finished { .. } => {
                Ok(Some(Divergence::new(DivergenceKind::Path, &next.to_string(), recorded, None)))
            }
        }
    }

    fn noted(&self) -> Option<Divergence> {
        self.run.rehearsal.as_ref().and_then(Rehearsal::noted)
    }

    /// Compares the recorded exit of a visit with the new one.
    fn leave(&mut self, then: &NodeExit) -> Result<Option<Divergence>> {
        let Some((node, executed)) = self.open.remove(&then.visit) else {
            return Ok(None);
        };
        let gave = |asked: Value| {
            let recorded = Some(left_as_json(then));
            Some(Divergence::new(DivergenceKind::Result, &then.visit.to_string(), recorded, Some(asked)))
        };
        let now = match executed {
            NodeOutcome::Left(next) => {
                // Events emitted on leaving are compared on the way.
                if let Err(error) = show(&node, &next, &self.workflows) {
                    return Ok(self.noted().or_else(|| gave(json!({ "failed": error.info() }))));
                }
                if let Some(lost) = node.unemitted() {
                    node.differs(DivergenceKind::Shown, &node.name, Some(lost.into()), None, "");
                    return Ok(self.noted());
                }
                node.leave(*next, None)
            }
            NodeOutcome::Failed(error) => node.leave(crate::Next::go(), Some(error)),
            NodeOutcome::Parked(_) => {
                let beyond = self.run.rehearsal.as_ref().and_then(Rehearsal::beyond);
                return Ok(gave(json!({ "waits": beyond })));
            }
        };
        if left_as_json(then) != left_as_json(&now) {
            return Ok(gave(left_as_json(&now)));
        }
        self.walk.leave(then)?;
        Ok(None)
    }

    /// Compares the end of the run.
    fn end(&mut self, end: Option<&Event>) -> Option<Divergence> {
        let key = self.run.id.to_string();
        let differs = |recorded: &Event, asked: Value| {
            let recorded = serde_json::to_value(recorded).ok();
            Some(Divergence::new(DivergenceKind::End, &key, recorded, Some(asked)))
        };
        let failed = self.open.values().find_map(|(_, executed)| match executed {
            NodeOutcome::Failed(error) if error.kind() != ErrorKind::Stopped => Some(error),
            _ => None,
        });
        match (end, failed) {
            // The journal continues, or was cut: there is no end to compare.
            (None | Some(Event::RunCancelled { .. }), None) => None,
            (None | Some(Event::RunCancelled { .. }), Some(error)) => {
                let asked = serde_json::to_value(error.info()).ok();
                Some(Divergence::new(DivergenceKind::End, &key, None, asked))
            }
            (Some(Event::RunFailed(then)), Some(now))
                if *then == (ErrorInfo { request: then.request.clone(), ..now.info() }) =>
            {
                None
            }
            // The runtime itself ended it, not a node.
            (Some(Event::RunFailed(then)), None) if is_own(then.code.as_deref()) => None,
            (Some(end @ Event::RunFailed(_)), Some(now)) => differs(end, json!({ "failed": now.info() })),
            (Some(end @ Event::RunFailed(_)), None) => {
                let beyond = self.run.rehearsal.as_ref().and_then(Rehearsal::beyond);
                differs(end, json!({ "goesOnWith": beyond }))
            }
            (Some(end @ Event::RunFinished(RunFinished { data, .. })), None) => {
                match self.walk.next_visit() {
                    Some(next) => differs(end, json!({ "entered": next.to_string() })),
                    None => match self.walk.ended() {
                        WalkEnd::Finished { result, .. } if result == *data => None,
                        WalkEnd::Finished { result, .. } => differs(end, json!({ "data": result })),
                        WalkEnd::Transition(transition) => {
                            differs(end, json!({ "transition": transition.to }))
                        }
                    },
                }
            }
            (Some(end), Some(now)) => differs(end, json!({ "failed": now.info() })),
            (Some(_), None) => None,
        }
    }
}

/// The exit of a visit, without fields that only count calls.
fn left_as_json(left: &NodeExit) -> Value {
    let error = left.error.as_ref().map(Error::info);
    let mut shown = json!({ "next": left.next });
    if let Some(fields) = shown.as_object_mut() {
        for (key, value) in [
            ("nodeState", left.node_state.as_ref().map(|state| json!(state))),
            ("workflowState", (!left.workflow_state.is_empty()).then(|| json!(left.workflow_state))),
            ("error", error.map(|error| json!(error))),
        ] {
            fields.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
    shown
}

/// Whether a run failed by a limit or a timeout of the runtime.
fn is_own(code: Option<&str>) -> bool {
    let code = code.unwrap_or_default();
    code == ErrorKind::Limit.code()
        || code == ErrorKind::Expired.code()
        || code == ErrorKind::TooLarge.code()
        || code == "journal.full"
        || code == "run.abandoned"
        || code == "state.too-large"
        || code.starts_with("workflow.")
}
