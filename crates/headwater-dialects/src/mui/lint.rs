//! The rules of MUI's client.
//!
//! The client validates nothing: it accepts most of these problems silently and shows something wrong.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{BlockKind, Frame};
use serde_json::{Map, Value, json};

use super::{
    chunk::{Chunk, is_known},
    lenient,
};
use crate::lint::{Findings, Lint, rules};

rules! {
    "chunk": "each frame is a JSON object with a string `type`, or an envelope around one",
    "single-line": "a frame's JSON stands on one `data:` line",
    "no-chunk-field": "a chunk has no field `chunk`, or it is taken for an envelope",
    "dense-sequence": "sequences are integers, each one more than the one before",
    "unique-event-id": "an `eventId` is a string, and no two chunks have the same",
    "start-first": "`start` with a `messageId` comes before all that the client acts on",
    "one-start": "a stream has one message: a second `start` leaves the first streaming",
    "nothing-after-end": "`finish`, `abort` or `error` is the last chunk",
    "terminal": "a stream ends with `finish`, `abort` or `error`",
    "message-id": "`finish` and `abort` name the message that was started",
    "field": "fields have the documented types, and are left out rather than null",
    "block-order": "a block is started once, then gets its deltas, then ends",
    "tool-announced": "a tool call is announced before anything else comes for it",
    "tool-settled": "nothing comes for a tool call after its last output; a new call has a new id",
    "approval": "an approval request has `toolName`, `input` and an `approvalId` of its own",
    "data-id-once": "data of one type has its id once: the client shows every copy",
}

#[derive(Debug, Default)]
pub(super) struct MuiLinter {
    next: Option<i64>,
    event_ids: HashSet<String>,
    started: Option<String>,
    ended: bool,
    anything: bool,
    open: HashSet<(BlockKind, String)>,
    /// The announced calls, and whether they are settled.
    calls: HashMap<String, bool>,
    approvals: HashSet<String>,
    data: HashSet<(String, String)>,
}

impl Lint for MuiLinter {
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        if frame.data.trim() == "[DONE]" {
            return;
        }
        self.anything = true;
        if frame.data.contains(['\n', '\r']) {
            findings.add("single-line", "JSON on several lines", "one line");
        }
        let fields = match serde_json::from_str(frame.data) {
            Ok(Value::Object(fields)) => fields,
            Ok(other) => return findings.add("chunk", other.to_string(), "a JSON object"),
            Err(error) => {
                return findings.add("chunk", format!("what is not JSON: {error}"), "a JSON object");
            }
        };
        if self.ended {
            let seen = format!("{}", Value::Object(fields));
            return findings.add("nothing-after-end", seen, "the end of the stream");
        }
        if !fields.contains_key("chunk") {
            return self.chunk(&fields, findings);
        }
        if let Some(kind) = fields.get("type") {
            let seen = format!("a chunk {kind} with a `chunk`");
            findings.add("no-chunk-field", seen, "an envelope without `type`");
        }
        self.envelope(&fields, findings);
        match fields.get("chunk") {
            Some(Value::Object(chunk)) => self.chunk(chunk, findings),
            other => findings.add("chunk", format!("{}", other.unwrap_or(&Value::Null)), "a JSON object"),
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        if self.anything && !self.ended {
            findings.add("terminal", "the end of the stream", "`finish` or `abort` before it");
        }
    }
}

impl MuiLinter {
    fn envelope(&mut self, fields: &Map<String, Value>, findings: &mut Findings) {
        match fields.get("eventId") {
            None => {}
            Some(Value::String(id)) if !id.is_empty() => {
                let new = self.event_ids.insert(id.clone());
                if !new {
                    findings.add("unique-event-id", format!("{id:?} again"), "an id of its own");
                }
            }
            Some(other) => findings.add("unique-event-id", other.to_string(), "a string that is not empty"),
        }
        let Some(given) = fields.get("sequence") else {
            return;
        };
        match (given.as_i64(), self.next) {
            (None, _) => findings.add("dense-sequence", given.to_string(), "an integer"),
            (Some(given), Some(next)) if given != next => {
                findings.add("dense-sequence", given.to_string(), next.to_string());
            }
            _ => {}
        }
        if let Some(given) = given.as_i64() {
            self.next = Some(given.saturating_add(1));
        }
    }

