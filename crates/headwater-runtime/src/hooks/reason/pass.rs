//! One pass: one question to a model, in as many attempts as it takes, shown as it is answered.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::{FutureExt as _, StreamExt as _};
use headwater_json::{Chunk, Extractor};
use headwater_models::{
    ContentPart, Model, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest,
};
use headwater_protocol::{
    AttemptId, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind, BlockStarted, Event,
    Executor, FileEvent, Origin, PartId, SourceDocument, SourceUrl, StructuredInvalidated, StructuredOp,
    ToolCall, ToolCallId, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, WarningEvent,
    check_id,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, Sleep};
use tracing::Instrument as _;

use super::{
    call::{Call, Shown},
    options::Failover,
    output,
    said::{Said, SaidCall, SaidPart},
};
use crate::{
    Error, Result,
    codec::json_size,
    coded,
    error::ErrorKind,
    journal::{Effect, Outcome},
    limits,
    seeing::{self, ModelCall},
};

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Call {
    /// Asks the model once, or returns what the journal holds.
    pub(super) async fn pass(&self, key: &str, request: ModelRequest, shown: Shown) -> Result<Said> {
        let fingerprint = fingerprint(&request);
        if let Some(rehearsal) = &self.node.run.rehearsal {
            rehearsal.asks(key, serde_json::to_value(&request).unwrap_or_default());
        }
        // What ends the attempt is told in the record that says that the pass is done: after a crash between the two,
        // the text would stand there and be said again.
        let work = Box::pin(async {
            let mut guard = PassGuard { call: self, key, fingerprint: &fingerprint, is_over: false };
            let (said, told) = match self.attempts(key, request, shown).await {
                Ok((said, attempt)) => (said, Event::AttemptFinished { attempt }),
                Err(error) => (Err(error), Event::StepFinished { name: None }),
            };
            guard.is_over = true;
            drop(guard);
            (said, self.options.emit.then_some(told))
        });
        self.node.once_told(key, "pass", Some(fingerprint.clone()), &self.origin, work).await
    }

    /// Returns the reply or the refusal, with its attempt.
    async fn attempts(
        &self,
        key: &str,
        request: ModelRequest,
        shown: Shown,
    ) -> Result<(Result<Said>, AttemptId)> {
        self.begin_step(key)?;
        let mut asked = 0;
        let mut kept = String::new();
        let mut kept_attempts = Vec::new();
        let mut last = None;
        'models: for model in &self.models {
            for nth in 0..self.options.attempts {
                let mut request = request.clone();
                request.attempt = asked;
                asked += 1;
                if !kept.is_empty() {
                    let content = vec![ContentPart::Text { text: kept.clone(), provider_options: None }];
                    request.messages.push(ModelMessage::Assistant { content });
                }
                let error = match self.attempt(model, request, shown).await? {
                    Attempted::Answered(mut said, attempt) => {
                        if !kept.is_empty() {
                            said.parts.insert(0, SaidPart::Text { text: kept, metadata: None });
                        }
                        return Ok((Ok(*said), attempt));
                    }
                    Attempted::Refused(error, attempt) => return Ok((Err(error), attempt)),
                    Attempted::Died { error, kept: None } => error,
                    Attempted::Died { error, kept: Some((attempt, said)) } => {
                        kept.push_str(&said);
                        kept_attempts.push(attempt);
                        error
                    }
                };
                seeing::model_failed(&self.node.run, model.name(), &error);
                if error.kind() == ModelErrorKind::Aborted {
                    last = Some(error);
                    break 'models;
                }
                let again = error.is_retryable() && nth + 1 < self.options.attempts;
                let pause = error.wait().unwrap_or_else(|| Duration::from_millis(100 << nth.min(10)));
                last = Some(error);
                if !again {
                    break;
                }
                self.pause(pause.min(LONGEST_PAUSE)).await?;
            }
        }
        // Nobody goes on from what was kept.
        for attempt in kept_attempts {
            let reason = last.as_ref().map(retraction);
            self.say(Event::AttemptRetracted(AttemptRetracted { attempt, reason, ..Default::default() }))?;
        }
        let error = last.map_or_else(|| Error::new(ErrorKind::Hook, "no model was given"), Error::from);
        Err(error)
    }

    async fn pause(&self, pause: Duration) -> Result<()> {
        let cancel = self.node.run.cancel.signal();
        tokio::select! {
            () = cancel.cancelled() => Err(stopped()),
            () = self.aborted() => Ok(()),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    /// Ends when the call is to be aborted.
    async fn aborted(&self) {
        match &self.options.abort {
            Some(signal) => signal.aborted().await,
            None => std::future::pending().await,
        }
    }

    async fn attempt(
        &self,
        model: &Arc<dyn Model>,
        request: ModelRequest,
        shown: Shown,
    ) -> Result<Attempted> {
        let mut seen = ModelCall::new(model.name(), self.node.run.begun.session.as_ref());
        let span = seen.span.clone();
        // In a box: a future that is handed on by value is kept once for each hand, and this one is large.
        let attempted = Box::pin(self.listen(model, request, shown, &mut seen)).instrument(span).await;
        match &attempted {
            Ok(Attempted::Answered(said, _)) => seen.answered(&said.usage),
            Ok(Attempted::Refused(error, _)) => seen.failed(error.code()),
            Ok(Attempted::Died { error, .. }) => seen.failed(error.kind().code()),
            Err(_) => {}
        }
        attempted
    }

    async fn listen(
        &self,
        model: &Arc<dyn Model>,
        request: ModelRequest,
        shown: Shown,
        seen: &mut ModelCall,
    ) -> Result<Attempted> {
        let cancel = self.node.run.cancel.signal();
        if cancel.is_cancelled() {
            return Err(stopped());
        }
        // Already aborted: do not call the model.
        if self.aborted().now_or_never().is_some() {
            return Ok(Attempted::Died { error: aborted(), kept: None });
        }
        let mut speaker = Speaker::new(self, model.name(), shown)?;
        let mut stream = model.ask(request);
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        let mut timeout = self.options.timeout.map(|limit| Box::pin(tokio::time::sleep(limit)));
        let mut abort = std::pin::pin!(self.aborted());
        let journal = &self.node.run.journal;
        loop {
            // While the store has no room, the model is not listened to, and its time does not run.
            let waits_since = Instant::now();
            let room = tokio::select! {
                biased;
                () = &mut cancelled => None,
                () = &mut abort => Some(Err(aborted())),
                room = journal.room() => {
                    self.node.keep(room)?;
                    Some(Ok(()))
                }
            };
            let waited = waits_since.elapsed();
            if let Some(timeout) = timeout.as_mut().filter(|_| !waited.is_zero()) {
                let deadline = timeout.deadline() + waited;
                timeout.as_mut().reset(deadline);
            }
            let item = match room {
                None => None,
                Some(Err(error)) => Some(Some(Err(error))),
                Some(Ok(())) => tokio::select! {
                    biased;
                    () = &mut cancelled => None,
                    () = &mut abort => Some(Some(Err(aborted()))),
                    item = stream.next() => Some(item),
                    () = time_out(&mut timeout) => {
                        Some(Some(Err(ModelError::new(ModelErrorKind::Timeout, "the model took too long"))))
                    }
                },
            };
            let Some(item) = item else {
                // What was said stays said.
                speaker.close()?;
                return Err(stopped());
            };
            match item {
                Some(Ok(event)) => {
                    seen.heard(&event);
                    if let Err(error) = speaker.measure(&event) {
                        speaker.close_parts()?;
                        return Ok(Attempted::Refused(error, speaker.attempt));
                    }
                    if speaker.hear(event)? {
                        let (said, attempt) = speaker.finish()?;
                        return Ok(Attempted::Answered(Box::new(said), attempt));
                    }
                }
                Some(Err(error)) => return speaker.die(error),
                None => {
                    let message = "the answer ended before it was complete";
                    return speaker.die(ModelError::new(ModelErrorKind::Cut, message));
                }
            }
        }
    }

    fn begin_step(&self, key: &str) -> Result<()> {
        if !self.options.emit || self.node.run.replay().began.contains(key) {
            return Ok(());
        }
        let effect = Effect::Began { key: key.to_owned() };
        let started = Event::StepStarted { name: None };
        self.node.run.journal.told(&effect, &self.origin, started).map(drop)
    }

    /// Ends the step of a pass whose calls are done, unless an earlier execution did.
    pub(super) fn end_step(&self, key: &str) -> Result<()> {
        if !self.options.emit {
            return Ok(());
        }
        let finished = Event::StepFinished { name: None };
        self.node.tell_once(&format!("{key}/end"), "step-end", &self.origin, finished)
    }

    /// Says something about an attempt, seen when it is durable.
    fn say(&self, event: Event) -> Result<()> {
        if self.options.emit {
            drop(self.node.keep(self.node.run.journal.fact(&self.origin, event))?);
        }
        Ok(())
    }
}

enum Attempted {
    /// It says more than is kept. What it said stays, and no other attempt is made.
    Refused(Error, AttemptId),
    Answered(Box<Said>, AttemptId),
    Died {
        error: ModelError,
        /// What the next attempt goes on from.
        kept: Option<(AttemptId, String)>,
    },
}

pub(super) fn aborted() -> ModelError {
    ModelError::new(ModelErrorKind::Aborted, "the call was aborted")
}

/// Records that a pass was given up, if the node's code drops it: otherwise its half answer would stay, and the model would be
/// asked again when the run is resumed.
struct PassGuard<'a> {
    call: &'a Call,
    key: &'a str,
    fingerprint: &'a str,
    is_over: bool,
}

