//! Messages and what stands in them, tools excepted.

use std::borrow::Cow;

use super::{Decoder, Place, read_date, report, reuse};
use crate::{
    decode::Decoded,
    dialects::agents::{
        chunk::{
            Data, File, MessageEnd, MessageMetadata, MessageStart, PartMark, Source, SourceDocument, Step,
            TextDelta,
        },
        ledger::{Block, SourceKey},
    },
    error::{Error, ErrorKind},
    event::{Event, Role},
    framing::Frame,
    id::{MessageId, PartId, ToolCallId},
    json,
};

impl Decoder {
    pub(super) fn message_start(
        &mut self,
        again: bool,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> Result<(), Error> {
        let MessageStart { message_id, role, created_at, author, implied } = json::read(frame)?;
        let Some(id) = message_id.map(MessageId::from) else {
            let message = format!(
                "`{}` must name its message in `messageId`",
                if again { "message.resume" } else { "message.start" }
            );
            report(out, frame, ErrorKind::Field, message);
            return Ok(());
        };
        let time = read_date(created_at.as_deref(), frame, out);
        let known = self.ledger.find(&id);
        let at = match known {
            Some(at) => at,
            None => self.ledger.start(id.clone()),
        };
        // The run speaks where it is said to speak, implied or not; an implied reopening is for
        // one event and moves nothing.
        if !(again && implied) {
            self.ledger.set_current(Some(at));
        }
        if again && let Some(known) = self.ledger.get_mut(at) {
            (known.open, known.late) = (true, false);
        }
        if implied || (known.is_some() && !again) {
            return Ok(());
        }
        let role = read_role(role.as_deref(), frame, out);
        let place = Place { message: Some(id.clone()), attempt: None };
        let event = Event::MessageStarted { message: id, role, author: author.map(Cow::into_owned) };
        self.push_at(out, time, place, event);
        Ok(())
    }

    pub(super) fn message_end(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let MessageEnd { message_id, implied } = json::read(frame)?;
        let found = match message_id.map(MessageId::from) {
            Some(id) => self.ledger.find(&id),
            None => self.ledger.current().map(|(at, _)| at),
        };
        let Some(at) = found else {
            report(out, frame, ErrorKind::Order, "`message.end` for a message that was not begun is ignored");
            return Ok(());
        };
        self.close_block(at, out);
        let Some(known) = self.ledger.get_mut(at).filter(|known| known.open) else {
            return Ok(());
        };
        known.open = false;
        let message = known.id.clone();
        if !implied {
            let place = Place { message: named(&message), attempt: None };
            self.push(out, place, Event::MessageFinished { message });
        }
        Ok(())
    }

    pub(super) fn message_metadata(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let MessageMetadata { message_id, metadata } = json::read(frame)?;
        let (_, place) = self.place(message_id.as_deref(), None, frame, out);
        self.push(out, place, Event::MessageMetadata { metadata: metadata.into_owned() });
        Ok(())
    }

    pub(super) fn text_delta(
        &mut self,
        reasoning: bool,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> Result<(), Error> {
        let TextDelta { message_id, part_id, delta, metadata, attempt, whole, implied } = json::read(frame)?;
        if implied {
            return Ok(());
        }
        let (at, place) = self.place(message_id.as_deref(), attempt.as_deref(), frame, out);
        if whole {
            self.close_block(at, out);
            self.push(out, place, Event::Message { content: delta.0.into_owned() });
            return Ok(());
        }
        let id = match part_id {
            Some(id) => {
                self.close_block(at, out);
                reuse(&mut self.last.part, &id)
            }
            None => self.block(at, reasoning, &place, out),
        };
        let (delta, metadata) = (delta.0.into_owned(), metadata.map(Cow::into_owned));
        let event = if reasoning {
            Event::ReasoningDelta { id, delta, metadata }
        } else {
            Event::TextDelta { id, delta, metadata }
        };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn part_mark(
        &mut self,
        name: &str,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> Result<(), Error> {
        let PartMark { message_id, part_id, metadata, attempt } = json::read(frame)?;
        let Some(part_id) = part_id else {
            report(out, frame, ErrorKind::Field, format!("`{name}` must name its part in `partId`"));
            return Ok(());
        };
        let (at, place) = self.place(message_id.as_deref(), attempt.as_deref(), frame, out);
        self.close_block(at, out);
        let id = reuse(&mut self.last.part, &part_id);
        let metadata = metadata.map(Cow::into_owned);
        let event = match name {
            "text.start" => Event::TextStart { id, metadata },
            "text.end" => Event::TextEnd { id, metadata },
            "reasoning.start" => Event::ReasoningStart { id, metadata },
            _ => Event::ReasoningEnd { id, metadata },
        };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn source(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let Source { source_id, url, title, tool_call_id, message_id, metadata, attempt } =
            json::read(frame)?;
        let call = tool_call_id.map(ToolCallId::from);
        let message = self.message_of(message_id, call.as_ref());
        let (at, place) = self.place(message.as_deref(), attempt.as_deref(), frame, out);
        if self.is_new_source(&place, false, &source_id) {
            self.close_block(at, out);
            let event = Event::SourceUrl {
                source: source_id.into_owned(),
                url: url.into_owned(),
                title: title.map(Cow::into_owned),
                call,
                metadata: metadata.map(Cow::into_owned),
            };
            self.push(out, place, event);
        }
        Ok(())
    }

    pub(super) fn source_document(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: SourceDocument<'_> = json::read(frame)?;
        let call = chunk.tool_call_id.map(ToolCallId::from);
        let message = self.message_of(chunk.message_id, call.as_ref());
        let (at, place) = self.place(message.as_deref(), chunk.attempt.as_deref(), frame, out);
        if self.is_new_source(&place, true, &chunk.source_id) {
            self.close_block(at, out);
            let event = Event::SourceDocument {
                source: chunk.source_id.into_owned(),
                title: chunk.title.map(Cow::into_owned),
                media_type: chunk.media_type.map(Cow::into_owned),
                filename: chunk.filename.map(Cow::into_owned),
                text: chunk.text.map(Cow::into_owned),
                call,
                metadata: chunk.metadata.map(Cow::into_owned),
            };
            self.push(out, place, event);
        }
        Ok(())
    }

    pub(super) fn file(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let chunk: File<'_> = json::read(frame)?;
        let (at, place) = self.place(chunk.message_id.as_deref(), chunk.attempt.as_deref(), frame, out);
        self.close_block(at, out);
        let event = Event::File {
            url: chunk.url.into_owned(),
            media_type: chunk.media_type.into_owned(),
            filename: chunk.filename.map(Cow::into_owned),
            id: chunk.file_id.map(Cow::into_owned),
            reasoning: chunk.reasoning,
            metadata: chunk.metadata.map(Cow::into_owned),
        };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn data(&mut self, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let Data { name, data_id, data, transient, message_id } = json::read(frame)?;
        let place = if transient {
            Place { message: message_id.map(Into::into), attempt: None }
        } else {
            let (at, place) = self.place(message_id.as_deref(), None, frame, out);
            self.close_block(at, out);
            place
        };
        let id = data_id.map(Cow::into_owned);
        let event = Event::Data { name: name.into_owned(), id, data: data.into_owned(), transient };
        self.push(out, place, event);
        Ok(())
    }

    pub(super) fn step(&mut self, starts: bool, frame: &Frame<'_>, out: &mut Decoded) -> Result<(), Error> {
        let Step { message_id, name } = json::read(frame)?;
        let name = name.map(Cow::into_owned);
        if starts {
            let (at, place) = self.place(message_id.as_deref(), None, frame, out);
            self.close_block(at, out);
            self.push(out, place, Event::StepStarted { name });
        } else {
            let place = Place { message: message_id.map(Into::into), attempt: None };
            self.push(out, place, Event::StepFinished { name });
        }
        Ok(())
    }

    /// The message that an event belongs to: the one that it names, else the current one. A message
    /// that was not begun begins here; one that has ended stays so, which is reported once.
    pub(super) fn place(
        &mut self,
        message: Option<&str>,
        attempt: Option<&str>,
        frame: &Frame<'_>,
        out: &mut Decoded,
    ) -> (usize, Place) {
        let attempt = attempt.map(|attempt| reuse(&mut self.last.attempt, attempt));
        let current = self.ledger.current().filter(|(_, known)| match message {
            Some(wanted) => known.id == *wanted,
            None => true,
        });
        let at = match current {
            Some((at, _)) => at,
            None => {
                let id = reuse(&mut self.last.message, message.unwrap_or_default());
                let known = self.ledger.find(&id);
                known.unwrap_or_else(|| self.ledger.start(id))
            }
        };
        let mut place = Place { message: None, attempt };
        if let Some(known) = self.ledger.get_mut(at) {
            place.message = named(&known.id);
            if !known.open && !known.late {
                known.late = true;
                let message = format!("message {:?} had ended; what comes later is added to it", known.id);
                report(out, frame, ErrorKind::Order, message);
            }
        }
        (at, place)
    }

    /// The part that a delta without a part goes to: the message's last one if it is of that kind,
    /// else a new one.
    fn block(&mut self, at: usize, reasoning: bool, place: &Place, out: &mut Decoded) -> PartId {
        let open = self.ledger.get_mut(at).and_then(|known| known.block.as_ref());
        if let Some(block) = open.filter(|block| block.reasoning == reasoning) {
            return block.part.clone();
        }
        self.close_block(at, out);
        let Some(known) = self.ledger.get_mut(at) else {
            return PartId::from("text");
        };
        known.blocks += 1;
        let kind = if reasoning { "reasoning" } else { "text" };
        let part = PartId::from(format!("{kind}-{}", known.blocks));
        known.block = Some(Block { reasoning, part: part.clone() });
        let id = part.clone();
        let event = if reasoning {
            Event::ReasoningStart { id, metadata: None }
        } else {
            Event::TextStart { id, metadata: None }
        };
        self.push(out, place.clone(), event);
        part
    }

    /// Another part begins, or the message ends: the text before it is complete.
    pub(super) fn close_block(&mut self, at: usize, out: &mut Decoded) {
        let Some(known) = self.ledger.get_mut(at) else {
            return;
        };
        if let Some(Block { reasoning, part: id }) = known.block.take() {
            let place = Place { message: named(&known.id), attempt: None };
            let event = if reasoning {
                Event::ReasoningEnd { id, metadata: None }
            } else {
                Event::TextEnd { id, metadata: None }
            };
            self.push(out, place, event);
        }
    }

    pub(super) fn close_blocks(&mut self, out: &mut Decoded) {
        for at in 0..self.ledger.len() {
            self.close_block(at, out);
        }
    }

    /// A source belongs where the call is that found it, unless it says another place.
    fn message_of<'a>(
        &self,
        message: Option<Cow<'a, str>>,
        call: Option<&ToolCallId>,
    ) -> Option<Cow<'a, str>> {
        let holds = || self.ledger.call(call?).map(|known| Cow::Owned(known.message.as_str().to_owned()));
        message.or_else(holds)
    }

    fn is_new_source(&mut self, place: &Place, document: bool, id: &str) -> bool {
        let message = place.message.clone().unwrap_or_else(|| MessageId::from(""));
        let key = SourceKey { message, document, id: id.to_owned() };
        self.ledger.add_source(key, place.attempt.clone())
    }
}

/// The message of a stream that names none has no id.
pub(super) fn named(id: &MessageId) -> Option<MessageId> {
    (!id.as_str().is_empty()).then(|| id.clone())
}

fn read_role(role: Option<&str>, frame: &Frame<'_>, out: &mut Decoded) -> Role {
    let roles = [
        Role::Assistant,
        Role::User,
        Role::System,
        Role::Developer,
        Role::Tool,
        Role::Reasoning,
        Role::Activity,
    ];
    let Some(word) = role else { return Role::Assistant };
    roles.into_iter().find(|role| role.as_str() == word).unwrap_or_else(|| {
        let message = format!("role {word:?} is not known and read as \"assistant\"");
        report(out, frame, ErrorKind::Field, message);
        Role::Assistant
    })
}
