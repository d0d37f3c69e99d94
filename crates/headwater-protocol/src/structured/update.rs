//! One update of a structured stream, and its JSON format: the Kortyx `structured-data` chunk without `type`.

use std::borrow::Cow;

use headwater_json::Chunk;
use serde::de::{self, Deserializer};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::type_name;

/// One update of a structured stream.
///
/// Its JSON is flat: `streamId`, `dataType`, `kind`, `path`, then `value`, `items`, `delta` or `data`, and
/// optionally `schemaId`, `schemaVersion`, `id`, `node`. Other keys are ignored when reading.
///
/// ```
/// use headwater_protocol::{StructuredOp, StructuredUpdate};
///
/// let update: StructuredUpdate = serde_json::from_str(
///     r#"{"streamId":"run_1","dataType":"email","kind":"text-delta","path":"body","delta":"Hi","node":"planner"}"#,
/// )?;
/// assert_eq!(update.op, StructuredOp::text("body", "Hi"));
/// assert_eq!(update.node.as_deref(), Some("planner"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct StructuredUpdate {
    /// Id of the stream; one stream builds one object.
    #[cfg_attr(feature = "schema", schemars(rename = "streamId"))]
    pub stream: String,
    /// Type of the object, chosen by the application.
    pub data_type: String,
    /// The operation.
    #[cfg_attr(feature = "schema", schemars(flatten))]
    pub op: StructuredOp,
    /// The application's own id of the object.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub id: Option<String>,
    /// The schema of the object.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub schema_id: Option<String>,
    /// The version of that schema.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub schema_version: Option<String>,
    /// The workflow node that produced it.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub node: Option<String>,
}

/// The operation of an update.
///
/// Path segments are separated by dots. A segment of ASCII digits is an array index, any other segment is a
/// key; missing parents are created. Keys that contain dots or only digits, or are empty, are escaped with
/// tildes: see [`Segment`](headwater_json::Segment). A [`Chunk`](headwater_json::Chunk) extracted from a
/// document is also an operation.
///
/// ```
/// use headwater_protocol::StructuredOp;
///
/// let op = StructuredOp::append("draft.bullets", ["fast", "small"]);
/// assert_eq!(op.kind(), "append");
/// assert_eq!(op.path(), Some("draft.bullets"));
///
/// let chunk = headwater_json::Chunk::Text { path: "draft.body", delta: "Hi" };
/// assert_eq!(StructuredOp::from(chunk), StructuredOp::text("draft.body", "Hi"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(tag = "kind", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum StructuredOp {
    /// Write a value, replacing any earlier one.
    Set {
        /// Path of the value.
        path: String,
        /// The value. Without a value, the path is unset: a key is removed, an array element becomes
        /// unwritten. This differs from the value `null`.
        #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
        value: Option<Value>,
    },
    /// Append to an array, or create it.
    Append {
        /// Path of the array.
        path: String,
        /// Items to append.
        items: Vec<Value>,
    },
    /// Append to a string, or create it.
    TextDelta {
        /// Path of the string.
        path: String,
        /// Text to append.
        delta: String,
    },
    /// Replace the whole object and end the stream.
    Final {
        /// The complete object, if any.
        #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
        data: Option<Value>,
    },
}

impl StructuredUpdate {
    /// An update without metadata.
    ///
    /// ```
    /// use headwater_protocol::{StructuredOp, StructuredUpdate};
    ///
    /// let mut update = StructuredUpdate::new("run_1", "email", StructuredOp::set("subject", "Hello"));
    /// update.node = Some("planner".to_owned());
    /// assert_eq!(
    ///     serde_json::to_string(&update)?,
    ///     r#"{"streamId":"run_1","dataType":"email","kind":"set","path":"subject","value":"Hello","node":"planner"}"#
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(stream: impl Into<String>, data_type: impl Into<String>, op: StructuredOp) -> Self {
        Self {
            stream: stream.into(),
            data_type: data_type.into(),
            op,
            id: None,
            schema_id: None,
            schema_version: None,
            node: None,
        }
    }

    /// Adds the next update of the same stream, if both add to the end of the same text or list. Gives whether they do; the
    /// next one has nothing left then.
    pub(crate) fn merge(&mut self, next: &mut Self) -> bool {
        let is_same = (&self.stream, &self.data_type, &self.id, &self.schema_id)
            == (&next.stream, &next.data_type, &next.id, &next.schema_id)
            && (&self.schema_version, &self.node) == (&next.schema_version, &next.node);
        is_same && self.op.merge(&mut next.op)
    }
}

impl StructuredOp {
    /// Writes `value` at `path`.
    pub fn set(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Set { path: path.into(), value: Some(value.into()) }
    }

    /// Appends `items` to the array at `path`.
    pub fn append<T: Into<Value>>(path: impl Into<String>, items: impl IntoIterator<Item = T>) -> Self {
        Self::Append { path: path.into(), items: items.into_iter().map(Into::into).collect() }
    }

    /// Appends `delta` to the string at `path`.
    pub fn text(path: impl Into<String>, delta: impl Into<String>) -> Self {
        Self::TextDelta { path: path.into(), delta: delta.into() }
    }

    /// Ends the stream with `data` as the complete object.
    pub fn finish(data: impl Into<Value>) -> Self {
        Self::Final { data: Some(data.into()) }
    }

