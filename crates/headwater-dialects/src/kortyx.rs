//! Kortyx stream chunks, read by `@kortyx/stream` and `@kortyx/react`.
//!
//! One `data: ` line of JSON per chunk and nothing else in a block, then `data: [DONE]`. The reader splits at
//! `\n\n` and skips every block that does not begin with `data: `, so there are no ids and no event names,
//! and a comment in a block of its own keeps a connection alive.
//!
//! - Every chunk passes Kortyx' own schema. Events without a chunk in that schema are not sent.
//! - `done` is the end for the page. It means failed if `error` came right before it, waiting if a question
//!   is open, and otherwise finished.
//! - An approval is a choice between `approve` and `deny`, as in Kortyx.
//! - The page rejects a structured stream that continues after its `final`: such updates are not sent.

mod approval;
mod checkpoints;
mod chunk;
mod decode;
mod encode;
mod lint;
mod request;
mod whole_answer;

use chunk::Chunk;
use headwater_protocol::{Error, EventKind, Frame};
use serde_json::{Map, Value};
use whole_answer::BufferedAnswer;

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    dialect::{Dialect, Operations, Route, RouteBase, Support},
    documents::{self, CheckpointReply, WholeAnswer},
    encode::{Encode, EncodeOptions},
    json,
    lint::{Lint, LintRule},
    profile::{KeepAlive, Profile},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

const CHECKPOINTS: Route = Route {
    path: "checkpoints",
    base: RouteBase::DialectAndAgent(Operations::new("readCheckpointsOfAgent", "changeCheckpointsOfAgent")),
    operations: Operations::new("readCheckpoints", "changeCheckpoints"),
};

/// The frame after the last chunk.
const END: &str = "[DONE]";

const PROFILES: &[Profile] = &[Profile {
    name: "default",
    clients: "readStream of @kortyx/stream, useChat of @kortyx/react",
    keep_alive: KeepAlive::Comment,
    end_marker: Some(END),
    wait_is_end: true,
    ..Profile::PLAIN
}];

/// The Kortyx dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kortyx;

impl Dialect for Kortyx {
    fn name(&self) -> &'static str {
        "kortyx"
    }

    fn about(&self) -> &'static str {
        "Kortyx stream chunks over SSE, for useChat and readStream of Kortyx"
    }

    fn profiles(&self) -> &'static [Profile] {
        PROFILES
    }

    fn support(&self, kind: EventKind, _profile: &Profile) -> Support {
        Support::Shown(match kind {
            EventKind::Message
            | EventKind::Structured
            | EventKind::StructuredInvalidated
            | EventKind::Transition
            | EventKind::Checkpoint
            | EventKind::Trace => return Support::Exact,
            EventKind::RunStarted => "`session`",
            EventKind::RunFinished => "`done` with its data",
            EventKind::RunFailed => "`error` and `done`",
            EventKind::RunCancelled | EventKind::RunWaiting => "`done`",
            EventKind::AttemptRetracted => "`text-end`; the next attempt is a new piece",
            EventKind::BlockStarted => "`text-start`; reasoning is not sent",
            EventKind::BlockDelta => "`text-delta`; reasoning is not sent",
            EventKind::BlockEnded => "`text-end`; reasoning is not sent",
            EventKind::ToolInputAvailable => "`tool-call-start`",
            EventKind::ToolInputError | EventKind::ToolOutputError => "`tool-call-error`",
            EventKind::ToolOutput => "`tool-call-result`, once it is final",
            EventKind::ToolDenied => "`tool-call-result` that is an error",
            EventKind::ApprovalRequested => "`interrupt` to approve or deny",
            EventKind::InterruptRequested => "`interrupt`",
            EventKind::Status => "`status` with its message",
            EventKind::Error => "`error`, if it ends the run",
            _ => return Support::Hidden,
        })
    }

    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(encode::KortyxEncoder::new(options))
    }

    fn routes(&self) -> &'static [Route] {
        const { &[Route::CHAT, Route::BELOW_CHAT, CHECKPOINTS] }
    }

    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        request::parse(request)
    }

    fn page_message(&self, message: &headwater_protocol::Message) -> Value {
        serde_json::json!({ "id": message.id, "role": message.role, "content": message.plain_text(), "metadata": message.metadata })
    }

    fn checkpoint_reply(&self, reply: &CheckpointReply<'_>) -> Value {
        let usual = || documents::checkpoint_reply(reply, |message| self.page_message(message));
        checkpoints::reply(reply).unwrap_or_else(usual)
    }

    fn whole_answer(&self, answer: &WholeAnswer<'_>) -> Value {
        // The keys are strings, so serialisation cannot fail.
        let records = answer.records.iter().filter(|record| record.seq > answer.since);
        serde_json::to_value(BufferedAnswer::new(records)).unwrap_or_default()
    }
}

impl Reader for Kortyx {
    fn sends_only_text(&self) -> bool {
        true
    }

    /// Several dialects have `text-delta`, `done` and `error`: their other fields distinguish them.
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        if frame.event.is_some() {
            return 0;
        }
        let (Ok(chunk), Ok(fields)) = (Chunk::from_frame(frame), json::read::<Map<String, Value>>(frame))
        else {
            return 0;
        };
        let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
        match chunk {
            Chunk::StructuredData(_)
            | Chunk::StructuredDataInvalidated(_)
            | Chunk::Session(_)
            | Chunk::Checkpoint(_)
            | Chunk::Transition(_)
            | Chunk::Interrupt(_)
            | Chunk::Trace(_)
            | Chunk::ToolCallStart(_)
            | Chunk::ToolCallResult(_)
            | Chunk::ToolCallError(_) => 95,
            Chunk::Message(_) | Chunk::Status(_) | Chunk::ToolResult(_) => 70,
            Chunk::TextStart(_) | Chunk::TextDelta(_) | Chunk::TextEnd(_) => {
                if has(&["node", "opId", "segmentId"]) {
                    95
                } else if has(&["id"]) {
                    30
                } else {
                    80
                }
            }
            Chunk::Done(_) if has(&["id", "model", "timestamp", "finishReason"]) => 5,
            Chunk::Error(_) if has(&["error", "errorText", "id", "model", "timestamp"]) => 5,
            Chunk::Done(_) | Chunk::Error(_) => 50,
            Chunk::Other(_) => 0,
        }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(decode::KortyxDecoder::default())
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::new(lint::KortyxLinter::default())
    }

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }

    fn client_request(&self, request: &ClientRequest<'_>) -> Result<Value, Error> {
        request.without_answers(self.name())?;
        let messages: Vec<_> = request.messages.iter().map(|message| self.page_message(message)).collect();
        Ok(serde_json::json!({ "sessionId": request.session, "messages": messages }))
    }
}

#[cfg(test)]
mod tests;
