//! The push parser. It looks at every byte once, wherever the text is split.
//!
//! Between pieces it keeps only the expected token, one flag per open container, and the unfinished key,
//! number or escape. Within a piece, keys, numbers and strings are borrowed.

mod leading_prose;
pub(crate) mod number;
mod run;
mod scan;
mod string;

use crate::completion::Completion;
use crate::error::{Error, ErrorKind, ParseFault};
use crate::options::{LeadIn, Options};
use crate::visit::Visitor;
use leading_prose::Lead;
use number::Digits;
use string::Escape;

pub(crate) use scan::plain_end;

/// Parses a JSON text in pieces, split anywhere, and reports its tokens to a [`Visitor`].
///
/// Most callers want [`Extractor`](crate::Extractor) or [`PartialValue`](crate::PartialValue) instead.
///
/// ```
/// use headwater_json::{Completion, Parser, Visitor};
///
/// struct Texts(String);
///
/// impl Visitor for Texts {
///     fn text(&mut self, part: &str) {
///         self.0.push_str(part);
///     }
/// }
///
/// let mut texts = Texts(String::new());
/// let mut parser = Parser::default();
/// for piece in [&b"[\"caf"[..], b"\xC3", b"\xA9 \\", b"u0", b"021\"]"] {
///     parser.push_bytes(piece, &mut texts)?;
/// }
/// assert_eq!(parser.finish(&mut texts), Completion::Complete);
/// assert_eq!(texts.0, "café !");
/// # Ok::<(), headwater_json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Parser {
    options: Options,
    expect: ParseState,
    /// One flag per open container, innermost last: whether it is an object.
    stack: Vec<bool>,
    /// The unfinished key or number from earlier pieces, or string text held until the piece ends.
    held: String,
    /// An unfinished UTF-8 character from earlier pieces.
    cut: PartialChar,
    /// Depth of the object whose current value the visitor skips.
    skip: Option<usize>,
    /// Whether string text is held although it could be borrowed, because the same piece continues.
    join: bool,
    /// Bytes before the current piece.
    base: u64,
    /// A piece that ends below this offset takes the fast path. It is the first offset beyond the size limit,
    /// or 0 if the last piece ended inside a character, parsing failed or the rest is ignored.
    ready: u64,
    line: u64,
    /// Offset of the first byte of the current line.
    line_start: u64,
    trailing: Option<u64>,
    /// The fault found in the current piece.
    fault: Option<ParseFault>,
    failed: Option<Error>,
}

/// A fault was stored in `Parser::fault`. Empty, so that the hot functions return in registers.
#[derive(Debug)]
struct FaultMarker;

/// The token that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParseState {
    Lead(Lead),
    Value,
    /// A value, or the end of an empty array.
    FirstItem,
    /// A key, or the end of an empty object.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of the array.
    AfterItem,
    /// A comma, or the end of the object.
    AfterEntry,
    /// The rest of a string or a key.
    Text {
        key: bool,
        escape: Escape,
    },
    Number(Digits),
    /// The rest of `true`, `false` or `null`.
    Literal {
        word: Literal,
        read: u8,
    },
    /// The end of the text. `glued` if the value was a number or a literal and no byte followed it yet.
    End {
        glued: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Literal {
    True,
    False,
    Null,
}

impl Literal {
    fn first(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Self::True),
            b'f' => Some(Self::False),
            b'n' => Some(Self::Null),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
        }
    }
}

