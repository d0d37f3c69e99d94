//! Dotted paths and their escapes.

use std::borrow::Cow;

/// One segment of a concrete path.
///
/// Segments are separated by dots. A segment of ASCII digits is an array index, any other segment is a key.
/// Special keys are escaped with a tilde, similar to JSON Pointer:
///
/// | escape | meaning |
/// |---|---|
/// | `~0` | `~` |
/// | `~1` | `.` |
/// | `~2` | `*`, which would be a wildcard if bare |
/// | `~:` at the beginning | the rest is a key, even if it is empty or only digits |
///
/// A tilde before any other character is literal, so `~user` and `a~b` need no escape. No escape contains a
/// dot, so a client that does not know the escapes still splits a path correctly.
///
/// ```
/// use headwater_json::Segment;
///
/// let path = ["m", "x.y", "", "12", "~1", "~user"].map(|key| Segment::key(key).to_string()).join(".");
/// assert_eq!(path, "m.x~1y.~:.~:12.~01.~user");
/// assert_eq!(Segment::read("12"), Segment::Index(12));
/// assert_eq!(Segment::read("~:12"), Segment::key("12"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment<'a> {
    /// An element of an array. An index that overflows is read as `usize::MAX`.
    Index(usize),
    /// An entry of an object.
    Key(Cow<'a, str>),
}

impl<'a> Segment<'a> {
    /// The segment of a key.
    ///
    /// ```
    /// use headwater_json::Segment;
    ///
    /// assert_eq!(Segment::key("v1.0").to_string(), "v1~10");
    /// ```
    pub fn key(key: &'a str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }

    /// Reads one segment, which must not contain a dot.
    ///
    /// ```
    /// use headwater_json::Segment;
    ///
    /// assert_eq!("rows.007.v1~10".split('.').map(Segment::read).collect::<Vec<_>>(), [
    ///     Segment::key("rows"),
    ///     Segment::Index(7),
    ///     Segment::key("v1.0"),
    /// ]);
    /// ```
    pub fn read(segment: &'a str) -> Self {
        if is_digits(segment) {
            let digits = segment.bytes().map(|byte| usize::from(byte - b'0'));
            return Self::Index(
                digits.fold(0, |sum: usize, digit| sum.saturating_mul(10).saturating_add(digit)),
            );
        }
        Self::Key(unescape(segment))
    }

    /// Appends the segment to a path, with a dot if needed.
    ///
    /// ```
    /// use headwater_json::Segment;
    ///
    /// let mut path = String::new();
    /// Segment::key("a.b").push_to(&mut path);
    /// Segment::Index(0).push_to(&mut path);
    /// assert_eq!(path, "a~1b.0");
    /// ```
    pub fn push_to(&self, path: &mut String) {
        match self {
            Self::Index(index) => push_index(path, *index),
            Self::Key(key) => push_key(path, key),
        }
    }
}

impl std::fmt::Display for Segment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Key(key) if is_plain(key) => f.write_str(key),
            Self::Key(key) => {
                let mut escaped = String::new();
                escape(&mut escaped, key);
                f.write_str(&escaped)
            }
        }
    }
}

pub(crate) fn is_digits(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

/// The key that a segment spells.
pub(crate) fn unescape(segment: &str) -> Cow<'_, str> {
    let Some(first) = segment.find('~') else {
        return Cow::Borrowed(segment);
    };
    let segment = match segment.strip_prefix("~:") {
        Some(rest) if !rest.contains('~') => return Cow::Borrowed(rest),
        Some(rest) => rest,
        None => segment,
    };
    let mut key = String::with_capacity(segment.len().max(first));
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('~') {
        key.push_str(before);
        let (char, len) = match after.as_bytes().first() {
            Some(b'0') => ('~', 1),
            Some(b'1') => ('.', 1),
            Some(b'2') => ('*', 1),
            _ => ('~', 0),
        };
        key.push(char);
        rest = after.get(len..).unwrap_or_default();
    }
    key.push_str(rest);
    Cow::Owned(key)
}

#[inline]
pub(crate) fn push_key(path: &mut String, key: &str) {
    push_dot(path);
    if is_plain(key) {
        path.push_str(key);
    } else {
        escape(path, key);
    }
}

#[inline]
pub(crate) fn push_index(path: &mut String, index: usize) {
    push_dot(path);
    let mut digits = [0_u8; 20];
    let mut rest = index;
    let mut len = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        len += 1;
        if rest == 0 {
            break;
        }
    }
    let digits = digits.get(digits.len() - len..).unwrap_or_default();
    path.push_str(std::str::from_utf8(digits).unwrap_or_default());
}

#[inline]
fn push_dot(path: &mut String) {
    // Only the root has an empty path, because the empty key is escaped.
    if !path.is_empty() {
        path.push('.');
    }
}

/// Whether a key needs no escape.
#[inline]
fn is_plain(key: &str) -> bool {
    let mut digits = true;
    for byte in key.bytes() {
        if matches!(byte, b'.' | b'~') {
            return false;
        }
        digits &= byte.is_ascii_digit();
    }
    !digits
}

#[cold]
fn escape(path: &mut String, key: &str) {
    if key.bytes().all(|byte| byte.is_ascii_digit()) {
        path.push_str("~:");
    }
    let mut rest = key;
    let mut at_start = true;
    while let Some(at) = rest.find(['.', '~']) {
        let (before, after) = rest.split_at(at);
        path.push_str(before);
        at_start &= before.is_empty();
        let next = after.as_bytes().get(1);
        path.push_str(match after.as_bytes().first() {
            Some(b'.') => "~1",
            // Escape a tilde only where it would be read as an escape.
            _ if matches!(next, Some(b'0' | b'1' | b'2')) || (at_start && next == Some(&b':')) => "~0",
            _ => "~",
        });
        at_start = false;
        rest = after.get(1..).unwrap_or_default();
    }
    path.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_a_round_trip() {
        let keys = [
            "", "a", "a.b", ".", "..", "0", "007", "12", "~", "~~", "~0", "~1", "~:", "~:1", "a~:1", "~2",
            "*", "**", "~.", ".~", "~~0", "~~:", "é.😀", "0.", "0~", "-1", "１",
        ];
        for key in keys {
            let written = Segment::key(key).to_string();
            assert!(!written.contains('.') && !written.is_empty(), "{key:?} is {written:?}");
            assert_eq!(Segment::read(&written), Segment::key(key), "{written:?}");
        }
    }

    #[test]
    fn tilde_is_escaped_only_if_ambiguous() {
        for (key, written) in
            [("~user", "~user"), ("a~:b", "a~:b"), ("~:b", "~0:b"), ("a~1", "a~01"), ("~", "~")]
        {
            assert_eq!(Segment::key(key).to_string(), written);
        }
    }
}
