//! Executing the calls that a model requests: each once, with a person's approval if needed.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::{FutureExt as _, future::join_all};
use headwater_models::{ContentPart, ToolResultOutput};
use headwater_protocol::{
    Choice, Event, Executor, Interrupt, ToolCall, ToolCallId, ToolDenied, ToolOutputError, ToolState,
};
use headwater_tools::{Approval, Tool, ToolContext, ToolOutput, UnfinishedPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::Instrument as _;

use super::{FinishedToolCall, call::ReasonCall, model_reply::ReplyToolCall};
use crate::{
    Error, Result, code_of,
    codec::json_size,
    coded,
    error::ErrorKind,
    journal::{AnswerValue, Effect, WaitKind},
    limits,
    question::request_id,
    reader_text, telemetry,
};

/// How long a tool may take to finish when the run is stopped.
const GRACE: Duration = Duration::from_secs(1);

/// The outcome of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Gave {
    Output(ToolOutput),
    /// The error: reported by the tool itself, or a failure around it, with its code first.
    Failed(String),
    Denied(Option<String>),
}

impl ReasonCall {
    /// Executes the calls concurrently, and returns their results for the model.
    pub(super) async fn run_tools(&mut self, wanted: &[ReplyToolCall]) -> Result<Vec<ContentPart>> {
        let this = &*self;
        let gave = join_all(wanted.iter().map(|call| this.run_tool(call))).await;
        let mut content = Vec::new();
        for (call, gave) in wanted.iter().zip(gave) {
            let (input, gave) = gave?;
            content.push(ContentPart::ToolResult {
                tool_call_id: call.call.clone(),
                tool_name: call.name.clone(),
                output: result_for_model(&gave),
                provider_options: None,
            });
            let result = match gave {
                Gave::Output(output) => Ok(output),
                Gave::Failed(error) => Err(error),
                Gave::Denied(reason) => Err(denied(reason.as_deref())),
            };
            self.keep_result(FinishedToolCall {
                call: call.call.clone(),
                name: call.name.clone(),
                input,
                result,
            });
        }
        Ok(content)
    }

    /// The calls of the last step are not executed, but closed, so that the conversation stays usable.
    pub(super) fn refuse(&mut self, key: &str, wanted: &[ReplyToolCall]) -> Result<()> {
        for call in wanted {
            let gave = Gave::Failed("not called: the most steps allowed were reached".to_owned());
            self.show(&call.call, &call.name, &gave)?;
        }
        self.end_step(key)
    }

    async fn run_tool(&self, wanted: &ReplyToolCall) -> Result<(Value, Gave)> {
        let key = format!("{}/tool.{}", self.key.text, wanted.call);
        let input = match &wanted.input {
            Ok(input) => input.clone(),
            // Readers already have the error with the input.
            Err(text) => {
                let error = format!("the input is not JSON: {text}");
                return Ok((Value::String(text.clone()), Gave::Failed(error)));
            }
        };
        let checked = self.tools.check(&wanted.name, &input);
        let (Some(tool), Ok(())) = (self.tools.get(&wanted.name).cloned(), &checked) else {
            let error =
                checked.err().map_or_else(|| "there is no such tool".to_owned(), |error| error.to_string());
            let gave = Gave::Failed(error);
            self.show(&wanted.call, &wanted.name, &gave)?;
            return Ok((input, gave));
        };
        let input = if self.needs_approval(&*tool, &input) {
            match self.approve(&key, wanted, &*tool, input.clone()).await? {
                Ok(input) => input,
                Err(gave) => {
                    self.show(&wanted.call, &wanted.name, &gave)?;
                    return Ok((input, gave));
                }
            }
        } else {
            input
        };
        let gave = match tool.executor() {
            Executor::Client => self.hand_over(&key, wanted, &*tool, &input).await?,
            _ => self.execute(&key, wanted, tool, input.clone()).await?,
        };
        self.show(&wanted.call, &wanted.name, &gave)?;
        Ok((input, gave))
    }

    fn needs_approval(&self, tool: &dyn Tool, input: &Value) -> bool {
        let asks = self.options.tool_options.approval;
        asks.unwrap_or_else(|| tool.approval(input) == Approval::Needed)
    }

