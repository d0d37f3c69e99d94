//! Chunks in envelopes: `{eventId?, sequence?, chunk}`, as MUI X Chat reads them, mixed with raw
//! chunks. An envelope lets a reader drop what it has seen and put in order what overtook.

mod seen;
mod sequencer;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use sequencer::{Gap, Outcome, SequenceError, Sequencer};

/// A chunk with what a reader needs to place it.
///
/// On the wire it is `{eventId?, sequence?, chunk}`; one that has neither an id nor a sequence is
/// the raw chunk itself. Whether an object is an envelope is told by its key `chunk`.
///
/// ```
/// use headwater_protocol::Envelope;
/// use serde_json::{Value, json};
///
/// let wrapped: Envelope<Value> =
///     serde_json::from_str(r#"{"eventId":"e1","sequence":4,"chunk":{"type":"start"}}"#)?;
/// assert_eq!(wrapped.sequence, Some(4));
///
/// let raw: Envelope<Value> = serde_json::from_str(r#"{"type":"start"}"#)?;
/// assert_eq!(raw, Envelope::raw(json!({"type": "start"})));
/// assert_eq!(serde_json::to_string(&raw)?, r#"{"type":"start"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<T> {
    /// Names the event, so that it is taken once. An empty one names nothing.
    pub event_id: Option<String>,
    /// Its place: dense, so that each is one more than the one before. Any first number will do.
    pub sequence: Option<i64>,
    /// The chunk itself.
    pub chunk: T,
}

impl<T> Envelope<T> {
    /// A chunk that is taken at once, whatever else is awaited.
    ///
    /// ```
    /// let envelope = headwater_protocol::Envelope::raw("hi");
    /// assert_eq!((envelope.event_id, envelope.sequence), (None, None));
    /// ```
    pub fn raw(chunk: T) -> Self {
        Self { event_id: None, sequence: None, chunk }
    }

    /// A chunk that has its place.
    ///
    /// ```
    /// let envelope = headwater_protocol::Envelope::sequenced(3, "hi");
    /// assert_eq!(serde_json::to_string(&envelope).unwrap(), r#"{"sequence":3,"chunk":"hi"}"#);
    /// ```
    pub fn sequenced(sequence: i64, chunk: T) -> Self {
        Self { sequence: Some(sequence), ..Self::raw(chunk) }
    }

    /// Names the event.
    ///
    /// ```
    /// let envelope = headwater_protocol::Envelope::raw("hi").with_event_id("e1");
    /// assert_eq!(serde_json::to_string(&envelope).unwrap(), r#"{"eventId":"e1","chunk":"hi"}"#);
    /// ```
    #[must_use]
    pub fn with_event_id(mut self, id: impl Into<String>) -> Self {
        self.event_id = Some(id.into());
        self
    }

    /// The same envelope around another chunk.
    ///
    /// ```
    /// use headwater_protocol::Envelope;
    ///
    /// assert_eq!(Envelope::sequenced(3, "7").map(str::len), Envelope::sequenced(3, 1));
    /// ```
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Envelope<U> {
        let Self { event_id, sequence, chunk } = self;
        Envelope { event_id, sequence, chunk: change(chunk) }
    }
}

impl Envelope<Value> {
    /// Opens an envelope that was parsed already, without a copy of the chunk.
    ///
    /// ```
    /// use headwater_protocol::Envelope;
    /// use serde_json::json;
    ///
    /// let envelope = Envelope::from_value(json!({"sequence": 1, "chunk": {"type": "abort"}}))?;
    /// assert_eq!(envelope, Envelope::sequenced(1, json!({"type": "abort"})));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the value has a `chunk`, but an `eventId` that is no string or a `sequence` that is no
    /// integer: neither could be compared with others, and guessing would reorder the stream.
    pub fn from_value(value: Value) -> Result<Self, serde_json::Error> {
        let mut fields = match value {
            Value::Object(fields) if fields.contains_key("chunk") => fields,
            raw => return Ok(Self::raw(raw)),
        };
        let event_id = match take(&mut fields, "eventId") {
            Value::Null => None,
            Value::String(id) => Some(id),
            other => return Err(misplaced("eventId", "a string", &other)),
        };
        let sequence = match take(&mut fields, "sequence") {
            Value::Null => None,
            number => {
                let integer = number.as_i64().or_else(|| number.as_f64().and_then(integral));
                Some(integer.ok_or_else(|| misplaced("sequence", "an integer", &number))?)
            }
        };
        Ok(Self { event_id, sequence, chunk: take(&mut fields, "chunk") })
    }
}

fn take(fields: &mut Map<String, Value>, key: &str) -> Value {
    fields.get_mut(key).map(Value::take).unwrap_or_default()
}

/// JSON does not tell `4.0` from `4`, and a few serializers write the former. Beyond 2^53 a float
/// no longer counts by one.
#[expect(clippy::cast_possible_truncation, reason = "checked to be integral and small")]
fn integral(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
}

fn misplaced(field: &str, expected: &str, found: &Value) -> serde_json::Error {
    serde_json::Error::custom(format_args!(
        "the envelope's {field} is {found}: send {expected} or leave it out"
    ))
}

impl<T: Serialize> Serialize for Envelope<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { event_id, sequence, chunk } = self;
        let fields = usize::from(event_id.is_some()) + usize::from(sequence.is_some());
        if fields == 0 {
            return chunk.serialize(serializer);
        }
        let mut envelope = serializer.serialize_struct("Envelope", fields + 1)?;
        if let Some(id) = event_id {
            envelope.serialize_field("eventId", id)?;
        }
        if let Some(sequence) = sequence {
            envelope.serialize_field("sequence", sequence)?;
        }
        envelope.serialize_field("chunk", chunk)?;
        envelope.end()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Envelope<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Only the whole object shows whether it is an envelope: `chunk` may come last.
        let value = Value::deserialize(deserializer)?;
        let Envelope { event_id, sequence, chunk } = Envelope::from_value(value).map_err(D::Error::custom)?;
        let chunk = T::deserialize(chunk).map_err(D::Error::custom)?;
        Ok(Self { event_id, sequence, chunk })
    }
}

#[cfg(test)]
mod tests;
