//! Structured streams: objects that are built update by update during a run.
//!
//! The rules are those of the Kortyx reducer, including the order of checks and the messages. Where Kortyx
//! copies every container on the path, this reducer changes the data in place. It also has limits, treats
//! every key as plain data, and keeps metadata that a later update omits.

mod change;
mod error;
mod holes;
mod limits;
mod streams;
#[cfg(test)]
mod tests;
mod tree;
mod update;

use std::borrow::Cow;

use headwater_json::Segment;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

pub use error::{StructuredError, StructuredErrorKind};
pub use limits::StructuredLimits;
pub use streams::StructuredStreams;
pub use update::{StructuredOp, StructuredUpdate};

use change::TreeChange;
use tree::Tree;

/// The state of a structured stream.
///
/// Serializes as `{streamId, dataType, status, data, node, id, schemaId, schemaVersion}` without absent
/// fields. Skipped array elements are `null` there, although a later update may still create them;
/// [`updates`](Self::updates) preserves the difference.
///
/// ```
/// use headwater_protocol::{StructuredOp, StructuredState, StructuredUpdate};
///
/// let mut state = StructuredState::begin(StructuredUpdate::new("s1", "email", StructuredOp::set("subject", "Hi")))?;
/// state.apply(StructuredUpdate::new("s1", "email", StructuredOp::append("draft.bullets", ["fast"])))?;
/// assert_eq!(
///     serde_json::to_string(&state).unwrap(),
///     r#"{"streamId":"s1","dataType":"email","status":"streaming","data":{"subject":"Hi","draft":{"bullets":["fast"]}}}"#
/// );
/// # Ok::<(), headwater_protocol::StructuredError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StructuredState {
    stream: String,
    data_type: String,
    status: StructuredStatus,
    tree: Tree,
    node: Option<String>,
    id: Option<String>,
    schema_id: Option<String>,
    schema_version: Option<String>,
    limits: StructuredLimits,
}

/// Whether a structured stream accepts more updates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StructuredStatus {
    /// More updates may follow.
    #[default]
    Streaming,
    /// The final update has arrived.
    Done,
}