    /// Asks a person. Returns the approved input, which the person may have edited: the approval rule is
    /// checked again for an edited input, so every call either was approved with exactly its input, or needs
    /// no approval.
    async fn approve(
        &self,
        key: &str,
        wanted: &ReplyToolCall,
        tool: &dyn Tool,
        mut input: Value,
    ) -> Result<Result<Value, Gave>> {
        for time in 1.. {
            let key = if time == 1 { format!("{key}/approval") } else { format!("{key}/approval.{time}") };
            let request = request_id(&self.node.run.id, &key);
            let kind = WaitKind::Approval {
                tool: Box::new(self.shown(wanted, tool)),
                input: input.clone(),
                signature: String::new(),
                schema: tool.spec().input_schema.clone(),
                editable: tool.editable(),
            };
            let expires = self.options.tool_options.approval_expires;
            match self.wait_for(&key, "approval", request, kind, expires).await? {
                AnswerValue::Approval { approved: true, input: None, .. } => break,
                AnswerValue::Approval { approved: true, input: Some(edited), .. } => {
                    if edited != input && !tool.editable() {
                        let name = &wanted.name;
                        let message =
                            format!("tool `{name}` does not allow editing its input: mark it `editable`");
                        return Ok(Err(Gave::Failed(message)));
                    }
                    if let Err(error) = self.tools.check(&wanted.name, &edited) {
                        return Ok(Err(Gave::Failed(format!("the edited input does not fit: {error}"))));
                    }
                    let same = edited == input;
                    input = edited;
                    if same || !self.needs_approval(tool, &input) {
                        break;
                    }
                }
                AnswerValue::Approval { approved: false, reason, .. } => {
                    return Ok(Err(Gave::Denied(reason)));
                }
                AnswerValue::Expired => {
                    return Ok(Err(Gave::Denied(Some("no decision came in time".to_owned()))));
                }
                other => return Err(self.node.diverged(&format!("`{key}` was answered with {other:?}"))),
            }
        }
        Ok(Ok(input))
    }

    /// Waits for the output from the page.
    async fn hand_over(
        &self,
        key: &str,
        wanted: &ReplyToolCall,
        tool: &dyn Tool,
        input: &Value,
    ) -> Result<Gave> {
        let request = crate::question::client_request(&self.node.run.id, &wanted.call);
        let kind = WaitKind::ClientTool { tool: Box::new(self.shown(wanted, tool)), input: input.clone() };
        match self.wait_for(key, "client-tool", request, kind, None).await? {
            AnswerValue::Output(output) => Ok(Gave::Output(ToolOutput::json(output))),
            AnswerValue::OutputError(error) => Ok(Gave::Failed(error)),
            AnswerValue::Expired => Ok(Gave::Failed("the page gave nothing in time".to_owned())),
            other => Err(self.node.diverged(&format!("`{key}` was answered with {other:?}"))),
        }
    }

    /// Calls a tool, once. Its result is durable before anything else happens.
    async fn execute(
        &self,
        key: &str,
        wanted: &ReplyToolCall,
        tool: Arc<dyn Tool>,
        input: Value,
    ) -> Result<Gave> {
        // Once the call is complete, the question about an earlier crash is not asked again.
        self.node.asked_for(&format!("{key}/unfinished"));
        self.may_begin(key)?;
        let run = &self.node.run;
        let unfinished = run.rehearsal.is_none() && run.fold().began.contains(key);
        let go = if unfinished { self.unfinished(key, wanted, &*tool).await? } else { None };
        let work = async {
            if let Some(gave) = go {
                return Ok(gave);
            }
            let run = &self.node.run;
            run.journal.effect(Effect::Began { key: key.to_owned() })?.await?;
            let context = self.context(key, wanted);
            let cancel = context.cancel.clone();
            let span = telemetry::tool_span(&run.spec.agent, &wanted.name, wanted.call.as_str());
            let call = tool.call(input, context).instrument(span.clone());
            let stop = async {
                cancel.cancelled().await;
                tokio::time::sleep(GRACE).await;
            };
            let gave = tokio::select! {
                biased;
                gave = call => Ok(gave.map_or_else(
                    |error| {
                        telemetry::tool_failed(run.labels(), &wanted.name, &error);
                        Gave::Failed(error.coded())
                    },
                    |output| self.fitting(&wanted.name, output),
                )),
                () = stop => Err(Error::new(ErrorKind::Stopped, "the run was stopped")),
            };
            if outcome(&gave) == "failed" {
                telemetry::failed(&span, "tool.failed");
            }
            gave
        };
        // Recorded results were counted when they were recorded.
        let work = work.inspect(|gave| telemetry::tool_called(&wanted.name, outcome(gave)));
        self.node.once(key, "tool", None, work).await
    }

