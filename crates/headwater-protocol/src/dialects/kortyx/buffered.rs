//! The answer to a page that does not want a stream.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{chunk::Chunk, encode::Encoder};
use crate::{
    event::{
        ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, Event, Record, ToolDenied,
        ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
    },
    id::{AttemptId, ToolCallId},
};

/// The answer to a request with `stream: false`: one JSON document.
///
/// Its text is what was streamed, or, if nothing was, the whole messages of the nodes. Kortyx' own server
/// puts a space between two blocks of text; this one adds nothing that nobody said. Nor is there anything in it
/// that was taken back, since nobody has seen it.
///
/// ```
/// use headwater_protocol::{Event, Record, dialects::kortyx::Buffered};
///
/// let record = Record::new(0, Event::Message { content: "Hello".into() });
/// let answer = serde_json::to_string(&Buffered::new([&record])).unwrap();
/// assert_eq!(
///     answer,
///     r#"{"chunks":[{"type":"message","content":"Hello"}],"text":"Hello","structured":[]}"#,
/// );
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct Buffered {
    chunks: Vec<Box<RawValue>>,
    text: String,
    structured: Vec<Box<RawValue>>,
    #[serde(skip)]
    messages: String,
    #[serde(skip)]
    streamed: bool,
}

impl Buffered {
    /// Collects the records of a run.
    pub fn new<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let records: Vec<_> = records.into_iter().collect();
        let dead = Dead::new(&records);
        let mut buffered = Self::default();
        let mut encoder = Encoder::default();
        for record in records.iter().filter(|record| !dead.said(record)) {
            encoder.chunks(record, &mut |chunk| buffered.push(chunk));
        }
        encoder.finish_chunks(&mut |chunk| buffered.push(chunk));
        if !buffered.streamed {
            buffered.text = std::mem::take(&mut buffered.messages);
        }
        buffered
    }

    /// What the run said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    fn push(&mut self, chunk: &Chunk<'_>) {
        // A chunk has string keys only, so there is always JSON for it.
        let Ok(json) = to_raw_value(chunk) else { return };
        match chunk {
            Chunk::TextDelta(text) => {
                self.streamed = true;
                self.text.push_str(&text.delta);
            }
            Chunk::Message(message) => self.messages.push_str(&message.content),
            Chunk::StructuredData(_) => self.structured.push(json.clone()),
            _ => {}
        }
        self.chunks.push(json);
    }
}

/// What was taken back: all that the dead attempts said, but for the calls that had an effect.
struct Dead<'r> {
    attempts: HashSet<&'r AttemptId>,
    settled: HashSet<&'r ToolCallId>,
}

impl<'r> Dead<'r> {
    fn new(records: &[&'r Record]) -> Self {
        let mut dead = Self { attempts: HashSet::new(), settled: HashSet::new() };
        for record in records {
            match &record.event {
                Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                    dead.attempts.insert(attempt);
                }
                Event::ToolOutput(ToolOutput { call, .. })
                | Event::ToolOutputError(ToolOutputError { call, .. })
                | Event::ToolDenied(ToolDenied { call, .. }) => {
                    dead.settled.insert(call);
                }
                Event::ToolInputError(ToolInputError { tool, .. }) => {
                    dead.settled.insert(&tool.call);
                }
                _ => {}
            }
        }
        dead
    }

    fn said(&self, record: &Record) -> bool {
        let (attempt, call) = match &record.event {
            Event::AttemptStarted(AttemptStarted { attempt, .. })
            | Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => (Some(attempt), None),
            Event::ToolInputStart(tool)
            | Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
            | Event::ToolInputError(ToolInputError { tool, .. })
            | Event::ApprovalRequested(ApprovalRequested { tool, .. }) => {
                (record.origin.attempt.as_ref(), Some(&tool.call))
            }
            Event::ToolInputDelta(ToolInputDelta { call, .. })
            | Event::ToolOutput(ToolOutput { call, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
            | Event::ToolDenied(ToolDenied { call, .. }) => (record.origin.attempt.as_ref(), Some(call)),
            Event::ApprovalAnswered(ApprovalAnswered { call, .. }) => {
                (record.origin.attempt.as_ref(), call.as_ref())
            }
            _ => (record.origin.attempt.as_ref(), None),
        };
        attempt.is_some_and(|attempt| self.attempts.contains(attempt))
            && !call.is_some_and(|call| self.settled.contains(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{BlockDelta, BlockKind, Origin, RunFinished, ToolCall};
    use crate::structured::{StructuredOp, StructuredUpdate};

    fn said(attempt: Option<&str>, delta: &str) -> Record {
        let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta));
        Record::new(0, event).from(Origin { attempt: attempt.map(Into::into), ..Origin::default() })
    }

    #[test]
    fn streamed_text_wins_over_messages_and_gets_no_spaces() {
        let message = Record::new(0, Event::Message { content: "whole".into() });
        let done = Record::new(0, RunFinished::default());
        let records = [message, said(None, "a"), said(None, "b"), done];
        assert_eq!(Buffered::new(&records).text(), "ab");
        assert_eq!(Buffered::new(&records[..1]).text(), "whole");
        assert_eq!(Buffered::new(&records).chunks.len(), 4);
    }

    #[test]
    fn what_was_taken_back_was_never_said_but_an_effect_stays() {
        let call = |id: &str| {
            let event = Event::ToolInputAvailable(ToolInputAvailable::new(ToolCall::new(id, "pay"), None));
            Record::new(0, event).from(Origin { attempt: Some("a1".into()), ..Origin::default() })
        };
        let failed = Event::ToolOutputError(ToolOutputError {
            call: "paid".into(),
            error: "late".into(),
            ..Default::default()
        });
        let records = [
            Record::new(0, AttemptStarted { attempt: "a1".into(), ..Default::default() }),
            said(Some("a1"), "dead"),
            call("paid"),
            call("never made"),
            Record::new(0, failed),
            Record::new(0, AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
            said(Some("a2"), "alive"),
        ];
        let answer = Buffered::new(&records);
        assert_eq!(answer.text(), "alive");
        let json = serde_json::to_string(&answer).unwrap();
        assert!(json.contains("paid") && !json.contains("dead") && !json.contains("never made"), "{json}");
    }

    #[test]
    fn structured_updates_are_listed_as_they_are() {
        let update = StructuredUpdate::new("s", "note", StructuredOp::set("title", "Hi"));
        let answer = Buffered::new(&[Record::new(0, Event::Structured(update))]);
        let json = serde_json::to_value(answer).unwrap();
        assert_eq!(json["structured"], json["chunks"]);
        assert_eq!(json["structured"][0]["path"], "title");
    }
}
