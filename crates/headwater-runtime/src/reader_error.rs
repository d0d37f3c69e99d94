//! Errors as readers see them: a stable code and a fixed sentence. The original message goes to the operator
//! only, because it may name files, commands or addresses, or quote a prompt.

use headwater_protocol::ErrorInfo;

/// The codes of failed runs, attempts and tool calls, and the sentence shown to readers for each.
pub const READER_ERRORS: &[(&str, &str)] = &[
    ("attempt.abandoned", "The answer was interrupted and is asked for again."),
    ("build", "The agent is not set up correctly."),
    ("hook.invalid", "The agent has a fault in its program."),
    ("input.invalid", "The agent cannot read this input."),
    ("interrupt.declined", "The question was declined."),
    ("interrupt.expired", "The question was not answered in time."),
    ("journal.full", "The run's output exceeds the storage limit."),
    ("limit", "The run reached a limit."),
    ("mcp.ended", "A tool's server ended."),
    ("mcp.missing", "A tool is not available."),
    ("mcp.protocol", "A tool's server gave an answer that cannot be read."),
    ("mcp.refused", "A tool's server refused the request."),
    ("mcp.settings", "A tool's server is not set up correctly."),
    ("mcp.start", "A tool's server cannot be started."),
    ("mcp.timeout", "A tool's server did not answer in time."),
    ("mcp.unreachable", "A tool's server cannot be reached."),
    ("model.aborted", "The answer was aborted."),
    ("model.auth", "The model cannot be used with the server's settings."),
    ("model.content-filter", "The model does not answer this request."),
    ("model.context-length", "The conversation is too long for the model."),
    ("model.cut", "The connection to the model was lost."),
    ("model.invalid-request", "The model cannot take this request."),
    ("model.malformed", "The model gave an answer that cannot be read."),
    ("model.output-too-large", "The model's answer exceeds the storage limit."),
    ("model.overloaded", "The model is overloaded. Try again later."),
    ("model.provider", "The model failed."),
    ("model.rate-limit", "The model has too many requests. Try again later."),
    ("model.timeout", "The model did not answer in time."),
    ("model.unknown", "The model is not available."),
    ("model.unreachable", "The model cannot be reached."),
    ("node.failed", "A step of the agent failed."),
    ("node.panicked", "A step of the agent failed."),
    ("node.retried", "A step of the agent failed and is tried again."),
    ("node.timeout", "A step of the agent took too long."),
    ("output.invalid", "The model's answer does not have the expected form."),
    ("output.truncated", "The model's answer is longer than allowed."),
    ("reason.max-steps", "The model called tools more often than allowed."),
    ("relay.aborted", "The answer was aborted."),
    ("relay.too-large", "The answer exceeds the storage limit."),
    ("relay.unfinished", "The answer was interrupted. Send the message again."),
    ("replay.changed", "The agent was changed while the run was active."),
    ("replay.diverged", "The agent was changed while the run was active."),
    ("run.abandoned", "The run was interrupted too often and was given up."),
    ("run.expired", "The run waited too long for an answer."),
    ("run.history-gone", "The conversation before the run is no longer kept."),
    ("run.stuck", "The run cannot continue at present."),
    ("run.too-large", "The run's output exceeds the storage limit."),
    ("state.invalid", "The agent's data cannot be stored."),
    ("state.too-large", "The agent's data is larger than allowed."),
    ("store", "The server cannot store the run."),
    ("store.too-large", "The run's output exceeds the storage limit."),
    ("structured.invalid", "The agent's data does not have the expected form."),
    ("template.failed", "A step of the agent failed."),
    ("tool.failed", "The tool failed."),
    ("tool.output-too-large", "The tool's output exceeds the storage limit."),
    ("tool.panicked", "The tool failed."),
    ("tool.timeout", "The tool did not finish in time."),
    ("tools.duplicate", "The agent's tools are not set up correctly."),
    ("tools.name", "The agent's tools are not set up correctly."),
    ("tools.schema", "The agent's tools are not set up correctly."),
    ("upstream.auth", "The upstream server refused access."),
    ("upstream.cancelled", "The upstream server stopped its answer."),
    ("upstream.cut", "The connection to the upstream server was lost in the middle of the answer."),
    ("upstream.failed", "The upstream server failed."),
    ("upstream.invalid", "The upstream server gave an answer that cannot be read."),
    ("upstream.not-found", "The upstream server does not know this address."),
    ("upstream.rate-limit", "The upstream server has too many requests. Try again later."),
    ("upstream.redirect", "The upstream server moved."),
    ("upstream.refused", "The upstream server refused the request."),
    ("upstream.request", "The upstream server does not support this request."),
    ("upstream.stalled", "The upstream server did not answer in time."),
    ("upstream.too-large", "The upstream server sent more than is accepted."),
    ("upstream.unavailable", "The upstream server is not available. Try again later."),
    ("upstream.unreachable", "The upstream server cannot be reached."),
    ("upstream.wrong-type", "The upstream server gave an answer that cannot be read."),
    ("value.key-too-long", "A value is larger than the agent may take."),
    ("value.reserved-key", "A value has a key that the server reserves."),
    ("value.string-too-long", "A value is larger than the agent may take."),
    ("value.too-deep", "A value is larger than the agent may take."),
    ("value.too-large", "A value is larger than the agent may take."),
    ("value.too-many-values", "A value is larger than the agent may take."),
    ("workflow.changed", "The agent was changed while the run was active."),
    ("workflow.unknown", "The agent has no such workflow."),
    ("workflow.version", "The agent was changed while the run was active."),
];

