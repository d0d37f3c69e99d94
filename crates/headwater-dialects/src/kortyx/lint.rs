//! Checks the rules of a Kortyx stream.

mod wire;

use std::collections::{HashSet, VecDeque};

use headwater_protocol::{Frame, Framing, InterruptKind, StructuredErrorKind, StructuredStreams};

use super::{
    END,
    chunk::{Chunk, ROOT_SPAN},
    decode::KortyxDecoder,
};
use crate::{
    decode::{Decode as _, DecodeOutput},
    lint::{Findings, Lint, rules},
};

rules! {
    "only-data-in-a-block": "a block has one `data: ` line and nothing else: no `id:`, no `event:`",
    "block-begins-with-data": "a block with data begins with `data: `, the space included",
    "lines-end-with-lf": "lines end with LF: the reader cuts at two of them",
    "last-block-is-ended": "the last block is ended by an empty line",
    "chunk-is-an-object": "a chunk is a JSON object with a string `type`",
    "known-type": "the type is one of the 18 of the protocol",
    "fields-of-the-type": "a chunk has the fields that its type needs",
    "nothing-after-done": "no chunk comes after `done`, unless the run waited there",
    "done-exactly-once": "a stream ends with one `done`, or with an `error`",
    "done-marker-at-the-end": "`[DONE]` is the last that is sent",
    "nothing-after-final": "a structured stream gets no update after its `final`",
    "structured-update-fits": "a structured update fits what its stream has built",
    "tool-call-was-started": "a tool call has a `tool-call-start` before its result or error",
    "question-can-be-shown": "a free text has no options, and a choice has a question",
}

/// Checks a Kortyx stream.
#[derive(Debug, Default)]
pub(super) struct KortyxLinter {
    /// Positions at which Kortyx' own parser fails, in stream order.
    hazards: VecDeque<wire::Hazard>,
    /// Interprets the meaning of a `done`.
    decoder: KortyxDecoder,
    decoded: DecodeOutput,
    done: bool,
    closed: bool,
    /// JSON lines have no end marker.
    unmarked: bool,
    /// The last chunk was an error: its server may then close the stream without `done`.
    failed: bool,
    streams: StructuredStreams,
    calls: HashSet<String>,
}

impl Lint for KortyxLinter {
    fn stream(&mut self, framing: Framing, stream: &[u8]) {
        self.unmarked = framing == Framing::Ndjson;
        if framing == Framing::Sse {
            self.hazards = wire::hazards(stream).into();
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        while self.hazards.front().is_some_and(|hazard| hazard.start <= frame.offset) {
            self.hazards.pop_front().into_iter().for_each(|hazard| hazard.report(findings));
        }
        if self.closed {
            return findings.add("done-marker-at-the-end", "a frame after `[DONE]`", "the end of the stream");
        }
        if frame.data.trim() == END {
            self.closed = true;
            if !self.done && !self.failed {
                findings.add("done-exactly-once", "`[DONE]` without a `done` before it", "a `done` chunk");
            }
            return;
        }
        let chunk = match Chunk::from_frame(frame) {
            Ok(chunk) => chunk,
            Err(error) => {
                let untyped = crate::json::type_of(frame).is_err();
                let (rule, expected) = if untyped {
                    ("chunk-is-an-object", "a JSON object with a string `type`")
                } else {
                    ("fields-of-the-type", "the fields that this type needs")
                };
                return findings.add(rule, error.message(), expected);
            }
        };
        let is_done = matches!(chunk, Chunk::Done(_));
        if self.decoder.is_over() {
            findings.add("nothing-after-done", format!("a {} chunk", name(&chunk)), "`[DONE]`");
            if is_done {
                findings.add("done-exactly-once", "another `done`", "one `done`");
            }
        }
        self.failed = matches!(chunk, Chunk::Error(_));
        self.done = is_done || self.decoder.is_over();
        self.decoder.frame(frame, &mut self.decoded);
        self.decoded.clear();
        self.chunk(&chunk, findings);
    }

    fn end(&mut self, findings: &mut Findings) {
        for hazard in self.hazards.drain(..) {
            hazard.report(findings);
        }
        if !self.done && !self.closed {
            findings.add("done-exactly-once", "no `done`", "a `done` chunk: the stream was cut");
        }
        if !self.closed && !self.unmarked {
            findings.add("done-marker-at-the-end", "no `[DONE]`", "`data: [DONE]` after the last chunk");
        }
    }
}

impl KortyxLinter {
    fn chunk(&mut self, chunk: &Chunk<'_>, findings: &mut Findings) {
        match chunk {
            Chunk::Other(value) => {
                let name = value.get("type").and_then(|name| name.as_str()).unwrap_or_default();
                findings.add("known-type", format!("type {name:?}"), "a type of the protocol");
            }
            Chunk::Trace(trace) if trace.root_span_name != ROOT_SPAN => {
                let seen = format!("rootSpanName {:?}", trace.root_span_name);
                findings.add("fields-of-the-type", seen, format!("{ROOT_SPAN:?}"));
            }
            Chunk::ToolCallStart(start) => {
                self.calls.insert(start.tool_call_id.to_string());
            }
            Chunk::ToolCallResult(result) => self.started(&result.tool_call_id, findings),
            Chunk::ToolCallError(error) => self.started(&error.tool_call_id, findings),
            Chunk::Interrupt(interrupt) => {
                let input = &interrupt.input;
                let is_text = input.kind == InterruptKind::Text;
                if is_text && !input.options.is_empty() {
                    findings.add("question-can-be-shown", "a free text with options", "no options");
                }
                if !is_text && input.question.is_none() {
                    findings.add("question-can-be-shown", "a choice without a question", "a question");
                }
            }
            Chunk::StructuredData(update) => {
                if let Err(error) = self.streams.apply(&**update) {
                    let rule = match error.kind() {
                        StructuredErrorKind::AlreadyFinal => "nothing-after-final",
                        _ => "structured-update-fits",
                    };
                    let expected = format!("an update that the stream {:?} can take", update.stream);
                    findings.add(rule, error.to_string(), expected);
                }
            }
            Chunk::StructuredDataInvalidated(gone) => {
                self.streams.invalidate(&gone.stream_id);
            }
            _ => {}
        }
    }

    fn started(&self, call: &str, findings: &mut Findings) {
        if !self.calls.contains(call) {
            let seen = format!("the end of the call {call:?}, which was not started");
            findings.add("tool-call-was-started", seen, "a `tool-call-start` before it");
        }
    }
}

fn name(chunk: &Chunk<'_>) -> String {
    let json = serde_json::to_value(chunk).unwrap_or_default();
    json.get("type").and_then(|name| name.as_str()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
