//! The rules of the contract and of our decisions where it is open.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{Frame, parse_rfc3339};
use serde_json::Value;

use super::NAMES;
use crate::lint::{Findings, Lint, rules};

rules! {
    "framing": "blocks of valid UTF-8 within the limits",
    "event-name": "every block has an `event:` line",
    "json": "`data:` is JSON, and an object where the event is known",
    "fields": "an event has its fields, each of its type; deltas are strings",
    "date": "`createdAt` is an ISO 8601 date in UTC",
    "meta-first": "`meta` is the first event",
    "meta-once": "`meta` comes once",
    "message-started": "a message is begun before anything is put into it",
    "message-start-once": "a message is begun once",
    "message-end": "`message.end` names a message that is open",
    "tool-delta-order": "no `tool.delta` comes after the call's `tool.call`",
    "tool-call-once": "a call has one `tool.call` of each state",
    "tool-known": "a `tool.result` comes after the `tool.call`",
    "tool-message": "all events of a call name the message that holds it",
    "tool-state": "`state` is one that the event can lead to",
    "tool-outcome": "a result has the `output` or the `errorText` that its state asks for",
    "source-once": "a message has a source once",
    "run-id": "`done` names the run that `meta` named",
    "end-last": "nothing comes after `done` or a terminal error",
    "end-present": "the stream ends with `done`, a terminal error or a wait",
}

/// Checks a stream.
#[derive(Debug, Default)]
pub(super) struct AgentsLinter {
    frames: u64,
    meta: bool,
    run: Option<String>,
    /// The event that ended the stream.
    end: Option<&'static str>,
    /// The last significant event was an error that may be terminal, or a wait.
    may_end: bool,
    /// Whether each message is open.
    messages: HashMap<String, bool>,
    calls: HashMap<String, CallHistory>,
    sources: HashSet<(String, String)>,
}

#[derive(Debug, Default)]
struct CallHistory {
    message: Option<String>,
    states: HashSet<String>,
}

impl Lint for AgentsLinter {
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        let first = self.frames == 0;
        self.frames += 1;
        let data = serde_json::from_str::<Value>(frame.data);
        let named = data.as_ref().ok().and_then(|data| text(data, "type"));
        if frame.event.is_none() {
            findings.add("event-name", "a block without an `event:` line", "`event: <name>`");
        }
        let Some(name) = frame.event.or(named) else { return };
        if let Some(end) = self.end {
            findings.add("end-last", format!("`{name}` after {end}"), "the end of the stream");
        }
        if first && name != "meta" {
            findings.add("meta-first", format!("`{name}`"), "`meta`");
        }
        let known = NAMES.contains(&name);
        let head = || format!("{:?}", frame.data.chars().take(40).collect::<String>());
        match &data {
            Ok(data) if data.is_object() && known => {
                check_fields(name, data, findings);
                self.event(name, data, findings);
            }
            Ok(_) if known => findings.add("json", format!("`{name}` with {}", head()), "a JSON object"),
            Ok(_) => {}
            Err(error) => findings.add("json", format!("{} ({error})", head()), "JSON"),
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        if self.end.is_none() && !self.may_end {
            let expected = "`done`, or an `error` that is terminal";
            findings.add("end-present", "no end: the stream was cut", expected);
        }
    }
}

impl AgentsLinter {
    fn event(&mut self, name: &str, data: &Value, findings: &mut Findings) {
        if !matches!(name, "message.end" | "status") {
            self.may_end = false;
        }
        let message = text(data, "messageId").map(str::to_owned);
        match (name, message) {
            ("meta", _) => {
                if std::mem::replace(&mut self.meta, true) {
                    findings.add("meta-once", "a second `meta`", "one");
                }
                self.run = text(data, "runId").map(str::to_owned);
            }
            ("message.start", Some(id)) => {
                let known = self.messages.insert(id.clone(), true);
                known.inspect(|_| {
                    findings.add("message-start-once", format!("message {id:?} begun again"), "a new id");
                });
            }
            ("message.end", Some(id)) => match self.messages.get_mut(&id).filter(|open| **open) {
                Some(open) => *open = false,
                None => {
                    let seen = format!("message {id:?}, which is not open");
                    findings.add("message-end", seen, "an open message");
                }
            },
            ("message.delta" | "reasoning.delta" | "file" | "data", Some(id)) => {
                self.message(name, id, findings);
            }
            ("source", Some(id)) => {
                self.message(name, id.clone(), findings);
                let source = text(data, "sourceId").unwrap_or_default();
                if !self.sources.insert((id, source.to_owned())) {
                    let seen = format!("source {source:?} again");
                    findings.add("source-once", seen, "each source once in a message");
                }
            }
            ("tool.delta" | "tool.call" | "tool.result", message) => self.tool(name, data, message, findings),
            ("status", _) => self.may_end |= text(data, "state") == Some("waiting"),
            ("error", _) => match data.get("terminal").and_then(Value::as_bool) {
                Some(true) => self.end = Some("a terminal error"),
                Some(false) => {}
                None => self.may_end = true,
            },
            ("done", _) => {
                if let (Some(run), Some(begun)) = (text(data, "runId"), &self.run)
                    && run != begun
                {
                    findings.add("run-id", format!("{run:?}"), format!("{begun:?}, as in `meta`"));
                }
                self.end = Some("`done`");
            }
            _ => {}
        }
    }