impl StructuredState {
    /// The state after the first update of a stream, owned or borrowed.
    ///
    /// # Errors
    ///
    /// If the update is refused, as by [`apply`](Self::apply).
    pub fn begin<'a>(update: impl Into<Cow<'a, StructuredUpdate>>) -> Result<Self, StructuredError> {
        Self::begin_within(StructuredLimits::default(), update)
    }

    /// Like [`begin`](Self::begin), with other limits for this stream.
    ///
    /// # Errors
    ///
    /// If the update is refused, as by [`apply`](Self::apply).
    ///
    /// ```
    /// use headwater_protocol::{StructuredErrorKind, StructuredLimits, StructuredOp, StructuredState, StructuredUpdate};
    ///
    /// let mut limits = StructuredLimits::default();
    /// limits.max_depth = 2;
    /// let deep = StructuredUpdate::new("s1", "t", StructuredOp::set("a.b.c", 1));
    /// let refused = StructuredState::begin_within(limits, deep).unwrap_err();
    /// assert_eq!(refused.kind(), StructuredErrorKind::TooDeep);
    /// ```
    pub fn begin_within<'a>(
        limits: StructuredLimits,
        update: impl Into<Cow<'a, StructuredUpdate>>,
    ) -> Result<Self, StructuredError> {
        let update = update.into();
        let mut state = Self { stream: update.stream.clone(), limits, ..Self::default() };
        state.apply(update)?;
        Ok(state)
    }

    /// Applies the next update, owned or borrowed, in place.
    ///
    /// The latest data type applies. Metadata is kept until an update replaces it.
    ///
    /// # Errors
    ///
    /// If the update belongs to another stream, follows the final one, has an invalid path, does not fit the
    /// current value, or exceeds a limit. The state is then unchanged.
    ///
    /// ```
    /// use headwater_protocol::{StructuredErrorKind, StructuredOp, StructuredState, StructuredUpdate};
    ///
    /// let mut state = StructuredState::begin(StructuredUpdate::new("s1", "t", StructuredOp::set("a", 1)))?;
    /// let refused = state.apply(StructuredUpdate::new("s1", "t", StructuredOp::text("a", "x"))).unwrap_err();
    /// assert_eq!(refused.kind(), StructuredErrorKind::NotAString);
    /// # Ok::<(), headwater_protocol::StructuredError>(())
    /// ```
    pub fn apply<'a>(&mut self, update: impl Into<Cow<'a, StructuredUpdate>>) -> Result<(), StructuredError> {
        let update = update.into();
        if update.stream != self.stream {
            return Err(StructuredError::stream_mismatch(&self.stream, &update.stream));
        }
        if self.status == StructuredStatus::Done {
            return Err(StructuredError::already_final(&self.stream));
        }
        match update {
            Cow::Borrowed(update) => {
                self.change(TreeChange::borrowed(&update.op))?;
                self.describe(update);
            }
            Cow::Owned(mut update) => {
                let op = std::mem::replace(&mut update.op, StructuredOp::Final { data: None });
                self.change(TreeChange::owned(op))?;
                self.describe(&update);
            }
        }
        Ok(())
    }

    fn change(&mut self, change: TreeChange<'_>) -> Result<(), StructuredError> {
        match change {
            TreeChange::Final(data) => {
                self.tree.replace(data, &self.limits)?;
                self.status = StructuredStatus::Done;
                Ok(())
            }
            TreeChange::At(path, write) => self.tree.write(&path, write, &self.limits),
        }
    }

    fn describe(&mut self, update: &StructuredUpdate) {
        if self.data_type != update.data_type {
            self.data_type.clone_from(&update.data_type);
        }
        let metadata = [
            (&mut self.node, &update.node),
            (&mut self.id, &update.id),
            (&mut self.schema_id, &update.schema_id),
            (&mut self.schema_version, &update.schema_version),
        ];
        for (kept, given) in metadata {
            if given.as_ref().is_some_and(|given| !given.is_empty()) && kept != given {
                kept.clone_from(given);
            }
        }
    }

    /// A short series of updates that builds this state from nothing: one per top-level entry and one per
    /// unset array element, or only the final one.
    ///
    /// Send it to a reader that joins late.
    ///
    /// ```
    /// use headwater_protocol::{StructuredOp, StructuredState, StructuredUpdate};
    ///
    /// let mut state = StructuredState::begin(StructuredUpdate::new("s1", "t", StructuredOp::text("body", "a")))?;
    /// state.apply(StructuredUpdate::new("s1", "t", StructuredOp::text("body", "b")))?;
    /// assert_eq!(state.updates(), [StructuredUpdate::new("s1", "t", StructuredOp::set("body", "ab"))]);
    /// # Ok::<(), headwater_protocol::StructuredError>(())
    /// ```
    pub fn updates(&self) -> Vec<StructuredUpdate> {
        let mut ops = Vec::new();
        match (self.status, self.data()) {
            (StructuredStatus::Done, data) => ops.push(StructuredOp::Final { data: data.cloned() }),
            (StructuredStatus::Streaming, Some(Value::Object(map))) => {
                ops.extend(
                    map.iter()
                        .map(|(key, value)| StructuredOp::set(Segment::key(key).to_string(), value.clone())),
                );
                if map.is_empty() {
                    // Only an unset leaves an empty object at the root; any key works.
                    ops.push(StructuredOp::Set { path: "unset".to_owned(), value: None });
                }
            }
            (StructuredStatus::Streaming, Some(Value::Array(items))) => {
                let items = items.iter().enumerate();
                ops.extend(items.map(|(index, value)| StructuredOp::set(index.to_string(), value.clone())));
            }
            (StructuredStatus::Streaming, _) => {}
        }
        ops.extend(self.tree.unset_paths().map(|path| StructuredOp::Set { path, value: None }));

        let mut updates: Vec<_> =
            ops.into_iter().map(|op| StructuredUpdate::new(&*self.stream, &*self.data_type, op)).collect();
        if let Some(first) = updates.first_mut() {
            first.node.clone_from(&self.node);
            first.id.clone_from(&self.id);
            first.schema_id.clone_from(&self.schema_id);
            first.schema_version.clone_from(&self.schema_version);
        }
        updates
    }

    /// The id of the stream.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Type of the object, from the latest update.
    pub fn data_type(&self) -> &str {
        &self.data_type
    }

    /// Whether more updates may follow.
    pub fn status(&self) -> StructuredStatus {
        self.status
    }

    /// The data so far; `None` only if a final update had no data.
    ///
    /// ```
    /// # use headwater_protocol::{StructuredOp, StructuredState, StructuredUpdate};
    /// let state = StructuredState::begin(StructuredUpdate::new("s1", "t", StructuredOp::set("a.1", true)))?;
    /// assert_eq!(state.data(), Some(&serde_json::json!({"a": [null, true]})));
    /// # Ok::<(), headwater_protocol::StructuredError>(())
    /// ```
    pub fn data(&self) -> Option<&Value> {
        self.tree.root()
    }

    /// The workflow node that builds the object.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// The application's own id of the object.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The schema of the object.
    pub fn schema_id(&self) -> Option<&str> {
        self.schema_id.as_deref()
    }

    /// The version of that schema.
    pub fn schema_version(&self) -> Option<&str> {
        self.schema_version.as_deref()
    }
}

impl Serialize for StructuredState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("streamId", &self.stream)?;
        map.serialize_entry("dataType", &self.data_type)?;
        map.serialize_entry("status", &self.status)?;
        if let Some(data) = self.data() {
            map.serialize_entry("data", data)?;
        }
        let metadata = [
            ("node", &self.node),
            ("id", &self.id),
            ("schemaId", &self.schema_id),
            ("schemaVersion", &self.schema_version),
        ];
        for (key, text) in metadata {
            if let Some(text) = text {
                map.serialize_entry(key, text)?;
            }
        }
        map.end()
    }
}
