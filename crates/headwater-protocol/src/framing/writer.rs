//! Writes frames into one reusable buffer.

use std::sync::LazyLock;

use memchr::{memchr2, memmem::Finder};
use serde::Serialize;

use super::{Framing, FramingError, FramingErrorKind};

/// A keep-alive to send while there is nothing else, so that proxies do not close the stream.
///
/// Clients tolerate different kinds; a client that tolerates neither needs a real
/// [`frame`](FrameWriter::frame) that it ignores.
///
/// ```
/// use headwater_protocol::{FrameWriter, Framing, Heartbeat};
///
/// let mut writer = FrameWriter::new(Framing::Sse);
/// writer.heartbeat(Heartbeat::Comment);
/// assert_eq!(writer.bytes(), b":\n\n");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heartbeat {
    /// An empty comment in its own block. NDJSON has no comments: a blank line instead.
    #[default]
    Comment,
    /// An empty block, or a blank line in NDJSON.
    Blank,
}

/// Capacity that a writer keeps for the next frames.
const KEPT_CAPACITY: usize = 64 << 10;

/// Finds the end of a frame. To build it takes longer than to search a short frame.
static FRAME_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\n"));

/// Writes a stream of frames into a buffer.
///
/// Read the output with [`bytes`](Self::bytes), then [`clear`](Self::clear) it: once the buffer has grown to
/// the size of the largest batch, writing does not allocate.
///
/// ```
/// use headwater_protocol::{FrameWriter, Framing};
/// use serde_json::json;
///
/// let mut writer = FrameWriter::new(Framing::Sse);
/// writer.frame(Some("message.delta"), &json!({"delta": "hi"}))?;
/// writer.raw("[DONE]");
/// assert_eq!(
///     writer.bytes(),
///     b"event: message.delta\ndata: {\"delta\":\"hi\"}\n\ndata: [DONE]\n\n",
/// );
/// writer.clear();
/// # Ok::<(), headwater_protocol::FramingError>(())
/// ```
#[derive(Debug)]
pub struct FrameWriter {
    framing: Framing,
    out: Vec<u8>,
    frames: u64,
    /// Number of bytes that were cleared or taken.
    gone: u64,
}

