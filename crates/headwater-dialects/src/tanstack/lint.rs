//! The contract as the published client holds to it, as named rules.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use headwater_protocol::{ErrorKind, Frame, Framing};

use super::{
    END_MARKER,
    chunk::{Base, Chunk, Content, Thinking, ToolCall, ToolResult},
};
use crate::lint::{Findings, Lint, Rule};

/// Names a rule; the names are used by `add` only, so that the list and the findings agree.
const fn rule(name: &'static str, demands: &'static str) -> Rule {
    Rule { name, demands }
}

const JSON: Rule = rule("json", "every line is JSON; the client passes over others and warns");
const ONE_LINE: Rule = rule("one-line", "a chunk stands on one line; the client reads lines, not SSE events");
const DATA_ONLY: Rule = rule("data-only", "nothing but `data:` lines; the client warns about each other one");
const ONE_SPACE: Rule = rule("one-space", "`data: ` with a space, or the client passes over the line");
const NO_COMMENT: Rule = rule("no-comment", "no comments; the client warns about each");
const LF: Rule = rule("lf", "lines end with LF alone");
const SHAPE: Rule = rule("shape", "a chunk has what the client looks into; it dies otherwise");
const BASE: Rule = rule("base-fields", "every chunk has `id`, `model` and `timestamp`");
const KNOWN_TYPE: Rule = rule("known-type", "no AG-UI events; clients before 0.3 show nothing of them");
const DELTA: Rule = rule("delta", "content has a `delta`; without it the page shows the word `undefined`");
const SEGMENT: Rule = rule("segment", "text after another part begins a new segment, and only then");
const FINISH: Rule = rule("finish-reason", "`stop`, `length`, `content_filter`, `tool_calls` or null");
const RESULT: Rule = rule("tool-result", "a tool_result has a `toolCallId` and a `content` that is a string");
const ID_ONCE: Rule = rule("tool-id-once", "a call that has a result is over; the client would append to it");
const KNOWN_CALL: Rule = rule("known-call", "a call is streamed in the response that asks about it");
const AFTER_DONE: Rule =
    rule("after-done", "approvals and calls for the page come after `done`, or are forgotten");
const AFTER_ERROR: Rule = rule("nothing-after-error", "an error ends the stream");
const DONE_LAST: Rule = rule("marker-last", "nothing follows [DONE]");
const TERMINAL: Rule =
    rule("terminal", "a stream has a `done`, an `error` or [DONE]; a cut one looks complete");

pub(super) static RULES: [Rule; 16] = [
    JSON,
    ONE_LINE,
    DATA_ONLY,
    SHAPE,
    BASE,
    KNOWN_TYPE,
    DELTA,
    SEGMENT,
    FINISH,
    RESULT,
    ID_ONCE,
    KNOWN_CALL,
    AFTER_DONE,
    AFTER_ERROR,
    DONE_LAST,
    TERMINAL,
];

