//! The answer to a page that does not want a stream.

use std::collections::HashSet;

use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, AttemptId, AttemptRetracted, AttemptStarted, Event, Record,
    ToolCallId, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{chunk::Chunk, encode::Encoder};

/// The answer to a request with `stream: false`: one JSON document.
///
/// Its text is what was streamed, or, if nothing was, the whole messages of the nodes. Kortyx' own server
/// puts a space between two blocks of text; this one adds nothing to them. What was retracted is left out: no
/// reader has seen it.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct BufferedAnswer {
    chunks: Vec<Box<RawValue>>,
    text: String,
    structured: Vec<Box<RawValue>>,
    #[serde(skip)]
    messages: String,
    #[serde(skip)]
    streamed: bool,
}

impl BufferedAnswer {
    /// Collects the records of a run.
    pub(super) fn new<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let records: Vec<_> = records.into_iter().collect();
        let dead = Dead::new(&records);
        let mut answer = Self::default();
        let mut encoder = Encoder::default();
        for record in records.iter().filter(|record| !dead.said(record)) {
            encoder.chunks(record, &mut |chunk| answer.push(chunk));
        }
        encoder.finish_chunks(&mut |chunk| answer.push(chunk));
        if !answer.streamed {
            answer.text = std::mem::take(&mut answer.messages);
        }
        answer
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
mod tests;
