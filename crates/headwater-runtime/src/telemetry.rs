//! Telemetry: spans of runs, nodes, model calls and tool calls, log lines and metrics.
//!
//! The names are stable and listed in `docs/operations.md`. Fields follow OpenTelemetry's conventions for
//! generative AI. They contain no text of a person or a model. Without a subscriber and a recorder the cost
//! is negligible.

mod model;

use std::time::Duration;

use headwater_models::ModelError;
use headwater_protocol::{ErrorInfo, RunId, RunStatus, SessionId, Usage};
use headwater_tools::ToolError;
use metrics::{counter, gauge};
use tracing::{Span, field::Empty, info_span};

pub(crate) use model::ModelCall;

use crate::Error;

/// Labels of the run in a span or a log line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLabels<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) agent: &'a str,
    pub(crate) workflow: &'a str,
    pub(crate) session: Option<&'a SessionId>,
    /// The HTTP request that started it.
    pub(crate) request: Option<&'a str>,
}

/// The span of a run while this process drives it. A resumed run has a new one.
///
/// It outlives the starting request, so it is not a child of that request's span, which would stay open with
/// it.
pub(crate) fn run_span(run: RunLabels<'_>, resumed: bool) -> Span {
    let span = info_span!(
        parent: None,
        "run",
        otel.name = format_args!("invoke_agent {}", run.agent),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = "headwater",
        gen_ai.agent.name = run.agent,
        gen_ai.conversation.id = run.session.map(SessionId::as_str),
        headwater.run = %run.id,
        headwater.workflow = run.workflow,
        headwater.resumed = resumed,
        "error.type" = Empty,
    );
    if !is_in_trace(&span) {
        span.follows_from(Span::current());
    }
    span
}

/// Links a span as a child of the current trace, for trace exporters only: in `tracing` itself a child keeps
/// its parent open.
#[cfg(feature = "otel")]
fn is_in_trace(span: &Span) -> bool {
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;
    span.set_parent(Span::current().context()).is_ok()
}

#[cfg(not(feature = "otel"))]
fn is_in_trace(_: &Span) -> bool {
    false
}

/// The span of one execution of a node.
pub(crate) fn node_span(node: &str, visit: &str) -> Span {
    info_span!(
        "node",
        otel.name = format_args!("node {node}"),
        otel.status_code = Empty,
        headwater.node = %visit,
        "error.type" = Empty,
    )
}

/// Records the error code in the failed span: one of a few codes, and never the message.
pub(crate) fn failed(span: &Span, code: &str) {
    span.record("error.type", code);
    span.record("otel.status_code", "ERROR");
}

/// Counts an active run until dropped.
#[derive(Debug)]
pub(crate) struct Going(String);

impl Going {
    pub(crate) fn new(agent: &str) -> Self {
        gauge!("headwater_runs_active", "agent" => agent.to_owned()).increment(1.0);
        Self(agent.to_owned())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        gauge!("headwater_runs_active", "agent" => self.0.clone()).decrement(1.0);
    }
}

/// Logs that a run was started or resumed.
pub(crate) fn run_started(run: RunLabels<'_>, again: bool) {
    let (name, what) = match again {
        true => ("headwater_runs_resumed_total", "run resumed"),
        false => ("headwater_runs_started_total", "run started"),
    };
    counter!(name, "agent" => run.agent.to_owned()).increment(1);
    // Without the span, whose fields would be repeated.
    tracing::info!(
        target: "headwater::run",
        parent: None,
        run = run.id.as_str(),
        agent = run.agent,
        workflow = run.workflow,
        session = run.session.map(SessionId::as_str),
        "{what}"
    );
}

/// The end of a run, or its wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunEnd<'a> {
    pub(crate) status: RunStatus,
    pub(crate) error: Option<&'a ErrorInfo>,
    /// The cause of its failure, with the text hidden from readers.
    pub(crate) failure: Option<&'a Error>,
    pub(crate) usage: &'a Usage,
}