    /// Adds the next operation of the same stream, if both add to the end of the same text or list. Returns whether they
    /// do; the next one has nothing left then.
    ///
    /// ```
    /// use headwater_protocol::StructuredOp;
    ///
    /// let mut rows = StructuredOp::append("rows", [1]);
    /// assert!(rows.merge(&mut StructuredOp::append("rows", [2])));
    /// assert_eq!(rows, StructuredOp::append("rows", [1, 2]));
    /// assert!(!rows.merge(&mut StructuredOp::append("columns", [3])));
    /// ```
    pub fn merge(&mut self, next: &mut Self) -> bool {
        match (self, next) {
            (Self::TextDelta { path, delta }, Self::TextDelta { path: same, delta: more })
                if path == same =>
            {
                delta.push_str(more);
                true
            }
            (Self::Append { path, items }, Self::Append { path: same, items: more }) if path == same => {
                items.append(more);
                true
            }
            _ => false,
        }
    }

    /// The operation's name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Set { .. } => "set",
            Self::Append { .. } => "append",
            Self::TextDelta { .. } => "text-delta",
            Self::Final { .. } => "final",
        }
    }

    /// The path that it writes to; a final update has none.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Set { path, .. } | Self::Append { path, .. } | Self::TextDelta { path, .. } => Some(path),
            Self::Final { .. } => None,
        }
    }
}

impl From<Chunk<'_>> for StructuredOp {
    fn from(chunk: Chunk<'_>) -> Self {
        match chunk {
            Chunk::Set { path, value } => Self::Set { path: path.to_owned(), value },
            Chunk::Text { path, delta } => Self::text(path, delta),
            Chunk::Append { path, items } => Self::Append { path: path.to_owned(), items },
        }
    }
}

impl<'a> From<StructuredUpdate> for Cow<'a, StructuredUpdate> {
    fn from(update: StructuredUpdate) -> Self {
        Cow::Owned(update)
    }
}

impl<'a> From<&'a StructuredUpdate> for Cow<'a, StructuredUpdate> {
    fn from(update: &'a StructuredUpdate) -> Self {
        Cow::Borrowed(update)
    }
}

impl Serialize for StructuredUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("streamId", &self.stream)?;
        map.serialize_entry("dataType", &self.data_type)?;
        map.serialize_entry("kind", self.op.kind())?;
        if let Some(path) = self.op.path() {
            map.serialize_entry("path", path)?;
        }
        match &self.op {
            StructuredOp::Set { value: Some(value), .. } => map.serialize_entry("value", value)?,
            StructuredOp::Append { items, .. } => map.serialize_entry("items", items)?,
            StructuredOp::TextDelta { delta, .. } => map.serialize_entry("delta", delta)?,
            StructuredOp::Final { data: Some(data) } => map.serialize_entry("data", data)?,
            StructuredOp::Set { value: None, .. } | StructuredOp::Final { data: None } => {}
        }
        let metadata = [
            ("schemaId", &self.schema_id),
            ("schemaVersion", &self.schema_version),
            ("id", &self.id),
            ("node", &self.node),
        ];
        for (key, text) in metadata {
            if let Some(text) = text {
                map.serialize_entry(key, text)?;
            }
        }
        map.end()
    }
}

/// The raw chunk. Unused fields may hold any value, so each field is checked only after the kind is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawUpdate {
    kind: UpdateKind,
    #[serde(default, deserialize_with = "headwater_json::present")]
    stream_id: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    data_type: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    path: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    value: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    items: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    delta: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    data: Option<Value>,
    #[serde(default)]
    schema_id: Option<Value>,
    #[serde(default)]
    schema_version: Option<Value>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    node: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UpdateKind {
    Set,
    Append,
    TextDelta,
    Final,
}

impl<'de> Deserialize<'de> for StructuredUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = RawUpdate::deserialize(deserializer)?;
        let op = match wire.kind {
            UpdateKind::Set => StructuredOp::Set { path: string("path", wire.path)?, value: wire.value },
            UpdateKind::Append => {
                StructuredOp::Append { path: string("path", wire.path)?, items: array("items", wire.items)? }
            }
            UpdateKind::TextDelta => StructuredOp::TextDelta {
                path: string("path", wire.path)?,
                delta: string("delta", wire.delta)?,
            },
            UpdateKind::Final => StructuredOp::Final { data: wire.data },
        };
        Ok(Self {
            stream: string("streamId", wire.stream_id)?,
            data_type: string("dataType", wire.data_type)?,
            op,
            id: optional("id", wire.id)?,
            schema_id: optional("schemaId", wire.schema_id)?,
            schema_version: optional("schemaVersion", wire.schema_version)?,
            node: optional("node", wire.node)?,
        })
    }
}

fn string<E: de::Error>(field: &'static str, value: Option<Value>) -> Result<String, E> {
    match value {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong(field, "a string", &other)),
        None => Err(E::missing_field(field)),
    }
}

fn optional<E: de::Error>(field: &'static str, value: Option<Value>) -> Result<Option<String>, E> {
    value.map(|value| string(field, Some(value))).transpose()
}

fn array<E: de::Error>(field: &'static str, value: Option<Value>) -> Result<Vec<Value>, E> {
    match value {
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong(field, "an array", &other)),
        None => Err(E::missing_field(field)),
    }
}

fn wrong<E: de::Error>(field: &str, expected: &str, found: &Value) -> E {
    E::custom(format_args!("field `{field}` must be {expected}, received {}", type_name(found)))
}