impl Drop for PassGuard<'_> {
    fn drop(&mut self) {
        let Self { call, key, fingerprint, is_over } = self;
        if *is_over || !call.node.gives_up() {
            return;
        }
        call.is_over.store(true, Ordering::Relaxed);
        // What cannot be written ends the run, and the next hook finds that out.
        let record = || -> Result<()> {
            let open = call.attempt.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(attempt) = open {
                call.invalidate()?;
                let reason = Some(retraction(&aborted()));
                call.say(Event::AttemptRetracted(AttemptRetracted {
                    attempt,
                    reason,
                    ..Default::default()
                }))?;
            }
            let told = call.options.emit.then_some((&call.origin, Event::StepFinished { name: None }));
            let outcome = Outcome::Error(Error::from(aborted()));
            let fingerprint = Some((*fingerprint).to_owned());
            call.node.keep(call.node.run.done(key, "pass", fingerprint, outcome, told)).map(drop)
        };
        let _ = record();
    }
}

/// Why an attempt is retracted: the code first, so that a reader can be shown that much.
fn retraction(error: &ModelError) -> String {
    coded(error.kind().code(), &error.to_string())
}

/// Ends when the time of a call is over, if there is a limit.
async fn time_out(timeout: &mut Option<Pin<Box<Sleep>>>) {
    match timeout {
        Some(timeout) => timeout.as_mut().await,
        None => std::future::pending().await,
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Stopped, "the run was stopped")
}

