//! Reads newline-delimited JSON: one text on each line.

use std::borrow::Cow;

use memchr::memchr;

use super::{DEFAULT_LIMIT, Frame, FramingError, FramingErrorKind, Sink, skip, without_mark};

/// A push reader of newline-delimited JSON.
///
/// Lines end with LF or CRLF, blank ones are passed over, and so is a byte order mark at the
/// start. Malformed UTF-8 is replaced by U+FFFD; whether the line is JSON is for its user to say.
///
/// A line may have as many bytes as the limit says. A longer one is reported once, as soon as it
/// is seen to be; the rest of it is dropped, and reading goes on with the next line.
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
    /// The bytes of the stream read so far.
    offset: u64,
    /// The number of the next frame.
    index: u64,
    /// What came of the line that the last push left open. Its start is `offset - line.len()`.
    line: Vec<u8>,
    /// A line that was too long is being passed over.
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

    /// Sets how many bytes one line may have.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Reads more of the stream and hands over each line that is now whole.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        if !bytes.is_empty() {
            self.read(bytes, &mut sink);
        }
    }

    /// Says that the stream has ended, and hands over a last line that had no line end.
    ///
    /// What is pushed afterwards begins a new line; offsets and indexes go on.
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
                // The buffer serves the next line, unless it grew beyond what is worth keeping.
                whole.clear();
                whole.shrink_to(KEPT_CAPACITY);
                self.line = whole;
            }
        }
        self.keep_line(rest, sink);
    }

    /// Keeps the start of a line whose end has not come.
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

    /// Counts bytes that were searched or copied, so that a test can hold us to a line.
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
