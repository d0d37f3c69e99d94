//! Declarations of the fields to extract.

mod automaton;
mod error;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use error::{FieldError, FieldErrorKind};

pub(crate) use automaton::{Automaton, DEAD, ROOT};

use automaton::Pattern;

/// The declared fields, compiled for matching. Cloning is cheap: clones share the data.
///
/// A path consists of segments separated by dots:
///
/// - a name matches that key of an object;
/// - digits match that index of an array, or that key of an object;
/// - `*` matches any one key or index;
/// - special keys are escaped as in [`Segment`](crate::Segment): `v1~10` is the key `v1.0`, `~:7` only the
///   key `7` and not the index, `~:` the empty key, `~2` the key `*`.
///
/// All fields are matched in one pass whose cost does not depend on their number. A value that several fields
/// match is emitted once per kind.
///
/// ```
/// use headwater_json::Fields;
///
/// let fields = Fields::builder().set("subject").text("body").append("bullets").text("rows.*.title").build()?;
/// assert!(Fields::builder().set("a..b").build().is_err());
/// # drop(fields);
/// # Ok::<(), headwater_json::FieldError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fields {
    automaton: Arc<Automaton>,
}

/// How a field is emitted.
///
/// ```
/// use headwater_json::FieldKind;
///
/// assert_eq!("text-delta".parse(), Ok(FieldKind::Text));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// Once, when the value is complete. Any type.
    Set,
    /// A string as it grows. Other types are not emitted.
    Text,
    /// An array as its items complete. Other types are not emitted.
    Append,
}

impl FieldKind {
    /// The name used in JSON: `set`, `text-delta` or `append`.
    ///
    /// ```
    /// use headwater_json::FieldKind;
    ///
    /// assert_eq!(FieldKind::Append.name(), "append");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Text => "text-delta",
            Self::Append => "append",
        }
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FieldKind {
    type Err = FieldError;

    fn from_str(name: &str) -> Result<Self, FieldError> {
        let all = [Self::Set, Self::Text, Self::Append];
        all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| FieldError::unknown_kind(name))
    }
}

impl Fields {
    /// A builder to declare fields one by one.
    ///
    /// ```
    /// use headwater_json::Fields;
    ///
    /// let fields = Fields::builder().set("draft.subject").text("draft.body").build()?;
    /// # drop(fields);
    /// # Ok::<(), headwater_json::FieldError>(())
    /// ```
    pub fn builder() -> FieldsBuilder {
        FieldsBuilder { fields: Vec::new() }
    }

    pub(crate) fn automaton(&self) -> &Automaton {
        &self.automaton
    }
}

/// Collects field declarations; [`build`](Self::build) checks them.
///
/// ```
/// use headwater_json::{FieldKind, Fields};
///
/// let mut builder = Fields::builder();
/// for (path, kind) in [("subject", FieldKind::Set), ("body", FieldKind::Text)] {
///     builder = builder.field(kind, path);
/// }
/// assert!(builder.build().is_ok());
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "call `build` to get the fields"]
pub struct FieldsBuilder {
    fields: Vec<(FieldKind, String)>,
}

impl FieldsBuilder {
    /// Declares the value at `path`, emitted when it is complete.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().set("rows.0").build().is_ok());
    /// ```
    pub fn set(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Set, path)
    }

    /// Declares the string at `path`, emitted as it grows.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().text("draft.body").build().is_ok());
    /// ```
    pub fn text(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Text, path)
    }

    /// Declares the array at `path`, emitted item by item.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().append("table.rows").build().is_ok());
    /// ```
    pub fn append(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Append, path)
    }

    /// Declares `path` with the given kind.
    ///
    /// ```
    /// # use headwater_json::{FieldKind, Fields};
    /// assert!(Fields::builder().field(FieldKind::Set, "a.*").build().is_ok());
    /// ```
    pub fn field(mut self, kind: FieldKind, path: impl Into<String>) -> Self {
        self.fields.push((kind, path.into()));
        self
    }

    /// Checks and compiles the declared paths.
    ///
    /// # Errors
    ///
    /// If a path or a segment is empty, or if overlapping wildcards need more than 10,000 states.
    ///
    /// ```
    /// use headwater_json::{FieldErrorKind, Fields};
    ///
    /// let error = Fields::builder().append("a.").build().unwrap_err();
    /// assert_eq!(error.kind(), FieldErrorKind::EmptySegment);
    /// assert_eq!(error.to_string(), "the path `a.` of an append field has an empty segment: write `~:` for an empty key");
    /// ```
    pub fn build(self) -> Result<Fields, FieldError> {
        let patterns = self
            .fields
            .iter()
            .map(|(kind, path)| Pattern::read(*kind, path))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Fields { automaton: Arc::new(Automaton::new(&patterns)?) })
    }
}
