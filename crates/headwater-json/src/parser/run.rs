//! The hot loop over tokens.

use super::leading_prose::{Lead, LeadStep};
use super::number::{self, Digits};
use super::string::Escape;
use super::{FaultMarker, Literal, ParseState, Parser, scan};
use crate::error::{ErrorKind, ParseFault};
use crate::options::Trailing;
use crate::visit::Visitor;

impl Parser {
    pub(super) fn run<V: Visitor>(&mut self, text: &str, visitor: &mut V) -> Result<(), FaultMarker> {
        let mut at = 0;
        loop {
            if self.skip.is_some() {
                at = self.run_from::<(), true>(text, at, &mut ())?;
            }
            if at >= text.len() {
                return Ok(());
            }
            at = self.run_from::<V, false>(text, at, visitor)?;
        }
    }

    /// Reads up to the end of the piece, or to the beginning or end of a skipped value.
    ///
    /// Skipping reads without a visitor: the text is checked, but nothing is reported or assembled.
    fn run_from<V: Visitor, const SKIP: bool>(
        &mut self,
        text: &str,
        from: usize,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(&byte) = bytes.get(at) {
            if self.skip.is_some() != SKIP {
                break;
            }
            match self.expect {
                ParseState::Value => at = self.value::<V, SKIP>(text, at, byte, visitor)?,
                ParseState::AfterEntry => match byte {
                    b',' if bytes.get(at + 1) == Some(&b'"') => {
                        at = self.key::<V, SKIP>(text, at + 2, visitor)?;
                    }
                    b',' => {
                        self.expect = ParseState::Key;
                        at += 1;
                    }
                    b'}' => {
                        visitor.end_object();
                        self.close();
                        at += 1;
                    }
                    _ => at = self.space(byte, at)?,
                },
                ParseState::AfterItem => match byte {
                    b',' => {
                        self.expect = ParseState::Value;
                        at += 1;
                    }
                    b']' => {
                        visitor.end_array();
                        self.close();
                        at += 1;
                    }
                    _ => at = self.space(byte, at)?,
                },
                ParseState::Text { key, escape } => {
                    at = self.string::<V, SKIP>(text, at, key, escape, visitor)?;
                }
                ParseState::FirstKey | ParseState::Key => match byte {
                    b'"' => at = self.key::<V, SKIP>(text, at + 1, visitor)?,
                    b'}' if self.expect == ParseState::FirstKey => {
                        visitor.end_object();
                        self.close();
                        at += 1;
                    }
                    _ => at = self.space(byte, at)?,
                },
                ParseState::Colon => match byte {
                    b':' => {
                        self.expect = ParseState::Value;
                        at += 1;
                    }
                    _ => at = self.space(byte, at)?,
                },
                ParseState::FirstItem => match byte {
                    b']' => {
                        visitor.end_array();
                        self.close();
                        at += 1;
                    }
                    _ => at = self.value::<V, SKIP>(text, at, byte, visitor)?,
                },
                ParseState::Number(digits) => at = self.number(text, at, digits, visitor)?,
                ParseState::Literal { word, read } => at = self.word(bytes, at, word, read, visitor)?,
                ParseState::Lead(lead) => at = self.lead(text, at, lead, visitor)?,
                ParseState::End { glued } => match self.space(byte, at) {
                    Ok(next) => {
                        self.expect = ParseState::End { glued: false };
                        at = next;
                    }
                    Err(FaultMarker) => return self.end(at, byte, glued).map(|()| bytes.len()),
                },
            }
        }
        Ok(at)
    }

    /// Consumes whitespace; any other byte is an error.
    #[inline]
    fn space(&mut self, byte: u8, at: usize) -> Result<usize, FaultMarker> {
        match byte {
            b' ' | b'\t' | b'\r' => Ok(at + 1),
            b'\n' => {
                self.line += 1;
                self.line_start = self.base + at as u64 + 1;
                Ok(at + 1)
            }
            _ => Err(self.note(unexpected(self.expect, byte, at))),
        }
    }

    #[inline]
    fn value<V: Visitor, const SKIP: bool>(
        &mut self,
        text: &str,
        at: usize,
        byte: u8,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        match byte {
            b'"' => {
                visitor.begin_string();
                self.text::<V, SKIP>(text, at + 1, visitor)
            }
            b'{' | b'[' => {
                self.open(byte, at, visitor)?;
                Ok(at + 1)
            }
            _ => {
                if let Some(digits) = Digits::first(byte) {
                    return self.first_number(text, at, digits, visitor);
                }
                match Literal::first(byte) {
                    Some(word) => self.word(text.as_bytes(), at + 1, word, 1, visitor),
                    None => self.space(byte, at),
                }
            }
        }
    }