    fn chunk(&mut self, fields: &Map<String, Value>, findings: &mut Findings) {
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            let seen = fields.get("type").map_or("no `type`".to_owned(), |kind| format!("the type {kind}"));
            return findings.add("chunk", seen, "a string `type`");
        };
        self.fields(kind, fields, findings);
        match kind {
            "error" => self.ended = true,
            kind if !is_known(kind) => return,
            "start" => return self.start(fields, findings),
            _ => {}
        }
        if self.started.is_none() {
            findings.add("start-first", format!("`{kind}`"), "`start` with a `messageId`");
            // Report it only once.
            self.started = Some(String::new());
        }
        let id = text(fields, "id");
        match kind {
            "finish" | "abort" => self.finish(fields, findings),
            "text-start" => self.open(BlockKind::Text, id, findings),
            "reasoning-start" => self.open(BlockKind::Reasoning, id, findings),
            "text-delta" | "text-end" => self.grow(kind, BlockKind::Text, id, findings),
            "reasoning-delta" | "reasoning-end" => self.grow(kind, BlockKind::Reasoning, id, findings),
            kind if kind.starts_with("tool-") => self.tool(kind, fields, findings),
            kind if kind.starts_with("data-") => self.data(kind, fields, findings),
            _ => {}
        }
    }

    fn start(&mut self, fields: &Map<String, Value>, findings: &mut Findings) {
        let id = text(fields, "messageId");
        match &self.started {
            None if id.is_empty() => {
                findings.add("start-first", "`start` without a `messageId`", "the id of the message");
            }
            Some(_) => findings.add("one-start", format!("`start` of {id:?}"), "no other `start`"),
            None => {}
        }
        self.started = Some(id.to_owned());
    }

    fn finish(&mut self, fields: &Map<String, Value>, findings: &mut Findings) {
        let id = text(fields, "messageId");
        if let Some(started) = self.started.as_ref().filter(|started| !started.is_empty() && *started != id) {
            findings.add("message-id", format!("{id:?}"), format!("{started:?}"));
        }
        self.ended = true;
    }

    fn open(&mut self, kind: BlockKind, id: &str, findings: &mut Findings) {
        if !self.open.insert((kind, id.to_owned())) {
            findings.add("block-order", format!("{id:?} is started again"), "its end first, or another id");
        }
    }

    fn grow(&mut self, chunk: &str, kind: BlockKind, id: &str, findings: &mut Findings) {
        let block = (kind, id.to_owned());
        let known =
            if chunk.ends_with("-end") { self.open.remove(&block) } else { self.open.contains(&block) };
        if !known {
            findings.add("block-order", format!("`{chunk}` of {id:?}, which is not open"), "its start first");
        }
    }

    fn tool(&mut self, kind: &str, fields: &Map<String, Value>, findings: &mut Findings) {
        let call = text(fields, "toolCallId");
        let announces = matches!(kind, "tool-input-start" | "tool-input-available" | "tool-approval-request");
        match self.calls.get(call) {
            None if !announces => {
                let expected = "`tool-input-start` or `tool-input-available` first";
                findings.add("tool-announced", format!("`{kind}` of {call:?}"), expected);
            }
            Some(true) => {
                let seen = format!("`{kind}` of {call:?}, which has its output");
                findings.add("tool-settled", seen, "a new id");
            }
            _ => {}
        }
        if kind == "tool-approval-request" {
            for field in ["toolName", "input", "approvalId"] {
                if fields.get(field).is_none_or(Value::is_null) {
                    findings.add("approval", format!("no `{field}`"), "it, or the client erases what it had");
                }
            }
            let id = text(fields, "approvalId");
            if !id.is_empty() && !self.approvals.insert(id.to_owned()) {
                findings.add("approval", format!("{id:?} again"), "an id of its own");
            }
        }
        let settled = match kind {
            "tool-output-available" => fields.get("preliminary") != Some(&Value::Bool(true)),
            "tool-output-error" | "tool-output-denied" | "tool-input-error" => true,
            _ => false,
        };
        self.calls.insert(call.to_owned(), settled);
    }

    fn data(&mut self, kind: &str, fields: &Map<String, Value>, findings: &mut Findings) {
        if fields.get("transient") == Some(&Value::Bool(true)) {
            return;
        }
        let id = text(fields, "id");
        if !id.is_empty() && !self.data.insert((kind.to_owned(), id.to_owned())) {
            findings.add("data-id-once", format!("`{kind}` with the id {id:?} again"), "an id of its own");
        }
    }

    fn fields(&self, kind: &str, fields: &Map<String, Value>, findings: &mut Findings) {
        let nothing = Chunk::read_as(kind, "{}").ok().flatten().map(|chunk| json!(chunk));
        let nothing = nothing.as_ref().and_then(Value::as_object).into_iter().flatten();
        // Fields without a default are required: texts, and values of any type.
        let mut required: Vec<_> =
            nothing.map(|(field, value)| (field.as_str(), value.is_string())).collect();
        match kind {
            "start" | "finish" | "abort" => required.push(("messageId", true)),
            "tool-input-available" => required.push(("input", false)),
            kind if kind.starts_with("data-") => required.push(("data", false)),
            _ => {}
        }
        for (field, is_text) in required.into_iter().filter(|(field, _)| *field != "type") {
            match fields.get(field) {
                Some(Value::String(_)) => {}
                None if is_text => findings.add("field", format!("`{kind}` without `{field}`"), "a string"),
                None => findings.add("field", format!("`{kind}` without `{field}`"), "a value"),
                Some(other) if is_text => findings.add("field", format!("`{field}` is {other}"), "a string"),
                Some(_) => {}
            }
        }
        for field in
            ["title", "text", "filename", "reason", "finishReason", "approvalId", "dynamic", "preliminary"]
        {
            if is_known(kind) && fields.get(field) == Some(&Value::Null) {
                findings.add("field", format!("`{field}` is null"), "no such field");
            }
        }
        if let Some(metadata) = fields.get("metadata").filter(|_| kind == "message-metadata")
            && !metadata.is_object()
        {
            let spread = Value::Object(lenient::spread(metadata.clone()));
            findings.add("field", format!("metadata that is read as {spread}"), "an object");
        }
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