    fn message(&mut self, name: &str, id: String, findings: &mut Findings) {
        let seen = format!("`{name}` for message {id:?}, which was not begun");
        self.messages.entry(id).or_insert_with(|| {
            findings.add("message-started", seen, "`message.start` before");
            true
        });
    }

    fn tool(&mut self, name: &str, data: &Value, message: Option<String>, findings: &mut Findings) {
        let state = text(data, "state").unwrap_or_default();
        let expected: &[&str] = match name {
            "tool.delta" => &["input-streaming"],
            "tool.call" => &["input-available", "approval-requested", "approval-responded"],
            _ => &["output-available", "output-error", "output-denied"],
        };
        if data.get("state").is_some_and(Value::is_string) && !expected.contains(&state) {
            findings.add("tool-state", format!("`{name}` with state {state:?}"), expected.join(" or "));
        }
        let outcome = match (name, state) {
            ("tool.result", "output-available") => "output",
            ("tool.result", "output-error") => "errorText",
            _ => "state",
        };
        if outcome != "state" && data.get(outcome).is_none() {
            findings.add("tool-outcome", format!("{state} without `{outcome}`"), format!("`{outcome}`"));
        }
        let Some(call) = text(data, "toolCallId") else { return };
        if !self.calls.contains_key(call)
            && let Some(message) = &message
        {
            self.message(name, message.clone(), findings);
        }
        let known = self.calls.entry(call.to_owned()).or_default();
        let held = known.message.get_or_insert_with(|| message.clone().unwrap_or_default());
        if let Some(message) = message.filter(|message| message != held) {
            let expected = format!("message {held:?}, which holds call {call:?}");
            findings.add("tool-message", format!("message {message:?}"), expected);
        }
        let called = known.states.iter().any(|state| state != "input-streaming");
        match name {
            "tool.delta" if called => {
                findings.add("tool-delta-order", format!("`tool.delta` for call {call:?}"), "its result");
            }
            "tool.call" if known.states.contains(state) => {
                findings.add("tool-call-once", format!("call {call:?} again"), "one `tool.call` of a state");
            }
            "tool.result" if !called => {
                findings.add("tool-known", format!("`{name}` for call {call:?}"), "its `tool.call` before");
            }
            _ => {}
        }
        known.states.insert(state.to_owned());
    }
}

/// The fields that an event must have: strings, except `data`, which may be any value.
fn required(name: &str) -> &'static [&'static str] {
    match name {
        "message.start" | "message.end" => &["messageId"],
        "message.delta" | "reasoning.delta" => &["messageId", "delta"],
        "tool.delta" => &["toolCallId", "delta", "state", "messageId"],
        "tool.call" => &["toolCallId", "toolName", "state", "messageId"],
        "tool.result" => &["toolCallId", "state", "messageId"],
        "source" => &["sourceId", "url", "messageId"],
        "file" => &["url", "mediaType", "messageId"],
        "data" => &["name", "data"],
        "error" => &["message"],
        _ => &[],
    }
}

fn check_fields(name: &str, data: &Value, findings: &mut Findings) {
    for field in required(name) {
        if data.get(field).is_none() {
            findings.add("fields", format!("`{name}` without `{field}`"), "the field");
        }
    }
    for (field, value) in data.as_object().into_iter().flatten() {
        let expected = match field.as_str() {
            "input" | "output" | "data" | "type" => continue,
            "usage" | "approval" if !value.is_object() => "an object",
            "retryable" | "terminal" | "transient" if !value.is_boolean() => "true or false",
            "messageId" | "partId" | "delta" | "toolCallId" | "toolName" | "state" | "errorText"
            | "reason" | "role" | "createdAt" | "sourceId" | "url" | "title" | "mediaType" | "filename"
            | "name" | "dataId" | "message" | "code" | "runId" | "sessionId" | "conversationId"
            | "requestId" | "model" | "endpoint" | "finishReason"
                if !value.is_string() && (!value.is_null() || required(name).contains(&field.as_str())) =>
            {
                "a string"
            }
            "createdAt" if value.as_str().is_some_and(|date| parse_rfc3339(date).is_none()) => {
                findings.add("date", format!("`{name}` with `{field}` {value}"), "an ISO 8601 date in UTC");
                continue;
            }
            _ => continue,
        };
        let shown: String = value.to_string().chars().take(40).collect();
        findings.add("fields", format!("`{name}` with `{field}` {shown}"), expected);
    }
}

fn text<'a>(data: &'a Value, field: &str) -> Option<&'a str> {
    data.get(field).and_then(Value::as_str)
}
