//! Texts and thoughts.

use std::borrow::Cow;

use serde_json::Value;

use super::{Encoder, OpenText, Sink, at, implied, passing};
use crate::{
    dialects::ag_ui::{
        chunk::{Base, Chunk, MessageDelta, MessageRef, ReasoningMessageStart, TextMessageStart},
        notes::{Metadata, Notes},
    },
    event::{Record, Role},
    id::PartId,
};

impl Encoder {
    pub(super) fn start_text(
        &mut self,
        record: &Record,
        reasoning: bool,
        part: &PartId,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        self.reduce(record);
        if let Some(open) = self.open_text(record, reasoning, part) {
            self.close_text(record, open, implied(), sink);
        }
        let notes = Notes { metadata: metadata.map(Cow::Borrowed), ..Notes::default() };
        self.begin_text(record, reasoning, part, notes, sink);
    }

    pub(super) fn grow_text(
        &mut self,
        record: &Record,
        reasoning: bool,
        part: &PartId,
        delta: &str,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        self.reduce(record);
        let open = match self.open_text(record, reasoning, part) {
            Some(open) => open,
            None => {
                self.begin_text(record, reasoning, part, implied(), sink);
                self.texts.len() - 1
            }
        };
        let Some(text) = self.texts.get(open) else { return };
        say_delta(text, delta, with_metadata(record, metadata), sink);
    }

    pub(super) fn end_text(
        &mut self,
        record: &Record,
        reasoning: bool,
        part: &PartId,
        metadata: Option<&Value>,
        sink: Sink<'_>,
    ) {
        let Some(open) = self.open_text(record, reasoning, part) else {
            return self.carry(record, sink);
        };
        self.reduce(record);
        let text = self.texts.remove(open);
        say_end(&text, at(record), with_metadata(record, metadata), sink);
    }

    /// A whole message, said at once.
    pub(super) fn whole(&mut self, record: &Record, content: &str, sink: Sink<'_>) {
        self.reduce(record);
        let notes = Notes { whole: true, ..Notes::default() };
        self.begin_text(record, false, &PartId::from("message"), notes, sink);
        if let Some(text) = self.texts.pop() {
            say_delta(&text, content, at(record), sink);
            say_end(&text, at(record), at(record), sink);
        }
    }

    /// Closes a text that nobody closed.
    pub(super) fn close_text(&mut self, record: &Record, open: usize, notes: Notes<'_>, sink: Sink<'_>) {
        let text = self.texts.remove(open);
        say_end(&text, at(record), passing(record, notes), sink);
    }

    fn open_text(&self, record: &Record, reasoning: bool, part: &PartId) -> Option<usize> {
        let current = || self.state.current_message().map(|message| &message.id);
        let message = record.origin.message.as_ref().or_else(current)?;
        self.texts
            .iter()
            .rposition(|text| text.reasoning == reasoning && text.part == *part && text.message == *message)
    }

    pub(super) fn begin_text(
        &mut self,
        record: &Record,
        reasoning: bool,
        part: &PartId,
        notes: Notes<'_>,
        sink: Sink<'_>,
    ) {
        let message = self.target(record);
        let attempt = record.origin.attempt.clone();
        let wire = self.ids.text(&message, self.role_of(&message), reasoning, attempt.as_ref());
        let text = OpenText { reasoning, message, part: part.clone(), attempt, wire };
        self.say_start(record, &text, notes, sink);
        self.texts.push(text);
    }

    /// Begins a text, or goes on with one.
    pub(super) fn say_start(&self, record: &Record, text: &OpenText, notes: Notes<'_>, sink: Sink<'_>) {
        let wire: &str = &text.wire;
        let notes = Notes {
            message: (wire != text.message.as_str()).then_some(Cow::Borrowed(text.message.as_str())),
            part: (wire != text.part.as_str()).then_some(Cow::Borrowed(text.part.as_str())),
            attempt: text.attempt.as_ref().map(|attempt| Cow::Borrowed(attempt.as_str())),
            ..notes
        };
        let base = Base { metadata: Some(Metadata::notes(notes)), ..at(record) };
        if text.reasoning {
            sink(&Chunk::ReasoningStart(MessageRef { message_id: Cow::Borrowed(wire), base: at(record) }));
            return sink(&Chunk::ReasoningMessageStart(ReasoningMessageStart {
                message_id: Cow::Borrowed(wire),
                role: Cow::Borrowed("reasoning"),
                base,
            }));
        }
        let role = match self.role_of(&text.message) {
            role @ (Role::User | Role::System | Role::Developer) => role,
            _ => Role::Assistant,
        };
        let author = self.message(&text.message).and_then(|message| message.author.as_ref());
        sink(&Chunk::TextMessageStart(TextMessageStart {
            message_id: Cow::Borrowed(wire),
            role: Some(Cow::Borrowed(role.as_str())),
            name: author.and_then(Value::as_str).map(Cow::Borrowed),
            base,
        }));
    }
}

fn with_metadata<'a>(record: &Record, metadata: Option<&'a Value>) -> Base<'a> {
    match metadata {
        None => at(record),
        Some(metadata) => {
            passing(record, Notes { metadata: Some(Cow::Borrowed(metadata)), ..Notes::default() })
        }
    }
}

pub(super) fn say_delta(text: &OpenText, delta: &str, base: Base<'_>, sink: Sink<'_>) {
    let delta = MessageDelta { message_id: Cow::Borrowed(&*text.wire), delta: Cow::Borrowed(delta), base };
    sink(&if text.reasoning {
        Chunk::ReasoningMessageContent(delta)
    } else {
        Chunk::TextMessageContent(delta)
    });
}

fn say_end(text: &OpenText, span: Base<'_>, base: Base<'_>, sink: Sink<'_>) {
    let end = MessageRef { message_id: Cow::Borrowed(&*text.wire), base };
    if text.reasoning {
        sink(&Chunk::ReasoningMessageEnd(end));
        sink(&Chunk::ReasoningEnd(MessageRef { message_id: Cow::Borrowed(&*text.wire), base: span }));
    } else {
        sink(&Chunk::TextMessageEnd(end));
    }
}
