//! The fields that are wanted, and in which way.

mod automaton;
mod error;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use error::{FieldError, FieldErrorKind};

pub(crate) use automaton::{Automaton, DEAD, ROOT};

use automaton::Pattern;

/// The declared fields, ready to be looked for. A clone is cheap and shares them.
///
/// A path is segments with dots between them:
///
/// - a name is a key of an object;
/// - digits are an index of an array, or a key of an object that reads the same;
/// - `*` is any one key or index;
/// - what a name cannot say is escaped as in [`Segment`](crate::Segment): `v1~10` is the key `v1.0`, `~:7` the key `7` and
///   no index, `~:` the empty key, `~2` the key `*`.
///
/// All fields are looked for in one walk, whose cost does not grow with their number. A place that several fields match
/// is emitted once in each of their ways.
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

/// In which way a field is wanted.
///
/// ```
/// use headwater_json::FieldKind;
///
/// assert_eq!("text-delta".parse(), Ok(FieldKind::Text));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// Once, when the value is complete, whatever its type.
    Set,
    /// A string, as it grows. A value that is no string is not emitted.
    Text,
    /// An array, by complete items. A value that is no array is not emitted.
    Append,
}

impl FieldKind {
    /// Its name on the wire.
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
    /// Declares fields one by one.
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

/// Collects declarations, and checks them at the end.
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
#[must_use = "nothing is declared before it is built"]
pub struct FieldsBuilder {
    fields: Vec<(FieldKind, String)>,
}

impl FieldsBuilder {
    /// Wants the value at `path` once it is complete.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().set("rows.0").build().is_ok());
    /// ```
    pub fn set(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Set, path)
    }

    /// Wants the string at `path` as it grows.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().text("draft.body").build().is_ok());
    /// ```
    pub fn text(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Text, path)
    }

    /// Wants the array at `path` by its items.
    ///
    /// ```
    /// # use headwater_json::Fields;
    /// assert!(Fields::builder().append("table.rows").build().is_ok());
    /// ```
    pub fn append(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Append, path)
    }

    /// Wants `path` in the given way.
    ///
    /// ```
    /// # use headwater_json::{FieldKind, Fields};
    /// assert!(Fields::builder().field(FieldKind::Set, "a.*").build().is_ok());
    /// ```
    pub fn field(mut self, kind: FieldKind, path: impl Into<String>) -> Self {
        self.fields.push((kind, path.into()));
        self
    }

    /// Checks the paths and makes them ready.
    ///
    /// # Errors
    ///
    /// When a path is empty or has an empty segment, or when so many wildcards overlap that what they match together
    /// has more than 10,000 states.
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
