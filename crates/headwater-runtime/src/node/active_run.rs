//! A run that this process drives or replays: the state shared by its nodes.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use headwater_protocol::{AttemptId, ErrorInfo, Event, Message, MessageId, Origin, RunId};
use headwater_store::{Expect, Receipt};
use headwater_tools::{CancelHandle, Tools};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::Rehearsal;
use crate::{
    AgentOptions, Error, Result,
    environment::Environment,
    journal::{Effect, FoldGuard, HookOutcome, Journal, RunSpec},
    model::ModelCatalog,
    question::Questions,
    telemetry::RunLabels,
};

/// Services for the hooks of an agent's nodes.
#[derive(Debug)]
pub(crate) struct NodeServices {
    pub(crate) env: Arc<Environment>,
    pub(crate) models: ModelCatalog,
    pub(crate) tools: Tools,
    pub(crate) questions: Questions,
}

/// A run that this process drives or replays: the state shared by its nodes.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    pub(crate) id: RunId,
    pub(crate) services: Arc<NodeServices>,
    pub(crate) spec: Arc<RunSpec>,
    /// The conversation before it, where the spec only says where that is.
    prior: Option<Vec<Message>>,
    /// Parsed when a node, a template or a tool asks for it.
    runtime_context: OnceLock<Arc<Value>>,
    client_context: OnceLock<Map<String, Value>>,
    pub(crate) message: MessageId,
    pub(crate) journal: Journal,
    pub(crate) cancel: CancelHandle,
    /// Wakes the hooks that wait for an answer.
    pub(crate) answered: Notify,
    fatal: Mutex<Option<Error>>,
    /// The newest record whose hook returned before it was durable.
    unsettled: Mutex<Option<Settling>>,
    /// The cause of the run's failure, for the log.
    failure: OnceLock<Error>,
    attempts: AtomicU64,
    /// Whether the message was completed by a driver that died before it wrote the end.
    pub(crate) message_finished: bool,
    /// Set if the run is only replayed: then no work beyond the journal is done.
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) phase: DrivePhase,
    /// The driver's knowledge of its stored summary.
    pub(crate) summary: SummaryState,
}

/// A record that is not durable yet, shared by all hooks that wait for it.
type Settling = Shared<BoxFuture<'static, Result<u64, headwater_store::Error>>>;

/// The phase of a run's driver, for the task that renews its lease.
#[derive(Debug, Default)]
pub(crate) struct DrivePhase(AtomicU8);

impl DrivePhase {
    const SETTLING: u8 = 1;
    const RELEASED: u8 = 2;

    /// Marks that the run has ended or waits, and its remaining data is being written.
    pub(crate) fn settle(&self) {
        self.0.store(Self::SETTLING, Ordering::Relaxed);
    }

    /// Marks that the lease is about to be released.
    pub(crate) fn release(&self) {
        self.0.store(Self::RELEASED, Ordering::Relaxed);
    }

    pub(crate) fn is_driven(&self) -> bool {
        self.0.load(Ordering::Relaxed) < Self::SETTLING
    }

    pub(crate) fn is_released(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::RELEASED
    }
}

impl ActiveRun {
    pub(crate) fn new(id: RunId, services: Arc<NodeServices>, spec: Arc<RunSpec>, journal: Journal) -> Self {
        let message = spec.message.clone().unwrap_or_else(|| MessageId::from(format!("msg_{id}")));
        let (attempts, message_finished) = {
            let mut fold = journal.fold();
            fold.spec = Some(spec.clone());
            (fold.attempts, fold.message_finished)
        };
        Self {
            id,
            services,
            prior: None,
            runtime_context: OnceLock::new(),
            client_context: OnceLock::new(),
            spec,
            message,
            journal,
            cancel: CancelHandle::new(),
            answered: Notify::new(),
            fatal: Mutex::new(None),
            unsettled: Mutex::new(None),
            failure: OnceLock::new(),
            attempts: AtomicU64::new(attempts),
            message_finished,
            rehearsal: None,
            phase: DrivePhase::default(),
            summary: SummaryState::default(),
        }
    }

    pub(crate) fn options(&self) -> &AgentOptions {
        &self.services.env.options
    }

