//! The test harness: an agent on an in-memory store with a manual clock, and helpers that act like a person.

use std::{sync::Arc, time::Duration};

use headwater_models::scripted::{Rule, Script, ScriptedModel};
use headwater_protocol::{
    BlockKind, Event, EventKind, Interrupt, InterruptAnswered, RequestId, RunId, RunStatus, WarningEvent,
};
use headwater_runtime::{
    Agent, AgentBuilder, Answer, END, Error, JournalEntry, NodeFunction, OpenQuestion, Run, RunOutcome,
    START, Start, Workflow,
};
use headwater_store::{ManualClock, Memory, MemoryOptions, Store};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An agent and its store and clock.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
}

/// An in-memory store with a manual clock.
pub(crate) fn memory() -> (Arc<dyn Store>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    (Arc::new(Memory::with(MemoryOptions { clock: clock.clone(), ..Default::default() })), clock)
}

impl World {
    /// An agent with one workflow and no model.
    pub(crate) fn of(workflow: Workflow) -> Self {
        Self::with(workflow, |agent| agent)
    }

    /// An agent with one workflow and more settings.
    pub(crate) fn with(workflow: Workflow, more: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        Self::build(|agent| more(agent.workflow(workflow)))
    }

    /// An agent built by the test.
    pub(crate) fn build(more: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        let (store, clock) = memory();
        Self::on(store, clock, more)
    }

    /// An agent on a store that others may share.
    pub(crate) fn on(
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        more: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let agent = more(Agent::builder()).store(store.clone()).clock(clock.clone()).build().unwrap();
        Self { agent, store, clock }
    }

    /// A second process on the same store.
    pub(crate) fn restarted(&self, more: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        Self::on(self.store.clone(), self.clock.clone(), more)
    }

    /// Runs an input until the run waits or ends.
    pub(crate) async fn run(&self, input: &str) -> TestRun {
        self.start(Start::new(input)).await
    }

    pub(crate) async fn start(&self, start: Start) -> TestRun {
        TestRun::of(&self.agent, self.agent.start(start).await.unwrap()).await
    }

    /// Advances the clock and runs recovery. Returns the run's new state.
    pub(crate) async fn later(&self, ran: &TestRun, time: Duration) -> TestRun {
        self.clock.advance(time);
        self.agent.recover().await.unwrap();
        self.settled(ran.id()).await
    }

    /// Waits until this process drives nothing, and reads the run.
    pub(crate) async fn settled(&self, run: &RunId) -> TestRun {
        self.idle().await;
        TestRun::of(&self.agent, self.agent.run(run.clone())).await
    }

