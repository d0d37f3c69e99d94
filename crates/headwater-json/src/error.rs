//! Syntax errors and their position.

use std::fmt;

/// Why a text was refused, and at which position.
///
/// ```
/// use headwater_json::{ErrorKind, PartialValue};
///
/// let mut value = PartialValue::new();
/// let error = value.push("{\n  \"a\": 01").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unexpected);
/// assert_eq!((error.offset(), error.line(), error.column()), (10, 2, 9));
/// assert_eq!(error.to_string(), "expected a comma or the end of the object, found `1`, at line 2 column 9");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    expected: &'static str,
    found: Option<u8>,
    offset: u64,
    line: u64,
    column: u64,
}

/// The cause of an [`Error`].
///
/// ```
/// use headwater_json::{ErrorKind, PartialValue};
///
/// assert_eq!(PartialValue::new().push("[1,]").unwrap_err().kind(), ErrorKind::Unexpected);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A byte that is not allowed here.
    Unexpected,
    /// A character below U+0020 in a string; JSON requires an escape.
    ControlCharacter,
    /// A backslash that does not begin a valid escape.
    InvalidEscape,
    /// A `\u` escape for one half of a surrogate pair without the other half.
    LoneSurrogate,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A number outside the range of a 64-bit float, such as `1e400`.
    NumberOutOfRange,
    /// Containers nested deeper than [`Limits::max_depth`](crate::Limits::max_depth).
    TooDeep,
    /// More bytes than [`Limits::max_bytes`](crate::Limits::max_bytes).
    TooLarge,
    /// Something other than whitespace after the value.
    Trailing,
    /// The text ended before the value was complete.
    Truncated,
}

/// A fault at a byte of the current piece, before line and column are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseFault {
    pub(crate) kind: ErrorKind,
    pub(crate) expected: &'static str,
    pub(crate) found: Option<u8>,
    /// Offset within the piece.
    pub(crate) at: usize,
}

impl ParseFault {
    pub(crate) fn new(kind: ErrorKind, at: usize) -> Self {
        Self { kind, expected: "", found: None, at }
    }

    #[cold]
    pub(crate) fn unexpected(expected: &'static str, found: u8, at: usize) -> Self {
        Self { kind: ErrorKind::Unexpected, expected, found: Some(found).filter(u8::is_ascii), at }
    }
}

impl Error {
    pub(crate) fn new(fault: ParseFault, offset: u64, line: u64, column: u64) -> Self {
        let ParseFault { kind, expected, found, at: _ } = fault;
        Self { kind, expected, found, offset, line, column }
    }

    /// The cause.
    ///
    /// ```
    /// use headwater_json::{ErrorKind, PartialValue};
    ///
    /// assert_eq!(PartialValue::new().push(r#""\ud83d!""#).unwrap_err().kind(), ErrorKind::LoneSurrogate);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Byte offset of the error in the whole text.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push(r#"{"a""#)?;
    /// assert_eq!(value.push(" = 1}").unwrap_err().offset(), 5);
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Line of the error, from 1.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// assert_eq!(PartialValue::new().push("[\n\n?").unwrap_err().line(), 3);
    /// ```
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Column of the error in bytes, from 1.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// assert_eq!(PartialValue::new().push("[\n ?").unwrap_err().column(), 2);
    /// ```
    pub fn column(&self) -> u64 {
        self.column
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Unexpected => {
                write!(f, "expected {}", self.expected)?;
                match self.found {
                    Some(found @ b'!'..=b'~') => write!(f, ", found `{}`", char::from(found))?,
                    Some(found) => write!(f, ", found byte 0x{found:02x}")?,
                    None => write!(f, ", found a non-ASCII character")?,
                }
                write!(f, ",")?;
            }
            ErrorKind::ControlCharacter => write!(f, "unescaped control character in a string,")?,
            ErrorKind::InvalidEscape => write!(f, "invalid escape,")?,
            ErrorKind::LoneSurrogate => write!(f, "lone surrogate in a `\\u` escape,")?,
            ErrorKind::InvalidUtf8 => write!(f, "the bytes are not UTF-8")?,
            ErrorKind::NumberOutOfRange => write!(f, "the number is out of range for a 64-bit float,")?,
            ErrorKind::TooDeep => write!(f, "the value is nested deeper than the limit")?,
            ErrorKind::TooLarge => write!(f, "the text is longer than the limit")?,
            ErrorKind::Trailing => write!(f, "unexpected text after the value,")?,
            ErrorKind::Truncated => write!(f, "the text ends {},", self.expected)?,
        }
        write!(f, " at line {} column {}", self.line, self.column)
    }
}

impl std::error::Error for Error {}
