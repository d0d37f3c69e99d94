//! The push parser: looks at every byte once, whatever the pieces are.
//!
//! Between two pieces all that is kept is what the parser waits for, one bit per open container, and the part of a key,
//! a number or an escape that has been read. Within a piece keys, numbers and strings are lent from it.

mod lead;
pub(crate) mod number;
mod run;
mod scan;
mod string;

use crate::completion::Completion;
use crate::error::{Error, ErrorKind, Fault};
use crate::options::{LeadIn, Options};
use crate::visit::Visit;
use lead::Lead;
use number::Digits;
use string::Escape;

pub(crate) use scan::plain_end;

/// Reads a JSON text that comes in pieces, cut anywhere, and tells a [`Visit`] what is in it.
///
/// Most want [`Extractor`](crate::Extractor) or [`PartialValue`](crate::PartialValue), which are built on it.
///
/// ```
/// use headwater_json::{Completion, Parser, Visit};
///
/// struct Texts(String);
///
/// impl Visit for Texts {
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
    expect: Expect,
    /// Whether each open container is an object, the innermost last.
    stack: Vec<bool>,
    /// The part of a key or a number that came in earlier pieces; text of a string that waits for the end of the piece.
    held: String,
    /// The bytes of a character that came in earlier pieces.
    cut: Cut,
    /// The depth of the object whose current value nobody wants.
    skip: Option<usize>,
    /// Whether text of a string is held although it could be lent, because more of the same piece follows.
    join: bool,
    /// How many bytes came before the current piece.
    base: u64,
    /// The offset that a piece must stay below to need no second look: the first beyond the limit, or none if the last
    /// piece ended within a character, or something failed, or the rest is ignored.
    ready: u64,
    line: u64,
    /// The offset of the first byte of the line.
    line_start: u64,
    trailing: Option<u64>,
    /// What went wrong within the current piece.
    fault: Option<Fault>,
    failed: Option<Error>,
}

