//! The chunks whose names are free: data of the application's own, and ours.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::fields::{Prefixed, is_zero, present};
use crate::{
    carry,
    event::Event,
    id::{AttemptId, MessageId},
};

/// Data of the application's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Data<'a> {
    /// Its name, without `data-`.
    pub name: Cow<'a, str>,
    /// Data of the same name and id replaces what was there.
    pub id: Option<Cow<'a, str>>,
    /// The data.
    pub data: Cow<'a, Value>,
    /// Seen once and not kept.
    pub transient: Option<bool>,
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &Prefixed(&self.name))?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        map.serialize_entry("data", &self.data)?;
        if let Some(transient) = self.transient {
            map.serialize_entry("transient", &transient)?;
        }
        map.end()
    }
}

/// What the fields of `data-*` must be; its name is in its type.
#[derive(Deserialize)]
pub(super) struct DataFields {
    #[serde(default, deserialize_with = "present")]
    pub(super) id: Option<String>,
    pub(super) data: Value,
    #[serde(default, deserialize_with = "present")]
    pub(super) transient: Option<bool>,
}

/// An event in our own form, and what the next chunks stand for.
///
/// It is sent where the protocol has no word, or not the whole word: clients see transient data and
/// pass over it; our decoder reads the event and passes over the `covers` chunks that say it in the
/// client's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mark<'a> {
    /// The event.
    pub event: Option<Cow<'a, Event>>,
    /// How many of the next chunks say the same in the client's words.
    pub covers: u64,
    /// Where the next chunks come from, if that changed.
    pub origin: Option<MarkOrigin>,
}

/// Where the next chunks come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkOrigin {
    /// The try of the model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The message, where a run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// The data of a mark.
#[derive(Serialize, Deserialize)]
pub(super) struct MarkFields<E> {
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<E>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) covers: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<MarkOrigin>,
}

impl Serialize for Mark<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data =
            MarkFields { event: self.event.as_deref(), covers: self.covers, origin: self.origin.clone() };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &Prefixed(carry::NAME))?;
        map.serialize_entry("data", &data)?;
        map.serialize_entry("transient", &true)?;
        map.end()
    }
}
