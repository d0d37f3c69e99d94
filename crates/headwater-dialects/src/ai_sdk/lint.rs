//! The rules of the stream.
//!
//! Findings are chunks that the client rejects, and chunks that it tolerates although they show a broken
//! sender: a text without an end, a stream without an end, chunks after the end.

use headwater_protocol::{BlockKind, Error, ErrorKind, Frame};
use serde_json::Value;

use super::{
    chunk::Chunk,
    decode::{ClientState, DONE},
};
use crate::{
    json,
    lint::{Findings, Lint, rules},
};

rules! {
    "json": "every frame but `[DONE]` is a JSON object",
    "unknown-type": "only the protocol's types and `data-*`: every client gives up at others",
    "field": "every required field, and every field of its type",
    "null-field": "an optional field is left out, never `null`",
    "unknown-key-for-strict-clients": "only the keys of the schema: clients before 5.0.217, 6.0.231 and 7.0.32 give up at others",
    "block-order": "deltas and ends only for a text or reasoning that was started and not ended",
    "block-ended": "every text and reasoning ended before its step and the message end",
    "block-started-twice": "no start of a text or reasoning that is open: its deltas would leave the older one behind",
    "tool-order": "input before deltas, questions and outputs of a call; a question before its answer",
    "metadata": "metadata is an object: nothing else can be merged",
    "start-first": "`start` before everything but transient data",
    "start-once": "one `start`: the client forgets the message at one with another id",
    "step-nesting": "`start-step` and `finish-step` in turns, the last one finished",
    "end": "`finish`, `abort` or `error` at the end: the client takes a silent end for success",
    "nothing-after-end": "nothing but `[DONE]` after `finish` and `abort`",
    "done-last": "`[DONE]`, once and last",
}

/// Checks one stream.
#[derive(Debug, Default)]
pub(super) struct AiSdkLinter {
    known: ClientState,
    started: bool,
    in_step: bool,
    failed: bool,
    ended: bool,
    done: bool,
    /// The client would have rejected the stream: the rest is not checked.
    dead: bool,
}

impl Lint for AiSdkLinter {
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        if self.dead {
            return;
        }
        if self.done {
            findings.add("done-last", "a frame after `[DONE]`", "`[DONE]` at the end");
        }
        if frame.data == DONE {
            self.done = true;
            return;
        }
        match Chunk::read(frame.data) {
            Ok(chunk) => {
                keys(&chunk, frame.data, findings);
                self.chunk(&chunk, findings);
            }
            Err(error) => {
                self.dead = true;
                let rule = match error.kind() {
                    ErrorKind::UnknownType => "unknown-type",
                    ErrorKind::Field if has_null(frame.data) => "null-field",
                    ErrorKind::Field => "field",
                    _ => "json",
                };
                findings.add(rule, error.message(), "a chunk that the client's schema takes");
            }
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        if self.dead {
            return;
        }
        if !self.ended && !self.failed {
            findings.add("end", "no `finish`, `abort` or `error`", "a stream that says how its run ended");
        }
        if self.in_step && self.ended && !self.failed {
            findings.add("step-nesting", "a step that was not finished", "`finish-step` before the end");
        }
        if !self.done {
            findings.add("done-last", "the end of the stream", "`[DONE]`");
        }
    }
}

impl AiSdkLinter {
    fn chunk(&mut self, chunk: &Chunk<'_>, findings: &mut Findings) {
        let transient = matches!(chunk, Chunk::Data(data) if data.transient == Some(true));
        if self.ended {
            findings.add("nothing-after-end", "a chunk after the end", "`[DONE]`");
        }
        if !self.started && !transient && !matches!(chunk, Chunk::Start(_)) {
            self.started = true;
            findings.add("start-first", "a chunk before `start`", "`start`");
        }
        if let Err(error) = self.order(chunk, findings) {
            self.dead = true;
            let rule = match chunk {
                Chunk::TextDelta(_)
                | Chunk::TextEnd(_)
                | Chunk::ReasoningDelta(_)
                | Chunk::ReasoningEnd(_) => "block-order",
                Chunk::Start(_) | Chunk::Finish(_) | Chunk::MessageMetadata(_) => "metadata",
                _ => "tool-order",
            };
            findings.add(rule, error.message(), "a chunk that belongs to something the client has");
        }
    }