    #[inline]
    fn open<V: Visitor>(&mut self, bracket: u8, at: usize, visitor: &mut V) -> Result<(), FaultMarker> {
        if self.stack.len() >= self.options.limits.max_depth {
            return Err(self.note(ParseFault::new(ErrorKind::TooDeep, at)));
        }
        let object = bracket == b'{';
        self.stack.push(object);
        if object {
            visitor.begin_object();
            self.expect = ParseState::FirstKey;
        } else {
            visitor.begin_array();
            self.expect = ParseState::FirstItem;
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.stack.pop();
        self.after_value(false);
    }

    #[inline]
    fn after_value(&mut self, glued: bool) {
        self.expect = match self.stack.last() {
            Some(true) => {
                if self.skip == Some(self.stack.len()) {
                    self.skip = None;
                }
                ParseState::AfterEntry
            }
            Some(false) => ParseState::AfterItem,
            None => ParseState::End { glued },
        };
    }

    /// Reads a key, from the byte after its opening quote.
    #[inline]
    fn key<V: Visitor, const SKIP: bool>(
        &mut self,
        text: &str,
        from: usize,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let bytes = text.as_bytes();
        let end = scan::plain_end(bytes, from);
        if bytes.get(end) != Some(&b'"') {
            return self.string::<V, SKIP>(text, from, true, Escape::None, visitor);
        }
        if !SKIP && !visitor.key(text.get(from..end).unwrap_or_default()) {
            self.skip = Some(self.stack.len());
        }
        // Fast path: usually no whitespace precedes the colon.
        if bytes.get(end + 1) == Some(&b':') {
            self.expect = ParseState::Value;
            return Ok(end + 2);
        }
        self.expect = ParseState::Colon;
        Ok(end + 1)
    }

    /// Reads a string value, from the byte after its opening quote.
    #[inline]
    fn text<V: Visitor, const SKIP: bool>(
        &mut self,
        text: &str,
        from: usize,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let bytes = text.as_bytes();
        let end = scan::plain_end(bytes, from);
        if bytes.get(end) != Some(&b'"') {
            return self.string::<V, SKIP>(text, from, false, Escape::None, visitor);
        }
        if !SKIP && end > from {
            visitor.text(text.get(from..end).unwrap_or_default());
        }
        visitor.end_string();
        self.after_value(false);
        Ok(end + 1)
    }

    /// Continues a string, up to its end or the end of the piece.
    fn string<V: Visitor, const SKIP: bool>(
        &mut self,
        text: &str,
        from: usize,
        key: bool,
        mut escape: Escape,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            while !matches!(escape, Escape::None) {
                let Some(&byte) = bytes.get(at) else {
                    self.expect = ParseState::Text { key, escape };
                    return Ok(at);
                };
                escape = match escape.next(byte, &mut self.held) {
                    Ok(next) => next,
                    Err(kind) => return Err(self.fail_in_string("", key, kind, at)),
                };
                at += 1;
            }
            let end = scan::plain_end(bytes, at);
            let part = if SKIP { "" } else { text.get(at..end).unwrap_or_default() };
            match bytes.get(end) {
                Some(b'"') => {
                    if SKIP {
                        self.held.clear();
                    }
                    self.end_string(part, key, visitor);
                    return Ok(end + 1);
                }
                Some(b'\\') => {
                    self.held.push_str(part);
                    escape = Escape::Backslash;
                    at = end + 1;
                }
                Some(_) => return Err(self.fail_in_string(part, key, ErrorKind::ControlCharacter, end)),
                None => {
                    self.expect = ParseState::Text { key, escape };
                    if SKIP {
                        self.held.clear();
                    } else if key || self.join || !self.held.is_empty() {
                        self.held.push_str(part);
                    } else if !part.is_empty() {
                        visitor.text(part);
                    }
                    return Ok(end);
                }
            }
        }
    }

    /// Fails inside a string. The text before the fault is still reported, as if the piece had ended there.
    #[cold]
    fn fail_in_string(&mut self, part: &str, key: bool, kind: ErrorKind, at: usize) -> FaultMarker {
        self.held.push_str(part);
        self.expect = ParseState::Text { key, escape: Escape::None };
        self.note(ParseFault::new(kind, at))
    }

    #[inline]
    fn end_string<V: Visitor>(&mut self, part: &str, key: bool, visitor: &mut V) {
        let held = !self.held.is_empty();
        let whole = if held {
            self.held.push_str(part);
            &self.held
        } else {
            part
        };
        if key {
            if !visitor.key(whole) {
                self.skip = Some(self.stack.len());
            }
            self.expect = ParseState::Colon;
        } else {
            if !whole.is_empty() {
                visitor.text(whole);
            }
            visitor.end_string();
            self.after_value(false);
        }
        if held {
            self.held.clear();
        }
    }