    /// The output of a tool. An oversized output is replaced by an error with its size, and the call is not
    /// repeated.
    fn fitting(&self, name: &str, output: ToolOutput) -> Gave {
        let (size, limit) = (json_size(&output), self.node.run.options().max_tool_output_bytes);
        if size <= limit {
            return within_limits(output);
        }
        let message = format!("`{name}` gave {size} bytes, at most {limit} are taken: ask for less of it");
        Gave::Failed(coded("tool.output-too-large", &message))
    }

    fn context(&self, key: &str, wanted: &ReplyToolCall) -> ToolContext {
        let run = self.node.run.clone();
        let (origin, call, name) = (self.origin.clone(), wanted.call.clone(), wanted.name.clone());
        let shows = self.options.shows_calls();
        let limit = run.options().max_tool_output_bytes;
        let digest = Sha256::digest(format!("{}\0{key}", run.id));
        let short: Vec<u8> = digest.iter().copied().take(18).collect();
        let mut context = ToolContext::new(wanted.call.clone(), URL_SAFE_NO_PAD.encode(short));
        context.cancel = run.cancel.signal();
        context.runtime_context = run.runtime_context().clone();
        context.with_progress(move |output| {
            if shows && json_size(&output) <= limit && check_output(&output).is_ok() {
                let event = Event::ToolOutput(headwater_protocol::ToolOutput {
                    call: call.clone(),
                    name: Some(name.clone()),
                    output: output.output,
                    structured: output.structured,
                    is_error: output.is_error,
                    preliminary: true,
                    ..Default::default()
                });
                // Not awaited: if the journal cannot be written, the next hook fails.
                let _ = run.journal.fact(&origin, event);
            }
        })
    }

    /// Decides about a call started by a process that died. `None` means to repeat it.
    async fn unfinished(&self, key: &str, wanted: &ReplyToolCall, tool: &dyn Tool) -> Result<Option<Gave>> {
        // A finished call is already recorded.
        if self.node.run.fold().hooks.contains_key(key) {
            return Ok(None);
        }
        let unknown = || {
            Gave::Failed(format!(
                "the process died while `{}` was running: it may have taken effect",
                wanted.name
            ))
        };
        match tool.unfinished() {
            UnfinishedPolicy::Repeat => Ok(None),
            UnfinishedPolicy::Fail => Ok(Some(unknown())),
            UnfinishedPolicy::Ask => {
                let key = format!("{key}/unfinished");
                let request = request_id(&self.node.run.id, &key);
                let option =
                    |id: &str, label: &str| Choice { id: id.into(), label: label.into(), description: None };
                let question = format!(
                    "The process died while the tool {} was running. It may have taken effect. Call it again?",
                    wanted.name
                );
                let options = vec![option("repeat", "Call it again"), option("skip", "Do not call it again")];
                let mut interrupt = Interrupt::choice(request.clone(), question, options);
                interrupt.call = Some(wanted.call.clone());
                let kind = WaitKind::Question { interrupt: Box::new(interrupt), declinable: true };
                match self.wait_for(&key, "unfinished", request, kind, None).await? {
                    AnswerValue::Given(Value::String(answer)) if answer == "repeat" => Ok(None),
                    _ => Ok(Some(unknown())),
                }
            }
        }
    }

    /// Marks a call as aborted, because the node dropped the reason call.
    pub(super) fn show_aborted(&self, call: &ReplyToolCall) -> Result<()> {
        let gave = Gave::Failed(coded("model.aborted", "the call was aborted"));
        self.show(&call.call, &call.name, &gave)
    }