/// What a request is, in a few characters.
fn fingerprint(request: &ModelRequest) -> String {
    let text = serde_json::to_vec(request).unwrap_or_default();
    let digest = Sha256::digest(text);
    let short: Vec<u8> = digest.iter().copied().take(12).collect();
    URL_SAFE_NO_PAD.encode(short)
}

/// Turns what a model says into what readers see and what is kept.
struct Speaker<'a> {
    call: &'a Call,
    attempt: AttemptId,
    origin: Origin,
    shown: Shown,
    said: Said,
    open: HashMap<u32, Open>,
    fields: Option<Extractor>,
    structured: bool,
    sources: u32,
    /// The bytes that the model has said.
    bytes: usize,
}

/// A part that may still grow: its place among the parts.
struct Open {
    at: usize,
    id: PartId,
    /// The text of a tool call's input.
    input: String,
}

impl<'a> Speaker<'a> {
    fn new(call: &'a Call, model: &str, shown: Shown) -> Result<Self> {
        let attempt = call.node.run.next_attempt();
        let origin = Origin { attempt: Some(attempt.clone()), ..call.origin.clone() };
        call.say(Event::AttemptStarted(AttemptStarted {
            attempt: attempt.clone(),
            model: Some(model.to_owned()),
            ..Default::default()
        }))?;
        *call.attempt.lock().unwrap_or_else(PoisonError::into_inner) = Some(attempt.clone());
        let fields = call.fields.clone().filter(|_| shown.fields);
        Ok(Self {
            call,
            attempt,
            origin,
            shown,
            said: Said { model: model.to_owned(), ..Said::default() },
            open: HashMap::new(),
            fields: fields.map(|fields| Extractor::with(fields, output::options())),
            structured: false,
            sources: 0,
            bytes: 0,
        })
    }

