//! Reads Server-Sent Events as specified in the WHATWG HTML standard, §9.2.6.
//!
//! Lines are split before they are decoded. The standard decodes first, with the same result: no malformed
//! UTF-8 sequence contains a CR, an LF or a colon. So each byte is searched for a line end once, and a block
//! that is complete in the input is never copied.

use std::borrow::Cow;
use std::mem;

use memchr::memchr2;

use super::{BYTE_ORDER_MARK, DEFAULT_LIMIT, Frame, FramingError, FramingErrorKind, Sink};

/// How to handle a last block without a blank line.
///
/// ```
/// use headwater_protocol::{SseReader, Tail};
///
/// let mut reader = SseReader::new().with_tail(Tail::Deliver);
/// reader.push(b"data: [DONE]", |_| unreachable!("the block is not over"));
/// reader.finish(|frame| assert_eq!(frame.unwrap().data, "[DONE]"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// Drop it, like the standard and all browsers.
    #[default]
    Discard,
    /// Deliver it as if a blank line followed, like many vendors' clients.
    Deliver,
}

/// A push reader of Server-Sent Events.
///
/// Bytes may be pushed in any pieces. Blocks without a `data` line are not delivered.
///
/// The size limit of a block excludes line ends and comments, but applies to each single comment too. A block
/// above the limit is reported once, as soon as it exceeds the limit; its bytes are skipped up to the next
/// blank line, where reading continues.
///
/// ```
/// use headwater_protocol::SseReader;
///
/// let mut reader = SseReader::new();
/// let mut seen = Vec::new();
/// for piece in [&b"data: one\r\nda"[..], b"ta: two\r", b"\n\r\n"] {
///     reader.push(piece, |frame| seen.push(frame.unwrap().data.to_owned()));
/// }
/// reader.finish(|_| ());
/// assert_eq!(seen, ["one\ntwo"]);
/// ```
#[derive(Debug)]
pub struct SseReader {
    limit: usize,
    tail: Tail,
    /// Number of bytes read.
    offset: u64,
    /// Number of the next frame.
    index: u64,
    /// Whether the last line ended with a CR, so that an LF directly after it belongs to it.
    after_cr: bool,
    /// The unfinished line of the last push. It begins at `offset - line.len()`.
    line: Vec<u8>,
    /// The open block before that line.
    block: SseBlock<'static>,
    skipping: Option<SkipState>,
    last_id: String,
    retry: Option<u64>,
    #[cfg(test)]
    work: u64,
}

/// The fields of an open block: borrowed from the input if possible, owned when they must outlive it.
#[derive(Debug, Default)]
struct SseBlock<'a> {
    /// Offset of its first line that is not a comment.
    start: Option<u64>,
    size: usize,
    event: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    data: Option<Cow<'a, str>>,
}

