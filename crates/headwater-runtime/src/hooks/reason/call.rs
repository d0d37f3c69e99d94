//! One reason call: passes alternate with tools, an optional question comes in between, and an optional
//! object at the end.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use headwater_json::Fields;
use headwater_models::{ContentPart, Model, ModelMessage, ModelRequest, ResponseFormat, ToolChoice, Warning};
use headwater_protocol::{
    AttemptId, Event, FinishReason, Origin, RequestId, StructuredInvalidated, StructuredOp, StructuredState,
    StructuredStatus, StructuredUpdate, ToolSpec, Usage,
};
use headwater_tools::{ClientTool, Schema, Tools};
use serde_json::{Map, Value, json};

use super::{
    Ask, FinishedToolCall,
    model_reply::{ModelReply, ReplyToolCall, aborted},
    options::{Options, StructuredOutput},
    output,
};
use crate::{
    Error, Result,
    error::ErrorKind,
    hooks::wait_for,
    journal::{AnswerValue, HookOutcome, WaitKind},
    node::{HookKey, NodeVisit},
    question::request_id,
    usage,
};

/// The finish reason of a call whose last step still wanted tools.
const MAX_STEPS: &str = "max-steps";

/// The kind of the record for an aborted call.
const ABORT: &str = "abort";

/// A reason call in progress.
#[derive(Debug)]
pub(super) struct ReasonCall {
    pub(super) node: Arc<NodeVisit>,
    pub(super) key: HookKey,
    pub(super) options: Options,
    pub(super) models: Vec<Arc<dyn Model>>,
    pub(super) tools: Tools,
    pub(super) origin: Origin,
    schema: Option<Schema>,
    pub(super) fields: Option<Fields>,
    /// The name of the structured stream, if any.
    pub(super) stream: Option<String>,
    /// The current attempt.
    pub(super) attempt: Mutex<Option<AttemptId>>,
    /// The tool calls of the current step.
    open_calls: Vec<ReplyToolCall>,
    /// The abort error of an earlier execution, if recorded.
    given_up: Option<Error>,
    /// Whether the call is complete, or its abort is in the journal.
    pub(super) is_over: AtomicBool,
    made: ReasonResult,
}

/// The accumulated result of the call.
#[derive(Debug)]
pub(super) struct ReasonResult {
    pub(super) text: String,
    pub(super) output: Option<Value>,
    pub(super) raw: Option<Value>,
    pub(super) usage: Usage,
    pub(super) finish_reason: FinishReason,
    pub(super) provider_metadata: Map<String, Value>,
    pub(super) warnings: Vec<Warning>,
    pub(super) tool_results: Vec<FinishedToolCall>,
    pub(super) interrupt_response: Option<Value>,
    pub(super) passes: u32,
}

impl Default for ReasonResult {
    fn default() -> Self {
        Self {
            text: String::new(),
            output: None,
            raw: None,
            usage: Usage::default(),
            finish_reason: FinishReason::Stop,
            provider_metadata: Map::new(),
            warnings: Vec::new(),
            tool_results: Vec::new(),
            interrupt_response: None,
            passes: 0,
        }
    }
}

/// The parts of a pass that readers receive.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassVisibility {
    pub(super) text: bool,
    pub(super) fields: bool,
}

impl ReasonCall {
    pub(super) fn new(node: Arc<NodeVisit>, key: HookKey, mut options: Options) -> Result<Self> {
        let schema = options.schema.take().transpose().map_err(|error| Error::new(ErrorKind::Hook, error))?;
        let fields = match &options.structured {
            Some(structured) if options.stream => structured.fields()?,
            // Errors in the fields are reported even if they are not used.
            Some(structured) => structured.fields()?.and(None),
            None => None,
        };
        let mut tools = Tools::new();
        for given in options.tools.drain(..) {
            let given = given.map_err(|error| Error::new(ErrorKind::Hook, error))?;
            tools = tools.merge(given).map_err(|error| Error::new(ErrorKind::Hook, error.to_string()))?;
        }
        let models = options
            .models
            .iter()
            .map(|model| model.resolve(&node.run.services.models))
            .collect::<Result<Vec<_>>>()?;
        let operation = request_id(&node.run.id, &key.text).as_str().replacen("req_", "op_", 1);
        let origin = Origin { operation: Some(operation.clone()), ..node.origin() };
        let stream = options.structured.as_ref().map(|structured| {
            structured.stream.clone().unwrap_or_else(|| operation.replacen("op_", "stream_", 1))
        });
        Ok(Self {
            node,
            key,
            options,
            models,
            tools,
            origin,
            schema,
            fields,
            stream,
            attempt: Mutex::new(None),
            open_calls: Vec::new(),
            given_up: None,
            is_over: AtomicBool::new(false),
            made: ReasonResult::default(),
        })
    }

