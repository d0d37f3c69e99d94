//! Relaying the answer of another server as it arrives.

mod guard;

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use headwater_protocol::{
    AttemptId, AttemptRetracted, AttemptStarted, Event, FinishReason, Origin, PartId, StructuredInvalidated,
    Usage,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Error, Result,
    codec::json_size,
    error::ErrorKind,
    journal::Effect,
    node::{HookKey, NodeVisit},
    question::request_id,
};
use guard::RelayGuard;

/// Relays the answer of another server. [`RelayHook::run`] does the work.
///
/// Output of the work is visible at once. If the process dies meanwhile, it is retracted, and the hook fails
/// with `relay.unfinished` unless it is [`repeatable`](Self::repeatable). Work that fails keeps its output.
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult, Relay, Result};
/// use headwater_protocol::{BlockDelta, BlockKind, Event};
///
/// async fn forward(cx: Cx, _: ()) -> NodeResult {
///     let work = |relay: Relay| async move {
///         relay.event(Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t1", "Hello"))).await
///     };
///     cx.relay("mail-server").repeatable(true).run(work).await?;
///     Ok(Next::go())
/// }
/// ```
#[derive(Debug)]
#[must_use = "nothing is done until the work is run"]
pub struct RelayHook {
    node: Arc<NodeVisit>,
    source: String,
    repeatable: bool,
}

/// The recorded result of a relay.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RelayRecord<T> {
    value: T,
    model: String,
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<FinishReason>,
}

impl RelayHook {
    pub(crate) fn new(node: Arc<NodeVisit>, source: String) -> Self {
        Self { node, source, repeatable: false }
    }

    /// Sets whether the work may be repeated if the process died before it was complete.
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Does the work, once. Its result is recorded, and returned when the node is run again.
    ///
    /// # Errors
    /// The error of the work; [`ErrorKind::Stopped`] when the run is stopped; `relay.unfinished`.
    pub fn run<T, W, F>(self, work: W) -> impl Future<Output = Result<T>> + Send
    where
        T: Serialize + DeserializeOwned + Send,
        W: FnOnce(Relay) -> F + Send,
        F: Future<Output = Result<T>> + Send,
    {
        // The hook key is fixed here, not when the future is polled.
        let key = self.node.key("relay", None);
        async move {
            let key = key?;
            let operation = request_id(&self.node.run.id, &key.text).as_str().replacen("req_", "op_", 1);
            let origin = Origin { operation: Some(operation), ..self.node.origin() };
            let work = Box::pin(self.work(&key, &origin, work));
            let done = self.node.once_with_event(&key.text, key.kind, None, &origin, work).await?;
            let RelayRecord { value, finish, .. } = done;
            if let Some(reason) = finish {
                self.node.finished(&reason);
            }
            Ok(value)
        }
    }

    async fn work<T, W, F>(
        &self,
        key: &HookKey,
        origin: &Origin,
        work: W,
    ) -> (Result<RelayRecord<T>>, Option<Event>)
    where
        W: FnOnce(Relay) -> F,
        F: Future<Output = Result<T>>,
    {
        let run = &self.node.run;
        if !self.repeatable && run.fold().began.contains(&key.text) {
            return (Err(unfinished(&self.source)), None);
        }
        let relay = Relay::new(self.node.clone(), self.source.clone(), origin.clone());
        if let Err(error) = relay.begin(key).await {
            return (Err(error), None);
        }
        let mut guard = RelayGuard::new(relay.clone(), key.text.clone());
        let cancel = run.cancel.signal();
        let done = tokio::select! {
            biased;
            done = work(relay.clone()) => done,
            () = cancel.cancelled() => Err(Error::new(ErrorKind::Stopped, "the run was stopped")),
        };
        guard.disarm();
        let finished = Event::AttemptFinished { attempt: relay.attempt() };
        match done {
            Ok(value) => {
                let state = relay.state();
                let (usage, finish) = (state.usage.clone(), state.finish.clone());
                drop(state);
                (Ok(RelayRecord { value, model: self.source.clone(), usage, finish }), Some(finished))
            }
            // Output emitted so far stays.
            Err(error) if error.kind() == ErrorKind::Stopped => {
                let shown = run.journal.fact(origin, finished);
                (self.node.keep(shown).and(Err(error)), None)
            }
            Err(error) => (Err(error), Some(finished)),
        }
    }
}

fn unfinished(source: &str) -> Error {
    let message = format!(
        "the process ended while `{source}` was answering, and the request must not be made twice: send the message \
         again, or let such requests be repeated"
    );
    Error::new(ErrorKind::Node, message).with_code("relay.unfinished")
}

/// Emits the events of another server's answer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Relay(Arc<RelayInner>);

#[derive(Debug)]
struct RelayInner {
    node: Arc<NodeVisit>,
    source: String,
    origin: Origin,
    state: Mutex<RelayState>,
    /// Number of bytes emitted.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct RelayState {
    /// The origin with the current attempt.
    origin: Origin,
    usage: Usage,
    finish: Option<FinishReason>,
}