/// What the page shows, as far as a rule needs it.
#[derive(Debug, Default)]
pub(super) struct Linter {
    /// What the client's reader trips over, and at which byte.
    trips: VecDeque<(u64, Rule, String)>,
    is_ndjson: bool,
    segment: String,
    ends_with_text: bool,
    call_since_text: bool,
    has_thoughts: bool,
    calls: HashMap<String, Call>,
    open: Vec<String>,
    has_end: bool,
    has_failed: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Call {
    is_called: bool,
    is_complete: bool,
    has_result: bool,
}

impl Lint for Linter {
    fn stream(&mut self, framing: Framing, stream: &[u8]) {
        self.is_ndjson = framing == Framing::Ndjson;
        if self.is_ndjson {
            return;
        }
        let mut offset = 0;
        for line in stream.split(|byte| *byte == b'\n') {
            if let Some(rule) = trips_over(line) {
                self.trips.push_back((offset, rule, head(&String::from_utf8_lossy(line))));
            }
            offset += line.len() as u64 + 1;
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        let mut add = |rule: Rule, seen: String| findings.add(rule.name, seen, rule.demands);
        let until = frame.offset + frame.data.len() as u64;
        while self.trips.front().is_some_and(|(offset, ..)| *offset <= until) {
            self.trips.pop_front().into_iter().for_each(|(_, rule, seen)| add(rule, seen));
        }
        if self.is_over {
            add(DONE_LAST, head(frame.data));
        }
        if frame.data == END_MARKER && !self.is_ndjson {
            self.is_over = true;
            self.has_end = true;
            return;
        }
        if self.has_failed {
            add(AFTER_ERROR, head(frame.data));
        }
        if frame.data.contains('\n') {
            add(ONE_LINE, format!("{} lines", frame.data.lines().count()));
        }
        for line in frame.data.split('\n').filter(|line| !line.trim().is_empty()) {
            match Chunk::of_frame(&Frame { data: line, ..*frame }) {
                Ok(chunk) => self.chunk(&chunk, &mut add),
                Err(error) if error.kind() == ErrorKind::Json => add(JSON, head(line)),
                Err(error) => add(SHAPE, error.message().to_owned()),
            }
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        for (_, rule, seen) in self.trips.drain(..) {
            findings.add(rule.name, seen, rule.demands);
        }
        if !self.has_end {
            findings.add(TERMINAL.name, "neither", TERMINAL.demands);
        }
    }
}

impl Linter {
    fn chunk(&mut self, chunk: &Chunk<'_>, add: &mut dyn FnMut(Rule, String)) {
        if !matches!(chunk, Chunk::Other(_)) {
            base(&chunk.base(), add);
        }
        match chunk {
            Chunk::Content(chunk) => self.content(chunk, add),
            Chunk::Thinking(chunk) => self.thinking(chunk, add),
            Chunk::ToolCall(chunk) => self.tool_call(chunk, add),
            Chunk::ToolResult(chunk) => self.tool_result(chunk, add),
            Chunk::Done(chunk) => {
                self.has_end = true;
                self.complete();
                let known = [None, Some("stop"), Some("length"), Some("content_filter"), Some("tool_calls")];
                if !known.contains(&chunk.finish_reason.as_deref()) {
                    add(FINISH, format!("{:?}", chunk.finish_reason));
                }
            }
            Chunk::Failure(chunk) => {
                self.has_end = true;
                self.has_failed = true;
                if chunk.error.is_none() {
                    add(SHAPE, "an error chunk without `error`".to_owned());
                }
            }
            Chunk::ApprovalRequested(chunk) => {
                if chunk.approval.is_none() {
                    add(SHAPE, "an approval-requested chunk without `approval`".to_owned());
                }
                self.about_call(chunk.tool_call_id.as_ref(), add);
            }
            Chunk::ToolInputAvailable(chunk) => self.about_call(chunk.tool_call_id.as_ref(), add),
            Chunk::Other(data) => {
                let kind = data.get("type").and_then(serde_json::Value::as_str);
                if kind.is_some_and(is_ag_ui) {
                    add(KNOWN_TYPE, format!("{kind:?}"));
                }
            }
        }
    }

    fn content(&mut self, chunk: &Content<'_>, add: &mut dyn FnMut(Rule, String)) {
        self.complete();
        let (delta, content) = (chunk.delta.as_deref(), chunk.content.as_deref());
        match (delta, content) {
            (None, _) => add(DELTA, "none".to_owned()),
            (Some(""), None) => add(SHAPE, "an empty `delta` without `content`".to_owned()),
            _ => {}
        }
        let is_new = self.call_since_text
            && !self.segment.is_empty()
            && content.is_some_and(|content| !content.starts_with(&self.segment));
        if is_new {
            if self.ends_with_text {
                add(SEGMENT, "a new segment over the last text, which is lost".to_owned());
            }
            self.segment.clear();
            self.call_since_text = false;
        } else if !self.segment.is_empty() && !self.ends_with_text {
            add(SEGMENT, "text that goes on after another part, where all of it is shown again".to_owned());
        }
        let text = delta.filter(|delta| !delta.is_empty()).or(content).unwrap_or_default();
        if !text.is_empty() {
            self.segment.push_str(text);
            self.ends_with_text = true;
        }
    }

    fn thinking(&mut self, chunk: &Thinking<'_>, add: &mut dyn FnMut(Rule, String)) {
        if chunk.delta.as_deref().is_none_or(str::is_empty) && chunk.content.is_none() {
            add(SHAPE, "a thinking chunk with neither `delta` nor `content`".to_owned());
        }
        if !std::mem::replace(&mut self.has_thoughts, true) {
            self.ends_with_text = false;
        }
    }

    fn tool_call(&mut self, chunk: &ToolCall<'_>, add: &mut dyn FnMut(Rule, String)) {
        self.call_since_text = true;
        let Some(function) = chunk.tool_call.as_ref().and_then(|call| call.function.as_ref()) else {
            return add(SHAPE, "a tool_call chunk without `toolCall.function`".to_owned());
        };
        let id = chunk.tool_call.as_ref().and_then(|call| call.id.as_deref()).unwrap_or_default();
        let call = self.calls.entry(id.to_owned()).or_default();
        if !std::mem::replace(&mut call.is_called, true) {
            self.ends_with_text = false;
            self.open.push(id.to_owned());
        }
        if call.has_result && function.arguments.as_deref().is_some_and(|arguments| !arguments.is_empty()) {
            add(ID_ONCE, format!("more arguments for {id:?}"));
        }
    }

    fn tool_result(&mut self, chunk: &ToolResult<'_>, add: &mut dyn FnMut(Rule, String)) {
        if chunk.tool_call_id.is_none() || !chunk.content.as_ref().is_some_and(serde_json::Value::is_string) {
            add(RESULT, "one that lacks either".to_owned());
        }
        let id = chunk.tool_call_id.as_deref().unwrap_or_default();
        let call = self.calls.entry(id.to_owned()).or_default();
        if !std::mem::replace(&mut call.has_result, true) {
            self.ends_with_text = false;
        }
    }

    /// A chunk that asks about a call.
    fn about_call(&self, id: Option<&Cow<'_, str>>, add: &mut dyn FnMut(Rule, String)) {
        let id = id.map(|id| &**id).unwrap_or_default();
        match self.calls.get(id).filter(|call| call.is_called) {
            None => add(KNOWN_CALL, format!("{id:?}, which the page does not know")),
            Some(call) if !call.is_complete => add(AFTER_DONE, format!("{id:?} before `done`")),
            Some(_) => {}
        }
    }

    fn complete(&mut self) {
        for id in self.open.drain(..) {
            if let Some(call) = self.calls.get_mut(&id) {
                call.is_complete = true;
            }
        }
    }
}

/// What the client's reader makes of a line of SSE: it wants `data: ` and reads JSON, whatever comes.
fn trips_over(line: &[u8]) -> Option<Rule> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.trim_ascii().is_empty() || line == b"data: [DONE]" {
        None
    } else if line.contains(&b'\r') {
        Some(LF)
    } else if line.starts_with(b":") {
        Some(NO_COMMENT)
    } else if line.starts_with(b"data: ") {
        None
    } else if line.starts_with(b"data:") {
        Some(ONE_SPACE)
    } else {
        Some(DATA_ONLY)
    }
}

fn base(base: &Base<'_>, add: &mut dyn FnMut(Rule, String)) {
    let missing =
        [("id", base.id.is_none()), ("model", base.model.is_none()), ("timestamp", base.timestamp.is_none())];
    for (field, _) in missing.iter().filter(|(_, missing)| *missing) {
        add(BASE, format!("no `{field}`"));
    }
}

fn is_ag_ui(kind: &str) -> bool {
    kind.contains('_') && kind.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase())
}

fn head(data: &str) -> String {
    format!("{:?}", data.chars().take(40).collect::<String>())
}

#[cfg(test)]
mod tests;
