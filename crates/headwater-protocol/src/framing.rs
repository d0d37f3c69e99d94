//! Framing: splits a byte stream into messages, as Server-Sent Events or newline-delimited JSON.
//!
//! Readers are pushed bytes as they arrive and call back with each [`Frame`]; the [`FrameWriter`] does the
//! reverse into a reusable buffer. The dialects interpret the frames.

mod error;
mod ndjson;
mod sse;
mod writer;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use error::{FramingError, FramingErrorKind};
pub use ndjson::NdjsonReader;
pub use sse::{SseReader, Tail};
pub use writer::{FrameWriter, Heartbeat, Piece};

/// Default maximum size of a message: 16 MiB.
pub(crate) const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Callback of the readers.
type Sink<'s> = &'s mut dyn FnMut(Result<Frame<'_>, FramingError>);

/// One message of a stream.
///
/// Borrows from the pushed bytes if they contain the whole message, and from the reader otherwise.
///
/// ```
/// use headwater_protocol::SseReader;
///
/// let mut reader = SseReader::new();
/// reader.push(b": hello\n\nid: 7\nevent: delta\ndata: {}\n\n", |frame| {
///     let frame = frame.unwrap();
///     assert_eq!((frame.event, frame.id, frame.data), (Some("delta"), Some("7"), "{}"));
///     assert_eq!((frame.offset, frame.index), (9, 0));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Name of the event; `None` if absent or empty. NDJSON has no names.
    pub event: Option<&'a str>,
    /// The id in this block, if any; [`SseReader::last_event_id`] returns the id in effect. An empty id is
    /// reported too: it resets the id in effect.
    pub id: Option<&'a str>,
    /// The message.
    pub data: &'a str,
    /// Byte offset of the message in the stream, after preceding comments.
    pub offset: u64,
    /// Number of the message in the stream, from 0. Rejected messages are counted too.
    pub index: u64,
}

/// A way to split a stream into messages.
///
/// ```
/// use headwater_protocol::Framing;
///
/// assert_eq!("ndjson".parse(), Ok(Framing::Ndjson));
/// assert_eq!(Framing::Sse.to_string(), "sse");
/// assert_eq!(serde_json::to_string(&Framing::Sse).unwrap(), r#""sse""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// Server-Sent Events: blocks of `field: value` lines, ended by a blank line.
    Sse,
    /// One JSON text per line.
    Ndjson,
}

impl Framing {
    /// Detects the framing from the first bytes of a stream; `None` while they are not conclusive.
    ///
    /// ```
    /// use headwater_protocol::Framing;
    ///
    /// assert_eq!(Framing::recognise(b"\ndata: {}"), Some(Framing::Sse));
    /// assert_eq!(Framing::recognise(br#"{"type":"content"}"#), Some(Framing::Ndjson));
    /// assert_eq!(Framing::recognise(b"dat"), None);
    /// ```
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
        let bytes = without_mark(bytes);
        // SSE allows no leading whitespace: `  data:` is an unknown field, so only NDJSON may skip it.
        let line = skip(bytes, |byte| matches!(byte, b'\r' | b'\n'));
        if FIELDS.iter().any(|field| line.starts_with(field)) {
            return Some(Self::Sse);
        }
        match skip(line, |byte| byte.is_ascii_whitespace()).first() {
            Some(b'{' | b'[') => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// The media type for a `content-type` header.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Ndjson => "ndjson",
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Framing {
    type Err = UnknownFraming;

    fn from_str(name: &str) -> Result<Self, UnknownFraming> {
        [Self::Sse, Self::Ndjson].into_iter().find(|framing| framing.name() == name).ok_or(UnknownFraming)
    }
}

/// An unknown name of a [`Framing`].
///
/// ```
/// use headwater_protocol::Framing;
///
/// let error = "xml".parse::<Framing>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown framing: use \"sse\" or \"ndjson\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownFraming;

impl fmt::Display for UnknownFraming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown framing: use \"sse\" or \"ndjson\"")
    }
}

impl std::error::Error for UnknownFraming {}

/// A reader whose framing is chosen at run time.
///
/// ```
/// use headwater_protocol::{FrameReader, Framing};
///
/// let body = b"{\"a\":1}\n{\"a\":2}";
/// let mut reader = FrameReader::new(Framing::recognise(body).unwrap_or(Framing::Sse));
/// let mut seen = Vec::new();
/// reader.push(body, |frame| seen.push(frame.unwrap().data.to_owned()));
/// reader.finish(|frame| seen.push(frame.unwrap().data.to_owned()));
/// assert_eq!(seen, [r#"{"a":1}"#, r#"{"a":2}"#]);
/// ```
#[derive(Debug)]
pub enum FrameReader {
    /// Reads Server-Sent Events.
    Sse(SseReader),
    /// Reads newline-delimited JSON.
    Ndjson(NdjsonReader),
}

impl FrameReader {
    /// A reader with the defaults of its framing.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseReader::new()),
            Framing::Ndjson => Self::Ndjson(NdjsonReader::new()),
        }
    }

    /// Sets how an incomplete last block is handled. NDJSON always delivers the last line.
    ///
    /// ```
    /// use headwater_protocol::{FrameReader, Framing, Tail};
    ///
    /// let mut reader = FrameReader::new(Framing::Sse).with_tail(Tail::Deliver);
    /// reader.push(b"data: x", |_| unreachable!("the block is not over"));
    /// reader.finish(|frame| assert_eq!(frame.unwrap().data, "x"));
    /// ```
    #[must_use]
    pub fn with_tail(self, tail: Tail) -> Self {
        match self {
            Self::Sse(reader) => Self::Sse(reader.with_tail(tail)),
            Self::Ndjson(reader) => Self::Ndjson(reader),
        }
    }

    /// The framing of this reader.
    #[must_use]
    pub fn framing(&self) -> Framing {
        match self {
            Self::Sse(_) => Framing::Sse,
            Self::Ndjson(_) => Framing::Ndjson,
        }
    }

    /// Reads more bytes; see [`SseReader::push`] and [`NdjsonReader::push`].
    pub fn push(&mut self, bytes: &[u8], sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        match self {
            Self::Sse(reader) => reader.push(bytes, sink),
            Self::Ndjson(reader) => reader.push(bytes, sink),
        }
    }

    /// Ends the stream; see [`SseReader::finish`] and [`NdjsonReader::finish`].
    pub fn finish(&mut self, sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        match self {
            Self::Sse(reader) => reader.finish(sink),
            Self::Ndjson(reader) => reader.finish(sink),
        }
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

fn skip(bytes: &[u8], unwanted: impl Fn(u8) -> bool) -> &[u8] {
    let from = bytes.iter().position(|byte| !unwanted(*byte));
    from.and_then(|from| bytes.get(from..)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