    fn order(&mut self, chunk: &Chunk<'_>, findings: &mut Findings) -> Result<(), Error> {
        match chunk {
            Chunk::Start(start) => {
                if std::mem::replace(&mut self.started, true) {
                    findings.add("start-once", "another `start`", "one message in a stream");
                }
                if let Some(id) = &start.message_id {
                    self.known.start_message(id);
                }
                self.metadata(start.message_metadata.as_deref(), findings)?;
            }
            Chunk::Finish(finish) => {
                self.metadata(finish.message_metadata.as_deref(), findings)?;
                self.blocks_ended("`finish`", findings);
                if self.in_step {
                    self.in_step = false;
                    findings.add("step-nesting", "`finish` in a step", "`finish-step` first");
                }
                self.ended = true;
            }
            Chunk::Abort(_) => {
                // The vendor's server leaves everything open here.
                self.in_step = false;
                self.ended = true;
            }
            Chunk::Error(_) => self.failed = true,
            Chunk::MessageMetadata(chunk) => self.metadata(Some(&chunk.message_metadata), findings)?,
            Chunk::StartStep(_) => {
                self.known.start_step();
                if std::mem::replace(&mut self.in_step, true) {
                    findings.add("step-nesting", "`start-step` in a step", "`finish-step` first");
                }
            }
            Chunk::FinishStep(_) => {
                if !std::mem::replace(&mut self.in_step, false) {
                    findings.add("step-nesting", "`finish-step` without a step", "`start-step` first");
                }
                self.blocks_ended("`finish-step`", findings);
            }
            Chunk::ResetStep(_) => self.known.reset_step(),
            Chunk::TextStart(block) => self.start_block(BlockKind::Text, &block.id, findings),
            Chunk::ReasoningStart(block) => self.start_block(BlockKind::Reasoning, &block.id, findings),
            Chunk::TextDelta(chunk) => drop(self.known.block(BlockKind::Text, &chunk.id)?),
            Chunk::ReasoningDelta(chunk) => drop(self.known.block(BlockKind::Reasoning, &chunk.id)?),
            Chunk::TextEnd(chunk) => drop(self.known.close_block(BlockKind::Text, &chunk.id)?),
            Chunk::ReasoningEnd(chunk) => drop(self.known.close_block(BlockKind::Reasoning, &chunk.id)?),
            Chunk::ToolInputStart(chunk) => {
                let dynamic = chunk.dynamic.unwrap_or(false);
                self.known.start_call(&chunk.tool_call_id, &chunk.tool_name, dynamic, true);
            }
            Chunk::ToolInputAvailable(chunk) => {
                let dynamic = chunk.dynamic.unwrap_or(false);
                self.known.start_call(&chunk.tool_call_id, &chunk.tool_name, dynamic, false);
            }
            Chunk::ToolInputError(chunk) => {
                let dynamic = chunk.dynamic.unwrap_or(false);
                self.known.start_call(&chunk.tool_call_id, &chunk.tool_name, dynamic, false);
            }
            Chunk::ToolInputDelta(chunk) => drop(self.known.partial_call(&chunk.tool_call_id)?),
            Chunk::ToolApprovalRequest(chunk) => {
                let call = self.known.call(&chunk.tool_call_id)?.0;
                self.known.ask(&chunk.approval_id, &call);
            }
            Chunk::ToolApprovalResponse(chunk) => drop(self.known.asked(&chunk.approval_id)?),
            Chunk::ToolOutputAvailable(chunk) => drop(self.known.call(&chunk.tool_call_id)?.0),
            Chunk::ToolOutputError(chunk) => drop(self.known.call(&chunk.tool_call_id)?.0),
            Chunk::ToolOutputDenied(chunk) => drop(self.known.call(&chunk.tool_call_id)?.0),
            Chunk::ReasoningFile(_)
            | Chunk::Custom(_)
            | Chunk::SourceUrl(_)
            | Chunk::SourceDocument(_)
            | Chunk::File(_)
            | Chunk::SteeringMessage(_)
            | Chunk::Data(_)
            | Chunk::Raw(_) => {}
        }
        Ok(())
    }

    fn start_block(&mut self, kind: BlockKind, id: &str, findings: &mut Findings) {
        if self.known.is_open(kind, id) {
            findings.add("block-started-twice", format!("block {id:?} again"), "an end, or another id");
        }
        self.known.open_block(kind, id);
    }

    /// After an error the rest of the message need not be complete.
    fn blocks_ended(&mut self, before: &str, findings: &mut Findings) {
        if !self.failed
            && let Some(id) = self.known.any_open_block()
        {
            findings.add("block-ended", format!("{before} while block {id:?} is open"), "its end first");
        }
        self.known.forget_blocks();
    }

    fn metadata(&mut self, metadata: Option<&Value>, findings: &mut Findings) -> Result<(), Error> {
        let Some(metadata) = metadata.filter(|metadata| !metadata.is_null()) else {
            return Ok(());
        };
        if !metadata.is_object() {
            findings.add("metadata", "metadata that is not an object", "an object");
        }
        self.known.metadata(metadata.clone()).map(drop)
    }
}

/// Strict clients reject a key that the newest schema does not know; parsing the chunk has dropped it.
fn keys(chunk: &Chunk<'_>, text: &str, findings: &mut Findings) {
    let (Ok(Value::Object(map)), Ok(known)) = (json::value(text), serde_json::to_value(chunk)) else {
        return;
    };
    let tag = map.get("type").and_then(Value::as_str).unwrap_or_default();
    for key in map.keys().filter(|key| known.get(key.as_str()).is_none()) {
        let seen = format!("`{key}` on `{tag}`");
        findings.add("unknown-key-for-strict-clients", seen, "only the keys of the schema");
    }
}

fn has_null(text: &str) -> bool {
    json::value(text).is_ok_and(|value| value.as_object().is_some_and(|map| map.values().any(Value::is_null)))
}
