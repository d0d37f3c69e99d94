//! Reads Server-Sent Events to the rules of the WHATWG HTML standard, §9.2.6.
//!
//! Lines are cut before they are decoded. That is the same as decoding first, as the standard
//! says it: no malformed UTF-8 sequence ever swallows a CR, an LF or a colon. So each byte is
//! searched for a line end once, and a block that lies whole in the input is never copied.

use std::borrow::Cow;
use std::mem;

use memchr::memchr2;

use super::{BYTE_ORDER_MARK, DEFAULT_LIMIT, Frame, FramingError, FramingErrorKind, Sink};

/// What to do with a last block that no blank line ended.
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
    /// Drop it, as the standard and every browser does.
    #[default]
    Discard,
    /// Hand it over as if a blank line had followed, as many vendors' clients do.
    Deliver,
}

/// A push reader of Server-Sent Events.
///
/// Push the bytes in whatever pieces they come. Blocks without a `data` line are not delivered.
///
/// A block may have as many bytes as the limit says, line ends and comments not counted (and no
/// single comment may be longer). A larger one is reported once, as soon as it is seen to be; its
/// bytes are dropped up to the next blank line, and reading goes on there.
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
    /// The bytes of the stream read so far.
    offset: u64,
    /// The number of the next frame.
    index: u64,
    /// The last line ended with a CR: an LF right after it belongs to it.
    after_cr: bool,
    /// What came of the line that the last push left open. Its start is `offset - line.len()`.
    line: Vec<u8>,
    /// What came of the open block before that line.
    block: Block<'static>,
    skipping: Option<Skipping>,
    last_id: String,
    retry: Option<u64>,
    #[cfg(test)]
    work: u64,
}

/// The fields of a block that is not over: in the input while they can be, owned once they must
/// outlive it.
#[derive(Debug, Default)]
struct Block<'a> {
    /// Where its first line that is no comment begins.
    start: Option<u64>,
    size: usize,
    event: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    data: Option<Cow<'a, str>>,
}

/// A block that was too large is being passed over.
#[derive(Debug)]
struct Skipping {
    /// The current line has had a byte, so its end will not be the blank line.
    in_line: bool,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SseReader {
    /// A reader at the start of a stream, with a limit of 16 MiB, that discards an unended tail.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            tail: Tail::default(),
            offset: 0,
            index: 0,
            after_cr: false,
            line: Vec::new(),
            block: Block::default(),
            skipping: None,
            last_id: String::new(),
            retry: None,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Sets how many bytes one block may have.
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

    /// Sets what [`finish`](Self::finish) does with a last block that no blank line ended.
    #[must_use]
    pub fn with_tail(mut self, tail: Tail) -> Self {
        self.tail = tail;
        self
    }

    /// Reads more of the stream and hands over each frame that is now whole.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Result<Frame<'_>, FramingError>)) {
        if !bytes.is_empty() {
            self.read(bytes, &mut sink);
        }
    }

    /// Says that the stream has ended, and treats an unended block as [`Tail`] says.
    ///
    /// What is pushed afterwards begins a new block; offsets and indexes go on.
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

    /// The id to send as `Last-Event-ID` when reconnecting: that of the last ended block which
    /// gave one, even if it had no data. An empty id takes it back.
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

    /// How many milliseconds the sender asked to wait before reconnecting, by its last `retry`
    /// line; one that does not fit in 64 bits is passed over.
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
        let mut block: Block<'_> = mem::take(&mut self.block);
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

    /// Keeps the start of a line whose end has not come.
    fn keep_line(&mut self, block: &mut Block<'_>, piece: &[u8], sink: Sink<'_>) {
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

    fn end_line<'a>(&mut self, block: &mut Block<'a>, start: u64, line: Cow<'a, [u8]>, sink: Sink<'_>) {
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
            Field::Data => match &mut block.data {
                None => block.data = Some(decode(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push('\n');
                    data.push_str(&String::from_utf8_lossy(&value));
                }
            },
            Field::Event => block.event = Some(decode(value)),
            Field::Id if value.contains(&0) => {}
            Field::Id => block.id = Some(decode(value)),
            Field::Retry => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let number = str::from_utf8(&value).ok().filter(|_| digits);
                self.retry = number.and_then(|text| text.parse().ok()).or(self.retry);
            }
        }
    }

    fn end_block(&mut self, block: Block<'_>, sink: Sink<'_>) {
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

    fn refuse(&mut self, block: &mut Block<'_>, line: u64, in_line: bool, sink: Sink<'_>) {
        let start = mem::take(block).start.unwrap_or(line);
        self.line = Vec::new();
        self.skipping = Some(Skipping { in_line });
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

impl Block<'_> {
    fn into_owned(self) -> Block<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Block {
            start: self.start,
            size: self.size,
            event: self.event.map(own),
            id: self.id.map(own),
            data: self.data.map(own),
        }
    }
}

#[derive(Clone, Copy)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

const FIELDS: [(&[u8], Field); 4] =
    [(b"data", Field::Data), (b"event", Field::Event), (b"id", Field::Id), (b"retry", Field::Retry)];

/// Splits a line into its field and its value; `None` for a field that the standard ignores.
fn split_field(line: Cow<'_, [u8]>) -> Option<(Field, Cow<'_, [u8]>)> {
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

/// Decodes with U+FFFD for what is malformed, and without a copy where nothing is.
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
