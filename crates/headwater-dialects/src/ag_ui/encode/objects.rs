//! Structured objects: activity messages, or TanStack's `structured-output` parts.
//!
//! AG-UI changes an activity with JSON Patch, which cannot append to a string. So [`GrowingObjects`] decides
//! when an object has grown enough, and the difference to the last sent value is sent.

use std::{borrow::Cow, collections::HashMap};

use headwater_protocol::{Part, Record, StructuredUpdate};
use serde_json::{Value, json};

use super::{AgUiEncoder, Sink, at};
use crate::{
    ag_ui::{
        chunk::{ActivityDelta, ActivitySnapshot, Chunk, Custom, MessageRef, TextMessageStart},
        messages,
    },
    growing_objects::GrowingObjects,
};

/// The objects of a run and the values that were sent.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) growing: GrowingObjects,
    sent: HashMap<String, ObjectMessage>,
}

/// The message of an object on the page.
#[derive(Debug)]
struct ObjectMessage {
    id: String,
    data_type: String,
    content: Value,
}

impl AgUiEncoder {
    pub(super) fn grow_object(&mut self, record: &Record, update: &StructuredUpdate, sink: Sink<'_>) {
        self.reduce(record);
        let grown = self.objects.growing.apply(update, record.time);
        if let Some((data_type, data)) =
            grown.map(|object| (object.state.data_type().to_owned(), object.data()))
        {
            self.emit_object(record, &update.stream, &data_type, &data, sink);
        }
    }

    /// Sends the growth of objects since they were last sent.
    pub(super) fn emit_unsent(&mut self, record: &Record, sink: Sink<'_>) {
        let unsent = self.objects.growing.unsent().map(|object| {
            let state = object.state;
            (state.stream().to_owned(), state.data_type().to_owned(), object.data())
        });
        for (stream, data_type, data) in unsent.collect::<Vec<_>>() {
            self.emit_object(record, &stream, &data_type, &data, sink);
        }
    }

    /// Invalidates an object. The client never removes an activity, so it is emptied.
    pub(super) fn drop_object(&mut self, record: &Record, stream: &str, sink: Sink<'_>) {
        self.reduce(record);
        self.objects.growing.invalidate(stream);
        let Some(object) = self.objects.sent.remove(stream) else { return };
        if self.tanstack {
            return self.emit_structured_output(record, &object.id, &json!({}), sink);
        }
        emit_snapshot(record, &object.id, &object.data_type, &json!({}), sink);
    }

    /// After a snapshot of the messages, which contains activities but not TanStack's objects.
    pub(super) fn emit_missed_objects(&mut self, record: &Record, sink: Sink<'_>) {
        let parts = self.state.messages().iter().flat_map(|message| {
            let objects = message.parts.iter().filter_map(|part| match part {
                Part::Structured(part) => Some(part),
                _ => None,
            });
            objects.map(move |part| (messages::object_id(message, part), part))
        });
        let objects: Vec<_> = parts
            .filter_map(|(id, part)| {
                let content = messages::object_content(part, &self.state)?.into_owned();
                Some((part.stream.clone(), ObjectMessage { id, data_type: part.data_type.clone(), content }))
            })
            .collect();
        for (stream, object) in objects {
            if self.tanstack {
                emit_message(record, &object.id, sink);
                self.emit_structured_output(record, &object.id, &object.content, sink);
            }
            self.objects.sent.insert(stream, object);
        }
    }

    fn emit_object(&mut self, record: &Record, stream: &str, data_type: &str, data: &Value, sink: Sink<'_>) {
        let content = messages::object(data).into_owned();
        let Some(known) = self.objects.sent.get_mut(stream) else {
            let place = self.state.messages().iter().rev().find_map(|message| {
                message.parts.iter().find_map(|part| match part {
                    Part::Structured(part) if part.stream == stream => {
                        Some((message.id.clone(), message.role, messages::object_id(message, part)))
                    }
                    _ => None,
                })
            });
            let Some((message, role, id)) = place else { return };
            self.ids.object(&message, role);
            if self.tanstack {
                emit_message(record, &id, sink);
                self.emit_structured_output(record, &id, &content, sink);
            } else {
                emit_snapshot(record, &id, data_type, &content, sink);
            }
            let object = ObjectMessage { id, data_type: data_type.to_owned(), content };
            self.objects.sent.insert(stream.to_owned(), object);
            return;
        };
        if known.content == content && known.data_type == data_type {
            return;
        }
        let before = std::mem::replace(&mut known.content, content);
        data_type.clone_into(&mut known.data_type);
        let id = known.id.clone();
        let patch = json_patch::diff(&before, &known.content);
        if self.tanstack {
            let content = known.content.clone();
            return self.emit_structured_output(record, &id, &content, sink);
        }
        let patch = serde_json::to_value(patch).unwrap_or_default();
        self.objects.growing.sent_as(stream, &patch);
        sink(&Chunk::ActivityDelta(ActivityDelta {
            message_id: Cow::Owned(id),
            activity_type: Cow::Borrowed(data_type),
            patch: Cow::Owned(patch.as_array().cloned().unwrap_or_default()),
            base: at(record),
        }));
    }

    fn emit_structured_output(&self, record: &Record, id: &str, content: &Value, sink: Sink<'_>) {
        let value = Cow::Owned(json!({ "messageId": id, "object": content }));
        sink(&Chunk::Custom(Custom {
            name: Cow::Borrowed("structured-output.complete"),
            value,
            base: at(record),
        }));
    }
}

fn emit_snapshot(record: &Record, id: &str, data_type: &str, content: &Value, sink: Sink<'_>) {
    sink(&Chunk::ActivitySnapshot(ActivitySnapshot {
        message_id: Cow::Borrowed(id),
        activity_type: Cow::Borrowed(data_type),
        content: Cow::Borrowed(content),
        replace: None,
        base: at(record),
    }));
}

/// TanStack's client adds an object to the open message and shows only one per message, so each gets its own.
fn emit_message(record: &Record, id: &str, sink: Sink<'_>) {
    sink(&Chunk::TextMessageStart(TextMessageStart {
        message_id: Cow::Borrowed(id),
        role: Some(Cow::Borrowed("assistant")),
        name: None,
        base: at(record),
    }));
    sink(&Chunk::TextMessageEnd(MessageRef { message_id: Cow::Borrowed(id), base: at(record) }));
}
