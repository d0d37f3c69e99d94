//! Text, reasoning and activities.

use headwater_protocol::{
    BlockEnded, BlockKind, BlockStarted, DataEvent, Error, ErrorKind, Event, Message, MessageId,
    MessageStarted, Role,
};
use serde_json::Value;

use super::{EventPlace, EventReader, TextState, out_of_place};
use crate::{
    ag_ui::chunk::{ActivityDelta, ActivitySnapshot, Base},
    decode::DecodeOutput,
};

impl EventReader {
    /// Starts a text, as a message of its own or in an existing one.
    pub(super) fn start_text(
        &mut self,
        id: &str,
        role: Role,
        author: Option<Value>,
        base: &Base<'_>,
        out: &mut DecodeOutput,
    ) {
        let role = *self.roles.entry(id.to_owned()).or_insert(role);
        let kind = if role == Role::Reasoning { BlockKind::Reasoning } else { BlockKind::Text };
        let text = TextState { kind, lost: role == Role::Activity };
        if !text.lost {
            let place = EventPlace::of(base).in_message(id);
            self.emit(&place, MessageStarted { message: id.into(), role, author, ..Default::default() }, out);
            self.metadata(&place, base, out);
            self.emit(&place, BlockStarted::new(kind, id), out);
        }
        self.last = None;
        self.texts.insert(id.to_owned(), text);
    }

    /// Merges metadata into the message.
    pub(super) fn metadata(&mut self, place: &EventPlace, base: &Base<'_>, out: &mut DecodeOutput) {
        if let Some(metadata) = base.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
            self.emit(place, Event::MessageMetadata { metadata: Value::Object(metadata.clone()) }, out);
        }
    }

    pub(super) fn end_text(
        &mut self,
        id: &str,
        base: &Base<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        self.last = None;
        let text = self.texts.remove(id).ok_or_else(|| out_of_place("text", id))?;
        if text.lost {
            return Ok(());
        }
        let place = EventPlace::of(base).in_message(id);
        self.emit(&place, BlockEnded::new(text.kind, id), out);
        self.metadata(&place, base, out);
        self.emit(&place, Event::MessageFinished { message: id.into() }, out);
        Ok(())
    }

    pub(super) fn activity(&mut self, activity: ActivitySnapshot<'_>, out: &mut DecodeOutput) {
        let id = &*activity.message_id;
        let place = EventPlace::of(&activity.base).in_message(id);
        if activity.replace == Some(false) && self.roles.contains_key(id) {
            return self.metadata(&place, &activity.base, out);
        }
        self.roles.insert(id.to_owned(), Role::Activity);
        let content = activity.content.into_owned();
        self.activities.insert(id.to_owned(), content.clone());
        let (message, role) = (MessageId::from(id), Role::Activity);
        self.emit(&place, MessageStarted { message: message.clone(), role, ..Default::default() }, out);
        self.metadata(&place, &activity.base, out);
        self.emit(&place, data(id, &activity.activity_type, content), out);
        self.emit(&place, Event::MessageFinished { message }, out);
    }

    pub(super) fn patch_activity(
        &mut self,
        delta: &ActivityDelta<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let id = &*delta.message_id;
        if self.roles.get(id) != Some(&Role::Activity) {
            return Ok(());
        }
        let place = EventPlace::of(&delta.base).in_message(id);
        self.metadata(&place, &delta.base, out);
        let Some(content) = self.activities.get_mut(id) else { return Ok(()) };
        let wrong = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::State, format!("the patch does not fit the activity '{id}': {error}"))
        };
        let patch = Value::Array(delta.patch.clone().into_owned());
        let patch: json_patch::Patch = serde_json::from_value(patch).map_err(|error| wrong(&error))?;
        // A failed patch leaves the content unchanged.
        json_patch::patch(content, &patch).map_err(|error| wrong(&error))?;
        let changed = content.clone();
        self.emit(&place, data(id, &delta.activity_type, changed), out);
        Ok(())
    }

    /// A complete message.
    pub(super) fn whole_message(&mut self, place: &EventPlace, message: &Message, out: &mut DecodeOutput) {
        let place = place.clone().in_message(message.id.clone());
        for event in message.replay() {
            self.emit(&place, event, out);
        }
    }
}

fn data(message: &str, kind: &str, data: Value) -> Event {
    Event::Data(DataEvent { name: kind.to_owned(), id: Some(message.to_owned()), data, ..Default::default() })
}
