//! What readers are told by the records of a journal, read one after the other.

use std::borrow::Cow;

use bytes::Bytes;
use headwater_protocol::{Event, Record};

use super::entry::{Entry, is_answer};
use crate::Result;

/// Reads what readers are told by the records of one journal.
///
/// Nearly all records of a run are deltas that go on with the one before, from the same place. What such a record has in
/// common with the last one is compared, and not read again: that costs a tenth of reading it.
#[derive(Debug, Default)]
pub struct Teller {
    /// The last delta, up to its text and after it.
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// What readers are told by a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Told<'a> {
    /// An event.
    Event(Box<Record>),
    /// More of what the last event was a delta of: the same event with this text.
    More(Cow<'a, str>),
    /// That something has come for which the run waited. What becomes of it follows.
    Answered,
    /// Nothing: it is for replay alone.
    Nothing,
}

impl Teller {
    /// Reads the next record of the store.
    ///
    /// # Errors
    /// When it is not one of a run.
    pub fn read<'a>(&mut self, record: &'a headwater_store::Record) -> Result<Told<'a>> {
        if let Some(more) = self.more(&record.body) {
            return Ok(Told::More(more));
        }
        if is_answer(record) {
            return Ok(Told::Answered);
        }
        let Some(event) = Entry::event(record)? else { return Ok(Told::Nothing) };
        self.learn(&event.event, &record.body);
        Ok(Told::Event(event))
    }

    /// Keeps what stands around the text of a delta.
    pub(crate) fn learn(&mut self, event: &Event, body: &[u8]) {
        const TEXT: &[u8] = br#""delta":""#;
        self.head.clear();
        self.tail.clear();
        if !event.may_grow() {
            return;
        }
        // A quote within a string is escaped: this stands only where the field is.
        let Some(from) = memchr::memmem::find(body, TEXT).map(|at| at + TEXT.len()) else { return };
        let Some(text) = body.get(from..) else { return };
        let mut escaped = false;
        let end = text.iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        if let (Some(head), Some(tail)) = (body.get(..from), end.and_then(|end| text.get(end..))) {
            self.head.extend_from_slice(head);
            self.tail.extend_from_slice(tail);
        }
    }

    /// A delta that goes on with the last one, as it is written.
    pub(crate) fn write(&self, text: &str) -> Option<Bytes> {
        // The quotes around the text are the text's own.
        let (_, head) = self.head.split_last()?;
        let (_, tail) = self.tail.split_first()?;
        let mut bytes = Vec::with_capacity(self.head.len() + text.len() + self.tail.len() + 16);
        bytes.extend_from_slice(head);
        serde_json::to_writer(&mut bytes, text).ok()?;
        bytes.extend_from_slice(tail);
        Some(bytes.into())
    }

    /// The text of a delta that goes on with the last one.
    pub(crate) fn more<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, str>> {
        if self.head.is_empty() {
            return None;
        }
        let text = body.strip_prefix(self.head.as_slice())?.strip_suffix(self.tail.as_slice())?;
        if memchr::memchr2(b'"', b'\\', text).is_none() {
            return std::str::from_utf8(text).ok().map(Cow::Borrowed);
        }
        // With its quotes; what is more than one string is none.
        let quoted = body.get(self.head.len() - 1..=self.head.len() + text.len())?;
        serde_json::from_slice(quoted).ok().map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{BlockDelta, BlockKind, Origin, PartId};
    use headwater_store::{Class, Time};
    use serde_json::json;

    use super::{
        super::{
            Answer, Effect,
            entry::{WrittenEffect, WrittenEvent},
        },
        *,
    };

    fn stored(event: &Event, origin: &Origin) -> headwater_store::Record {
        let body =
            serde_json::to_vec(&WrittenEvent { event, origin, emit: None, effect: None }).unwrap().into();
        headwater_store::Record { seq: 1, epoch: 1, time: Time(9), class: Class::Delta, body }
    }

    fn text(id: &str, delta: &str) -> Event {
        Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta.to_owned()))
    }

    #[test]
    fn what_goes_on_is_told_as_more_and_everything_as_it_was_written() {
        let here = Origin { node: Some("n".into()), attempt: Some("a1".into()), ..Origin::default() };
        let there = Origin { node: Some("m".into()), ..here.clone() };
        let deltas = ["a", "", "\"", "\\", "\",\"metadata\":{\"x\":\"y", "b\n\u{1F30A}", "\"delta\":\"", "z"];
        let mut told: Vec<_> = deltas.iter().map(|delta| (text("a1.0", delta), &here, true)).collect();
        told.extend([
            (text("a1.1", "other part"), &here, false),
            (text("a1.1", "other place"), &there, false),
            (text("a1.1", "the same"), &there, true),
            (Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "a1.1", "t")), &there, false),
            (text("a1.1", "back"), &there, false),
            (
                Event::BlockDelta(BlockDelta {
                    metadata: Some(json!({ "p": "q" })),
                    ..BlockDelta::new(BlockKind::Text, PartId::from("a1.1"), "m")
                }),
                &there,
                false,
            ),
            (text("a1.1", "again"), &there, false),
        ]);
        let mut teller = Teller::default();
        let mut last: Option<Record> = None;
        for (number, (event, origin, more)) in told.iter().enumerate() {
            let stored = stored(event, origin);
            let read = match teller.read(&stored).unwrap() {
                Told::Event(record) => {
                    assert!(!more || number == 0, "{event:?} goes on");
                    *record
                }
                Told::More(text) => {
                    assert!(more, "{event:?} does not go on");
                    assert_eq!(teller.write(&text).unwrap(), stored.body, "and is written as it was");
                    let mut record = last.take().unwrap();
                    if let Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. }) =
                        &mut record.event
                    {
                        *delta = text.into_owned();
                    }
                    record
                }
                Told::Answered | Told::Nothing => panic!("an event"),
            };
            assert_eq!((&read.event, &read.origin), (event, *origin));
            last = Some(read);
        }
    }

    #[test]
    fn an_answer_is_told_and_other_effects_are_not() {
        let stored = |effect: &Effect| {
            let body = serde_json::to_vec(&WrittenEffect { effect }).unwrap().into();
            headwater_store::Record { seq: 1, epoch: 1, time: Time(9), class: Class::Fact, body }
        };
        let answered = Effect::Answered { request: "req_1".into(), answer: Answer::Given(json!("yes")) };
        let mut teller = Teller::default();
        assert_eq!(teller.read(&stored(&answered)).unwrap(), Told::Answered);
        assert_eq!(teller.read(&stored(&Effect::TakenOver)).unwrap(), Told::Nothing);
    }
}
