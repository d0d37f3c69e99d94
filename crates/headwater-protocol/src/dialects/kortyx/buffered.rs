//! The answer to a page that does not want a stream.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{chunk::Chunk, encode::Encoder};
use crate::{event::Record, hold::Hold};

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
        let mut buffered = Self::default();
        let mut encoder = Encoder::default();
        let mut hold = Hold::default();
        for record in records {
            hold.push(record, &mut |record| encoder.chunks(record, &mut |chunk| buffered.push(chunk)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Origin};
    use crate::structured::{StructuredOp, StructuredUpdate};

    fn said(attempt: Option<&str>, delta: &str) -> Record {
        let event = Event::TextDelta { id: "t".into(), delta: delta.into(), metadata: None };
        Record::new(0, event).from(Origin { attempt: attempt.map(Into::into), ..Origin::default() })
    }

    #[test]
    fn streamed_text_wins_over_messages_and_gets_no_spaces() {
        let message = Record::new(0, Event::Message { content: "whole".into() });
        let done = Record::new(0, Event::RunFinished { reason: None, usage: None, data: None });
        let records = [message, said(None, "a"), said(None, "b"), done];
        assert_eq!(Buffered::new(&records).text(), "ab");
        assert_eq!(Buffered::new(&records[..1]).text(), "whole");
        assert_eq!(Buffered::new(&records).chunks.len(), 4);
    }

    #[test]
    fn what_was_taken_back_was_never_said() {
        let started = |attempt: &str| Event::AttemptStarted { attempt: attempt.into(), model: None };
        let records = [
            Record::new(0, started("a1")),
            said(Some("a1"), "dead"),
            Record::new(0, Event::AttemptRetracted { attempt: "a1".into(), reason: None }),
            Record::new(0, started("a2")),
            said(Some("a2"), "alive"),
            Record::new(0, Event::AttemptFinished { attempt: "a2".into() }),
        ];
        assert_eq!(Buffered::new(&records).text(), "alive");
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
