//! How an event travels through a dialect that has no word for it.
//!
//! Every dialect's clients tolerate some chunk that they do not know. In it the event travels in our
//! own JSON form, under one name everywhere, so that our own readers get it back.

use serde_json::Value;

use crate::event::Event;

/// The name of the chunk that carries an event: a type, an event name or the name of a data part.
pub(crate) const NAME: &str = "hw-event";

/// Reads a carried event back.
pub(crate) fn read(value: Value) -> Option<Event> {
    serde_json::from_value(value).ok()
}
