//! What is wrong with a text, and where.

use std::fmt;

/// Why a text was refused, and the place.
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

/// What is wrong, to decide by.
///
/// ```
/// use headwater_json::{ErrorKind, PartialValue};
///
/// assert_eq!(PartialValue::new().push("[1,]").unwrap_err().kind(), ErrorKind::Unexpected);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A byte that cannot stand where it stands.
    Unexpected,
    /// A character below U+0020 within a string; JSON wants it escaped.
    ControlCharacter,
    /// A backslash with something after it that is no escape.
    InvalidEscape,
    /// A `\u` escape for half of a surrogate pair, without the other half.
    LoneSurrogate,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A number beyond what a 64-bit float can hold, such as `1e400`.
    NumberOutOfRange,
    /// More containers within each other than [`Limits::max_depth`](crate::Limits::max_depth).
    TooDeep,
    /// More bytes than [`Limits::max_bytes`](crate::Limits::max_bytes).
    TooLarge,
    /// Something other than white space after the value.
    Trailing,
    /// The text ended before the value did, or before it began.
    Truncated,
}

/// What went wrong at a byte, before the place is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) expected: &'static str,
    pub(crate) found: Option<u8>,
    /// Where, within the piece.
    pub(crate) at: usize,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, at: usize) -> Self {
        Self { kind, expected: "", found: None, at }
    }

    #[cold]
    pub(crate) fn unexpected(expected: &'static str, found: u8, at: usize) -> Self {
        Self { kind: ErrorKind::Unexpected, expected, found: Some(found).filter(u8::is_ascii), at }
    }
}

impl Error {
    pub(crate) fn new(fault: Fault, offset: u64, line: u64, column: u64) -> Self {
        let Fault { kind, expected, found, at: _ } = fault;
        Self { kind, expected, found, offset, line, column }
    }

    /// What is wrong.
    ///
    /// ```
    /// use headwater_json::{ErrorKind, PartialValue};
    ///
    /// assert_eq!(PartialValue::new().push(r#""\ud83d!""#).unwrap_err().kind(), ErrorKind::LoneSurrogate);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// How many bytes of the whole text come before the place.
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

    /// The line of the place; the first is 1.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// assert_eq!(PartialValue::new().push("[\n\n?").unwrap_err().line(), 3);
    /// ```
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The column of the place, in bytes; the first is 1.
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
                    None => write!(f, ", found a character that is not ASCII")?,
                }
                write!(f, ",")?;
            }
            ErrorKind::ControlCharacter => write!(f, "a control character in a string must be escaped,")?,
            ErrorKind::InvalidEscape => write!(f, "this escape is not one of JSON's,")?,
            ErrorKind::LoneSurrogate => write!(f, "half of a surrogate pair without the other half,")?,
            ErrorKind::InvalidUtf8 => write!(f, "the bytes are not UTF-8")?,
            ErrorKind::NumberOutOfRange => write!(f, "the number is beyond what a 64-bit float can hold,")?,
            ErrorKind::TooDeep => write!(f, "the value nests deeper than the limit allows")?,
            ErrorKind::TooLarge => write!(f, "the text is longer than the limit allows")?,
            ErrorKind::Trailing => write!(f, "there is something after the value,")?,
            ErrorKind::Truncated => write!(f, "the text ends {},", self.expected)?,
        }
        write!(f, " at line {} column {}", self.line, self.column)
    }
}

impl std::error::Error for Error {}