    fn delta(&self, event: Event) -> Result<()> {
        self.call.node.keep(self.call.node.run.journal.delta(&self.origin, event))
    }

    fn part_id(&self, part: u32) -> PartId {
        let known = self.open.get(&part).map(|open| open.id.clone());
        known.unwrap_or_else(|| format!("{}.{part}", self.attempt).into())
    }

    fn shows_tools(&self) -> bool {
        self.call.options.emit && self.call.options.tool_options.emit
    }

    fn begin(&mut self, part: u32, said: SaidPart) {
        let id = self.part_id(part);
        self.open.insert(part, Open { at: self.said.parts.len(), id, input: String::new() });
        self.said.parts.push(said);
    }

    fn grow(&mut self, part: u32, more: &str) {
        let at = self.open.get(&part).map(|open| open.at);
        if let Some(SaidPart::Text { text, .. } | SaidPart::Reasoning { text, .. }) =
            at.and_then(|at| self.said.parts.get_mut(at))
        {
            text.push_str(more);
        }
    }

    /// Refuses to listen to a model that says more than is kept.
    fn measure(&mut self, event: &ModelEvent) -> Result<()> {
        self.bytes += match event {
            ModelEvent::TextDelta { delta, .. }
            | ModelEvent::ReasoningDelta { delta, .. }
            | ModelEvent::ToolCallDelta { delta, .. } => delta.len(),
            ModelEvent::ToolResult { output, .. } => json_size(output),
            ModelEvent::SourceDocument { text, .. } => text.as_ref().map_or(0, String::len),
            ModelEvent::File { url, .. } => url.len(),
            _ => 0,
        };
        let limit = self.call.node.run.agent.options.max_answer_bytes;
        if self.bytes <= limit {
            return Ok(());
        }
        let message =
            format!("model `{}` exceeded {limit} bytes in one answer (`max_answer_bytes`)", self.said.model);
        Err(Error::new(ErrorKind::TooLarge, message).with_code("model.output-too-large"))
    }

    fn shows_block(&self, kind: BlockKind) -> bool {
        match kind {
            BlockKind::Text => self.shown.text,
            BlockKind::Reasoning => self.call.options.emit,
        }
    }

    fn start_block(&mut self, kind: BlockKind, part: u32, metadata: Option<Value>) -> Result<()> {
        let (text, said) = (String::new(), metadata.clone());
        self.begin(
            part,
            match kind {
                BlockKind::Text => SaidPart::Text { text, metadata: said },
                BlockKind::Reasoning => SaidPart::Reasoning { text, metadata: said },
            },
        );
        if self.shows_block(kind) {
            let started = BlockStarted { metadata, ..BlockStarted::new(kind, self.part_id(part)) };
            self.delta(Event::BlockStarted(started))?;
        }
        Ok(())
    }