    /// Reads a number, from its first byte.
    #[inline]
    fn first_number<V: Visitor>(
        &mut self,
        text: &str,
        from: usize,
        mut digits: Digits,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let bytes = text.as_bytes();
        let mut at = from + 1;
        while let Some(&byte) = bytes.get(at) {
            let Some(next) = digits.next(byte) else {
                if !digits.is_whole_number() {
                    return Err(self.note(ParseFault::unexpected("a digit", byte, at)));
                }
                self.end_number(text.get(from..at).unwrap_or_default(), digits, at, visitor)?;
                return Ok(at);
            };
            digits = next;
            at += 1;
        }
        self.expect = ParseState::Number(digits);
        self.held.push_str(text.get(from..).unwrap_or_default());
        Ok(at)
    }

    /// Continues a number that began in an earlier piece.
    fn number<V: Visitor>(
        &mut self,
        text: &str,
        from: usize,
        mut digits: Digits,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let mut at = from;
        while let Some(&byte) = text.as_bytes().get(at) {
            let Some(next) = digits.next(byte) else {
                if !digits.is_whole_number() {
                    return Err(self.note(ParseFault::unexpected("a digit", byte, at)));
                }
                self.held.push_str(text.get(from..at).unwrap_or_default());
                let mut held = std::mem::take(&mut self.held);
                let ended = self.end_number(&held, digits, at, visitor);
                held.clear();
                self.held = held;
                return ended.map(|()| at);
            };
            digits = next;
            at += 1;
        }
        self.expect = ParseState::Number(digits);
        self.held.push_str(text.get(from..).unwrap_or_default());
        Ok(at)
    }

    #[inline]
    pub(super) fn end_number<V: Visitor>(
        &mut self,
        number: &str,
        digits: Digits,
        at: usize,
        visitor: &mut V,
    ) -> Result<(), FaultMarker> {
        if !number::in_range(number, digits) {
            return Err(self.note(ParseFault::new(ErrorKind::NumberOutOfRange, at)));
        }
        visitor.number(number);
        self.after_value(true);
        Ok(())
    }

    #[inline]
    fn word<V: Visitor>(
        &mut self,
        bytes: &[u8],
        from: usize,
        word: Literal,
        read: u8,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        let rest = word.text().as_bytes().get(usize::from(read)..).unwrap_or_default();
        let mut at = from;
        for (expected, read) in rest.iter().zip(read..) {
            match bytes.get(at) {
                Some(byte) if byte == expected => at += 1,
                Some(&byte) => {
                    let expected = match word {
                        Literal::True => "`true`",
                        Literal::False => "`false`",
                        Literal::Null => "`null`",
                    };
                    return Err(self.note(ParseFault::unexpected(expected, byte, at)));
                }
                None => {
                    self.expect = ParseState::Literal { word, read };
                    return Ok(at);
                }
            }
        }
        match word {
            Literal::True => visitor.bool(true),
            Literal::False => visitor.bool(false),
            Literal::Null => visitor.null(),
        }
        self.after_value(true);
        Ok(at)
    }

    #[cold]
    fn lead<V: Visitor>(
        &mut self,
        text: &str,
        from: usize,
        lead: Lead,
        visitor: &mut V,
    ) -> Result<usize, FaultMarker> {
        const MARK: &str = "\u{FEFF}";
        let mut lead = lead;
        let mut at = from;
        while let Some(&byte) = text.as_bytes().get(at) {
            if self.base + at as u64 == 0 && text.starts_with(MARK) {
                at += MARK.len();
                continue;
            }
            match lead.next(byte) {
                LeadStep::Nothing(next) => lead = next,
                LeadStep::Here => {
                    self.open(byte, at, visitor)?;
                    return Ok(at + 1);
                }
                LeadStep::Before(bracket) => {
                    self.open(bracket, at, visitor)?;
                    return Ok(at);
                }
            }
            if byte == b'\n' {
                self.line += 1;
                self.line_start = self.base + at as u64 + 1;
            }
            at += 1;
        }
        self.expect = ParseState::Lead(lead);
        Ok(at)
    }

    #[cold]
    fn end(&mut self, at: usize, byte: u8, glued: bool) -> Result<(), FaultMarker> {
        let goes_on = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
        match self.options.trailing {
            // `12x` is an invalid number, not `12` followed by trailing text.
            _ if glued && goes_on => Err(self.note(ParseFault::unexpected("the end of the value", byte, at))),
            Trailing::Refuse => Err(self.note(ParseFault::new(ErrorKind::Trailing, at))),
            Trailing::Ignore => {
                self.trailing.get_or_insert(self.base + at as u64);
                self.ready = 0;
                Ok(())
            }
        }
    }
}

#[cold]
fn unexpected(expect: ParseState, found: u8, at: usize) -> ParseFault {
    let expected = match expect {
        ParseState::FirstItem => "a value or the end of the array",
        ParseState::FirstKey => "a key or the end of the object",
        ParseState::Key => "a key",
        ParseState::Colon => "a colon",
        ParseState::AfterItem => "a comma or the end of the array",
        ParseState::AfterEntry => "a comma or the end of the object",
        _ => "a value",
    };
    ParseFault::unexpected(expected, found, at)
}
