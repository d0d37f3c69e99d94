//! Framing errors and their position.

use std::error::Error;
use std::fmt;

/// A message that could not be read or written, and its position.
///
/// ```
/// use headwater_protocol::{FramingErrorKind, NdjsonReader};
///
/// let mut reader = NdjsonReader::new().with_limit(4);
/// reader.push(b"1\n[1,2,3]\n", |frame| {
///     if let Err(error) = frame {
///         assert_eq!(error.kind(), FramingErrorKind::TooLarge { limit: 4 });
///         assert_eq!((error.offset(), error.index()), (2, 1));
///     }
/// });
/// ```
#[derive(Debug)]
pub struct FramingError {
    kind: FramingErrorKind,
    offset: u64,
    index: u64,
    source: Option<serde_json::Error>,
}

/// The cause of a [`FramingError`].
///
/// ```
/// use headwater_protocol::{FrameWriter, Framing, FramingErrorKind};
///
/// let error = FrameWriter::new(Framing::Sse).frame(Some("a\rb"), &1).unwrap_err();
/// assert_eq!(error.kind(), FramingErrorKind::Unwritable { field: "event" });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingErrorKind {
    /// A message exceeds the reader's limit. It is skipped, and reading continues after it.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A field has a character that is not allowed in its line. Nothing was written.
    Unwritable {
        /// The field: `id` or `event`.
        field: &'static str,
    },
    /// The payload cannot be serialized as JSON; see the error's source. Nothing was written.
    Unserializable,
}

impl FramingError {
    pub(super) fn new(kind: FramingErrorKind, offset: u64, index: u64) -> Self {
        let source = None;
        Self { kind, offset, index, source }
    }

    pub(super) fn with_source(mut self, source: serde_json::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// The cause.
    #[must_use]
    pub fn kind(&self) -> FramingErrorKind {
        self.kind
    }

    /// Byte offset of the message in the stream.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of the message in the stream, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, offset, index, source: _ } = self;
        write!(f, "frame {index} at byte {offset} ")?;
        match kind {
            FramingErrorKind::TooLarge { limit } => {
                write!(f, "is larger than {limit} bytes: raise the reader's limit or send less")
            }
            FramingErrorKind::Unwritable { field } => {
                write!(f, "has a line break or a NUL in its {field}: remove or encode it")
            }
            FramingErrorKind::Unserializable => {
                f.write_str("cannot be serialized as JSON: use string keys and serializable values")
            }
        }
    }
}

impl Error for FramingError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