impl Relay {
    fn new(node: Arc<NodeVisit>, source: String, origin: Origin) -> Self {
        let (state, bytes) = Default::default();
        Self(Arc::new(RelayInner { node, source, origin, state, bytes }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, RelayState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt(&self) -> AttemptId {
        self.state().origin.attempt.clone().unwrap_or_else(|| "a0".into())
    }

    /// Starts the work: durable before the other server is called, so that a crash is detected.
    async fn begin(&self, key: &HookKey) -> Result<()> {
        let started = self.next_attempt();
        let effect = Effect::Began { key: key.text.clone() };
        let journal = &self.0.node.run.journal;
        let receipt = self.0.node.keep(journal.effect_with_event(effect, &self.0.origin, started))?;
        self.0.node.keep(receipt.await).map(drop)
    }

    /// The event that starts the next attempt, which becomes the current one.
    fn next_attempt(&self) -> Event {
        let attempt = self.0.node.run.next_attempt();
        self.state().origin = Origin { attempt: Some(attempt.clone()), ..self.0.origin.clone() };
        let model = Some(self.0.source.clone());
        Event::AttemptStarted(AttemptStarted { attempt, model, ..Default::default() })
    }

    /// Emits an event. Ids of blocks, sources and files need to be unique only within the work. An update
    /// that does not apply to its object or to the state is dropped.
    ///
    /// # Errors
    /// When the journal cannot be written, or the output exceeds the limit of an answer (`max_answer_bytes`).
    pub async fn event(&self, event: Event) -> Result<()> {
        let (node, journal) = (&self.0.node, &self.0.node.run.journal);
        if !journal.has_room() {
            node.keep(journal.room().await)?;
        }
        self.measure(&event)?;
        let state = self.state();
        let event = in_attempt(event, state.origin.attempt.as_ref());
        match journal.delta(&state.origin, event) {
            Err(error) if error.kind() == ErrorKind::Structured => {
                tracing::warn!(run = %node.run.id, error = error.message(), "an event of another server does not fit and is left out");
                Ok(())
            }
            written => node.keep(written),
        }
    }

    /// Refuses output beyond the size limit.
    fn measure(&self, event: &Event) -> Result<()> {
        let size = match event {
            Event::BlockDelta(block) => block.delta.len(),
            Event::ToolInputDelta(input) => input.delta.len(),
            event => json_size(event),
        };
        let limit = self.0.node.run.options().max_answer_bytes;
        if self.0.bytes.fetch_add(size, Ordering::Relaxed) + size <= limit {
            return Ok(());
        }
        let message =
            format!("`{}` exceeded {limit} bytes in one answer (`max_answer_bytes`)", self.0.source);
        Err(Error::new(ErrorKind::TooLarge, message).with_code("relay.too-large"))
    }

    /// Retracts all output, and starts a new attempt.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn restart(&self, reason: &str) -> Result<()> {
        self.retract(reason)?;
        let started = self.next_attempt();
        self.append(started)
    }

    fn retract(&self, reason: &str) -> Result<()> {
        let attempt = self.attempt();
        let streams = {
            let fold = self.0.node.run.fold();
            let open = fold.open_attempts.iter().find(|open| open.attempt == attempt);
            open.map(|open| open.streams.clone()).unwrap_or_default()
        };
        for stream in streams {
            self.append(Event::StructuredInvalidated(StructuredInvalidated {
                stream,
                ..Default::default()
            }))?;
        }
        let reason = Some(reason.to_owned());
        self.append(Event::AttemptRetracted(AttemptRetracted { attempt, reason, ..Default::default() }))
    }

    fn append(&self, event: Event) -> Result<()> {
        let node = &self.0.node;
        node.keep(node.run.journal.fact(&self.0.origin, event)).map(drop)
    }

    /// Records and emits the usage of the answer, and records its finish reason.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn finished(&self, reason: Option<FinishReason>, usage: Option<Usage>) -> Result<()> {
        let usage = {
            let mut state = self.state();
            state.finish = reason.or_else(|| state.finish.take());
            if let Some(usage) = usage.clone() {
                state.usage = usage;
            }
            usage
        };
        match usage {
            Some(usage) => self.event(Event::Usage(usage)).await,
            None => Ok(()),
        }
    }

    /// Whether readers already have the result of a call.
    #[must_use]
    pub fn is_settled(&self, call: &str) -> bool {
        super::call_wait::is_settled(&self.0.node, call)
    }
}

/// Makes part ids unique among the attempts of the run: servers number the parts of each response from the
/// start.
fn in_attempt(mut event: Event, attempt: Option<&AttemptId>) -> Event {
    let Some(attempt) = attempt else { return event };
    let own = |id: &str| format!("{attempt}.{id}");
    let own_part = |id: &mut PartId| *id = own(id.as_str()).into();
    match &mut event {
        Event::BlockStarted(block) => own_part(&mut block.id),
        Event::BlockDelta(block) => own_part(&mut block.id),
        Event::BlockEnded(block) => own_part(&mut block.id),
        Event::SourceUrl(source) => source.source = own(&source.source),
        Event::SourceDocument(source) => source.source = own(&source.source),
        _ => {}
    }
    event
}
