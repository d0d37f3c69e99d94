//! The response to a request without streaming.

use std::collections::HashSet;

use headwater_protocol::{AttemptId, Event, Record, ToolCallId};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{chunk::Chunk, encode::KortyxEncoder};

/// The response to a request with `stream: false`: one JSON document.
///
/// Its text is the streamed text or, without streamed text, the whole messages of the nodes. Kortyx' own server
/// puts a space between two blocks of text; this one does not. Retracted content is left out.
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
        let dead = RetractedContent::new(&records);
        let mut answer = Self::default();
        let mut encoder = KortyxEncoder::default();
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
        // Chunks have string keys only, so serialisation cannot fail.
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

/// The retracted content: everything of failed attempts except executed calls.
struct RetractedContent<'r> {
    attempts: HashSet<&'r AttemptId>,
    settled: HashSet<&'r ToolCallId>,
}

impl<'r> RetractedContent<'r> {
    fn new(records: &[&'r Record]) -> Self {
        let mut dead = Self { attempts: HashSet::new(), settled: HashSet::new() };
        for record in records {
            match &record.event {
                Event::AttemptRetracted(retracted) => dead.attempts.extend([&retracted.attempt]),
                Event::ToolInputError(refused) => dead.settled.extend([&refused.tool.call]),
                event => dead.settled.extend(event.settled_call()),
            }
        }
        dead
    }

    fn said(&self, record: &Record) -> bool {
        let attempt = match &record.event {
            Event::AttemptStarted(started) => Some(&started.attempt),
            Event::AttemptRetracted(retracted) => Some(&retracted.attempt),
            _ => record.origin.attempt.as_ref(),
        };
        attempt.is_some_and(|attempt| self.attempts.contains(attempt))
            && !record.event.tool_call().is_some_and(|call| self.settled.contains(call))
    }
}

#[cfg(test)]
mod tests;
