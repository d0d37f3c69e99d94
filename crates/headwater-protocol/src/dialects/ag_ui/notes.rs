//! What our own events need to come back whole, and AG-UI has no field for.
//!
//! It travels in two places that every version of the client leaves alone. `metadata.headwater` of an event that
//! begins something is stored with the message or the call, and comes back with the next request.
//! `rawEvent.headwater` stays on the event and is forgotten with it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use crate::{
    event::{Event, RunStarted, ToolCall},
    id::ToolCallId,
    state::Message,
};

/// The key under which our notes stand, in `metadata` and in `rawEvent`.
pub(super) const KEY: &str = "headwater";

/// What one of our events says beyond AG-UI's fields. All of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Notes<'a> {
    /// The message of ours that it belongs to, where AG-UI's message has another id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// The block of ours, where AG-UI's message has another id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Cow<'a, str>>,
    /// The attempt that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Cow<'a, str>>,
    /// AG-UI needs it here; nothing of ours happened.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
    /// The client may have been told more, which was lost: of that nothing is open any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// What it begins was begun before and goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// The whole message was said at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// What the provider said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Cow<'a, Value>>,
    /// The event that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Cow<'a, Event>>,
    /// The tool call, where more is known than its id and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Cow<'a, ToolCall>>,
    /// The input, where the streamed text is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Cow<'a, Value>>,
    /// There is no input, whatever the streamed text is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_input: bool,
    /// The content is the JSON text of the output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
    /// How the run began, where more is known than its ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Cow<'a, RunStarted>>,
    /// The run waits for the outputs of these calls, or for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Cow<'a, [ToolCallId]>>,
    /// The conversation in our own form; the texts are those of AG-UI's messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Cow<'a, [Message]>>,
}

/// An event's `metadata`: open by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata<'a> {
    /// Our notes.
    pub headwater: Option<Box<Notes<'a>>>,
    /// Why the model stopped, where TanStack's client looks for it.
    pub finish_reason: Option<Cow<'a, str>>,
    /// The tool failed, where TanStack's client looks for it.
    pub failed: bool,
    /// Everything else.
    pub other: Map<String, Value>,
}

impl<'a> Metadata<'a> {
    /// Metadata with our notes alone.
    #[must_use]
    pub fn notes(notes: Notes<'a>) -> Self {
        Self { headwater: Some(Box::new(notes)), ..Self::default() }
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct TanStack<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            finish_reason: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            state: Option<&'static str>,
        }
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.other {
            map.serialize_entry(key, value)?;
        }
        let state = self.failed.then_some("output-error");
        let tanstack = TanStack { finish_reason: self.finish_reason.as_deref(), state };
        if tanstack.finish_reason.is_some() || tanstack.state.is_some() {
            map.serialize_entry("tanstack", &tanstack)?;
        }
        if let Some(notes) = &self.headwater {
            map.serialize_entry(KEY, notes)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Metadata<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut other = Map::deserialize(deserializer)?;
        let headwater = other.get(KEY).and_then(|notes| Notes::deserialize(notes).ok());
        if headwater.is_some() {
            other.shift_remove(KEY);
        }
        let tanstack = |key: &str| other.get("tanstack")?.get(key)?.as_str();
        let finish_reason = tanstack("finishReason").map(|reason| Cow::Owned(reason.to_owned()));
        let failed = tanstack("state") == Some("output-error");
        if headwater.is_some() {
            // With notes of ours, it is ours too.
            other.shift_remove("tanstack");
        }
        Ok(Self { headwater: headwater.map(Box::new), finish_reason, failed, other })
    }
}

/// An event's `rawEvent`.
#[derive(Debug, Clone, PartialEq)]
pub enum RawEvent<'a> {
    /// Our notes.
    Notes(Box<Notes<'a>>),
    /// What another server keeps there.
    Other(Cow<'a, Value>),
}

impl<'a> RawEvent<'a> {
    /// Our notes.
    #[must_use]
    pub fn notes(notes: Notes<'a>) -> Self {
        Self::Notes(Box::new(notes))
    }
}

impl Serialize for RawEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Notes(notes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(KEY, notes)?;
                map.end()
            }
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RawEvent<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let notes = value.get(KEY).and_then(|notes| Notes::deserialize(notes).ok());
        Ok(match notes {
            Some(notes) => Self::Notes(Box::new(notes)),
            None => Self::Other(Cow::Owned(value)),
        })
    }
}
