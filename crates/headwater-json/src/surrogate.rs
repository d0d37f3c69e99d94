//! Halves of surrogate pairs in JSON text.
//!
//! JavaScript cuts strings between UTF-16 units, so a pair may arrive as `"\ud83d"` in one chunk and
//! `"\ude00"` in the next. A Rust string can hold neither. A half at the end of a string is kept back
//! and joined with the other half at the beginning of a string in the next frame; any other half is
//! read as U+FFFD.

use std::borrow::Cow;

/// Mends the frames of one stream.
#[derive(Debug, Clone, Default)]
pub struct Surrogates {
    pending: Option<u16>,
}

/// A frame's text without halves.
#[derive(Debug)]
pub struct Mended<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// A half was replaced, or kept back in vain.
    pub lost: bool,
}

impl Surrogates {
    /// Whether a half still waits for the other one.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Mends a frame; a half at the end of a string waits for the next frame.
    pub fn mend<'a>(&mut self, data: &'a str) -> Mended<'a> {
        self.mend_with(data, true)
    }

    fn mend_with<'a>(&mut self, data: &'a str, may_wait: bool) -> Mended<'a> {
        let mut waiting = self.pending.take();
        if !has_surrogate(data) {
            return Mended { text: Cow::Borrowed(data), lost: waiting.is_some() };
        }
        let mut lost = false;
        let mut out = String::with_capacity(data.len() + 6);
        let mut rest = data;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, escape) = rest.split_at(at);
            out.push_str(before);
            let Some(unit) = unit(escape) else {
                // Two characters at least belong together: `\\u` is not an escape of a unit.
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                let (pair, after) = escape.split_at(end);
                out.push_str(pair);
                rest = after;
                continue;
            };
            let (this, after) = escape.split_at(6);
            rest = after;
            match unit {
                0xD800..=0xDBFF => {
                    if let Some(0xDC00..=0xDFFF) = self::unit(after) {
                        let (low, after) = after.split_at(6);
                        out.push_str(this);
                        out.push_str(low);
                        rest = after;
                    } else if may_wait && after.starts_with('"') {
                        lost |= self.pending.replace(unit).is_some();
                    } else {
                        out.push_str("\\ufffd");
                        lost = true;
                    }
                }
                0xDC00..=0xDFFF => match waiting.take() {
                    Some(high) if out.ends_with('"') => {
                        out.push_str(&format!("\\u{high:04x}"));
                        out.push_str(this);
                    }
                    _ => {
                        out.push_str("\\ufffd");
                        lost = true;
                    }
                },
                _ => out.push_str(this),
            }
        }
        out.push_str(rest);
        lost |= waiting.is_some();
        Mended { text: Cow::Owned(out), lost }
    }
}

/// A text that stands alone: every half is U+FFFD.
#[must_use]
pub fn without_halves(data: &str) -> Cow<'_, str> {
    Surrogates::default().mend_with(data, false).text
}

fn has_surrogate(data: &str) -> bool {
    let mut rest = data.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = rest.get(at + 1..).unwrap_or_default();
        if matches!(escape, [b'u', b'd' | b'D', ..]) {
            return true;
        }
        // What is escaped may be a backslash itself.
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

/// The UTF-16 unit that the text begins with, written as an escape.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
