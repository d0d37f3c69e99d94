//! Lone surrogates in JSON text.
//!
//! JavaScript splits strings between UTF-16 units, so a surrogate pair may arrive as `"\ud83d"` in one frame
//! and `"\ude00"` in the next. A Rust string can hold neither half. A high surrogate at the end of a string
//! is held back and joined with the low surrogate at the beginning of a string in the next frame; any other
//! lone surrogate becomes U+FFFD.

use std::borrow::Cow;

/// Joins split surrogate pairs in the frames of one stream.
#[derive(Debug, Clone, Default)]
pub struct Surrogates {
    pending: Option<u16>,
}

/// The text of a frame without lone surrogates.
#[derive(Debug)]
pub struct FrameText<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Whether a lone surrogate was replaced or dropped.
    pub lost: bool,
}

impl Surrogates {
    /// Whether a high surrogate waits for the next frame.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Joins or replaces the surrogates of one frame; a high surrogate at the end of a string waits for the
    /// next frame.
    pub fn mend<'a>(&mut self, data: &'a str) -> FrameText<'a> {
        self.mend_with(data, true)
    }

    fn mend_with<'a>(&mut self, data: &'a str, may_wait: bool) -> FrameText<'a> {
        let mut waiting = self.pending.take();
        if !has_surrogate(data) {
            return FrameText { text: Cow::Borrowed(data), lost: waiting.is_some() };
        }
        let mut lost = false;
        let mut out = String::with_capacity(data.len() + 6);
        let mut rest = data;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, escape) = rest.split_at(at);
            out.push_str(before);
            let Some(unit) = unit(escape) else {
                // Skip the backslash and the character after it: `\\u` is an escaped backslash, not a unit.
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
        FrameText { text: Cow::Owned(out), lost }
    }
}

/// Replaces every lone surrogate by U+FFFD, for a text without successors.
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
        // Skip the escaped character, which may be a backslash.
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

/// The UTF-16 unit of the `\u` escape at the beginning of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