/// A fault has been noted. It is empty so that the functions on the hot path return in registers.
#[derive(Debug)]
struct Faulty;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Lead(Lead),
    Value,
    /// A value, or the end of the array that has just begun.
    FirstItem,
    /// A key, or the end of the object that has just begun.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of the array.
    AfterItem,
    /// A comma, or the end of the object.
    AfterEntry,
    /// More of a string, which may be a key.
    Text {
        key: bool,
        escape: Escape,
    },
    Number(Digits),
    /// More of `true`, `false` or `null`.
    Word {
        word: Word,
        read: u8,
    },
    /// Nothing more; `glued` right after a number or a word.
    End {
        glued: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
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

/// The first bytes of a character.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    bytes: [u8; 4],
    len: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Parser {
    /// A parser that has seen nothing.
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
            LeadIn::Refuse => Expect::Value,
            LeadIn::Skip => Expect::Lead(Lead::Blank),
        };
        Self {
            options,
            expect,
            stack: Vec::new(),
            held: String::new(),
            cut: Cut::default(),
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
    /// When the text cannot be the beginning of a value, or goes over a limit. All that came before the place has been
    /// told to the visitor then, and every later piece gives the same error.
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
    pub fn push<V: Visit>(&mut self, piece: &str, visitor: &mut V) -> Result<(), Error> {
        if self.base + piece.len() as u64 >= self.ready {
            return self.push_bytes(piece.as_bytes(), visitor);
        }
        // Most pieces of a long string are nothing but text.
        if let Expect::Text { key: false, escape: Escape::None } = self.expect
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

    /// Reads the next piece, which need not begin or end between two characters.
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
    pub fn push_bytes<V: Visit>(&mut self, piece: &[u8], visitor: &mut V) -> Result<(), Error> {
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
    pub fn finish<V: Visit>(&mut self, visitor: &mut V) -> Completion {
        if let Some(error) = self.failed {
            return match error.kind() {
                ErrorKind::Truncated => Completion::Truncated(error),
                _ => Completion::Invalid(error),
            };
        }
        let whole = |digits: Digits| digits.is_whole_number() && self.stack.is_empty() && self.cut.len == 0;
        if let Expect::Number(digits) = self.expect
            && whole(digits)
        {
            let held = std::mem::take(&mut self.held);
            let ended = self.end_number(&held, digits, 0, visitor);
            if ended.is_err() {
                return Completion::Invalid(self.fail_noted());
            }
        }
        if matches!(self.expect, Expect::End { .. }) {
            return Completion::Complete;
        }
        let within = match self.expect {
            Expect::Lead(_) => "before any value began",
            Expect::Value if self.stack.is_empty() => "before any value began",
            Expect::Value => "before a value",
            Expect::FirstItem | Expect::AfterItem => "within an array",
            Expect::FirstKey | Expect::Key | Expect::AfterEntry => "within an object",
            Expect::Colon => "after a key",
            Expect::Text { key: true, .. } => "within a key",
            Expect::Text { key: false, .. } => "within a string",
            Expect::Number(_) => "within a number",
            Expect::Word { .. } => "within a word",
            Expect::End { .. } => "after the value",
        };
        let fault = Fault { kind: ErrorKind::Truncated, expected: within, found: None, at: self.cut.len };
        Completion::Truncated(self.fail(fault))
    }

    /// Whether the value is whole. A number that nothing follows is not whole before [`finish`](Self::finish).
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
        matches!(self.expect, Expect::End { .. }) && self.failed.is_none()
    }

    /// How many bytes have been read; with [`Trailing::Ignore`], up to the piece in which the value ended.
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

    /// Where something other than white space begins after the value, if it has come and is ignored.
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

    /// Whether nothing that comes can matter any more.
    fn ignores_all(&self) -> bool {
        self.trailing.is_some()
    }

    /// How many bytes may still come.
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
        let fault = Fault::new(ErrorKind::TooLarge, self.cut.len);
        Err(self.fail(fault))
    }

    fn read_bytes<V: Visit>(&mut self, piece: &[u8], visitor: &mut V) -> Result<(), Error> {
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
        if !matches!(self.expect, Expect::Text { escape: Escape::None, .. } | Expect::Lead(_)) {
            // Whatever character it is going to be, it cannot stand here.
            return self.read("\u{80}", visitor);
        }
        if wrong.error_len().is_some() {
            return Err(self.fail(Fault::new(ErrorKind::InvalidUtf8, 0)));
        }
        for (kept, byte) in self.cut.bytes.iter_mut().zip(after) {
            *kept = *byte;
        }
        self.cut.len = after.len();
        Ok(())
    }

    /// Completes the character that the last piece ended in, if there is enough.
    fn read_cut<V: Visit>(&mut self, rest: &mut &[u8], visitor: &mut V) -> Result<(), Error> {
        while let Some((&byte, after)) = rest.split_first() {
            let Cut { bytes, len } = &mut self.cut;
            if let Some(next) = bytes.get_mut(*len) {
                *next = byte;
                *len += 1;
            }
            let Cut { bytes, len } = self.cut;
            match std::str::from_utf8(bytes.get(..len).unwrap_or_default()) {
                Ok(char) => {
                    *rest = after;
                    self.cut.len = 0;
                    return self.read(char, visitor);
                }
                Err(wrong) if wrong.error_len().is_some() => {
                    self.cut.len = 0;
                    return Err(self.fail(Fault::new(ErrorKind::InvalidUtf8, 0)));
                }
                Err(_) => *rest = after,
            }
        }
        Ok(())
    }

    /// Tells the text of a string that was put together from the piece that ends here.
    #[inline]
    fn lend_held<V: Visit>(&mut self, visitor: &mut V) {
        if let Expect::Text { key: false, .. } = self.expect
            && !self.held.is_empty()
        {
            if self.skip.is_none() {
                visitor.text(&self.held);
            }
            self.held.clear();
        }
    }

    #[inline]
    fn read<V: Visit>(&mut self, text: &str, visitor: &mut V) -> Result<(), Error> {
        match self.run(text, visitor) {
            Ok(()) => {
                self.base += text.len() as u64;
                Ok(())
            }
            Err(Faulty) => Err(self.fail_noted()),
        }
    }

    #[cold]
    fn note(&mut self, fault: Fault) -> Faulty {
        self.fault = Some(fault);
        Faulty
    }

    #[cold]
    fn fail_noted(&mut self) -> Error {
        let fault = self.fault.take().unwrap_or(Fault::new(ErrorKind::Unexpected, 0));
        self.fail(fault)
    }

    #[cold]
    fn fail(&mut self, fault: Fault) -> Error {
        let offset = self.base + fault.at as u64;
        let error = Error::new(fault, offset, self.line, offset - self.line_start + 1);
        self.failed = Some(error);
        self.ready = 0;
        error
    }
}