/// Logs one line when a run ends or waits. Message texts are not logged.
pub(crate) fn run_settled(run: RunLabels<'_>, end: &RunEnd<'_>, took: Duration) {
    let RunEnd { status, error, failure, usage } = *end;
    let agent = run.agent;
    let code = error.and_then(|error| error.code.as_deref());
    let session = run.session.map(SessionId::as_str);
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let log = |what: &str| {
        tracing::info!(
            target: "headwater::run",
            parent: None,
            run = run.id.as_str(),
            agent,
            session,
            ms,
            input_tokens = usage.input_tokens,
            output_tokens = usage.output_tokens,
            "{what}"
        );
    };
    let outcome = match status {
        RunStatus::Waiting => {
            counter!("headwater_runs_waited_total", "agent" => agent.to_owned()).increment(1);
            log("run waiting");
            return;
        }
        RunStatus::Finished => "finished",
        RunStatus::Failed => {
            failed(&Span::current(), code.unwrap_or("_OTHER"));
            let request = run.request;
            // Readers get the code and the request. A text that may quote a person or a model is for the
            // debug level.
            let text = failure.filter(|error| !error.may_quote()).map(Error::message);
            tracing::warn!(
                target: "headwater::run",
                parent: None,
                run = run.id.as_str(),
                agent,
                session,
                request,
                ms,
                input_tokens = usage.input_tokens,
                output_tokens = usage.output_tokens,
                code,
                error = text.map(tracing::field::debug),
                "run failed"
            );
            if let Some(error) = failure.filter(|error| error.may_quote()) {
                tracing::debug!(run = %run.id, request, code, error = ?error.message(), "the text of a run that failed");
            }
            "failed"
        }
        RunStatus::Cancelled => "cancelled",
        _ => return,
    };
    if status != RunStatus::Failed {
        log(&format!("run {outcome}"));
    }
    counter!("headwater_runs_ended_total", "agent" => agent.to_owned(), "outcome" => outcome).increment(1);
}

/// Logs why a node failed, if the run continues.
pub(crate) fn node_failed(run: RunLabels<'_>, node: &str, error: &Error) {
    let (run, request, code) = (run.id, run.request, error.code());
    if error.may_quote() {
        tracing::warn!(%run, request, node, code, "a node failed: its text is logged at the debug level");
        tracing::debug!(%run, request, node, code, error = ?error.message(), "a node failed");
    } else {
        tracing::warn!(%run, request, node, code, error = ?error.message(), "a node failed");
    }
}

/// Logs why a stored entry is skipped. The error may quote unreadable data.
pub(crate) fn skipped(agent: &str, name: &str, error: &Error, what: &str) {
    let code = error.code();
    if error.may_quote() {
        tracing::warn!(agent, ?name, code, "{what}: its text is logged at the debug level");
        tracing::debug!(agent, ?name, code, why = ?error.message(), "{what}");
    } else {
        tracing::warn!(agent, ?name, code, why = ?error.message(), "{what}");
    }
}

/// Logs why a model call failed. A provider's text may repeat the prompt.
pub(crate) fn model_failed(run: RunLabels<'_>, model: &str, error: &ModelError) {
    let (run, request) = (run.id, run.request);
    let (code, status) = (error.kind().code(), error.http_status());
    let provider_request = error.request_id();
    tracing::warn!(%run, request, model, code, status, provider_request = ?provider_request, "a model failed");
    tracing::debug!(%run, request, model, code, error = ?error.to_string(), "a model failed");
}

/// Logs why a tool call failed. The tool's own error may repeat its input.
pub(crate) fn tool_failed(run: RunLabels<'_>, tool: &str, error: &ToolError) {
    let (run, request) = (run.id, run.request);
    let code = error.code().unwrap_or("tool.failed");
    if error.is_infrastructure() {
        tracing::warn!(%run, request, tool, code, error = ?error.message(), "a tool failed");
    } else {
        tracing::warn!(%run, request, tool, code, "a tool failed: its text is logged at the debug level");
        tracing::debug!(%run, request, tool, code, error = ?error.message(), "a tool failed");
    }
}

/// Sets the number of waiting runs of an agent.
pub(crate) fn runs_waiting(agent: &str, runs: usize) {
    #[expect(clippy::cast_precision_loss, reason = "no agent has that many runs")]
    gauge!("headwater_runs_waiting", "agent" => agent.to_owned()).set(runs as f64);
}

/// Counts a run that stopped because its journal could not be written.
pub(crate) fn store_failed(error: &Error) {
    counter!("headwater_store_errors_total", "code" => error.code().to_owned()).increment(1);
}

/// The span of a tool call.
pub(crate) fn tool_span(agent: &str, tool: &str, call: &str) -> Span {
    info_span!(
        "tool",
        otel.name = format_args!("execute_tool {tool}"),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.agent.name = agent,
        gen_ai.tool.name = tool,
        gen_ai.tool.call.id = call,
        "gen_ai.tool.type" = "function",
        "error.type" = Empty,
    )
}

/// Counts a completed tool call.
pub(crate) fn tool_called(tool: &str, outcome: &'static str) {
    counter!("headwater_tool_calls_total", "tool" => tool.to_owned(), "outcome" => outcome).increment(1);
}
