//! Errors in field declarations.

use std::fmt;

use super::FieldKind;

/// Why a field declaration is invalid.
///
/// ```
/// use headwater_json::Fields;
///
/// let error = Fields::builder().set("").build().unwrap_err();
/// assert_eq!(error.to_string(), "empty path of a set field: name at least one key, as in `draft.body`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    kind: FieldErrorKind,
    message: Box<str>,
}

/// The cause of a [`FieldError`].
///
/// ```
/// use headwater_json::{FieldErrorKind, FieldKind};
///
/// let error = "merge".parse::<FieldKind>().unwrap_err();
/// assert_eq!(error.kind(), FieldErrorKind::UnknownKind);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// The path is the empty string.
    EmptyPath,
    /// The path has an empty segment, such as `a..b`.
    EmptySegment,
    /// The field kind is unknown.
    UnknownKind,
    /// Overlapping wildcards need too many states.
    TooManyStates,
}

impl FieldError {
    /// The cause.
    ///
    /// ```
    /// use headwater_json::{FieldErrorKind, Fields};
    ///
    /// let error = Fields::builder().text(".a").build().unwrap_err();
    /// assert_eq!(error.kind(), FieldErrorKind::EmptySegment);
    /// ```
    pub fn kind(&self) -> FieldErrorKind {
        self.kind
    }

    fn new(kind: FieldErrorKind, message: String) -> Self {
        Self { kind, message: message.into_boxed_str() }
    }

    pub(super) fn empty_path(kind: FieldKind) -> Self {
        let kind = named(kind);
        Self::new(
            FieldErrorKind::EmptyPath,
            format!("empty path of {kind} field: name at least one key, as in `draft.body`"),
        )
    }

    pub(super) fn empty_segment(kind: FieldKind, path: &str) -> Self {
        let kind = named(kind);
        Self::new(
            FieldErrorKind::EmptySegment,
            format!("the path `{path}` of {kind} field has an empty segment: write `~:` for an empty key"),
        )
    }

    pub(super) fn unknown_kind(name: &str) -> Self {
        Self::new(
            FieldErrorKind::UnknownKind,
            format!("unknown field kind `{name}`: use set, text-delta or append"),
        )
    }

    pub(super) fn too_many_states(max: usize) -> Self {
        Self::new(
            FieldErrorKind::TooManyStates,
            format!("the wildcards of the fields overlap in more than {max} ways: declare fewer of them"),
        )
    }
}

fn named(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Set => "a set",
        FieldKind::Text => "a text-delta",
        FieldKind::Append => "an append",
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FieldError {}
