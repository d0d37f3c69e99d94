//! Parses an object field by field, so that errors name the position.

use headwater_protocol::Error;
use serde_json::Value;

use super::{Object, bad};
use crate::json::kind_of;

pub(super) struct RequestFields {
    place: String,
    fields: Object,
}

impl RequestFields {
    pub(super) fn new(place: impl Into<String>, fields: Object) -> Self {
        Self { place: place.into(), fields }
    }

    fn path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub(super) fn bad(&self, key: &str, problem: &str) -> Error {
        bad(format!("`{}` {problem}", self.path(key)))
    }

    pub(super) fn wrong(&self, key: &str, expected: &str, found: &Value) -> Error {
        self.bad(key, &format!("must be {expected}, not {}", kind_of(found)))
    }

    /// Takes a field; `null` counts as absent.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.fields.shift_remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn required(&mut self, key: &str, expected: &str) -> Result<Value, Error> {
        self.take(key).ok_or_else(|| self.bad(key, &format!("is missing: it must be {expected}")))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, Error> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, "a string", &other)),
        }
    }

    /// An id or a name, trimmed; a blank one counts as absent.
    pub(super) fn name(&mut self, key: &str) -> Result<Option<String>, Error> {
        let name = self.text(key)?;
        Ok(name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()))
    }

    pub(super) fn needed(&mut self, key: &str) -> Result<String, Error> {
        self.name(key)?.ok_or_else(|| self.bad(key, "is missing: it must be a string that is not blank"))
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, Error> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(key, "a boolean", &other)),
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Option<Object>, Error> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(key, "an object", &other)),
        }
    }

    /// The fields that have not been taken.
    pub(super) fn rest(self) -> Object {
        self.fields
    }

    /// Fails if a field is left.
    pub(super) fn end(self, known: &str) -> Result<(), Error> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(key) => Err(self.bad(key, &format!("is unknown; use one of {known}"))),
        }
    }
}
