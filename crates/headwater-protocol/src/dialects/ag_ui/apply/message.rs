//! Texts, thoughts and activities.

use serde_json::Value;

use super::{Apply, Kind, Place, Text};
use crate::{
    decode::Decoded,
    dialects::ag_ui::{
        chunk::{ActivityDelta, ActivitySnapshot, Base},
        notes::Notes,
    },
    error::{Error, ErrorKind},
    event::{Event, Role, ToolCall},
    id::{MessageId, PartId},
    state::{Message, Part},
};

impl Apply {
    pub(super) fn start_message(
        &mut self,
        place: &Place,
        message: &MessageId,
        role: Role,
        notes: &Notes<'_>,
        out: &mut Decoded,
    ) {
        let author = notes.author.clone().map(std::borrow::Cow::into_owned);
        self.roles.insert(message.to_string(), role);
        self.emit(place, Event::MessageStarted { message: message.clone(), role, author }, out);
    }

    pub(super) fn start_text(
        &mut self,
        wire: &str,
        reasoning: bool,
        role: Role,
        name: Option<Value>,
        base: &Base<'_>,
        out: &mut Decoded,
    ) {
        let notes = base.kept();
        let place = Place::of(base).in_message(wire).noted(notes);
        let message = place.message.clone().unwrap_or_else(|| wire.into());
        let part = PartId::from(notes.and_then(|notes| notes.part.as_deref()).unwrap_or(wire));
        let mut text = Text { message, part, attempt: place.attempt.clone(), reasoning, kind: Kind::Ours };
        let Some(notes) = notes else {
            return self.start_their_text(wire, text, role, name, base, out);
        };
        if notes.start {
            let default = if reasoning { Role::Assistant } else { role };
            let message = text.message.clone();
            self.start_message(&place, &message, notes.role.unwrap_or(default), notes, out);
        }
        self.roles.entry(wire.to_owned()).or_insert(role);
        if notes.whole {
            text.kind = Kind::Whole;
        } else if !notes.implied && !notes.resumed {
            let metadata = notes.metadata.clone().map(std::borrow::Cow::into_owned);
            self.emit(&place, begun(reasoning, text.part.clone(), metadata), out);
        }
        self.hold_text(wire, text);
    }

    /// A text of another server: a message of its own, or more of one that is there.
    fn start_their_text(
        &mut self,
        wire: &str,
        mut text: Text,
        role: Role,
        author: Option<Value>,
        base: &Base<'_>,
        out: &mut Decoded,
    ) {
        let held = self.roles.get(wire).copied();
        text.kind = if held == Some(Role::Activity) { Kind::Lost } else { Kind::Theirs };
        text.reasoning = held.unwrap_or(role) == Role::Reasoning;
        if text.kind == Kind::Theirs {
            let place = Place::of(base).in_message(wire);
            let message = text.message.clone();
            self.roles.entry(wire.to_owned()).or_insert(role);
            self.emit(&place, Event::MessageStarted { message, role: held.unwrap_or(role), author }, out);
            self.metadata(&place, base, out);
            self.emit(&place, begun(text.reasoning, text.part.clone(), None), out);
        }
        self.hold_text(wire, text);
    }

    fn hold_text(&mut self, wire: &str, text: Text) {
        self.last = None;
        self.texts.insert(wire.to_owned(), text);
    }

    /// Metadata is merged into the message.
    fn metadata(&mut self, place: &Place, base: &Base<'_>, out: &mut Decoded) {
        let other = base.metadata.as_ref().map(|metadata| &metadata.other).filter(|other| !other.is_empty());
        if let Some(other) = other {
            self.emit(place, Event::MessageMetadata { metadata: Value::Object(other.clone()) }, out);
        }
    }

    /// A delta that has more to say than its text.
    pub(super) fn noted_delta(&mut self, wire: &str, delta: &str, base: &Base<'_>, out: &mut Decoded) {
        let time = Place::of(base).time;
        let said = base.passing().and_then(|notes| notes.metadata.clone());
        let from = out.records.len();
        self.delta(wire, delta, time, out);
        if let (Some(metadata), Some(record)) = (said, out.records.get_mut(from)) {
            match &mut record.event {
                Event::TextDelta { metadata: held, .. } | Event::ReasoningDelta { metadata: held, .. } => {
                    *held = Some(metadata.into_owned());
                }
                _ => {}
            }
        }
        let theirs = self.texts.get(wire).filter(|text| text.kind == Kind::Theirs);
        if let Some(message) = theirs.map(|text| text.message.clone()) {
            self.metadata(&Place::of(base).in_message(message), base, out);
        }
    }