    fn grow_block(&mut self, kind: BlockKind, part: u32, delta: String) -> Result<()> {
        self.grow(part, &delta);
        if kind == BlockKind::Text {
            self.extract(&delta)?;
        }
        if self.shows_block(kind) {
            self.delta(Event::BlockDelta(BlockDelta::new(kind, self.part_id(part), delta)))?;
        }
        Ok(())
    }

    fn end_block(&mut self, kind: BlockKind, part: u32, metadata: Option<Value>) -> Result<()> {
        self.end_text(part, metadata.clone());
        if self.shows_block(kind) {
            let ended = BlockEnded { metadata, ..BlockEnded::new(kind, self.part_id(part)) };
            self.delta(Event::BlockEnded(ended))?;
        }
        Ok(())
    }

    /// Takes one event. Gives whether it was the last.
    fn hear(&mut self, event: ModelEvent) -> Result<bool> {
        let emit = self.call.options.emit;
        match event {
            ModelEvent::TextStart { part, metadata } => self.start_block(BlockKind::Text, part, metadata)?,
            ModelEvent::TextDelta { part, delta } => self.grow_block(BlockKind::Text, part, delta)?,
            ModelEvent::TextEnd { part, metadata } => self.end_block(BlockKind::Text, part, metadata)?,
            ModelEvent::ReasoningStart { part, metadata } => {
                self.start_block(BlockKind::Reasoning, part, metadata)?;
            }
            ModelEvent::ReasoningDelta { part, delta } => {
                self.grow_block(BlockKind::Reasoning, part, delta)?;
            }
            ModelEvent::ReasoningEnd { part, metadata } => {
                self.end_block(BlockKind::Reasoning, part, metadata)?;
            }
            ModelEvent::ToolCallStart { part, call, name, provider_executed, metadata } => {
                self.begin_call(part, call, name, provider_executed, metadata)?;
            }
            ModelEvent::ToolCallDelta { part, delta } => {
                let Some(open) = self.open.get_mut(&part) else { return Ok(false) };
                open.input.push_str(&delta);
                if let (true, Some(SaidPart::Call(said))) = (self.shows_tools(), self.part(part)) {
                    self.delta(Event::ToolInputDelta(ToolInputDelta::new(said.call.clone(), delta)))?;
                }
            }
            ModelEvent::ToolCallEnd { part, metadata } => self.end_call(part, metadata)?,
            ModelEvent::ToolResult { part, output, is_error } => {
                let Some(SaidPart::Call(said)) = self.part_mut(part) else { return Ok(false) };
                said.provider_output = Some(output.clone());
                let call = said.call.clone();
                if self.shows_tools() {
                    self.delta(Event::ToolOutput(ToolOutput {
                        call,
                        output,
                        is_error,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::SourceUrl { url, title, metadata } => {
                self.sources += 1;
                let source = format!("{}.source{}", self.attempt, self.sources);
                if emit {
                    self.delta(Event::SourceUrl(SourceUrl {
                        source,
                        url,
                        title,
                        metadata,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::SourceDocument { title, media_type, filename, text, metadata } => {
                self.sources += 1;
                let source = format!("{}.source{}", self.attempt, self.sources);
                if emit {
                    let call = None;
                    self.delta(Event::SourceDocument(SourceDocument {
                        source,
                        title,
                        media_type,
                        filename,
                        text,
                        call,
                        metadata,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::File { media_type, url } if emit => {
                let (filename, id, reasoning, metadata) = (None, None, false, None);
                self.delta(Event::File(FileEvent {
                    url,
                    media_type,
                    filename,
                    id,
                    reasoning,
                    metadata,
                    ..Default::default()
                }))?;
            }
            ModelEvent::Warning(warning) => {
                if emit {
                    let (message, code) =
                        (warning.message.clone(), Some(format!("model.{}", warning.feature)));
                    self.delta(Event::Warning(WarningEvent { message, code, ..Default::default() }))?;
                }
                self.said.warnings.push(warning);
            }
            ModelEvent::Finished { reason, raw_reason, usage, metadata, raw, .. } => {
                self.said.finish = Some(reason);
                self.said.raw_finish = raw_reason;
                self.said.usage = usage;
                self.said.raw = raw;
                self.said.metadata = metadata;
                return Ok(true);
            }
            // What we do not know concerns nobody but whoever looks at the provider's wire.
            _ => {}
        }
        Ok(false)
    }

    fn part(&self, part: u32) -> Option<&SaidPart> {
        self.said.parts.get(self.open.get(&part)?.at)
    }

    fn part_mut(&mut self, part: u32) -> Option<&mut SaidPart> {
        self.said.parts.get_mut(self.open.get(&part)?.at)
    }

    fn end_text(&mut self, part: u32, ended: Option<Value>) {
        match self.part_mut(part) {
            Some(SaidPart::Text { metadata, .. } | SaidPart::Reasoning { metadata, .. })
                if ended.is_some() =>
            {
                *metadata = ended;
            }
            _ => {}
        }
        self.open.remove(&part);
    }

    fn begin_call(
        &mut self,
        part: u32,
        given: Option<String>,
        name: String,
        provider_executed: bool,
        metadata: Option<Value>,
    ) -> Result<()> {
        // A missing id, and one that this run has used, is replaced: two calls of one id would be taken for one. So is one
        // that no client could send back with its answer.
        let used = |id: &String| !self.call.node.run.replay().tool_calls.insert(id.clone());
        let (call, replaced) = match given {
            Some(id) if check_id(&id).is_ok() && !used(&id) => (id, None),
            given => (crate::id::fresh_id("call")?, given),
        };
        let call = ToolCallId::from(call);
        let said = SaidCall {
            call: call.clone(),
            name: name.clone(),
            input: Err(String::new()),
            metadata,
            provider_output: None,
            provider_executed,
        };
        self.begin(part, SaidPart::Call(said));
        if self.shows_tools() {
            let tool = self.tool(call, &name, provider_executed, replaced);
            self.delta(Event::ToolInputStart(tool))?;
        }
        Ok(())
    }

    fn tool(&self, call: ToolCallId, name: &str, by_provider: bool, replaced: Option<String>) -> ToolCall {
        let known = self.call.tools.get(name);
        let executor = match known {
            _ if by_provider => Executor::Provider,
            Some(tool) => tool.executor(),
            None => Executor::Server,
        };
        let mut tool = ToolCall::new(call, name).by(executor);
        tool.title = known.and_then(|tool| tool.spec().title.clone());
        tool.metadata = replaced
            .filter(|id| check_id(id).is_ok())
            .map(|id| serde_json::json!({ "headwater": { "providerCallId": id } }));
        tool
    }

    fn end_call(&mut self, part: u32, ended: Option<Value>) -> Result<()> {
        let Some(open) = self.open.remove(&part) else { return Ok(()) };
        let Some(SaidPart::Call(said)) = self.said.parts.get_mut(open.at) else { return Ok(()) };
        if ended.is_some() {
            said.metadata = ended;
        }
        // No arguments at all are an empty object.
        let text = if open.input.trim().is_empty() { "{}" } else { &open.input };
        // A call with an input that is too large is not made: the model is told why.
        let parsed = match limits::input().check(text.as_bytes()) {
            Ok(()) => {
                serde_json::from_str::<Value>(text).map_err(|error| format!("the input is not JSON: {error}"))
            }
            Err(exceeded) => Err(format!("the input is too large: {exceeded}")),
        };
        said.input = parsed.clone().map_err(|_| open.input.clone());
        let (call, name, by_provider) = (said.call.clone(), said.name.clone(), said.provider_executed);
        // A provider's result may still come for it.
        self.open.insert(part, Open { input: String::new(), ..open });
        if !self.shows_tools() {
            return Ok(());
        }
        let tool = self.tool(call, &name, by_provider, None);
        self.delta(match parsed {
            Ok(input) => Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(input))),
            Err(error) => Event::ToolInputError(ToolInputError {
                tool,
                input: Some(Value::String(open.input)),
                error,
                ..Default::default()
            }),
        })
    }

    /// Shows the fields of an object as they grow.
    fn extract(&mut self, text: &str) -> Result<()> {
        let Some(fields) = &mut self.fields else { return Ok(()) };
        let (Some(structured), Some(stream)) = (&self.call.options.structured, &self.call.stream) else {
            return Ok(());
        };
        let mut updates = Vec::new();
        let pushed = fields.push(text, |chunk| {
            updates.push(match chunk {
                Chunk::Set { path, value } => StructuredOp::Set { path: path.to_owned(), value },
                Chunk::Text { path, delta } => StructuredOp::text(path, delta),
                Chunk::Append { path, items } => StructuredOp::append(path, items),
            });
        });
        if pushed.is_err() {
            // It is no JSON: said at the end, when the whole is read.
            self.fields = None;
        }
        for op in updates {
            self.structured = true;
            self.delta(self.call.update(structured, stream, op))?;
        }
        Ok(())
    }

    /// The attempt is complete. Its end is told when the pass is.
    fn finish(mut self) -> Result<(Said, AttemptId)> {
        self.close_parts()?;
        // A call whose end was not told ends here.
        let open: Vec<_> =
            self.open.iter().filter(|(_, open)| !open.input.is_empty()).map(|(part, _)| *part).collect();
        for part in open {
            self.end_call(part, None)?;
        }
        if self.call.options.emit && self.said.usage != Default::default() {
            self.delta(Event::Usage(self.said.usage.clone()))?;
        }
        self.call.node.run.journal.used(&self.said.usage);
        Ok((self.said, self.attempt))
    }

    /// Ends what is open, and the attempt: what it said stays.
    fn close(&mut self) -> Result<()> {
        self.close_parts()?;
        self.call.say(Event::AttemptFinished { attempt: self.attempt.clone() })
    }

    fn close_parts(&mut self) -> Result<()> {
        let mut open: Vec<_> = self.open.iter().map(|(part, open)| (open.at, *part)).collect();
        open.sort_unstable();
        for (at, part) in open {
            let id = self.part_id(part);
            let kind = match self.said.parts.get(at) {
                Some(SaidPart::Text { .. }) => BlockKind::Text,
                Some(SaidPart::Reasoning { .. }) => BlockKind::Reasoning,
                _ => continue,
            };
            if self.shows_block(kind) {
                self.delta(Event::BlockEnded(BlockEnded::new(kind, id)))?;
            }
        }
        Ok(())
    }

    /// The model died. What it said is taken back, or kept for the next one to go on from.
    fn die(mut self, error: ModelError) -> Result<Attempted> {
        let only_text = self.said.parts.iter().all(|part| matches!(part, SaidPart::Text { .. }));
        let goes_on = error.kind() != ModelErrorKind::Aborted;
        self.call.attempt.lock().unwrap_or_else(PoisonError::into_inner).take();
        if goes_on
            && self.call.options.failover == Failover::Continue
            && only_text
            && self.call.fields.is_none()
        {
            let said = self.said.text();
            self.close()?;
            return Ok(Attempted::Died { error, kept: Some((self.attempt, said)) });
        }
        if let (true, Some(stream)) = (self.structured, &self.call.stream) {
            self.call.say(Event::StructuredInvalidated(StructuredInvalidated {
                stream: stream.clone(),
                ..Default::default()
            }))?;
        }
        let reason = Some(retraction(&error));
        self.call.say(Event::AttemptRetracted(AttemptRetracted {
            attempt: self.attempt,
            reason,
            ..Default::default()
        }))?;
        Ok(Attempted::Died { error, kept: None })
    }
}