/// The first bytes of a UTF-8 character.
#[derive(Debug, Clone, Copy, Default)]
struct PartialChar {
    bytes: [u8; 4],
    len: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Parser {
    /// A parser that has read nothing.
    ///
    /// ```
    /// use headwater_json::{Completion, Options, Parser};
    ///
    /// let mut parser = Parser::new(Options::lenient());
    /// parser.push("Sure! {\"a\": [1, 2]}", &mut ())?;
    /// assert_eq!(parser.finish(&mut ()), Completion::Complete);
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn new(options: Options) -> Self {
        let expect = match options.lead_in {
            LeadIn::Refuse => ParseState::Value,
            LeadIn::Skip => ParseState::Lead(Lead::Blank),
        };
        Self {
            options,
            expect,
            stack: Vec::new(),
            held: String::new(),
            cut: PartialChar::default(),
            skip: None,
            join: false,
            base: 0,
            ready: options.limits.max_bytes.saturating_add(1),
            line: 1,
            line_start: 0,
            trailing: None,
            fault: None,
            failed: None,
        }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// If the text cannot be the beginning of a value, or exceeds a limit. The visitor has seen everything
    /// before the error, and every later piece returns the same error.
    ///
    /// ```
    /// use headwater_json::Parser;
    ///
    /// let mut parser = Parser::default();
    /// parser.push("[tr", &mut ())?;
    /// let error = parser.push("eu", &mut ()).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `true`, found `e`, at line 1 column 4");
    /// assert_eq!(parser.push("e]", &mut ()), Err(error));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    #[inline]
    pub fn push<V: Visitor>(&mut self, piece: &str, visitor: &mut V) -> Result<(), Error> {
        if self.base + piece.len() as u64 >= self.ready {
            return self.push_bytes(piece.as_bytes(), visitor);
        }
        // Fast path: most pieces of a long string contain only text.
        if let ParseState::Text { key: false, escape: Escape::None } = self.expect
            && scan::plain_end(piece.as_bytes(), 0) == piece.len()
            && !piece.is_empty()
        {
            if self.skip.is_none() {
                visitor.text(piece);
            }
            self.base += piece.len() as u64;
            return Ok(());
        }
        let read = self.read(piece, visitor);
        self.lend_held(visitor);
        read
    }

    /// Reads the next piece, which may begin or end inside a UTF-8 character.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push), and when the bytes are not UTF-8.
    ///
    /// ```
    /// use headwater_json::{ErrorKind, Parser};
    ///
    /// let mut parser = Parser::default();
    /// parser.push_bytes(b"\"\xE2\x82", &mut ())?;
    /// let error = parser.push_bytes(b"\"", &mut ()).unwrap_err();
    /// assert_eq!((error.kind(), error.offset()), (ErrorKind::InvalidUtf8, 1));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn push_bytes<V: Visitor>(&mut self, piece: &[u8], visitor: &mut V) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let allowed = usize::try_from(self.remaining()).unwrap_or(usize::MAX);
        let read = match piece.get(..allowed) {
            Some(head) if head.len() < piece.len() => {
                self.read_bytes(head, visitor).and_then(|()| self.refuse_more())
            }
            _ => self.read_bytes(piece, visitor),
        };
        self.lend_held(visitor);
        let ready = self.cut.len == 0 && self.failed.is_none() && !self.ignores_all();
        self.ready = if ready { self.options.limits.max_bytes.saturating_add(1) } else { 0 };
        read
    }

    /// Ends the text.
    ///
    /// ```
    /// use headwater_json::{Completion, Parser};
    ///
    /// let mut parser = Parser::default();
    /// parser.push("12", &mut ())?;
    /// assert_eq!(parser.finish(&mut ()), Completion::Complete);
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn finish<V: Visitor>(&mut self, visitor: &mut V) -> Completion {
        if let Some(error) = self.failed {
            return match error.kind() {
                ErrorKind::Truncated => Completion::Truncated(error),
                _ => Completion::Invalid(error),
            };
        }
        let whole = |digits: Digits| digits.is_whole_number() && self.stack.is_empty() && self.cut.len == 0;
        if let ParseState::Number(digits) = self.expect
            && whole(digits)
        {
            let held = std::mem::take(&mut self.held);
            let ended = self.end_number(&held, digits, 0, visitor);
            if ended.is_err() {
                return Completion::Invalid(self.fail_noted());
            }
        }
        if matches!(self.expect, ParseState::End { .. }) {
            return Completion::Complete;
        }
        let within = match self.expect {
            ParseState::Lead(_) => "before any value began",
            ParseState::Value if self.stack.is_empty() => "before any value began",
            ParseState::Value => "before a value",
            ParseState::FirstItem | ParseState::AfterItem => "within an array",
            ParseState::FirstKey | ParseState::Key | ParseState::AfterEntry => "within an object",
            ParseState::Colon => "after a key",
            ParseState::Text { key: true, .. } => "within a key",
            ParseState::Text { key: false, .. } => "within a string",
            ParseState::Number(_) => "within a number",
            ParseState::Literal { .. } => "within a literal",
            ParseState::End { .. } => "after the value",
        };
        let fault =
            ParseFault { kind: ErrorKind::Truncated, expected: within, found: None, at: self.cut.len };
        Completion::Truncated(self.fail(fault))
    }

    /// Whether the value is complete. A number is complete only when a byte follows it or at
    /// [`finish`](Self::finish).
    ///
    /// ```
    /// use headwater_json::Parser;
    ///
    /// let mut parser = Parser::default();
    /// parser.push("[1]", &mut ())?;
    /// assert!(parser.is_complete());
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        matches!(self.expect, ParseState::End { .. }) && self.failed.is_none()
    }

    /// Number of bytes read; with [`Trailing::Ignore`](crate::Trailing::Ignore), up to the piece in which the value ended.
    ///
    /// ```
    /// use headwater_json::Parser;
    ///
    /// let mut parser = Parser::default();
    /// parser.push("[1, ", &mut ())?;
    /// assert_eq!(parser.offset(), 4);
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn offset(&self) -> u64 {
        self.base + self.cut.len as u64
    }

