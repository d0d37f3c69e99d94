//! What an extractor emits.

use serde_json::Value;

use crate::fields::FieldKind;

/// One update of the object that is being received: what to do, where, with what.
///
/// The path is concrete: wildcards have become keys and indexes, which are spelled as [`Segment`](crate::Segment) says.
/// Applied in their order, chunks build the declared parts of the document: what they write on the way is created, as
/// an array where the next segment is an index and as an object otherwise.
///
/// ```
/// use headwater_json::{Chunk, Extractor, Fields};
///
/// let mut extractor = Extractor::new(Fields::builder().text("body").build()?);
/// let mut said = Vec::new();
/// extractor.push(r#"{"body":"Hi te"#, |chunk| match chunk {
///     Chunk::Text { path, delta } => said.push(format!("{path}: {delta}")),
///     other => panic!("only text was declared, and this is {other:?}"),
/// })?;
/// assert_eq!(said, ["body: Hi te"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk<'a> {
    /// Write a value, whatever was there.
    Set {
        /// Where.
        path: &'a str,
        /// What. Nothing at all takes away what earlier chunks wrote there and below: the document has said the same key
        /// again, and the later one counts.
        value: Option<Value>,
    },
    /// Add to the end of a string, or create it.
    Text {
        /// Where the string is.
        path: &'a str,
        /// What to add; empty only if the whole string is.
        delta: &'a str,
    },
    /// Add to the end of an array, or create it.
    Append {
        /// Where the array is.
        path: &'a str,
        /// What to add; empty only if the whole array is.
        items: Vec<Value>,
    },
}

impl Chunk<'_> {
    /// Where it writes.
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

    /// What it does.
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