    pub(super) fn end_text(&mut self, wire: &str, base: &Base<'_>, out: &mut Decoded) {
        self.last = None;
        let Some(text) = self.texts.remove(wire) else { return };
        let notes = base.passing();
        if matches!(text.kind, Kind::Lost | Kind::Whole) || notes.is_some_and(|notes| notes.implied) {
            return;
        }
        let place = Place { attempt: text.attempt, ..Place::of(base).in_message(text.message.clone()) };
        let metadata = notes.and_then(|notes| notes.metadata.clone()).map(std::borrow::Cow::into_owned);
        let id = text.part;
        let event = if text.reasoning {
            Event::ReasoningEnd { id, metadata }
        } else {
            Event::TextEnd { id, metadata }
        };
        self.emit(&place, event, out);
        if text.kind == Kind::Theirs {
            self.metadata(&place, base, out);
            self.emit(&place, Event::MessageFinished { message: text.message }, out);
        }
    }

    pub(super) fn activity(&mut self, activity: &ActivitySnapshot<'_>, out: &mut Decoded) {
        let id = &*activity.message_id;
        let place = Place::of(&activity.base).in_message(id);
        if let Some(event) = activity.base.passing().and_then(|notes| notes.event.clone()) {
            return self.emit(&place, event.into_owned(), out);
        }
        if activity.replace == Some(false) && self.roles.contains_key(id) {
            return self.metadata(&place, &activity.base, out);
        }
        self.roles.insert(id.to_owned(), Role::Activity);
        self.activities.insert(id.to_owned(), activity.content.clone().into_owned());
        let message = MessageId::from(id);
        self.emit(
            &place,
            Event::MessageStarted { message: message.clone(), role: Role::Activity, author: None },
            out,
        );
        self.metadata(&place, &activity.base, out);
        self.emit(&place, data(id, &activity.activity_type, activity.content.clone().into_owned()), out);
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
        let mut changed = content.clone();
        json_patch::patch(&mut changed, &patch).map_err(|error| wrong(&error))?;
        content.clone_from(&changed);
        self.emit(&place, data(id, &delta.activity_type, changed), out);
        Ok(())
    }

    /// Says a message that came whole.
    pub(super) fn whole_message(&mut self, place: &Place, message: Message, out: &mut Decoded) {
        let place = place.clone().in_message(message.id.clone());
        let id = message.id.clone();
        let started =
            Event::MessageStarted { message: id.clone(), role: message.role, author: message.author };
        self.emit(&place, started, out);
        if let Some(metadata) = message.metadata {
            self.emit(&place, Event::MessageMetadata { metadata }, out);
        }
        for part in message.parts {
            self.whole_part(&place, part, out);
        }
        self.emit(&place, Event::MessageFinished { message: id }, out);
    }

    fn whole_part(&mut self, place: &Place, part: Part, out: &mut Decoded) {
        match part {
            Part::Text(text) => {
                let (id, delta) = (text.id, text.text);
                self.emit(place, Event::TextStart { id: id.clone(), metadata: text.metadata }, out);
                self.emit(place, Event::TextDelta { id: id.clone(), delta, metadata: None }, out);
                self.emit(place, Event::TextEnd { id, metadata: None }, out);
            }
            Part::Reasoning(text) => {
                let (id, delta) = (text.id, text.text);
                self.emit(place, Event::ReasoningStart { id: id.clone(), metadata: text.metadata }, out);
                self.emit(place, Event::ReasoningDelta { id: id.clone(), delta, metadata: None }, out);
                self.emit(place, Event::ReasoningEnd { id, metadata: None }, out);
            }
            Part::Tool(tool) => {
                let call =
                    ToolCall { metadata: tool.metadata, ..ToolCall::new(tool.call.clone(), tool.name) };
                if tool.input.is_some() {
                    self.emit(place, Event::ToolInputAvailable { tool: call, input: tool.input }, out);
                } else {
                    self.emit(place, Event::ToolInputStart(call), out);
                    let delta = tool.input_text;
                    self.emit(place, Event::ToolInputDelta { call: tool.call.clone(), delta }, out);
                }
                if let Some(error) = tool.error {
                    self.emit(place, Event::ToolOutputError { call: tool.call, name: None, error }, out);
                } else if let Some(output) = tool.output {
                    let event = Event::ToolOutput {
                        call: tool.call,
                        name: None,
                        output,
                        structured: None,
                        is_error: false,
                        preliminary: false,
                        metadata: tool.output_metadata,
                    };
                    self.emit(place, event, out);
                }
            }
            Part::File(file) => {
                let event = Event::File {
                    url: file.url,
                    media_type: file.media_type,
                    filename: file.filename,
                    id: file.id,
                    reasoning: false,
                    metadata: file.metadata,
                };
                self.emit(place, event, out);
            }
            Part::Data(part) => {
                let event = Event::Data { name: part.name, id: part.id, data: part.data, transient: false };
                self.emit(place, event, out);
            }
            _ => {}
        }
    }
}

fn begun(reasoning: bool, id: PartId, metadata: Option<Value>) -> Event {
    if reasoning { Event::ReasoningStart { id, metadata } } else { Event::TextStart { id, metadata } }
}

fn data(message: &str, kind: &str, data: Value) -> Event {
    Event::Data { name: kind.to_owned(), id: Some(message.to_owned()), data, transient: false }
}
