//! Text and reasoning blocks.

use std::borrow::Cow;

use headwater_protocol::{BlockDelta, BlockEnded, BlockKind, BlockStarted, PartId, Record, Role};
use serde_json::Value;

use super::{AgUiEncoder, OpenText, Sink, at};
use crate::ag_ui::chunk::{Base, Chunk, MessageDelta, MessageRef, ReasoningMessageStart, TextMessageStart};

impl AgUiEncoder {
    pub(super) fn start_text(&mut self, record: &Record, block: &BlockStarted, sink: Sink<'_>) {
        self.reduce(record);
        if let Some(open) = self.open_text(record, block.kind, &block.id) {
            self.close_text(record, open, sink);
        }
        self.begin_text(record, block.kind, &block.id, sink);
    }

    pub(super) fn grow_text(&mut self, record: &Record, block: &BlockDelta, sink: Sink<'_>) {
        self.reduce(record);
        let open = match self.open_text(record, block.kind, &block.id) {
            Some(open) => open,
            None => {
                self.begin_text(record, block.kind, &block.id, sink);
                self.texts.len() - 1
            }
        };
        let Some(text) = self.texts.get(open) else { return };
        emit_delta(text, &block.delta, at(record), sink);
    }

    pub(super) fn end_text(&mut self, record: &Record, block: &BlockEnded, sink: Sink<'_>) {
        let Some(open) = self.open_text(record, block.kind, &block.id) else {
            return self.reduce(record);
        };
        self.reduce(record);
        self.close_text(record, open, sink);
    }

    /// A whole message at once.
    pub(super) fn whole(&mut self, record: &Record, content: &str, sink: Sink<'_>) {
        self.reduce(record);
        self.begin_text(record, BlockKind::Text, &PartId::from("message"), sink);
        if let Some(text) = self.texts.pop() {
            emit_delta(&text, content, at(record), sink);
            emit_end(&text, record, sink);
        }
    }

    pub(super) fn close_text(&mut self, record: &Record, open: usize, sink: Sink<'_>) {
        let text = self.texts.remove(open);
        emit_end(&text, record, sink);
        // The conversation may have been held back until the end of a text.
        if self.resync_due {
            self.resync(record, None, sink);
        }
    }

    fn open_text(&self, record: &Record, kind: BlockKind, part: &PartId) -> Option<usize> {
        let current = || self.state.current_message().map(|message| &message.id);
        let message = record.origin.message.as_ref().or_else(current)?;
        self.texts
            .iter()
            .rposition(|text| text.kind == kind && text.part == *part && text.message == *message)
    }

    pub(super) fn begin_text(&mut self, record: &Record, kind: BlockKind, part: &PartId, sink: Sink<'_>) {
        let message = self.target(record);
        let attempt = record.origin.attempt.clone();
        let wire = self.ids.text(&message, self.role_of(&message), kind, attempt.as_ref());
        let text = OpenText { kind, message, part: part.clone(), attempt, wire };
        self.emit_start(record, &text, sink);
        self.texts.push(text);
    }

    /// Starts a text, or continues one.
    pub(super) fn emit_start(&self, record: &Record, text: &OpenText, sink: Sink<'_>) {
        let wire: &str = &text.wire;
        let base = at(record);
        if text.kind == BlockKind::Reasoning {
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

pub(super) fn emit_delta(text: &OpenText, delta: &str, base: Base<'_>, sink: Sink<'_>) {
    let delta = MessageDelta { message_id: Cow::Borrowed(&*text.wire), delta: Cow::Borrowed(delta), base };
    sink(&match text.kind {
        BlockKind::Text => Chunk::TextMessageContent(delta),
        BlockKind::Reasoning => Chunk::ReasoningMessageContent(delta),
    });
}

fn emit_end(text: &OpenText, record: &Record, sink: Sink<'_>) {
    let end = || MessageRef { message_id: Cow::Borrowed(&*text.wire), base: at(record) };
    if text.kind == BlockKind::Reasoning {
        sink(&Chunk::ReasoningMessageEnd(end()));
        sink(&Chunk::ReasoningEnd(end()));
    } else {
        sink(&Chunk::TextMessageEnd(end()));
    }
}