    /// The visible form of a call.
    fn shown(&self, wanted: &ReplyToolCall, tool: &dyn Tool) -> ToolCall {
        let mut shown = ToolCall::new(wanted.call.clone(), &wanted.name).by(tool.executor());
        shown.title.clone_from(&tool.spec().title);
        shown.quiet = self.options.tool_options.emit.is_none();
        shown
    }

    /// Emits the result of a call, unless an earlier execution did.
    fn show(&self, call: &ToolCallId, name: &str, gave: &Gave) -> Result<()> {
        if !self.options.shows_calls() {
            return Ok(());
        }
        let journal = &self.node.run.journal;
        let state = journal.with_state(|state| {
            let messages = state.messages().iter().rev();
            messages
                .filter_map(|message| message.tool(call.as_str()))
                .map(|tool| (tool.state, tool.preliminary))
                .next()
        });
        let settled = |(state, preliminary): (ToolState, bool)| state.is_settled() && !preliminary;
        if state.is_some_and(settled) {
            return Ok(());
        }
        let (call, name) = (call.clone(), Some(name.to_owned()));
        let event = match gave.clone() {
            Gave::Output(output) => Event::ToolOutput(headwater_protocol::ToolOutput {
                call,
                name,
                output: output.output,
                structured: output.structured,
                is_error: output.is_error,
                ..Default::default()
            }),
            Gave::Failed(error) => {
                Event::ToolOutputError(ToolOutputError { call, name, error, ..Default::default() })
            }
            Gave::Denied(reason) => {
                telemetry::tool_called(name.as_deref().unwrap_or_default(), "denied");
                Event::ToolDenied(ToolDenied { call, name, reason, ..Default::default() })
            }
        };
        self.node.keep(journal.fact(&self.origin, event)).map(drop)
    }
}

/// An output that exceeds the limits is an error of the tool: it is not stored, and the model gets the error.
fn within_limits(output: ToolOutput) -> Gave {
    match check_output(&output) {
        Ok(()) => Gave::Output(output),
        Err(error) => {
            let text = format!("{error}: let the tool give less, or give it in pieces");
            Gave::Failed(coded(error.code(), &text))
        }
    }
}

fn check_output(output: &ToolOutput) -> Result<()> {
    limits::check(&limits::shape(), "the tool's output", &output.output)?;
    let structured = output.structured.as_ref();
    structured.map_or(Ok(()), |given| limits::check(&limits::shape(), "the tool's structured output", given))
}

fn outcome(gave: &Result<Gave>) -> &'static str {
    match gave {
        Ok(Gave::Output(ToolOutput { is_error: false, .. })) => "output",
        Ok(Gave::Output(_) | Gave::Failed(_)) => "failed",
        Ok(Gave::Denied(_)) => "denied",
        Err(_) => "stopped",
    }
}

fn denied(reason: Option<&str>) -> String {
    reason.map_or_else(
        || "a person did not allow the call".to_owned(),
        |reason| format!("a person did not allow the call: {reason}"),
    )
}

fn result_for_model(gave: &Gave) -> ToolResultOutput {
    match gave {
        Gave::Output(ToolOutput { output: Value::String(text), is_error: false, .. }) => {
            ToolResultOutput::Text { value: text.clone() }
        }
        Gave::Output(ToolOutput { output: Value::String(text), .. }) => {
            ToolResultOutput::ErrorText { value: text.clone() }
        }
        Gave::Output(ToolOutput { output, is_error: false, .. }) => {
            ToolResultOutput::Json { value: output.clone() }
        }
        Gave::Output(ToolOutput { output, .. }) => ToolResultOutput::ErrorJson { value: output.clone() },
        Gave::Failed(error) => ToolResultOutput::ErrorText { value: for_model(error) },
        Gave::Denied(reason) => ToolResultOutput::ExecutionDenied { reason: reason.clone() },
    }
}

/// The model gets the public message of infrastructure errors, and the full text of the tool's own errors.
fn for_model(error: &str) -> String {
    match code_of(error) {
        Some(code @ ("tool.failed" | "tool.output-too-large" | "mcp.refused")) => {
            error.strip_prefix(code).and_then(|text| text.strip_prefix(": ")).unwrap_or(error).to_owned()
        }
        Some(code) => reader_text(code).to_owned(),
        None => error.to_owned(),
    }
}