    /// Boxed, so that callers' futures do not each contain a copy of its state.
    pub(super) async fn make(mut self: Box<Self>) -> Result<ReasonResult> {
        self.given_up = match self.node.recorded(&self.abort_key(), ABORT, None)? {
            Some(Err(error)) => Some(error),
            _ => None,
        };
        // Rarely used, large futures are boxed.
        #[cfg(feature = "mcp")]
        let gathered = match self.options.servers.is_empty() {
            true => Ok(()),
            false => Box::pin(self.gather()).await,
        };
        #[cfg(not(feature = "mcp"))]
        let gathered = Ok(());
        let made = match gathered.and_then(|()| self.add_client_tools()) {
            Ok(()) => self.ask().await,
            Err(error) => Err(error),
        };
        self.is_over.store(true, Ordering::Relaxed);
        self.tools.close().await;
        #[cfg(feature = "mcp")]
        for server in &self.options.servers {
            Box::pin(server.close()).await;
        }
        match self.given_up.take() {
            Some(error) => Err(error),
            None => made.map(|()| std::mem::take(&mut self.made)),
        }
    }

    /// The key of the abort record.
    fn abort_key(&self) -> String {
        format!("{}/abort", self.key.text)
    }

    /// Refuses new work in a call that an earlier execution aborted. Recorded work is read from the journal.
    pub(super) fn may_begin(&self, key: &str) -> Result<()> {
        match &self.given_up {
            Some(error) if !self.node.run.fold().hooks.contains_key(key) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Waits for a person or a page, unless an earlier execution gave up waiting.
    pub(super) async fn wait_for(
        &self,
        key: &str,
        hook: &'static str,
        request: RequestId,
        kind: WaitKind,
        expires: Option<Duration>,
    ) -> Result<AnswerValue> {
        if let Some(error) = &self.given_up
            && !self.node.run.fold().answers.contains_key(&request)
        {
            self.node.asked_for(key);
            return Err(error.clone());
        }
        wait_for(&self.node, key, hook, request, kind, expires).await
    }

    /// Adds the tools of servers. Their lists are recorded, so that the model gets the same tools when the
    /// node is run again.
    #[cfg(feature = "mcp")]
    async fn gather(&mut self) -> Result<()> {
        let failed = |error: headwater_tools::Error| {
            Error::new(ErrorKind::Hook, error.to_string()).with_code(error.kind().code())
        };
        for (number, server) in self.options.servers.iter().enumerate() {
            let key = format!("{}/mcp.{number}", self.key.text);
            self.may_begin(&key)?;
            // An unavailable server is not a bug in the code: the node may be retried.
            let listing = async {
                server.list().await.map_err(|error| {
                    Error::new(ErrorKind::Node, error.to_string()).with_code(error.kind().code())
                })
            };
            let listing: headwater_tools::McpListing = self.node.once(&key, "mcp", None, listing).await?;
            let offered = server.of(&listing).map_err(failed)?;
            self.tools = std::mem::take(&mut self.tools).merge(offered).map_err(failed)?;
        }
        Ok(())
    }

    /// Adds the page's tools, except those with the name of an existing tool.
    fn add_client_tools(&mut self) -> Result<()> {
        let brought = match self.options.client_tools {
            true => self.node.run.spec.client_tools.as_slice(),
            false => &[],
        };
        for tool in brought {
            if self.tools.get(&tool.name).is_some() {
                continue;
            }
            let schema = tool.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
            let mut spec = ToolSpec::new(&tool.name, schema);
            spec.description.clone_from(&tool.description);
            self.tools = std::mem::take(&mut self.tools)
                .with(ClientTool::new(spec))
                .map_err(|error| Error::new(ErrorKind::Hook, error.to_string()))?;
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<()> {
        let mut messages = self.options.messages.clone();
        if let Some(system) = &self.options.system {
            messages.insert(0, ModelMessage::System { content: system.clone(), provider_options: None });
        }
        if let Some(input) = &self.options.input {
            messages.push(user(input.clone()));
        }
        match self.options.ask.clone() {
            None => self.answer(&mut messages).await,
            Some(ask) => Box::pin(self.ask_person(&ask, &mut messages)).await,
        }
    }

    /// Produces the final answer: a text, or an object that matches the schema.
    async fn answer(&mut self, messages: &mut Vec<ModelMessage>) -> Result<()> {
        let format = match &self.schema {
            Some(schema) => Some(ResponseFormat::Json {
                schema: Some(schema.as_value().clone()),
                name: self
                    .options
                    .structured
                    .as_ref()
                    .map(|structured| structured.data_type.replace('.', "_")),
            }),
            None => self.options.request.response_format.clone().or_else(|| self.format_of_page()),
        };
        let quiet = self.schema.is_some() || self.options.ask.is_some();
        let shown = PassVisibility { text: self.options.emit && !quiet, fields: self.options.emit };
        let mut retries = self.options.output_retries;
        loop {
            let said = self.passes(messages, format.clone(), shown).await?;
            self.made.text = said.text();
            let Some(schema) = self.schema.clone() else { return Ok(()) };
            let read = output::parse(&self.made.text).and_then(|value| {
                output::check(&schema, &value)?;
                Ok(value)
            });
            match read {
                Ok(value) => {
                    self.finish_structured(&value)?;
                    self.made.output = Some(value);
                    return Ok(());
                }
                Err(error) => {
                    self.invalidate()?;
                    // Output that was cut off does not count as invalid output of the model.
                    if let Some(error) = self.cut_short() {
                        return Err(error);
                    }
                    if retries == 0 {
                        return Err(error);
                    }
                    retries -= 1;
                    messages.push(ModelMessage::Assistant { content: said.content() });
                    messages.push(user(format!("{error}. Answer again, with the corrected JSON alone.")));
                }
            }
        }
    }

    /// The error for output that was cut off by a limit or filter.
    fn cut_short(&self) -> Option<Error> {
        match &self.made.finish_reason {
            FinishReason::Length => {
                let message = "the model ran out of tokens before its output was complete: allow more with \
                               `max_output_tokens`, or ask for less";
                Some(Error::new(ErrorKind::Output, message).with_code("output.truncated"))
            }
            FinishReason::Other(word) if word == MAX_STEPS => {
                let message = format!(
                    "the model still wanted tools after {} steps, the most allowed, and gave no output",
                    self.options.tool_options.max_steps
                );
                Some(Error::new(ErrorKind::Limit, message).with_code("reason.max-steps"))
            }
            _ => None,
        }
    }

    /// The model decides about a question, a person answers it, and the model continues.
    async fn ask_person(&mut self, ask: &Ask, messages: &mut Vec<ModelMessage>) -> Result<()> {
        let format = ResponseFormat::Json {
            schema: Some(ask.envelope(self.schema.as_ref())),
            name: Some("decision".to_owned()),
        };
        let mut deciding = messages.clone();
        deciding.push(user(ask.instruction().to_owned()));
        let shown = PassVisibility { text: false, fields: false };
        let mut retries = self.options.output_retries;
        let (said, decided) = loop {
            let said = self.passes(&mut deciding, Some(format.clone()), shown).await?;
            match ask.read(&said.text(), self.schema.as_ref()) {
                Ok(decided) => break (said, decided),
                Err(error) => {
                    if let Some(error) = self.cut_short() {
                        return Err(error);
                    }
                    if retries == 0 {
                        return Err(error);
                    }
                    retries -= 1;
                    deciding.push(ModelMessage::Assistant { content: said.content() });
                    deciding.push(user(format!("{error}. Answer again, with the corrected JSON alone.")));
                }
            }
        };
        let Some((asked, mut interrupt)) = decided.question else {
            self.made.text = decided.draft;
            if let Some(value) = decided.output {
                self.finish_structured(&value)?;
                self.made.output = Some(value);
            }
            return Ok(());
        };
        let key = format!("{}/ask", self.key.text);
        let request = request_id(&self.node.run.id, &key);
        interrupt.request = request.clone();
        interrupt.id.clone_from(&self.options.id);
        interrupt.workflow = Some(self.node.workflow_id().to_owned());
        let kind = WaitKind::Question { interrupt: Box::new(interrupt), declinable: ask.declinable };
        let answer = match self.wait_for(&key, "ask", request.clone(), kind, ask.expires).await? {
            AnswerValue::Given(answer) => Some(answer),
            AnswerValue::Declined if ask.declinable => None,
            AnswerValue::Expired => {
                return Err(Error::new(ErrorKind::Expired, format!("no answer to {request} came in time")));
            }
            _ => {
                let error = Error::new(ErrorKind::Stopped, "the person did not want to answer")
                    .with_code(ErrorKind::Declined.code());
                self.node.run.fail(&error);
                return Err(error);
            }
        };
        // Tool results from before the question stay in the conversation.
        messages.extend(deciding.drain(messages.len() + 1..));
        messages.push(ModelMessage::Assistant { content: said.content() });
        let answered = answer.as_ref().map_or_else(
            || "The person did not want to answer.".into(),
            |answer| format!("The person answered: {answer}"),
        );
        messages.push(user(format!(
            "The person was asked: {asked}\n{answered}\nNow give the final answer{}.",
            if self.schema.is_some() { ", as JSON of the schema" } else { "" }
        )));
        self.made.interrupt_response = answer;
        self.answer(messages).await
    }

    /// Alternates model passes and tool calls until the model requests no more tools.
    async fn passes(
        &mut self,
        messages: &mut Vec<ModelMessage>,
        format: Option<ResponseFormat>,
        shown: PassVisibility,
    ) -> Result<ModelReply> {
        let mut steps = 0;
        loop {
            steps += 1;
            let mut request: ModelRequest = self.options.request.clone();
            request.messages.clone_from(messages);
            request.tools = self.tools.specs().cloned().collect();
            if request.tool_choice.is_none() {
                request.tool_choice = self.choice_of_page(steps)?;
            }
            request.response_format.clone_from(&format);
            request.whole = !self.options.stream;
            let key = format!("{}/pass.{}", self.key.text, self.made.passes);
            self.may_begin(&key)?;
            let said = self.pass(&key, request, shown).await?;
            self.add(&said, shown);
            let wanted: Vec<_> = said.calls().cloned().collect();
            if wanted.is_empty() {
                self.end_step(&key)?;
                return Ok(said);
            }
            if steps >= self.options.tool_options.max_steps {
                self.refuse(&key, &wanted)?;
                if self.options.tool_options.fail_at_max_steps {
                    let message =
                        format!("the model still wanted tools after {steps} steps, the most allowed");
                    return Err(Error::new(ErrorKind::Limit, message).with_code("reason.max-steps"));
                }
                self.made.finish_reason = FinishReason::Other(MAX_STEPS.to_owned());
                self.node.finished(&self.made.finish_reason);
                return Ok(said);
            }
            self.open_calls.clone_from(&wanted);
            let results = self.run_tools(&wanted).await?;
            self.end_step(&key)?;
            self.open_calls.clear();
            messages.push(ModelMessage::Assistant { content: said.content() });
            messages.push(ModelMessage::Tool { content: results });
        }
    }

    /// The answer format that the page requests, if this call produces the answer.
    fn format_of_page(&self) -> Option<ResponseFormat> {
        let format = self.node.run.spec.answer_format.as_ref().filter(|_| self.options.emit)?;
        Some(ResponseFormat::Json { schema: format.schema.clone(), name: format.name.clone() })
    }

    /// The tool choice of the page, if the code does not set one. A forced call applies to the first step
    /// only, because otherwise the loop would not end.
    fn choice_of_page(&self, step: u32) -> Result<Option<ToolChoice>> {
        let Some(choice) = self.node.run.spec.tool_choice.as_ref().filter(|_| !self.tools.is_empty()) else {
            return Ok(None);
        };
        let choice = ToolChoice::parse(choice)
            .map_err(|error| Error::new(ErrorKind::Input, error).with_code("tool-choice.invalid"))?;
        Ok(match choice {
            ToolChoice::Required | ToolChoice::Tool(_) if step > 1 => None,
            // A tool that this call does not offer belongs to another call.
            ToolChoice::Tool(name) if self.tools.get(&name).is_none() => None,
            choice => Some(choice),
        })
    }

    fn add(&mut self, said: &ModelReply, shown: PassVisibility) {
        let made = &mut self.made;
        made.passes += 1;
        usage::add(&mut made.usage, &said.usage);
        for warning in &said.warnings {
            if !made.warnings.contains(warning) {
                made.warnings.push(warning.clone());
            }
        }
        if let Some(Value::Object(metadata)) = &said.metadata {
            crate::next::merge(&mut made.provider_metadata, metadata.clone());
        }
        made.raw.clone_from(&said.raw);
        if let Some(finish) = &said.finish {
            made.finish_reason = finish.clone();
            self.node.finished(finish);
        }
        if shown.text {
            self.node.streamed(&said.text());
        }
    }

    pub(super) fn keep_result(&mut self, result: FinishedToolCall) {
        self.made.tool_results.push(result);
    }

    /// An update of the structured stream.
    pub(super) fn update(&self, structured: &StructuredOutput, stream: &str, op: StructuredOp) -> Event {
        let mut update = StructuredUpdate::new(stream, &structured.data_type, op);
        update.node = Some(self.node.visit.node.clone());
        update.id.clone_from(&self.options.id);
        update.schema_id.clone_from(&structured.schema_id);
        update.schema_version.clone_from(&structured.schema_version);
        Event::Structured(update)
    }

    /// Emits the finished object, unless an earlier execution did.
    fn finish_structured(&self, value: &Value) -> Result<()> {
        let (Some(structured), Some(stream)) = (&self.options.structured, &self.stream) else {
            return Ok(());
        };
        if !self.options.emit || self.stream_status() == Some(StructuredStatus::Done) {
            return Ok(());
        }
        let event = self.update(structured, stream, StructuredOp::finish(value.clone()));
        self.node.run.journal.fact(&self.origin, event).map(drop)
    }

    /// Retracts the visible part of an invalid object.
    pub(super) fn invalidate(&self) -> Result<()> {
        let Some(stream) = &self.stream else { return Ok(()) };
        if self.stream_status().is_some_and(|status| status != StructuredStatus::Done) {
            let event = Event::StructuredInvalidated(StructuredInvalidated {
                stream: stream.clone(),
                ..Default::default()
            });
            self.node.keep(self.node.run.journal.fact(&self.origin, event))?;
        }
        Ok(())
    }

    fn stream_status(&self) -> Option<StructuredStatus> {
        let stream = self.stream.as_deref()?;
        self.node.run.journal.with_state(|state| state.structured().get(stream).map(StructuredState::status))
    }
}

/// Records an abort if the node's code drops the call between passes or while tools run: otherwise the tools
/// would count as unfinished and the model would be called again when the run is resumed. A pass records its
/// own abort.
impl Drop for ReasonCall {
    fn drop(&mut self) {
        if self.is_over.load(Ordering::Relaxed) || !self.node.gives_up() {
            return;
        }
        // A failed write ends the run, which the next hook reports.
        let record = || -> Result<()> {
            for call in &self.open_calls {
                self.show_aborted(call)?;
            }
            let in_step = self.options.emit && !self.open_calls.is_empty();
            let told = in_step.then_some((&self.origin, Event::StepFinished { name: None }));
            let outcome = HookOutcome::Error(Error::from(aborted()));
            let done = self.node.run.done(&self.abort_key(), ABORT, None, outcome, told);
            self.node.keep(done).map(drop)
        };
        let _ = record();
    }
}

pub(super) fn user(text: String) -> ModelMessage {
    ModelMessage::User { content: vec![ContentPart::Text { text, provider_options: None }] }
}