impl FrameWriter {
    /// A writer at the start of a stream.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self { framing, out: Vec::new(), frames: 0, gone: 0 }
    }

    /// The framing of this writer.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Writes a frame with the payload as JSON on one line. An empty event name counts as absent; NDJSON
    /// ignores it.
    ///
    /// ```
    /// # use headwater_protocol::{FrameWriter, Framing};
    /// let mut writer = FrameWriter::new(Framing::Sse);
    /// writer.frame(None, &["a\nb"])?;
    /// assert_eq!(writer.bytes(), b"data: [\"a\\nb\"]\n\n");
    /// # Ok::<(), headwater_protocol::FramingError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the name has a line break or a NUL, or the payload cannot be serialized as JSON. The buffer is
    /// unchanged.
    pub fn frame(
        &mut self,
        event: Option<&str>,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<(), FramingError> {
        let event = event.filter(|event| !event.is_empty());
        if event.is_some_and(|event| event.contains(['\r', '\n', '\0'])) {
            return Err(self.error(FramingErrorKind::Unwritable { field: "event" }));
        }
        let start = self.out.len();
        self.begin(event);
        let json = self.out.len();
        if let Err(source) = serde_json::to_writer(&mut self.out, payload) {
            self.out.truncate(start);
            return Err(self.error(FramingErrorKind::Unserializable).with_source(source));
        }
        self.flatten(json);
        self.end_data();
        Ok(())
    }

    /// Writes a frame whose JSON is assembled from pieces.
    ///
    /// Most frames of a stream are deltas of two or three strings, and checking every byte of every key for
    /// escapes is most of their cost. The result must be the bytes that [`frame`](Self::frame) would write.
    ///
    /// ```
    /// # use headwater_protocol::{FrameWriter, Framing, Piece};
    /// let mut writer = FrameWriter::new(Framing::Sse);
    /// writer.pieces(None, &[Piece::Json(r#"{"delta":"#), Piece::Text("a \"word\""), Piece::Json("}")]);
    /// assert_eq!(writer.bytes(), b"data: {\"delta\":\"a \\\"word\\\"\"}\n\n");
    /// ```
    pub fn pieces(&mut self, event: Option<&'static str>, pieces: &[Piece<'_>]) {
        self.begin(event);
        for piece in pieces {
            match *piece {
                Piece::Json(json) => self.out.extend_from_slice(json.as_bytes()),
                Piece::Text(text) => write_text(&mut self.out, text),
                Piece::Number(number) => {
                    // Writing a number to memory cannot fail.
                    let _ = serde_json::to_writer(&mut self.out, &number);
                }
            }
        }
        self.end_data();
    }

    fn begin(&mut self, event: Option<&str>) {
        if self.framing == Framing::Sse {
            if let Some(event) = event {
                write_line(&mut self.out, "event: ", event);
            }
            self.out.extend_from_slice(b"data: ");
        }
    }

    fn end_data(&mut self) {
        if self.framing == Framing::Sse {
            self.out.push(b'\n');
        }
        self.end();
    }

    /// Writes a frame with this text as its data, such as `[DONE]`.
    ///
    /// In SSE, a text of several lines becomes several `data` lines, which a reader joins with LF again. In
    /// NDJSON, the text must be JSON, where line breaks occur only between tokens: they become spaces, and a
    /// blank text is not a frame.
    ///
    /// ```
    /// # use headwater_protocol::{FrameWriter, Framing};
    /// let mut writer = FrameWriter::new(Framing::Sse);
    /// writer.raw("two\nlines");
    /// assert_eq!(writer.bytes(), b"data: two\ndata: lines\n\n");
    /// ```
    pub fn raw(&mut self, data: &str) {
        match self.framing {
            Framing::Sse => {
                let mut rest = data;
                while let Some((line, after)) = split_line(rest) {
                    write_line(&mut self.out, "data: ", line);
                    rest = after;
                }
                write_line(&mut self.out, "data: ", rest);
            }
            Framing::Ndjson if data.trim_ascii().is_empty() => return,
            Framing::Ndjson => {
                let start = self.out.len();
                self.out.extend_from_slice(data.as_bytes());
                self.flatten(start);
            }
        }
        self.end();
    }

    /// Writes a keep-alive, which is not a frame.
    pub fn heartbeat(&mut self, heartbeat: Heartbeat) {
        self.out.extend_from_slice(match (self.framing, heartbeat) {
            (Framing::Ndjson, _) => b"\n",
            (Framing::Sse, Heartbeat::Comment) => b":\n\n",
            // Two line ends, for readers that split at every empty line and check the beginning of each
            // piece.
            (Framing::Sse, Heartbeat::Blank) => b"\n\n",
        });
    }

    /// Number of frames written since the start of the stream.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Number of bytes written since the start of the stream, including cleared ones.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.gone + self.out.len() as u64
    }

    /// The bytes written since the last [`clear`](Self::clear) or [`take`](Self::take).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Adds ids to the frames in the buffer from byte `from` on. `id` gets the number of the frame, from 1,
    /// and whether it is the last one. NDJSON has no ids: they become the last member of each object, named
    /// `field`, if `field` is given.
    ///
    /// ```
    /// # use headwater_protocol::{FrameWriter, Framing};
    /// let mut writer = FrameWriter::new(Framing::Sse);
    /// writer.raw("{}");
    /// writer.identify(0, None, &mut |frame, _last| format!("7.{frame}")).unwrap();
    /// assert_eq!(writer.bytes(), b"id: 7.1\ndata: {}\n\n");
    /// ```
    ///
    /// # Errors
    /// If an id has a line break, which an `id:` line cannot contain.
    pub fn identify(
        &mut self,
        from: usize,
        field: Option<&str>,
        id: &mut dyn FnMut(u32, bool) -> String,
    ) -> Result<(), FramingError> {
        if self.framing == Framing::Ndjson {
            if let Some(field) = field {
                self.add_member(from, field, id);
            }
            return Ok(());
        }
        let (mut at, mut number) = (from, 0);
        while at < self.out.len() {
            let rest = self.out.get(at..).unwrap_or_default();
            let length = FRAME_END.find(rest).map_or(rest.len(), |end| end + 2);
            number += 1;
            let id = id(number, length == rest.len());
            if id.contains(['\r', '\n', '\0']) {
                self.out.truncate(at);
                return Err(self.error(FramingErrorKind::Unwritable { field: "id" }));
            }
            // Into the buffer itself: most records are one short frame.
            let line = b"id: ".iter().chain(id.as_bytes()).chain(b"\n");
            self.out.splice(at..at, line.copied());
            at += "id: \n".len() + id.len() + length;
        }
        Ok(())
    }

    /// Adds a member to each object on its own line from byte `from` on.
    fn add_member(&mut self, from: usize, field: &str, id: &mut dyn FnMut(u32, bool) -> String) {
        let written = self.out.split_off(from);
        let mut lines = written.split_inclusive(|byte| *byte == b'\n').peekable();
        let mut number = 0;
        while let Some(line) = lines.next() {
            match line.strip_suffix(b"}\n") {
                Some(object) => {
                    number += 1;
                    self.out.extend_from_slice(object);
                    self.out.extend_from_slice(b",");
                    write_text(&mut self.out, field);
                    self.out.extend_from_slice(b":");
                    write_text(&mut self.out, &id(number, lines.peek().is_none()));
                    self.out.extend_from_slice(b"}\n");
                }
                None => self.out.extend_from_slice(line),
            }
        }
    }

    /// Clears the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.gone = self.written();
        self.out.clear();
        // The memory of one large frame must not stay allocated for the lifetime of its reader.
        self.out.shrink_to(KEPT_CAPACITY);
    }

    /// Takes the buffer; the writer starts a new one.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.gone = self.written();
        std::mem::take(&mut self.out)
    }

    /// Replaces line breaks by spaces. `serde_json` itself writes none, but copies a `RawValue` unchanged,
    /// where they occur only between tokens.
    fn flatten(&mut self, from: usize) {
        let mut rest = self.out.get_mut(from..).unwrap_or_default();
        while let Some(at) = memchr2(b'\n', b'\r', rest) {
            rest = rest.get_mut(at..).unwrap_or_default();
            if let Some(byte) = rest.first_mut() {
                *byte = b' ';
            }
        }
    }

    fn end(&mut self) {
        self.out.push(b'\n');
        self.frames += 1;
    }

    fn error(&self, kind: FramingErrorKind) -> FramingError {
        FramingError::new(kind, self.written(), self.frames)
    }
}

/// A piece of JSON for [`FrameWriter::pieces`].
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    /// Written unchanged.
    Json(&'static str),
    /// Written as a string.
    Text(&'a str),
    /// Written as a number.
    Number(u64),
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    // A loop without early exit is vectorized by the compiler.
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing a string to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
}

fn write_line(out: &mut Vec<u8>, prefix: &str, line: &str) {
    out.extend_from_slice(prefix.as_bytes());
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

fn split_line(text: &str) -> Option<(&str, &str)> {
    let at = memchr2(b'\n', b'\r', text.as_bytes())?;
    let (line, ending) = text.split_at_checked(at)?;
    let after = ending.strip_prefix("\r\n").or_else(|| ending.get(1..))?;
    Some((line, after))
}

#[cfg(test)]
mod tests;
