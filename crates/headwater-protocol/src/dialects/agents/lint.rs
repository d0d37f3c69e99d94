//! The contract, and what we decided where it is open, as named rules.

mod fields;

use serde_json::Value;

use super::{
    chunk::NAMES,
    ledger::{Call, Ledger, SourceKey},
};
use crate::{
    carry,
    event::Event,
    framing::Frame,
    id::{AttemptId, MessageId, ToolCallId},
    lint::{Findings, Lint, Rule},
};

/// The rules of the linter.
pub(super) static RULES: &[Rule] = &[
    Rule { name: "framing", demands: "blocks of valid UTF-8 within the limits" },
    Rule { name: "event-name", demands: "every block has an `event:` line" },
    Rule { name: "json", demands: "`data:` is JSON, and an object where the event is known" },
    Rule { name: "fields", demands: "an event has its fields, each of its type; deltas are strings" },
    Rule { name: "date", demands: "`createdAt` is an ISO 8601 date in UTC" },
    Rule { name: "meta-first", demands: "`meta` is the first event" },
    Rule { name: "meta-once", demands: "`meta` comes once" },
    Rule { name: "message-started", demands: "a message is begun before anything is put into it" },
    Rule { name: "message-start-once", demands: "a message is begun once; later it is resumed" },
    Rule { name: "message-open", demands: "nothing is put into a message that has ended" },
    Rule { name: "message-end", demands: "`message.end` names a message that is open" },
    Rule { name: "tool-named", demands: "the first `tool.delta` of a call has its `toolName`" },
    Rule { name: "tool-delta-order", demands: "no `tool.delta` comes after the call's `tool.call`" },
    Rule { name: "tool-call-once", demands: "a call has one `tool.call`" },
    Rule {
        name: "tool-known",
        demands: "results and requests for approval are about a call that was said before",
    },
    Rule { name: "tool-message", demands: "all events of a call name the message that holds it" },
    Rule { name: "tool-state", demands: "`state` is one that the event can lead to" },
    Rule {
        name: "tool-outcome",
        demands: "a result has the `output` or the `errorText` that its state asks for",
    },
    Rule { name: "source-once", demands: "a message has a source once" },
    Rule { name: "run-id", demands: "`done` names the run that `meta` named" },
    Rule { name: "end-last", demands: "nothing comes after `done` or a terminal error" },
    Rule { name: "end-present", demands: "the stream ends with `done` or a terminal error" },
];

/// Checks a stream.
#[derive(Debug, Default)]
pub(super) struct Linter {
    ledger: Ledger,
    frames: u64,
    meta: bool,
    run: Option<String>,
    /// What ended the stream.
    end: Option<&'static str>,
    /// A terminal error was said, and `done` may follow.
    announced: bool,
    /// An error that does not say whether it is terminal was the last thing of note.
    unclear_error: bool,
}

impl Lint for Linter {
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
        let data = match &data {
            Ok(data) if data.is_object() || !known => data,
            Ok(_) => return findings.add("json", format!("`{name}` with {}", head(frame)), "a JSON object"),
            Err(error) => return findings.add("json", format!("{} ({error})", head(frame)), "JSON"),
        };
        if known {
            fields::check(name, data, findings);
        }
        self.event(name, data, findings);
    }

    fn end(&mut self, findings: &mut Findings) {
        if self.end.is_none() && !self.announced && !self.unclear_error {
            findings.add(
                "end-present",
                "no end: the stream was cut",
                "`done`, or an `error` that is terminal",
            );
        }
    }
}

impl Linter {
    fn event(&mut self, name: &str, data: &Value, findings: &mut Findings) {
        if !matches!(name, "message.end" | "text.end" | "status" | "usage") {
            self.unclear_error = false;
        }
        match name {
            "meta" => {
                if std::mem::replace(&mut self.meta, true) {
                    findings.add("meta-once", "a second `meta`", "one");
                }
                self.run = text(data, "runId").map(str::to_owned);
            }
            "message.start" | "message.resume" => self.message_start(name, data, findings),
            "message.end" => self.message_end(data, findings),
            "message.delta" | "reasoning.delta" | "text.start" | "text.end" | "reasoning.start"
            | "reasoning.end" | "message.metadata" | "file" | "step.start" => {
                self.message(name, data, findings);
            }
            "data" if data.get("transient") != Some(&Value::Bool(true)) => {
                self.message(name, data, findings);
            }
            "source" | "source.document" => self.source(name, data, findings),
            "tool.delta" | "tool.call" | "tool.result" | "tool.approval" => self.tool(name, data, findings),
            "tool.approval.response" => check_state(name, data, findings),
            "attempt.retract" => {
                if let Some(attempt) = text(data, "attempt").map(AttemptId::from) {
                    self.ledger.retract(&attempt);
                }
            }
            "error" => match data.get("terminal").and_then(Value::as_bool) {
                Some(true) if data.get("announced") == Some(&Value::Bool(true)) => self.announced = true,
                Some(true) => self.end = Some("a terminal error"),
                Some(false) => {}
                None => self.unclear_error = true,
            },
            "done" => {
                if let (Some(run), Some(begun)) = (text(data, "runId"), &self.run)
                    && run != begun
                {
                    findings.add("run-id", format!("{run:?}"), format!("{begun:?}, as `meta` said"));
                }
                self.end = Some("`done`");
            }
            carry::NAME => self.carried(data),
            _ => {}
        }
    }

