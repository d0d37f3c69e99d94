//! Reads newline-delimited JSON: one text per line.

use std::borrow::Cow;

use memchr::memchr;

use super::{DEFAULT_LIMIT, Frame, FramingError, FramingErrorKind, Sink, skip, without_mark};

/// A push reader of newline-delimited JSON.
///
/// Lines end with LF or CRLF. Blank lines and a byte order mark at the start are skipped. Malformed UTF-8 is
/// replaced by U+FFFD; the reader does not check that a line is JSON.
///
/// A line above the size limit is reported once, as soon as it exceeds the limit; the rest of it is skipped,
/// and reading continues with the next line.
///
/// ```
/// use headwater_protocol::NdjsonReader;
///
/// let mut reader = NdjsonReader::new();
/// let mut seen = Vec::new();
/// for piece in [&b"{\"a\":1}\r\n\n{\"a\""[..], b":2}"] {
///     reader.push(piece, |frame| seen.push(frame.unwrap().data.to_owned()));
/// }
/// reader.finish(|frame| seen.push(frame.unwrap().data.to_owned()));
/// assert_eq!(seen, [r#"{"a":1}"#, r#"{"a":2}"#]);
/// ```
#[derive(Debug)]
pub struct NdjsonReader {
    limit: usize,
    /// Number of bytes read.
    offset: u64,
    /// Number of the next frame.
    index: u64,
    /// The unfinished line of the last push. It begins at `offset - line.len()`.
    line: Vec<u8>,
    /// Whether a line above the limit is being skipped.
    skipping: bool,
    #[cfg(test)]
    work: u64,
}

impl Default for NdjsonReader {
    fn default() -> Self {
        Self::new()
    }
}

impl NdjsonReader {
    /// A reader at the start of a stream, with a limit of 16 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            offset: 0,
            index: 0,
            line: Vec::new(),
            skipping: false,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Sets the maximum size of a line.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Reads more bytes and reports each complete line.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        if !bytes.is_empty() {
            self.read(bytes, &mut sink);
        }
    }

    /// Ends the stream and reports a last line without a line end.
    ///
    /// Bytes pushed afterwards begin a new line; offsets and indexes continue.
    pub fn finish(&mut self, mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        if !std::mem::take(&mut self.skipping) {
            let start = self.offset - self.line.len() as u64;
            let line = std::mem::take(&mut self.line);
            self.end_line(start, &line, &mut sink);
        }
    }

    fn read(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, ending) = rest.split_at(end);
            let start = self.offset - self.line.len() as u64;
            self.count(end + 1);
            self.offset += end as u64 + 1;
            rest = ending.get(1..).unwrap_or_default();

            if self.skipping {
                self.skipping = false;
            } else if self.line.is_empty() {
                self.end_line(start, line, sink);
            } else {
                self.count(end);
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.end_line(start, &whole, sink);
                // The buffer is reused for the next line, unless it grew too large.
                whole.clear();
                whole.shrink_to(KEPT_CAPACITY);
                self.line = whole;
            }
        }
        self.keep_line(rest, sink);
    }

    /// Keeps the beginning of an unfinished line.
    fn keep_line(&mut self, piece: &[u8], sink: Sink<'_>) {
        let start = self.offset - self.line.len() as u64;
        self.count(piece.len());
        self.offset += piece.len() as u64;
        if self.skipping {
            return;
        }
        if self.line.len() + piece.len() > self.limit {
            self.line = Vec::new();
            self.skipping = true;
            self.refuse(start, sink);
        } else {
            self.count(piece.len());
            self.line.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self, start: u64, line: &[u8], sink: Sink<'_>) {
        if line.len() > self.limit {
            return self.refuse(start, sink);
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let json = if start == 0 { without_mark(line) } else { line };
        if is_blank(json) {
            return;
        }
        let data: Cow<'_, str> = String::from_utf8_lossy(json);
        sink(Ok(Frame {
            event: None,
            id: None,
            data: &data,
            offset: start + (line.len() - json.len()) as u64,
            index: self.index,
        }));
        self.index += 1;
    }

    fn refuse(&mut self, start: u64, sink: Sink<'_>) {
        let kind = FramingErrorKind::TooLarge { limit: self.limit };
        sink(Err(FramingError::new(kind, start, self.index)));
        self.index += 1;
    }

    /// Counts bytes that were searched or copied, so that a test can check that reading is linear.
    fn count(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.work += _bytes as u64;
        }
    }
}

const KEPT_CAPACITY: usize = 64 * 1024;

fn is_blank(line: &[u8]) -> bool {
    skip(line, |byte| matches!(byte, b' ' | b'\t' | b'\r')).is_empty()
}

#[cfg(test)]
mod tests;
