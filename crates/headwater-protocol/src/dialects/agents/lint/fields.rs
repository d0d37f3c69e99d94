//! The fields of each event: which it must have, and of what type they are.

use serde_json::Value;

use crate::{lint::Findings, time::parse_iso8601};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Date,
    Flag,
    Number,
    Object,
    List,
    Any,
}

/// A field, and whether it must be there.
type Field = (&'static str, Type, bool);

const MUST: bool = true;
const MAY: bool = false;

/// Checks the fields of an event.
pub(super) fn check(name: &str, data: &Value, findings: &mut Findings) {
    let common = [("attempt", Type::Text, MAY), ("implied", Type::Flag, MAY)];
    for &(field, kind, must) in fields(name).iter().chain(&common) {
        let path = || format!("`{name}` with `{field}`");
        match data.get(field) {
            None if must => findings.add("fields", format!("`{name}` without `{field}`"), kind.wanted()),
            None => {}
            Some(value) if !kind.holds(value) => {
                let rule = if kind == Type::Date && value.is_string() { "date" } else { "fields" };
                let shown: String = value.to_string().chars().take(40).collect();
                findings.add(rule, format!("{} {shown}", path()), kind.wanted());
            }
            Some(_) => {}
        }
    }
}

impl Type {
    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Date => value.as_str().is_some_and(|date| parse_iso8601(date).is_some()),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_u64(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::Any => true,
        }
    }

    const fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Date => "a date like 2026-01-11T18:22:00.000Z",
            Self::Flag => "true or false",
            Self::Number => "a whole number",
            Self::Object => "an object",
            Self::List => "an array",
            Self::Any => "a value",
        }
    }
}

fn fields(name: &str) -> &'static [Field] {
    use Type::{Any, Date, Flag, List, Number, Object, Text};
    match name {
        "meta" => &[
            ("requestId", Text, MAY),
            ("runId", Text, MAY),
            ("sessionId", Text, MAY),
            ("conversationId", Text, MAY),
            ("model", Text, MAY),
            ("endpoint", Text, MAY),
            ("createdAt", Date, MAY),
            ("workflow", Text, MAY),
            ("parentRunId", Text, MAY),
        ],
        "message.start" | "message.resume" => {
            &[("messageId", Text, MUST), ("role", Text, MAY), ("createdAt", Date, MAY)]
        }
        "message.end" => &[("messageId", Text, MUST)],
        "message.delta" | "reasoning.delta" => {
            &[("messageId", Text, MUST), ("delta", Text, MUST), ("partId", Text, MAY), ("whole", Flag, MAY)]
        }
        "message.metadata" => &[("messageId", Text, MUST), ("metadata", Any, MUST)],
        "text.start" | "text.end" | "reasoning.start" | "reasoning.end" => {
            &[("messageId", Text, MUST), ("partId", Text, MUST)]
        }
        "tool.delta" => &[
            ("toolCallId", Text, MUST),
            ("delta", Text, MUST),
            ("state", Text, MUST),
            ("messageId", Text, MUST),
            ("toolName", Text, MAY),
        ],
        "tool.call" => &[
            ("toolCallId", Text, MUST),
            ("toolName", Text, MUST),
            ("state", Text, MUST),
            ("messageId", Text, MUST),
            ("dynamic", Flag, MAY),
            ("executor", Text, MAY),
            ("title", Text, MAY),
        ],
        "tool.result" => &[
            ("toolCallId", Text, MUST),
            ("state", Text, MUST),
            ("messageId", Text, MUST),
            ("toolName", Text, MAY),
            ("errorText", Text, MAY),
            ("reason", Text, MAY),
            ("isError", Flag, MAY),
            ("preliminary", Flag, MAY),
            ("inputError", Flag, MAY),
        ],
        "tool.approval" => &[
            ("approvalId", Text, MUST),
            ("toolCallId", Text, MUST),
            ("toolName", Text, MUST),
            ("state", Text, MUST),
            ("messageId", Text, MUST),
            ("signature", Text, MAY),
            ("automatic", Flag, MAY),
        ],
        "tool.approval.response" => &[
            ("approvalId", Text, MUST),
            ("approved", Flag, MUST),
            ("state", Text, MUST),
            ("toolCallId", Text, MAY),
            ("reason", Text, MAY),
        ],
        "source" => &[
            ("sourceId", Text, MUST),
            ("url", Text, MUST),
            ("messageId", Text, MUST),
            ("title", Text, MAY),
            ("toolCallId", Text, MAY),
        ],
        "source.document" => &[
            ("sourceId", Text, MUST),
            ("messageId", Text, MUST),
            ("title", Text, MAY),
            ("mediaType", Text, MAY),
            ("filename", Text, MAY),
            ("text", Text, MAY),
            ("toolCallId", Text, MAY),
        ],
        "file" => &[
            ("url", Text, MUST),
            ("mediaType", Text, MUST),
            ("messageId", Text, MUST),
            ("filename", Text, MAY),
            ("fileId", Text, MAY),
            ("reasoning", Flag, MAY),
        ],
        "data" => {
            &[("name", Text, MUST), ("data", Any, MUST), ("dataId", Text, MAY), ("transient", Flag, MAY)]
        }
        "step.start" => &[("messageId", Text, MUST), ("name", Text, MAY)],
        "step.end" => &[("messageId", Text, MAY), ("name", Text, MAY)],
        "structured" => &[("streamId", Text, MUST), ("dataType", Text, MUST), ("kind", Text, MUST)],
        "structured.invalidated" => &[("streamId", Text, MUST), ("checkpointId", Text, MAY)],
        "state" => &[("state", Any, MUST)],
        "state.delta" => &[("patch", List, MUST)],
        "interrupt" => &[("request", Text, MUST), ("kind", Text, MAY), ("options", List, MAY)],
        "interrupt.answer" | "interrupt.expired" => &[("request", Text, MUST)],
        "attempt.start" => &[("attempt", Text, MUST), ("model", Text, MAY)],
        "attempt.end" => &[("attempt", Text, MUST)],
        "attempt.retract" => &[("attempt", Text, MUST), ("reason", Text, MAY)],
        "status" => &[("state", Text, MAY), ("message", Text, MAY)],
        "usage" => {
            &[("inputTokens", Number, MAY), ("outputTokens", Number, MAY), ("totalTokens", Number, MAY)]
        }
        "warning" => &[("message", Text, MUST), ("code", Text, MAY)],
        "transition" => &[("to", Text, MUST)],
        "checkpoint" => &[
            ("checkpointId", Text, MUST),
            ("sessionId", Text, MUST),
            ("turn", Number, MUST),
            ("label", Text, MAY),
        ],
        "error" => &[
            ("message", Text, MUST),
            ("code", Text, MAY),
            ("retryable", Flag, MAY),
            ("terminal", Flag, MAY),
            ("announced", Flag, MAY),
        ],
        "run.waiting" => &[("toolCallIds", List, MAY), ("usage", Object, MAY)],
        "done" => &[
            ("runId", Text, MAY),
            ("finishReason", Text, MAY),
            ("usage", Object, MAY),
            ("cancelled", Flag, MAY),
            ("reason", Text, MAY),
        ],
        crate::carry::NAME => &[("event", Object, MUST)],
        _ => &[],
    }
}