/// A block above the limit is being skipped.
#[derive(Debug)]
struct SkipState {
    /// Whether the current line is not empty, so that its end is not the blank line.
    in_line: bool,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SseReader {
    /// A reader at the start of a stream, with a limit of 16 MiB, that discards an incomplete last block.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            tail: Tail::default(),
            offset: 0,
            index: 0,
            after_cr: false,
            line: Vec::new(),
            block: SseBlock::default(),
            skipping: None,
            last_id: String::new(),
            retry: None,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Sets the maximum size of a block.
    ///
    /// ```
    /// let mut reader = headwater_protocol::SseReader::new().with_limit(8);
    /// let mut seen = Vec::new();
    /// reader.push(b"data: too long\n\ndata: ok\n\n", |frame| {
    ///     seen.push(frame.map(|frame| frame.data.to_owned()).map_err(|error| error.to_string()));
    /// });
    /// assert!(seen[0].is_err());
    /// assert_eq!(seen[1], Ok("ok".to_owned()));
    /// ```
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets how [`finish`](Self::finish) handles a last block without a blank line.
    #[must_use]
    pub fn with_tail(mut self, tail: Tail) -> Self {
        self.tail = tail;
        self
    }

    /// Reads more bytes and reports each complete frame.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        if !bytes.is_empty() {
            self.read(bytes, &mut sink);
        }
    }

    /// Ends the stream and handles an incomplete block according to [`Tail`].
    ///
    /// Bytes pushed afterwards begin a new block; offsets and indexes continue.
    pub fn finish(&mut self, mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        self.after_cr = false;
        let mut block = mem::take(&mut self.block);
        let line = mem::take(&mut self.line);
        if self.skipping.take().is_some() || self.tail == Tail::Discard {
            return;
        }
        if !line.is_empty() {
            let start = self.offset - line.len() as u64;
            self.end_line(&mut block, start, Cow::Owned(line), &mut sink);
        }
        self.end_block(block, &mut sink);
    }

    /// The id to send as `Last-Event-ID` when reconnecting: that of the last complete block with an id, even
    /// if the block had no data. An empty id resets it.
    ///
    /// ```
    /// let mut reader = headwater_protocol::SseReader::new();
    /// reader.push(b"id: 7\n\ndata: x\n\nid: 8\n", |_| ());
    /// assert_eq!(reader.last_event_id(), Some("7"));
    /// ```
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        Some(self.last_id.as_str()).filter(|id| !id.is_empty())
    }

    /// The reconnect delay in milliseconds of the last `retry` line. A value above 64 bits is ignored.
    ///
    /// ```
    /// let mut reader = headwater_protocol::SseReader::new();
    /// reader.push(b"retry: 1500\nretry: soon\n", |_| ());
    /// assert_eq!(reader.retry(), Some(1500));
    /// ```
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    fn read(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let mut block: SseBlock<'_> = mem::take(&mut self.block);
        let mut rest = bytes;
        loop {
            if let Some((first, after)) = rest.split_first().filter(|_| self.after_cr) {
                self.after_cr = false;
                if *first == b'\n' {
                    rest = after;
                    self.offset += 1;
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                break;
            };
            let (line, ending) = rest.split_at(end);
            let start = self.offset - self.line.len() as u64;
            self.count(end + 1);
            self.offset += end as u64 + 1;
            self.after_cr = ending.first() == Some(&b'\r');
            rest = ending.get(1..).unwrap_or_default();

            if let Some(skipping) = &mut self.skipping {
                let in_line = mem::replace(&mut skipping.in_line, false);
                if line.is_empty() && !in_line {
                    self.skipping = None;
                }
            } else if self.line.is_empty() {
                self.end_line(&mut block, start, Cow::Borrowed(line), sink);
            } else {
                self.count(end);
                self.line.extend_from_slice(line);
                let line = mem::take(&mut self.line);
                self.end_line(&mut block, start, Cow::Owned(line), sink);
            }
        }
        self.keep_line(&mut block, rest, sink);
        self.block = block.into_owned();
    }

    /// Keeps the beginning of an unfinished line.
    fn keep_line(&mut self, block: &mut SseBlock<'_>, piece: &[u8], sink: Sink<'_>) {
        let start = self.offset - self.line.len() as u64;
        self.count(piece.len());
        self.offset += piece.len() as u64;
        if let Some(skipping) = &mut self.skipping {
            skipping.in_line |= !piece.is_empty();
        } else if block.size.saturating_add(self.line.len() + piece.len()) > self.limit {
            self.refuse(block, start, true, sink);
        } else {
            self.count(piece.len());
            self.line.extend_from_slice(piece);
        }
    }

    fn end_line<'a>(&mut self, block: &mut SseBlock<'a>, start: u64, line: Cow<'a, [u8]>, sink: Sink<'_>) {
        if block.size.saturating_add(line.len()) > self.limit {
            return self.refuse(block, start, false, sink);
        }
        let mark = BYTE_ORDER_MARK.len();
        let (start, line) = match start {
            0 if line.starts_with(BYTE_ORDER_MARK) => (mark as u64, drop_front(line, mark)),
            _ => (start, line),
        };
        match line.first() {
            None => return self.end_block(mem::take(block), sink),
            Some(b':') => return,
            Some(_) => {}
        }
        block.start.get_or_insert(start);
        block.size = block.size.saturating_add(line.len());
        let Some((field, value)) = split_field(line) else {
            return;
        };
        match field {
            SseField::Data => match &mut block.data {
                None => block.data = Some(decode(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push('\n');
                    data.push_str(&String::from_utf8_lossy(&value));
                }
            },
            SseField::Event => block.event = Some(decode(value)),
            SseField::Id if value.contains(&0) => {}
            SseField::Id => block.id = Some(decode(value)),
            SseField::Retry => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let number = str::from_utf8(&value).ok().filter(|_| digits);
                self.retry = number.and_then(|text| text.parse().ok()).or(self.retry);
            }
        }
    }

    fn end_block(&mut self, block: SseBlock<'_>, sink: Sink<'_>) {
        if let Some(id) = &block.id {
            self.last_id.clear();
            self.last_id.push_str(id);
        }
        let Some(data) = &block.data else { return };
        sink(Ok(Frame {
            event: block.event.as_deref().filter(|event| !event.is_empty()),
            id: block.id.as_deref(),
            data,
            offset: block.start.unwrap_or_default(),
            index: self.index,
        }));
        self.index += 1;
    }

    fn refuse(&mut self, block: &mut SseBlock<'_>, line: u64, in_line: bool, sink: Sink<'_>) {
        let start = mem::take(block).start.unwrap_or(line);
        self.line = Vec::new();
        self.skipping = Some(SkipState { in_line });
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

impl SseBlock<'_> {
    fn into_owned(self) -> SseBlock<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        SseBlock {
            start: self.start,
            size: self.size,
            event: self.event.map(own),
            id: self.id.map(own),
            data: self.data.map(own),
        }
    }
}

#[derive(Clone, Copy)]
enum SseField {
    Data,
    Event,
    Id,
    Retry,
}

const FIELDS: [(&[u8], SseField); 4] = [
    (b"data", SseField::Data),
    (b"event", SseField::Event),
    (b"id", SseField::Id),
    (b"retry", SseField::Retry),
];

/// Splits a line into field and value; `None` for a field that the standard ignores.
fn split_field(line: Cow<'_, [u8]>) -> Option<(SseField, Cow<'_, [u8]>)> {
    let (field, value) = FIELDS.iter().find_map(|(name, field)| {
        let value = match line.strip_prefix(*name)? {
            [] => name.len(),
            [b':', b' ', ..] => name.len() + 2,
            [b':', ..] => name.len() + 1,
            _ => return None,
        };
        Some((*field, value))
    })?;
    Some((field, drop_front(line, value)))
}

fn drop_front(line: Cow<'_, [u8]>, count: usize) -> Cow<'_, [u8]> {
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(line.get(count..).unwrap_or_default()),
        Cow::Owned(mut line) => {
            line.drain(..count.min(line.len()));
            Cow::Owned(line)
        }
    }
}

/// Decodes with U+FFFD for malformed sequences; copies only if there are any.
fn decode(value: Cow<'_, [u8]>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => String::from_utf8_lossy(value),
        Cow::Owned(value) => Cow::Owned(
            String::from_utf8(value)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        ),
    }
}

#[cfg(test)]
mod tests;
