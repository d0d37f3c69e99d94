//! How messages are told, and what stands in them, tools excepted.

use std::borrow::Cow;

use serde_json::Value;

use super::{Encoder, Sink, date, send_whole, text, value};
use crate::{
    dialects::agents::{
        chunk::{
            Chunk, Data, File, MessageEnd, MessageMetadata, MessageStart, PartMark, Source, SourceDocument,
            Step, TextDelta,
        },
        ledger::SourceKey,
    },
    event::{Event, Origin, Record, Role},
    id::{MessageId, PartId},
};

impl Encoder {
    pub(super) fn content(&mut self, record: &Record, sink: Sink<'_>) {
        let origin = &record.origin;
        match &record.event {
            Event::MessageStarted { message, role, author } => {
                self.start(message, *role, author.as_ref(), record.time, sink);
            }
            Event::MessageFinished { message } => {
                let at = self.ledger.find(message);
                if let Some(known) = at.and_then(|at| self.ledger.get_mut(at)).filter(|known| known.open) {
                    known.open = false;
                    let message_id = Some(message.as_str().into());
                    sink(&Chunk::MessageEnd(MessageEnd { message_id, implied: false }));
                }
            }
            Event::MessageMetadata { metadata } => {
                let message = self.target(origin, sink);
                let message_id = Some(message.as_str().into());
                let metadata = Cow::Borrowed(metadata);
                sink(&Chunk::MessageMetadata(MessageMetadata { message_id, metadata }));
            }
            Event::Message { content } => {
                let message = self.target(origin, sink);
                self.speaks(origin, &message);
                let delta = TextDelta { whole: true, ..said(&message, "message", content, origin) };
                sink(&Chunk::MessageDelta(delta));
            }

            Event::StepStarted { name } => {
                let message = self.target(origin, sink);
                let message_id = Some(message.as_str().into());
                sink(&Chunk::StepStart(Step { message_id, name: text(name.as_ref()) }));
            }
            Event::StepFinished { name } => {
                let message_id = text(origin.message.as_ref());
                sink(&Chunk::StepEnd(Step { message_id, name: text(name.as_ref()) }));
            }

            Event::TextStart { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::TextStart(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::TextDelta { id, delta, metadata } => {
                let message = self.target(origin, sink);
                self.speaks(origin, &message);
                let metadata = value(metadata.as_ref());
                let delta = TextDelta { metadata, ..said(&message, id.as_str(), delta, origin) };
                sink(&Chunk::MessageDelta(delta));
            }
            Event::TextEnd { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::TextEnd(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::ReasoningStart { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::ReasoningStart(mark(&message, id, metadata.as_ref(), origin)));
            }
            Event::ReasoningDelta { id, delta, metadata } => {
                let message = self.target(origin, sink);
                let metadata = value(metadata.as_ref());
                let delta = TextDelta { metadata, ..said(&message, id.as_str(), delta, origin) };
                sink(&Chunk::ReasoningDelta(delta));
            }
            Event::ReasoningEnd { id, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::ReasoningEnd(mark(&message, id, metadata.as_ref(), origin)));
            }

            Event::SourceUrl { source, url, title, call, metadata } => {
                let message = self.target(origin, sink);
                if !self.is_new_source(&message, false, source, origin) {
                    return send_whole(record, Some(&message), sink);
                }
                sink(&Chunk::Source(Source {
                    source_id: source.into(),
                    url: url.into(),
                    title: text(title.as_ref()),
                    tool_call_id: text(call.as_ref()),
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::SourceDocument { source, title, media_type, filename, text: passage, call, metadata } => {
                let message = self.target(origin, sink);
                if !self.is_new_source(&message, true, source, origin) {
                    return send_whole(record, Some(&message), sink);
                }
                sink(&Chunk::SourceDocument(SourceDocument {
                    source_id: source.into(),
                    title: text(title.as_ref()),
                    media_type: text(media_type.as_ref()),
                    filename: text(filename.as_ref()),
                    text: text(passage.as_ref()),
                    tool_call_id: text(call.as_ref()),
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::File { url, media_type, filename, id, reasoning, metadata } => {
                let message = self.target(origin, sink);
                sink(&Chunk::File(File {
                    url: url.into(),
                    media_type: media_type.into(),
                    filename: text(filename.as_ref()),
                    file_id: text(id.as_ref()),
                    reasoning: *reasoning,
                    message_id: Some(message.as_str().into()),
                    metadata: value(metadata.as_ref()),
                    attempt: text(origin.attempt.as_ref()),
                }));
            }
            Event::Data { name, id, data, transient } => {
                // What is not kept needs no message to be kept in.
                let message = if *transient { None } else { Some(self.target(origin, sink)) };
                sink(&Chunk::Data(Data {
                    name: name.into(),
                    data_id: text(id.as_ref()),
                    data: Cow::Borrowed(data),
                    transient: *transient,
                    message_id: text(message.as_ref()),
                }));
            }
            _ => {}
        }
    }

    fn start(&mut self, id: &MessageId, role: Role, author: Option<&Value>, time: u64, sink: Sink<'_>) {
        let start = MessageStart {
            message_id: Some(id.as_str().into()),
            role: Some(role.as_str().into()),
            created_at: date(time),
            author: value(author),
            implied: false,
        };
        let Some(at) = self.ledger.find(id) else {
            self.ledger.start(id.clone());
            return sink(&Chunk::MessageStart(start));
        };
        self.ledger.set_current(Some(at));
        if let Some(known) = self.ledger.get_mut(at) {
            known.open = true;
        }
        sink(&Chunk::MessageResume(start));
    }

    fn is_new_source(&mut self, message: &MessageId, document: bool, id: &str, origin: &Origin) -> bool {
        let key = SourceKey { message: message.clone(), document, id: id.to_owned() };
        self.ledger.add_source(key, origin.attempt.clone())
    }

    fn speaks(&mut self, origin: &Origin, message: &MessageId) {
        if let Some(attempt) = &origin.attempt
            && !self.seam.is_empty()
            && !self.spoke.iter().any(|(spoke, _)| spoke == attempt)
        {
            self.spoke.push((attempt.clone(), message.clone()));
        }
    }
}

fn said<'a>(message: &'a MessageId, part: &'a str, delta: &'a str, origin: &'a Origin) -> TextDelta<'a> {
    TextDelta {
        message_id: Some(message.as_str().into()),
        part_id: Some(part.into()),
        delta: delta.into(),
        metadata: None,
        attempt: origin.attempt.as_ref().map(|attempt| attempt.as_str().into()),
        whole: false,
        implied: false,
    }
}

fn mark<'a>(
    message: &'a MessageId,
    part: &'a PartId,
    metadata: Option<&'a Value>,
    origin: &'a Origin,
) -> PartMark<'a> {
    PartMark {
        message_id: Some(message.as_str().into()),
        part_id: Some(part.as_str().into()),
        metadata: value(metadata),
        attempt: text(origin.attempt.as_ref()),
    }
}