    /// The labels of spans and log lines.
    pub(crate) fn labels(&self) -> RunLabels<'_> {
        RunLabels {
            id: &self.id,
            agent: &self.spec.agent,
            workflow: &self.spec.workflow,
            session: self.spec.session.as_ref(),
            request: self.spec.request.as_deref(),
        }
    }

    /// With the conversation before it, where the spec only says where that is.
    pub(crate) fn with_prior(mut self, prior: Option<Vec<Message>>) -> Self {
        self.prior = prior;
        self
    }

    /// The conversation before it.
    pub(crate) fn messages(&self) -> &[Message] {
        self.prior.as_deref().unwrap_or(&self.spec.messages)
    }

    /// Only replays what the journal has.
    pub(crate) fn rehearsing(mut self, rehearsal: Rehearsal) -> Self {
        self.rehearsal = Some(rehearsal);
        self
    }

    /// The fold of the records so far: hook results, requests and answers.
    pub(crate) fn fold(&self) -> FoldGuard<'_> {
        self.journal.fold()
    }

    /// The context that the route approved.
    pub(crate) fn runtime_context(&self) -> &Arc<Value> {
        let parse = || Arc::new(self.spec.runtime_context.read().unwrap_or_default());
        self.runtime_context.get_or_init(parse)
    }

    /// The context that the client sent about itself.
    pub(crate) fn client_context(&self) -> &Map<String, Value> {
        self.client_context.get_or_init(|| self.spec.client_context.object())
    }

    /// The origin of the run's own events.
    pub(crate) fn origin(&self) -> Origin {
        Origin { message: Some(self.message.clone()), ..Origin::default() }
    }

    /// Appends an event of the run. Readers see it when it is durable.
    pub(crate) fn append(&self, event: Event) -> Result<Receipt> {
        self.journal.fact(&self.origin(), event)
    }

    /// An unused attempt id. Readers see the record that starts the attempt only when it is durable.
    pub(crate) fn next_attempt(&self) -> AttemptId {
        format!("a{}", self.attempts.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    /// An error as stored in the journal: with the id of the starting request, so that every reader gets the
    /// same one.
    pub(crate) fn error_info(&self, error: &Error) -> ErrorInfo {
        ErrorInfo { request: self.spec.request.clone(), ..error.info() }
    }

    /// Ends the run with an error, regardless of its nodes.
    pub(crate) fn fail(&self, error: &Error) {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        // The first error is the cause; later ones are usually its consequences.
        fatal.get_or_insert_with(|| error.clone());
    }

    /// Keeps the cause of the failure until the end is logged.
    pub(crate) fn record_failure(&self, error: Error) {
        let _ = self.failure.set(error);
    }

    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    pub(crate) fn fatal(&self) -> Option<Error> {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes an effect, in one record with its event.
    pub(crate) fn record(&self, effect: Effect, told: Option<(&Origin, Event)>) -> Result<Receipt> {
        match told {
            Some((origin, event)) => self.journal.effect_with_event(effect, origin, event),
            None => self.journal.effect(effect),
        }
    }

    /// Lets the next hook wait for a record, instead of the one that wrote it.
    pub(crate) fn settle_later(&self, receipt: Receipt) {
        // The records of a journal become durable in order, so the newest receipt covers all before it.
        *self.unsettled.lock().unwrap_or_else(PoisonError::into_inner) = Some(receipt.boxed().shared());
    }

    /// Waits until all returned hook results are durable: nothing may act on results that a crash could lose.
    pub(crate) async fn settled(&self) -> Result<()> {
        let unsettled = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(unsettled) = unsettled {
            unsettled.await?;
        }
        Ok(())
    }

    /// Records the result of a hook; it is durable when the receipt is ready.
    pub(crate) fn done(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        outcome: HookOutcome,
        told: Option<(&Origin, Event)>,
    ) -> Result<Receipt> {
        let (key, kind) = (key.to_owned(), kind.to_owned());
        self.record(Effect::Done { key, kind, fingerprint, outcome, started: None }, told)
    }
}

/// A driver's knowledge of the summary of its run.
#[derive(Debug, Default)]
pub(crate) struct SummaryState {
    /// The version that it wrote or read; 0 before the first.
    version: AtomicU64,
    /// Whether it has listed the run.
    listed: AtomicBool,
}

impl SummaryState {
    pub(crate) fn expect(&self) -> Expect {
        match self.version.load(Ordering::Relaxed) {
            0 => Expect::Absent,
            version => Expect::Version(version),
        }
    }

    pub(crate) fn set_version(&self, version: u64) {
        self.version.store(version, Ordering::Relaxed);
    }

    /// Marks the run as listed. Returns whether it was not before.
    pub(crate) fn list(&self) -> bool {
        !self.listed.swap(true, Ordering::Relaxed)
    }
}
