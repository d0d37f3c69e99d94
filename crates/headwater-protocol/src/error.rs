//! What can be wrong with a stream or a request.

use std::fmt;

/// What can be wrong with a stream or a request, where, and whether the stream is worth reading on.
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

/// Where in a stream something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The frame, counted from 0.
    pub frame: u64,
    /// The byte at which that frame begins.
    pub offset: u64,
}

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes do not make frames.
    Framing,
    /// A frame is not JSON.
    Json,
    /// The type of a chunk is not one of the dialect's.
    UnknownType,
    /// A field is missing, not known or of the wrong type.
    Field,
    /// The chunk may not come at this place.
    Order,
    /// Something is larger than allowed.
    Limit,
    /// Text cannot be represented: half of a surrogate pair.
    Text,
    /// A structured update does not fit what is there.
    Structured,
    /// A change of the shared state does not fit what is there.
    State,
    /// The stream ended before the run did.
    Cut,
    /// A request is not what the dialect's clients send.
    Request,
    /// The path of a request leads nowhere in the dialect.
    Path,
}

impl ErrorKind {
    /// A word for machines.
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
    /// An error after which the stream is still worth reading.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None, fatal: false }
    }

    /// An error after which the dialect's own client reads no further.
    #[must_use]
    pub fn fatal(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(kind, message) }
    }

    /// The same error at a place.
    #[must_use]
    pub fn at(mut self, frame: u64, offset: u64) -> Self {
        self.place = Some(Place { frame, offset });
        self
    }

    /// What kind of thing is wrong.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it is wrong.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        self.place
    }

    /// Whether the dialect's own client reads no further.
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