    fn message_start(&mut self, name: &str, data: &Value, findings: &mut Findings) {
        let Some(id) = text(data, "messageId").map(MessageId::from) else { return };
        match (self.ledger.find(&id), name) {
            (Some(_), "message.start") => {
                findings.add("message-start-once", format!("message {id:?} begun again"), "`message.resume`");
            }
            (Some(at), _) => {
                if let Some(known) = self.ledger.get_mut(at) {
                    known.open = true;
                }
            }
            (None, "message.start") => {
                self.ledger.start(id);
            }
            (None, _) => {
                let seen = format!("`{name}` of message {id:?}, which was not begun");
                findings.add("message-started", seen, "`message.start` before");
                self.ledger.start(id);
            }
        }
    }

    fn message_end(&mut self, data: &Value, findings: &mut Findings) {
        let Some(id) = text(data, "messageId").map(MessageId::from) else { return };
        let at = self.ledger.find(&id);
        match at.and_then(|at| self.ledger.get_mut(at)).filter(|known| known.open) {
            Some(known) => known.open = false,
            None => findings.add("message-end", format!("message {id:?}, which is not open"), "an open one"),
        }
    }

    /// The message that an event is put into.
    fn message(&mut self, name: &str, data: &Value, findings: &mut Findings) -> Option<MessageId> {
        let id = text(data, "messageId").map(MessageId::from)?;
        match self.ledger.find(&id) {
            None => {
                let seen = format!("`{name}` for message {id:?}, which was not begun");
                findings.add("message-started", seen, "`message.start` before");
                self.ledger.start(id.clone());
            }
            Some(at) => {
                if self.ledger.get_mut(at).is_some_and(|known| !known.open) {
                    let seen = format!("`{name}` for message {id:?} after its `message.end`");
                    findings.add("message-open", seen, "`message.resume` before, or a new message");
                }
            }
        }
        Some(id)
    }

    fn source(&mut self, name: &str, data: &Value, findings: &mut Findings) {
        let message = self.message(name, data, findings);
        if let (Some(message), Some(id)) = (message, text(data, "sourceId")) {
            let key = SourceKey { message, document: name == "source.document", id: id.to_owned() };
            if !self.ledger.add_source(key, text(data, "attempt").map(AttemptId::from)) {
                findings.add("source-once", format!("source {id:?} again"), "each source once in a message");
            }
        }
    }

    fn tool(&mut self, name: &str, data: &Value, findings: &mut Findings) {
        check_state(name, data, findings);
        if name == "tool.result" {
            check_outcome(data, findings);
        }
        let Some(call) = text(data, "toolCallId").map(ToolCallId::from) else { return };
        let Some(known) = self.ledger.call_mut(&call) else {
            match name {
                "tool.delta" if text(data, "toolName").is_none() => {
                    findings.add("tool-named", format!("call {call:?} without a name"), "`toolName`");
                }
                "tool.result" | "tool.approval" => {
                    let seen = format!("`{name}` for call {call:?}");
                    findings.add("tool-known", seen, "its `tool.call` before");
                }
                _ => {}
            }
            let message = self.message(name, data, findings);
            let known = Call {
                message: message.unwrap_or_else(|| MessageId::from("")),
                name: String::new(),
                attempt: text(data, "attempt").map(AttemptId::from),
                called: name != "tool.delta",
                settled: name == "tool.result",
            };
            return self.ledger.add_call(call, known);
        };
        if let Some(message) = text(data, "messageId").filter(|message| known.message != **message) {
            let expected = format!("message {:?}, which holds call {call:?}", known.message);
            findings.add("tool-message", format!("message {message:?}"), expected);
        }
        let called = known.called;
        match name {
            "tool.delta" if called => {
                findings.add("tool-delta-order", format!("`tool.delta` for call {call:?}"), "its result");
            }
            "tool.call" if called => {
                findings.add("tool-call-once", format!("call {call:?} again"), "one `tool.call` per call");
            }
            "tool.delta" => {}
            _ => known.called = true,
        }
        known.settled |= name == "tool.result";
        // What happens to a call that is there may happen after its message has ended.
        if !called {
            self.message(name, data, findings);
        }
    }

    /// A snapshot brings messages that were not begun here.
    fn carried(&mut self, data: &Value) {
        let event = data.get("event").filter(|event| text(event, "type") == Some("messages-snapshot"));
        if let Some(Event::MessagesSnapshot { messages }) = event.cloned().and_then(carry::read) {
            self.ledger.replace(&messages);
        }
    }
}

fn check_state(name: &str, data: &Value, findings: &mut Findings) {
    let expected: &[&str] = match name {
        "tool.delta" => &["input-streaming"],
        "tool.call" => &["input-available"],
        "tool.approval" => &["approval-requested"],
        "tool.approval.response" => &["approval-responded"],
        _ => &["output-available", "output-error", "output-denied"],
    };
    if let Some(state) = text(data, "state").filter(|state| !expected.contains(state)) {
        findings.add("tool-state", format!("`{name}` with state {state:?}"), expected.join(" or "));
    }
}

fn check_outcome(data: &Value, findings: &mut Findings) {
    let (field, state) = match text(data, "state") {
        Some(state @ "output-available") => ("output", state),
        Some(state @ "output-error") => ("errorText", state),
        _ => return,
    };
    if data.get(field).is_none() {
        findings.add("tool-outcome", format!("{state} without `{field}`"), format!("`{field}`"));
    }
}

fn text<'a>(data: &'a Value, field: &str) -> Option<&'a str> {
    data.get(field).and_then(Value::as_str)
}

fn head(frame: &Frame<'_>) -> String {
    format!("{:?}", frame.data.chars().take(40).collect::<String>())
}
