//! The rules of the published client.

use std::collections::{HashSet, VecDeque};

use headwater_protocol::{ErrorKind, Event, Frame, Framing};
use serde_json::Value;

use super::{
    END_MARKER,
    chunk::{Base, Chunk, Content, ToolCall},
    decode::TanStackDecoder,
};
use crate::{
    decode::{Decode as _, DecodeOutput},
    lint::{Findings, Lint, LintRule, rules},
};

rules! {
    JSON = "json": "every line is JSON; the client passes over others and warns",
    ONE_LINE = "one-line": "a chunk stands on one line; the client reads lines, not SSE events",
    DATA_ONLY = "data-only": "nothing but `data:` lines; the client warns about each other one",
    ONE_SPACE = "one-space": "`data: ` with a space, or the client passes over the line",
    NO_COMMENT = "no-comment": "no comments; the client warns about each",
    LF = "lf": "lines end with LF alone",
    SHAPE = "shape": "a chunk has what the client looks into; it dies otherwise",
    BASE = "base-fields": "every chunk has `id`, `model` and `timestamp`",
    KNOWN_TYPE = "known-type": "no AG-UI events; clients before 0.3 show nothing of them",
    DELTA = "delta": "content has a `delta`; without it the page shows the word `undefined`",
    SEGMENT = "segment": "text after another part begins a new segment, and only then",
    FINISH = "finish-reason": "`stop`, `length`, `content_filter`, `tool_calls` or null",
    RESULT = "tool-result": "a tool_result has a `toolCallId` and a `content` that is a string",
    ID_ONCE = "tool-id-once": "a call that has a result is over; the client would append to it",
    KNOWN_CALL = "known-call": "a call is streamed in the response that asks about it",
    AFTER_DONE = "after-done": "approvals and calls for the page come after `done`, or are forgotten",
    AFTER_ERROR = "nothing-after-error": "an error ends the stream",
    DONE_LAST = "marker-last": "nothing follows [DONE]",
    TERMINAL = "terminal": "a stream has a `done`, an `error` or [DONE]; a cut one looks complete",
}

/// Lets the decoder build the page's message, and checks the effect of each chunk.
#[derive(Debug, Default)]
pub(super) struct TanStackLinter {
    /// Positions at which the client's parser fails, with the rule.
    trips: VecDeque<(u64, LintRule, String)>,
    is_ndjson: bool,
    decoder: TanStackDecoder,
    /// The calls that have a result.
    settled: HashSet<String>,
    has_end: bool,
    has_failed: bool,
    is_over: bool,
}

impl Lint for TanStackLinter {
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
        let mut add = |rule: LintRule, seen: String| findings.add(rule.name, seen, rule.demands);
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
            let frame = Frame { data: line, ..*frame };
            match Chunk::of_frame(&frame) {
                Ok(chunk) => self.chunk(&chunk, &frame, &mut add),
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

impl TanStackLinter {
    fn chunk(&mut self, chunk: &Chunk<'_>, frame: &Frame<'_>, add: &mut dyn FnMut(LintRule, String)) {
        if !matches!(chunk, Chunk::Other(_)) {
            base(&chunk.base(), add);
        }
        match chunk {
            Chunk::Content(Content { delta: None, .. }) => add(DELTA, "none".to_owned()),
            Chunk::ToolCall(ToolCall { tool_call: Some(call), .. }) => {
                let id = call.id.as_deref().unwrap_or_default();
                let arguments = call.function.as_ref().and_then(|function| function.arguments.as_deref());
                if self.settled.contains(id) && arguments.is_some_and(|arguments| !arguments.is_empty()) {
                    add(ID_ONCE, format!("more arguments for {id:?}"));
                }
            }
            Chunk::ToolResult(chunk) => {
                if chunk.tool_call_id.is_none() || !chunk.content.as_ref().is_some_and(Value::is_string) {
                    add(RESULT, "one that lacks either".to_owned());
                }
                self.settled.insert(chunk.tool_call_id.as_deref().unwrap_or_default().to_owned());
            }
            Chunk::Done(chunk) => {
                self.has_end = true;
                let known = [None, Some("stop"), Some("length"), Some("content_filter"), Some("tool_calls")];
                if !known.contains(&chunk.finish_reason.as_deref()) {
                    add(FINISH, format!("{:?}", chunk.finish_reason));
                }
            }
            Chunk::Failure(_) => (self.has_end, self.has_failed) = (true, true),
            Chunk::Other(data) => {
                let kind = data.get("type").and_then(Value::as_str);
                if kind.is_some_and(is_ag_ui) {
                    add(KNOWN_TYPE, format!("{kind:?}"));
                }
            }
            _ => {}
        }
        let mut decoded = DecodeOutput::default();
        self.decoder.frame(frame, &mut decoded);
        for error in decoded.errors {
            let rule = if error.kind() == ErrorKind::Order { AFTER_DONE } else { SHAPE };
            add(rule, error.message().to_owned());
        }
        for record in decoded.records {
            match (record.event, chunk) {
                (Event::AttemptRetracted(_), _) => {
                    add(SEGMENT, "a new segment over the last text, which is lost".to_owned());
                }
                (Event::BlockDelta(block), Chunk::Content(Content { delta, content, .. })) => {
                    let text = delta.as_deref().filter(|delta| !delta.is_empty()).or(content.as_deref());
                    if text.is_some_and(|text| block.delta.len() > text.len()) {
                        let seen = "text that continues after another part, where all of it is shown again";
                        add(SEGMENT, seen.to_owned());
                    }
                }
                (Event::Unknown(event), Chunk::ApprovalRequested(_) | Chunk::ToolInputAvailable(_)) => {
                    let id = event.data.get("toolCallId").unwrap_or(&Value::Null);
                    add(KNOWN_CALL, format!("{id}, which the page does not know"));
                }
                _ => {}
            }
        }
    }
}

/// The rule that a line of SSE breaks for the client's parser, which expects `data: ` and JSON.
fn trips_over(line: &[u8]) -> Option<LintRule> {
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

fn base(base: &Base<'_>, add: &mut dyn FnMut(LintRule, String)) {
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