    /// Offset of the first ignored byte after the value that is not whitespace.
    ///
    /// ```
    /// use headwater_json::{Options, Parser};
    ///
    /// let mut parser = Parser::new(Options::lenient());
    /// parser.push("{}\n```", &mut ())?;
    /// assert_eq!(parser.trailing_offset(), Some(3));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn trailing_offset(&self) -> Option<u64> {
        self.trailing
    }

    /// Whether all further input is ignored.
    fn ignores_all(&self) -> bool {
        self.trailing.is_some()
    }

    /// Number of bytes still allowed by the limit.
    fn remaining(&self) -> u64 {
        if self.ignores_all() {
            return u64::MAX;
        }
        self.options.limits.max_bytes.saturating_sub(self.offset())
    }

    #[cold]
    fn refuse_more(&mut self) -> Result<(), Error> {
        if self.ignores_all() {
            return Ok(());
        }
        let fault = ParseFault::new(ErrorKind::TooLarge, self.cut.len);
        Err(self.fail(fault))
    }

    fn read_bytes<V: Visitor>(&mut self, piece: &[u8], visitor: &mut V) -> Result<(), Error> {
        let mut rest = piece;
        if self.cut.len > 0 {
            self.join = true;
            let read = self.read_cut(&mut rest, visitor);
            self.join = false;
            read?;
        }
        if rest.is_empty() || self.ignores_all() {
            return Ok(());
        }
        let wrong = match std::str::from_utf8(rest) {
            Ok(text) => return self.read(text, visitor),
            Err(wrong) => wrong,
        };
        let (valid, after) = rest.split_at(wrong.valid_up_to());
        self.read(std::str::from_utf8(valid).unwrap_or_default(), visitor)?;
        if self.ignores_all() {
            return Ok(());
        }
        if !matches!(self.expect, ParseState::Text { escape: Escape::None, .. } | ParseState::Lead(_)) {
            // No non-ASCII character is valid here, so the error can be reported before the character is
            // complete.
            return self.read("\u{80}", visitor);
        }
        if wrong.error_len().is_some() {
            return Err(self.fail(ParseFault::new(ErrorKind::InvalidUtf8, 0)));
        }
        for (kept, byte) in self.cut.bytes.iter_mut().zip(after) {
            *kept = *byte;
        }
        self.cut.len = after.len();
        Ok(())
    }

    /// Completes the character that the previous piece split, if enough bytes have come.
    fn read_cut<V: Visitor>(&mut self, rest: &mut &[u8], visitor: &mut V) -> Result<(), Error> {
        while let Some((&byte, after)) = rest.split_first() {
            let PartialChar { bytes, len } = &mut self.cut;
            if let Some(next) = bytes.get_mut(*len) {
                *next = byte;
                *len += 1;
            }
            let PartialChar { bytes, len } = self.cut;
            match std::str::from_utf8(bytes.get(..len).unwrap_or_default()) {
                Ok(char) => {
                    *rest = after;
                    self.cut.len = 0;
                    return self.read(char, visitor);
                }
                Err(wrong) if wrong.error_len().is_some() => {
                    self.cut.len = 0;
                    return Err(self.fail(ParseFault::new(ErrorKind::InvalidUtf8, 0)));
                }
                Err(_) => *rest = after,
            }
        }
        Ok(())
    }

    /// Reports the string text that was held until the end of the piece.
    #[inline]
    fn lend_held<V: Visitor>(&mut self, visitor: &mut V) {
        if let ParseState::Text { key: false, .. } = self.expect
            && !self.held.is_empty()
        {
            if self.skip.is_none() {
                visitor.text(&self.held);
            }
            self.held.clear();
        }
    }

    #[inline]
    fn read<V: Visitor>(&mut self, text: &str, visitor: &mut V) -> Result<(), Error> {
        match self.run(text, visitor) {
            Ok(()) => {
                self.base += text.len() as u64;
                Ok(())
            }
            Err(FaultMarker) => Err(self.fail_noted()),
        }
    }

    #[cold]
    fn note(&mut self, fault: ParseFault) -> FaultMarker {
        self.fault = Some(fault);
        FaultMarker
    }

    #[cold]
    fn fail_noted(&mut self) -> Error {
        let fault = self.fault.take().unwrap_or(ParseFault::new(ErrorKind::Unexpected, 0));
        self.fail(fault)
    }

    #[cold]
    fn fail(&mut self, fault: ParseFault) -> Error {
        let offset = self.base + fault.at as u64;
        let error = Error::new(fault, offset, self.line, offset - self.line_start + 1);
        self.failed = Some(error);
        self.ready = 0;
        error
    }
}
