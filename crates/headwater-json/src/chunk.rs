//! Updates that an extractor emits.

use serde_json::Value;

use crate::fields::FieldKind;

/// One update of the object being received.
///
/// The path is concrete: wildcards are resolved to keys and indexes, spelled as in
/// [`Segment`](crate::Segment). Applied in order, chunks build the declared parts of the document. A missing
/// parent is created: an array if the next segment is an index, an object otherwise.
///
/// ```
/// use headwater_json::{Chunk, Extractor, Fields};
///
/// let mut extractor = Extractor::new(Fields::builder().text("body").build()?);
/// let mut texts = Vec::new();
/// extractor.push(r#"{"body":"Hi te"#, |chunk| match chunk {
///     Chunk::Text { path, delta } => texts.push(format!("{path}: {delta}")),
///     other => panic!("unexpected chunk: {other:?}"),
/// })?;
/// assert_eq!(texts, ["body: Hi te"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk<'a> {
    /// Write a value, replacing any earlier one.
    Set {
        /// Path of the value.
        path: &'a str,
        /// The value. `None` removes everything that earlier chunks wrote at or below the path, because the
        /// document repeats a key and the last one wins.
        value: Option<Value>,
    },
    /// Append to a string, or create it.
    Text {
        /// Path of the string.
        path: &'a str,
        /// Text to append; empty only if the whole string is empty.
        delta: &'a str,
    },
    /// Append to an array, or create it.
    Append {
        /// Path of the array.
        path: &'a str,
        /// Items to append; empty only if the whole array is empty.
        items: Vec<Value>,
    },
}

impl Chunk<'_> {
    /// The path that the chunk writes to.
    ///
    /// ```
    /// use headwater_json::Chunk;
    ///
    /// assert_eq!(Chunk::Text { path: "draft.body", delta: "Hi" }.path(), "draft.body");
    /// ```
    pub fn path(&self) -> &str {
        match self {
            Self::Set { path, .. } | Self::Text { path, .. } | Self::Append { path, .. } => path,
        }
    }

    /// The kind of update.
    ///
    /// ```
    /// use headwater_json::Chunk;
    ///
    /// assert_eq!(Chunk::Text { path: "body", delta: "Hi" }.kind().name(), "text-delta");
    /// ```
    pub fn kind(&self) -> FieldKind {
        match self {
            Self::Set { .. } => FieldKind::Set,
            Self::Text { .. } => FieldKind::Text,
            Self::Append { .. } => FieldKind::Append,
        }
    }
}