/// The code of an error without a valid code.
const UNKNOWN: &str = "error";

/// Prefixes an error's message with its code (`mcp.ended: the MCP server …`), for places that carry a single
/// text.
///
/// ```
/// use headwater_runtime::{code_of, coded};
///
/// let error = coded("mcp.ended", "the MCP server `node`: it ended with exit status: 1");
/// assert_eq!(code_of(&error), Some("mcp.ended"));
/// assert_eq!(code_of("note: this is a developer's own text"), None);
/// ```
#[must_use]
pub fn coded(code: &str, text: &str) -> String {
    format!("{code}: {text}")
}

/// The code that a text begins with, if it is in [`READER_ERRORS`].
#[must_use]
pub fn code_of(text: &str) -> Option<&'static str> {
    let (code, _) = text.split_once(": ")?;
    READER_ERRORS.iter().map(|(known, _)| *known).find(|known| *known == code)
}

/// The fixed sentence for a code. An unlisted code has the sentence of its family, or a general one.
///
/// ```
/// use headwater_runtime::reader_text;
///
/// assert_eq!(reader_text("mcp.ended"), "A tool's server ended.");
/// assert_eq!(reader_text("store.full"), "The server cannot store the run.");
/// assert_eq!(reader_text("mail.no-recipient"), "Something went wrong.");
/// ```
#[must_use]
pub fn reader_text(code: &str) -> &'static str {
    let known = READER_ERRORS.iter().find(|(known, _)| *known == code);
    if let Some((_, sentence)) = known {
        return sentence;
    }
    match code.split('.').next() {
        Some("model") => "The model failed.",
        Some("mcp" | "tool" | "tools") => "The tool failed.",
        Some("store") => "The server cannot store the run.",
        Some("upstream") => "The upstream server failed.",
        Some("node") => "A step of the agent failed.",
        _ => "Something went wrong.",
    }
}

/// The error as a reader sees it: the code, its fixed sentence, and the id of the request under which the log
/// has the details.
///
/// ```
/// use headwater_protocol::ErrorInfo;
/// use headwater_runtime::error_for_reader;
///
/// let error = ErrorInfo::new("openai: invalid key sk-x").code("model.timeout");
/// assert_eq!(error_for_reader(&error).message, "The model did not answer in time. (model.timeout)");
/// ```
#[must_use]
pub fn error_for_reader(error: &ErrorInfo) -> ErrorInfo {
    let code = error.code.as_deref().filter(|code| is_code(code)).unwrap_or(UNKNOWN);
    let sentence = reader_text(code);
    let message = match &error.request {
        Some(request) => format!("{sentence} ({code}, request {request})"),
        None => format!("{sentence} ({code})"),
    };
    ErrorInfo {
        message,
        code: Some(code.to_owned()),
        retryable: error.retryable,
        request: error.request.clone(),
    }
}

/// Whether a text has the form of a code; an error may carry any text there.
fn is_code(code: &str) -> bool {
    !code.is_empty()
        && code.len() <= 64
        && code
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte))
}

#[cfg(test)]
mod tests;
