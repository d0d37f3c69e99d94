//! What all nodes of a run share.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

use headwater_protocol::{AttemptId, ErrorInfo, Event, MessageId, Origin, RunId};
use headwater_store::Receipt;
use headwater_tools::CancelHandle;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::{
    Error, Result,
    agent::{AgentInner, SummaryState},
    journal::{Begun, Effect, FoldGuard, Journal, Outcome},
    replay::Rehearsal,
};

/// What all nodes of a run share.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) id: RunId,
    pub(crate) agent: Arc<AgentInner>,
    pub(crate) begun: Arc<Begun>,
    /// Parsed when a node, a template or a tool asks for it.
    runtime_context: OnceLock<Arc<Value>>,
    client_context: OnceLock<Map<String, Value>>,
    pub(crate) message: MessageId,
    pub(crate) journal: Journal,
    pub(crate) cancel: CancelHandle,
    /// Wakes the hooks that wait for somebody.
    pub(crate) answered: Notify,
    fatal: Mutex<Option<Error>>,
    /// Why the run failed, for the log.
    failure: OnceLock<Error>,
    attempts: AtomicU64,
    /// Whether readers were told that the message is complete, by a driver that died before it told the end.
    pub(crate) message_finished: bool,
    /// What is known if it is only replayed: then nothing is done that the journal does not have.
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) phase: Phase,
    pub(crate) summary: SummaryState,
}

/// How far the driver of a run is, for what renews its lease meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Phase(AtomicU8);

impl Phase {
    const SETTLING: u8 = 1;
    const RELEASED: u8 = 2;

    /// The run has ended or waits, and what it leaves is being put away.
    pub(crate) fn settle(&self) {
        self.0.store(Self::SETTLING, Ordering::Relaxed);
    }

    /// The lease is about to be given back.
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

impl RunShared {
    pub(crate) fn new(id: RunId, agent: Arc<AgentInner>, begun: Arc<Begun>, journal: Journal) -> Self {
        let message = begun.message.clone().unwrap_or_else(|| MessageId::from(format!("msg_{id}")));
        let (attempts, message_finished) = {
            let mut fold = journal.fold();
            fold.begun = Some(begun.clone());
            (fold.attempts, fold.message_finished)
        };
        Self {
            id,
            agent,
            runtime_context: OnceLock::new(),
            client_context: OnceLock::new(),
            begun,
            message,
            journal,
            cancel: CancelHandle::new(),
            answered: Notify::new(),
            fatal: Mutex::new(None),
            failure: OnceLock::new(),
            attempts: AtomicU64::new(attempts),
            message_finished,
            rehearsal: None,
            phase: Phase::default(),
            summary: SummaryState::default(),
        }
    }

    /// Only replays what the journal has.
    pub(crate) fn rehearsing(mut self, rehearsal: Rehearsal) -> Self {
        self.rehearsal = Some(rehearsal);
        self
    }

    /// What the journal says so far: what hooks return instead of being done again, and what was asked.
    pub(crate) fn fold(&self) -> FoldGuard<'_> {
        self.journal.fold()
    }

    /// What the route approved.
    pub(crate) fn runtime_context(&self) -> &Arc<Value> {
        let parse = || Arc::new(self.begun.runtime_context.read().unwrap_or_default());
        self.runtime_context.get_or_init(parse)
    }

    /// What the client said about itself.
    pub(crate) fn client_context(&self) -> &Map<String, Value> {
        self.client_context.get_or_init(|| self.begun.client_context.object())
    }

    /// The origin of what the run itself says.
    pub(crate) fn origin(&self) -> Origin {
        Origin { message: Some(self.message.clone()), ..Origin::default() }
    }

    /// Says something in the name of the run, seen when it is durable.
    pub(crate) fn say(&self, event: Event) -> Result<Receipt> {
        self.journal.fact(&self.origin(), event)
    }

    /// An attempt that no reader has seen: the record that begins it is seen only when it is durable.
    pub(crate) fn next_attempt(&self) -> AttemptId {
        format!("a{}", self.attempts.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    /// An error as the journal keeps it: with the request that began the run, so that every reader is given the same.
    pub(crate) fn error_info(&self, error: &Error) -> ErrorInfo {
        ErrorInfo { request: self.begun.request.clone(), ..error.info() }
    }

    /// The end of the run, whatever its nodes make of it.
    pub(crate) fn fail(&self, error: &Error) {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        fatal.get_or_insert_with(|| error.clone());
    }

    /// Keeps why the run failed until its end is logged.
    pub(crate) fn note_failure(&self, error: Error) {
        let _ = self.failure.set(error);
    }

    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    pub(crate) fn fatal(&self) -> Option<Error> {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes an effect, in one record with what readers are told of it.
    pub(crate) fn record(&self, effect: Effect, told: Option<(&Origin, Event)>) -> Result<Receipt> {
        match told {
            Some((origin, event)) => self.journal.told(effect, origin, event),
            None => self.journal.effect(effect),
        }
    }

    /// Records what a hook gave; it is durable when the receipt is ready.
    pub(crate) fn done(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        outcome: Outcome,
        told: Option<(&Origin, Event)>,
    ) -> Result<Receipt> {
        let (key, kind) = (key.to_owned(), kind.to_owned());
        self.record(Effect::Done { key, kind, fingerprint, outcome }, told)
    }
}
