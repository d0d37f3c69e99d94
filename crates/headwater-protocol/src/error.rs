//! Errors in a stream or a request.

use std::fmt;

/// An error in a stream or a request, its position, and whether the stream can be read further.
///
/// ```
/// use headwater_protocol::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Field, "`delta` must be a string, not a number").at(3, 120);
/// assert_eq!(
///     error.to_string(),
///     "frame 3 at byte 120: `delta` must be a string, not a number",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    fatal: bool,
}

/// A position in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Frame number, from 0.
    pub frame: u64,
    /// Byte offset of the frame.
    pub offset: u64,
}

/// The category of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not valid frames.
    Framing,
    /// A frame is not JSON.
    Json,
    /// The type of a chunk is unknown in the dialect.
    UnknownType,
    /// A field is missing, unknown or of the wrong type.
    Field,
    /// The chunk is not allowed at this position.
    Order,
    /// Something exceeds a limit.
    Limit,
    /// Text cannot be represented: a lone surrogate.
    Text,
    /// A structured update does not fit the current value.
    Structured,
    /// A change of the shared state does not fit the current state.
    State,
    /// The stream ended before the run did.
    Cut,
    /// A request is not valid in the dialect.
    Request,
    /// The path of a request does not exist in the dialect.
    Path,
}

impl ErrorKind {
    /// Machine-readable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Framing => "framing",
            Self::Json => "json",
            Self::UnknownType => "unknown-type",
            Self::Field => "field",
            Self::Order => "order",
            Self::Limit => "limit",
            Self::Text => "text",
            Self::Structured => "structured",
            Self::State => "state",
            Self::Cut => "cut",
            Self::Request => "request",
            Self::Path => "path",
        }
    }
}

impl Error {
    /// An error after which the stream can be read further.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None, fatal: false }
    }

    /// An error after which the dialect's own client stops reading.
    #[must_use]
    pub fn fatal(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(kind, message) }
    }

    /// Sets the position.
    #[must_use]
    pub fn at(mut self, frame: u64, offset: u64) -> Self {
        self.place = Some(Place { frame, offset });
        self
    }

    /// What kind of error it is. More kinds may be added.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where in the stream or the document it is, if that is known.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        self.place
    }

    /// Whether the dialect's own client stops reading.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        self.fatal
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { frame, offset }) = self.place {
            write!(f, "frame {frame} at byte {offset}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<crate::framing::FramingError> for Error {
    fn from(error: crate::framing::FramingError) -> Self {
        Self::new(ErrorKind::Framing, error.to_string()).at(error.index(), error.offset())
    }
}
