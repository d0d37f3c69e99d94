//! Why an update was refused. The messages are those of the Kortyx reducer, so that clients that show or
//! compare them see no difference.

use std::fmt;

use serde_json::Value;

/// Why a [`StructuredUpdate`](crate::StructuredUpdate) was refused. The state is unchanged.
///
/// ```
/// use headwater_protocol::{StructuredErrorKind, StructuredOp, StructuredState, StructuredUpdate};
///
/// let refused = StructuredState::begin(StructuredUpdate::new("s1", "t", StructuredOp::text("a..b", "x"))).unwrap_err();
/// assert_eq!(refused.kind(), StructuredErrorKind::EmptySegment);
/// assert_eq!(refused.to_string(), r#"Structured chunk path "a..b" must not contain empty segments."#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructuredError {
    kind: StructuredErrorKind,
    message: Box<str>,
}

/// The cause of a [`StructuredError`].
///
/// ```
/// use headwater_protocol::{StructuredErrorKind, StructuredOp, StructuredStreams, StructuredUpdate};
///
/// let mut streams = StructuredStreams::new();
/// streams.apply(StructuredUpdate::new("s1", "t", StructuredOp::finish(1)))?;
/// let late = streams.apply(StructuredUpdate::new("s1", "t", StructuredOp::finish(2))).unwrap_err();
/// assert_eq!(late.kind(), StructuredErrorKind::AlreadyFinal);
/// # Ok::<(), headwater_protocol::StructuredError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StructuredErrorKind {
    /// The update belongs to another stream than the state.
    StreamMismatch,
    /// The stream already had its final update.
    AlreadyFinal,
    /// The path is the empty string.
    EmptyPath,
    /// The path has an empty segment, such as `a..b`.
    EmptySegment,
    /// A value on the path is not the required container.
    PathConflict,
    /// The target of an append is not an array.
    NotAnArray,
    /// The target of a text delta is not a string.
    NotAString,
    /// An index is so far beyond the end that too many elements would be unset.
    TooSparse,
    /// The data would be nested too deeply.
    TooDeep,
    /// The maximum number of streams is reached.
    TooManyStreams,
}

impl StructuredError {
    /// The cause.
    pub fn kind(&self) -> StructuredErrorKind {
        self.kind
    }

    fn new(kind: StructuredErrorKind, message: String) -> Self {
        Self { kind, message: message.into_boxed_str() }
    }

    pub(super) fn stream_mismatch(expected: &str, received: &str) -> Self {
        Self::new(
            StructuredErrorKind::StreamMismatch,
            format!("Structured chunk streamId mismatch: expected {expected}, received {received}."),
        )
    }

    pub(super) fn already_final(stream: &str) -> Self {
        Self::new(
            StructuredErrorKind::AlreadyFinal,
            format!("Structured stream {stream} already completed with a final chunk."),
        )
    }

    pub(super) fn empty_path() -> Self {
        Self::new(
            StructuredErrorKind::EmptyPath,
            "Structured chunk path must be a non-empty dot-separated string.".to_owned(),
        )
    }

    pub(super) fn empty_segment(path: &str) -> Self {
        Self::new(
            StructuredErrorKind::EmptySegment,
            format!("Structured chunk path \"{path}\" must not contain empty segments."),
        )
    }

    /// `depth` is the number of segments of `path` that lead to the conflicting value.
    pub(super) fn path_conflict(path: &str, depth: usize, expected: &str, found: &Value) -> Self {
        let mut place = path.split('.').take(depth).collect::<Vec<_>>().join(".");
        if depth == 0 {
            place.push_str("<root>");
        }
        Self::new(
            StructuredErrorKind::PathConflict,
            format!(
                "Structured path conflict at {place} for \"{path}\": expected {expected} container, received {}.",
                type_name(found)
            ),
        )
    }

    pub(super) fn not_an_array(path: &str, found: &Value) -> Self {
        Self::new(
            StructuredErrorKind::NotAnArray,
            format!(
                "Structured append requires path \"{path}\" to target an array, received {}.",
                type_name(found)
            ),
        )
    }

    pub(super) fn not_a_string(path: &str, found: &Value) -> Self {
        Self::new(
            StructuredErrorKind::NotAString,
            format!(
                "Structured text-delta requires path \"{path}\" to target a string, received {}.",
                type_name(found)
            ),
        )
    }

    pub(super) fn too_sparse(path: &str, max: usize) -> Self {
        Self::new(
            StructuredErrorKind::TooSparse,
            format!(
                "Structured path \"{path}\" would leave more than {max} array elements of its stream unset."
            ),
        )
    }

    pub(super) fn too_deep(path: Option<&str>, max: usize) -> Self {
        let what = path
            .map_or_else(|| "Structured final data".to_owned(), |path| format!("Structured path \"{path}\""));
        Self::new(StructuredErrorKind::TooDeep, format!("{what} would nest data deeper than {max} levels."))
    }

    pub(super) fn too_many_streams(stream: &str, max: usize) -> Self {
        Self::new(
            StructuredErrorKind::TooManyStreams,
            format!("Structured stream {stream} would be one more than the {max} streams allowed."),
        )
    }
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StructuredError {}

/// The JavaScript name of a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