    pub(crate) async fn idle(&self) {
        while self.agent.driving() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// A run that waits or has ended, and its records.
#[derive(Debug, Clone)]
pub(crate) struct TestRun {
    pub(crate) agent: Agent,
    pub(crate) run: Run,
    pub(crate) outcome: RunOutcome,
    pub(crate) events: Vec<Event>,
}

impl TestRun {
    pub(crate) async fn of(agent: &Agent, run: Run) -> Self {
        let outcome = run.outcome().await.unwrap();
        let events = run.recorded().await.unwrap();
        Self { agent: agent.clone(), run, outcome, events }
    }

    pub(crate) fn id(&self) -> &RunId {
        self.run.id()
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn status(&self) -> RunStatus {
        self.outcome.status()
    }

    pub(crate) fn text(&self) -> String {
        self.outcome.text()
    }

    /// The run's public result.
    pub(crate) fn result(&self) -> &Value {
        assert_eq!(self.status(), RunStatus::Finished, "{:?}", self.outcome.state.run().error);
        self.outcome.state.run().data.as_ref().unwrap_or(&Value::Null)
    }

    /// The error code of a failed run.
    pub(crate) fn code(&self) -> &str {
        assert_eq!(self.status(), RunStatus::Failed);
        self.outcome.state.run().error.as_ref().unwrap().code.as_deref().unwrap()
    }

    /// The error message of a failed run.
    pub(crate) fn error(&self) -> &str {
        assert_eq!(self.status(), RunStatus::Failed);
        &self.outcome.state.run().error.as_ref().unwrap().message
    }

    /// The open questions, in the order they were asked.
    pub(crate) fn questions(&self) -> Vec<&Interrupt> {
        let answered = |request: &RequestId| {
            self.events.iter().any(|event| match event {
                Event::InterruptAnswered(InterruptAnswered { request: done, .. })
                | Event::InterruptExpired { request: done } => done == request,
                _ => false,
            })
        };
        let asked = self.events.iter().filter_map(|event| match event {
            Event::InterruptRequested(interrupt) => Some(&**interrupt),
            _ => None,
        });
        asked.filter(|interrupt| !answered(&interrupt.request)).collect()
    }

    /// The only open question.
    pub(crate) fn question(&self) -> &Interrupt {
        let questions = self.questions();
        assert_eq!(questions.len(), 1, "{questions:?}");
        questions[0]
    }

    /// The open question with this text.
    pub(crate) fn asked(&self, words: &str) -> &Interrupt {
        let questions = self.questions();
        let found = questions.iter().find(|question| question.question.as_deref() == Some(words));
        found.unwrap_or_else(|| panic!("no question has {words:?}: {questions:?}"))
    }

    /// Answers the only open question.
    pub(crate) async fn answer(&self, answer: impl Into<Value>) -> Self {
        self.reply(self.question(), answer).await
    }

    /// Answers a question.
    pub(crate) async fn reply(&self, question: &Interrupt, answer: impl Into<Value>) -> Self {
        self.send(Answer::given(question.request.clone(), answer).token(token(question))).await.unwrap()
    }

    /// Sends an answer, or returns why it is refused.
    pub(crate) async fn send(&self, answered: Answer) -> Result<Self, Error> {
        Ok(Self::of(&self.agent, self.agent.answer(answered).await?).await)
    }

    /// The open approvals.
    pub(crate) async fn approvals(&self) -> Vec<OpenQuestion> {
        let open = self.agent().questions(None, 100).await.unwrap();
        open.into_iter().filter(|open| open.run == *self.id() && open.approval().is_some()).collect()
    }

    /// The only open approval.
    pub(crate) async fn approval(&self) -> OpenQuestion {
        let mut approvals = self.approvals().await;
        assert_eq!(approvals.len(), 1, "{approvals:?}");
        approvals.remove(0)
    }

    /// The kinds of the events, without those that every run has.
    pub(crate) fn emitted(&self) -> Vec<&'static str> {
        let always = ["run-started", "message-started", "message-finished"];
        let mut kinds: Vec<_> = self.events.iter().map(|event| event.kind().name()).collect();
        kinds.retain(|kind| !always.contains(kind));
        kinds.dedup();
        kinds
    }

    /// The number of events of a kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event.kind().name() == kind).count()
    }

    /// The number of events of a kind about blocks of a kind.
    pub(crate) fn count_blocks(&self, block: BlockKind, kind: EventKind) -> usize {
        let counts = |event: &&Event| event.block_kind() == Some(block) && event.kind() == kind;
        self.events.iter().filter(counts).count()
    }

    /// The codes of the warnings.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        let warnings = self.events.iter().filter_map(|event| match event {
            Event::Warning(WarningEvent { code, .. }) => Some(code.as_deref().unwrap_or_default()),
            _ => None,
        });
        warnings.collect()
    }

    /// All events for readers, as text.
    pub(crate) fn wire(&self) -> String {
        serde_json::to_string(&self.events).unwrap()
    }

    /// The nodes that were entered, in order.
    pub(crate) async fn entered(&self) -> Vec<String> {
        let entries = self.run.entries().await.unwrap();
        let entered = entries.iter().filter_map(|entry| match entry {
            JournalEntry::Effect(effect) => effect.pointer("/entered/visit/node").and_then(Value::as_str),
            _ => None,
        });
        entered.map(str::to_owned).collect()
    }
}

pub(crate) fn token(question: &Interrupt) -> String {
    question.token.clone().unwrap()
}

/// A workflow of one node.
pub(crate) fn one<T: DeserializeOwned + 'static>(node: impl NodeFunction<T>) -> Workflow {
    Workflow::new("one").node("node", node).edge(START, "node").edge("node", END).build().unwrap()
}

/// A model that follows rules.
pub(crate) fn scripted(rules: impl IntoIterator<Item = Rule>) -> ScriptedModel {
    ScriptedModel::new(rules.into_iter().fold(Script::new("test"), Script::rule))
}
