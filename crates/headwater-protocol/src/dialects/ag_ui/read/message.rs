//! Texts, thoughts and activities.

use serde_json::Value;

use super::{Place, Reader, Text, out_of_place};
use crate::{
    decode::Decoded,
    dialects::ag_ui::chunk::{ActivityDelta, ActivitySnapshot, Base},
    error::{Error, ErrorKind},
    event::{Event, Role, ToolCall},
    id::MessageId,
    state::{Message, Part},
};

impl Reader {
    /// A text is a message of its own, or more of one that is there.
    pub(super) fn start_text(
        &mut self,
        id: &str,
        role: Role,
        author: Option<Value>,
        base: &Base<'_>,
        out: &mut Decoded,
    ) {
        let role = *self.roles.entry(id.to_owned()).or_insert(role);
        let text = Text { reasoning: role == Role::Reasoning, lost: role == Role::Activity };
        if !text.lost {
            let place = Place::of(base).in_message(id);
            self.emit(&place, Event::MessageStarted { message: id.into(), role, author }, out);
            self.metadata(&place, base, out);
            let (id, metadata) = (id.into(), None);
            let event = match text.reasoning {
                true => Event::ReasoningStart { id, metadata },
                false => Event::TextStart { id, metadata },
            };
            self.emit(&place, event, out);
        }
        self.last = None;
        self.texts.insert(id.to_owned(), text);
    }

    /// Metadata is merged into the message.
    pub(super) fn metadata(&mut self, place: &Place, base: &Base<'_>, out: &mut Decoded) {
        if let Some(metadata) = base.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
            self.emit(place, Event::MessageMetadata { metadata: Value::Object(metadata.clone()) }, out);
        }
    }

    pub(super) fn end_text(&mut self, id: &str, base: &Base<'_>, out: &mut Decoded) -> Result<(), Error> {
        self.last = None;
        let text = self.texts.remove(id).ok_or_else(|| out_of_place("text", id))?;
        if text.lost {
            return Ok(());
        }
        let place = Place::of(base).in_message(id);
        let (part, metadata) = (id.into(), None);
        let event = match text.reasoning {
            true => Event::ReasoningEnd { id: part, metadata },
            false => Event::TextEnd { id: part, metadata },
        };
        self.emit(&place, event, out);
        self.metadata(&place, base, out);
        self.emit(&place, Event::MessageFinished { message: id.into() }, out);
        Ok(())
    }

    pub(super) fn activity(&mut self, activity: ActivitySnapshot<'_>, out: &mut Decoded) {
        let id = &*activity.message_id;
        let place = Place::of(&activity.base).in_message(id);
        if activity.replace == Some(false) && self.roles.contains_key(id) {
            return self.metadata(&place, &activity.base, out);
        }
        self.roles.insert(id.to_owned(), Role::Activity);
        let content = activity.content.into_owned();
        self.activities.insert(id.to_owned(), content.clone());
        let (message, role) = (MessageId::from(id), Role::Activity);
        self.emit(&place, Event::MessageStarted { message: message.clone(), role, author: None }, out);
        self.metadata(&place, &activity.base, out);
        self.emit(&place, data(id, &activity.activity_type, content), out);
        self.emit(&place, Event::MessageFinished { message }, out);
    }

    pub(super) fn patch_activity(
        &mut self,
        delta: &ActivityDelta<'_>,
        out: &mut Decoded,
    ) -> Result<(), Error> {
        let id = &*delta.message_id;
        if self.roles.get(id) != Some(&Role::Activity) {
            return Ok(());
        }
        let place = Place::of(&delta.base).in_message(id);
        self.metadata(&place, &delta.base, out);
        let Some(content) = self.activities.get_mut(id) else { return Ok(()) };
        let wrong = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::State, format!("the patch does not fit the activity '{id}': {error}"))
        };
        let patch = Value::Array(delta.patch.clone().into_owned());
        let patch: json_patch::Patch = serde_json::from_value(patch).map_err(|error| wrong(&error))?;
        // On failure the content is left as it was.
        json_patch::patch(content, &patch).map_err(|error| wrong(&error))?;
        let changed = content.clone();
        self.emit(&place, data(id, &delta.activity_type, changed), out);
        Ok(())
    }

    /// A message that came whole.
    pub(super) fn whole_message(&mut self, place: &Place, message: Message, out: &mut Decoded) {
        let place = place.clone().in_message(message.id.clone());
        let (id, role, author) = (message.id, message.role, message.author);
        self.emit(&place, Event::MessageStarted { message: id.clone(), role, author }, out);
        if let Some(metadata) = message.metadata {
            self.emit(&place, Event::MessageMetadata { metadata }, out);
        }
        for part in message.parts {
            for event in whole_part(part) {
                self.emit(&place, event, out);
            }
        }
        self.emit(&place, Event::MessageFinished { message: id }, out);
    }
}

fn whole_part(part: Part) -> Vec<Event> {
    match part {
        Part::Text(text) => vec![
            Event::TextStart { id: text.id.clone(), metadata: text.metadata },
            Event::TextDelta { id: text.id.clone(), delta: text.text, metadata: None },
            Event::TextEnd { id: text.id, metadata: None },
        ],
        Part::Reasoning(text) => vec![
            Event::ReasoningStart { id: text.id.clone(), metadata: text.metadata },
            Event::ReasoningDelta { id: text.id.clone(), delta: text.text, metadata: None },
            Event::ReasoningEnd { id: text.id, metadata: None },
        ],
        Part::Tool(tool) => {
            let call = ToolCall { metadata: tool.metadata, ..ToolCall::new(tool.call.clone(), tool.name) };
            let mut events = vec![Event::ToolInputStart(call.clone())];
            match tool.input {
                Some(input) => events.push(Event::ToolInputAvailable { tool: call, input: Some(input) }),
                None => {
                    events.push(Event::ToolInputDelta { call: tool.call.clone(), delta: tool.input_text });
                }
            }
            match (tool.error, tool.output) {
                (Some(error), _) => {
                    events.push(Event::ToolOutputError { call: tool.call, name: None, error });
                }
                (None, Some(output)) => events.push(Event::ToolOutput {
                    call: tool.call,
                    name: None,
                    output,
                    structured: None,
                    is_error: false,
                    preliminary: false,
                    metadata: tool.output_metadata,
                }),
                (None, None) => {}
            }
            events
        }
        Part::File(file) => vec![Event::File {
            url: file.url,
            media_type: file.media_type,
            filename: file.filename,
            id: file.id,
            reasoning: false,
            metadata: file.metadata,
        }],
        Part::Data(part) => {
            vec![Event::Data { name: part.name, id: part.id, data: part.data, transient: false }]
        }
        _ => Vec::new(),
    }
}

fn data(message: &str, kind: &str, data: Value) -> Event {
    Event::Data { name: kind.to_owned(), id: Some(message.to_owned()), data, transient: false }
}
