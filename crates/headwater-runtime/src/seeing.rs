//! What whoever operates a process sees: spans of runs, nodes, model calls and tool calls, and what is counted.
//!
//! The names are stable and listed in `docs/operations.md`. Fields follow OpenTelemetry's conventions for generative AI.
//! Nothing that a person or a model said is in them. Without a subscriber and a recorder all of this costs next to nothing.

use headwater_models::ModelEvent;
use headwater_protocol::{RunStatus, Usage};
use metrics::{counter, gauge, histogram};
use tokio::time::Instant;
use tracing::{Span, field::Empty, info_span};

use crate::{
    Error,
    run::{NodeRun, RunShared},
};

/// The span of a run, for as long as this process drives it.
///
/// It outlives the request that began it, so it follows from that request and is no part of it.
pub(crate) fn run_span(run: &RunShared) -> Span {
    let begun = &run.begun;
    let span = info_span!(
        parent: None,
        "run",
        otel.name = format_args!("invoke_agent {}", begun.agent),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = begun.agent,
        gen_ai.conversation.id = begun.session.as_ref().map(headwater_protocol::SessionId::as_str),
        run = %run.id,
        workflow = begun.workflow,
    );
    span.follows_from(Span::current());
    span
}

/// The span of one execution of a node.
pub(crate) fn node_span(node: &NodeRun) -> Span {
    info_span!("node", otel.name = format_args!("node {}", node.visit.node), node = %node.name)
}

/// Counts a run that goes on here for as long as it lives.
#[derive(Debug)]
pub(crate) struct Going(String);

impl Going {
    pub(crate) fn new(agent: &str) -> Self {
        gauge!("headwater_runs_going", "agent" => agent.to_owned()).increment(1.0);
        Self(agent.to_owned())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        gauge!("headwater_runs_going", "agent" => self.0.clone()).decrement(1.0);
    }
}

/// A run was begun, or taken up again.
pub(crate) fn run_started(agent: &str, again: bool) {
    let name = if again { "headwater_runs_resumed_total" } else { "headwater_runs_started_total" };
    counter!(name, "agent" => agent.to_owned()).increment(1);
}

/// A run has ended, or waits for somebody.
pub(crate) fn run_settled(agent: &str, status: RunStatus) {
    let outcome = match status {
        RunStatus::Waiting => {
            counter!("headwater_runs_waited_total", "agent" => agent.to_owned()).increment(1);
            return;
        }
        RunStatus::Finished => "finished",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        _ => return,
    };
    counter!("headwater_runs_ended_total", "agent" => agent.to_owned(), "outcome" => outcome).increment(1);
}

/// A run could not be driven on, because its journal could not be written.
pub(crate) fn store_failed(error: &Error) {
    counter!("headwater_store_errors_total", "code" => error.code().to_owned()).increment(1);
}

/// One attempt to get an answer from a model.
#[derive(Debug)]
pub(crate) struct ModelCall {
    pub(crate) span: Span,
    model: String,
    began: Instant,
    spoke: bool,
    over: bool,
}

impl ModelCall {
    pub(crate) fn new(model: &str) -> Self {
        let (provider, name) = model.split_once(':').unwrap_or(("", model));
        let span = info_span!(
            "model",
            otel.name = format_args!("chat {name}"),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = name,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.response.time_to_first_chunk = Empty,
            "error.type" = Empty,
        );
        Self { span, model: model.to_owned(), began: Instant::now(), spoke: false, over: false }
    }

    /// Takes note of what the model says: of the first word, the time.
    pub(crate) fn heard(&mut self, event: &ModelEvent) {
        let word = matches!(
            event,
            ModelEvent::TextDelta { .. }
                | ModelEvent::ReasoningDelta { .. }
                | ModelEvent::ToolCallStart { .. }
                | ModelEvent::ToolCallDelta { .. }
        );
        if word && !self.spoke {
            self.spoke = true;
            let seconds = self.began.elapsed().as_secs_f64();
            self.span.record("gen_ai.response.time_to_first_chunk", seconds);
            histogram!("headwater_model_first_token_seconds", "model" => self.model.clone()).record(seconds);
        }
    }

    pub(crate) fn answered(&mut self, usage: &Usage) {
        let kinds = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("reasoning", usage.reasoning_tokens),
            ("cached-input", usage.cached_input_tokens),
        ];
        for (kind, tokens) in kinds {
            let Some(tokens) = tokens else { continue };
            counter!("headwater_model_tokens_total", "model" => self.model.clone(), "kind" => kind)
                .increment(tokens);
        }
        self.span.record("gen_ai.usage.input_tokens", usage.input_tokens);
        self.span.record("gen_ai.usage.output_tokens", usage.output_tokens);
        self.end("answered");
    }

    pub(crate) fn failed(&mut self, code: &str) {
        self.span.record("error.type", code);
        self.end("failed");
    }

    fn end(&mut self, outcome: &'static str) {
        self.over = true;
        let model = self.model.clone();
        counter!("headwater_model_calls_total", "model" => model.clone(), "outcome" => outcome).increment(1);
        histogram!("headwater_model_call_seconds", "model" => model)
            .record(self.began.elapsed().as_secs_f64());
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        if !self.over {
            self.end("stopped");
        }
    }
}

/// The span of one call of a tool.
pub(crate) fn tool_span(tool: &str, call: &str) -> Span {
    info_span!(
        "tool",
        otel.name = format_args!("execute_tool {tool}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.call.id = call,
    )
}

/// A call of a tool has come to its end.
pub(crate) fn tool_called(tool: &str, outcome: &'static str) {
    counter!("headwater_tool_calls_total", "tool" => tool.to_owned(), "outcome" => outcome).increment(1);
}
