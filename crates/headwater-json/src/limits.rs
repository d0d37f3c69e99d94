//! Limits on JSON that others wrote, checked before it is parsed or stored.
//!
//! A parsed value takes many times the memory of its text, and a value that is nested too deeply cannot be read back
//! once it is stored inside something else. So the text is scanned first: one pass over the bytes, nothing allocated.

use std::fmt;

use serde_json::{Map, Value};

use crate::parser::plain_end;

/// The first key of an object that `serde_json` reads as a `RawValue`.
const RESERVED_KEY: &str = "$serde_json::private::RawValue";

/// Limits on JSON from outside: request bodies, answers, outputs of models and tools.
///
/// The same limits apply to text ([`check`](Self::check)) and to a value that is parsed already
/// ([`check_value`](Self::check_value)); both give the same verdict on the same JSON.
///
/// ```
/// use headwater_json::{InputLimits, LimitKind};
///
/// let mut limits = InputLimits::default();
/// limits.depth = 2;
/// limits.check(br#"{"a":[1]}"#)?;
///
/// let refused = limits.check(br#"{"a":[[1]]}"#).unwrap_err();
/// assert_eq!(refused.kind(), LimitKind::Depth);
/// assert_eq!(refused.to_string(), "nested deeper than 2 levels, at byte 6");
///
/// let refused = limits.check_value(&serde_json::json!({"a": [[1]]})).unwrap_err();
/// assert_eq!(refused.to_string(), "nested deeper than 2 levels, at /a/0");
/// # Ok::<(), headwater_json::LimitExceeded>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InputLimits {
    /// How many containers may be open within each other: 64. Far below the 128 levels that `serde_json` reads, so that
    /// a value can be stored inside a record and read back.
    pub depth: usize,
    /// How many values there may be, each container, string, number and literal counted: 50,000.
    pub values: usize,
    /// How many bytes a string may have, without its quotes and with its escapes resolved: 4 MiB.
    pub string: usize,
    /// The same for a key: 4 KiB.
    pub key: usize,
    /// How many bytes all strings and keys may have together: 4 MiB.
    pub text: usize,
}

impl Default for InputLimits {
    fn default() -> Self {
        Self { depth: 64, values: 50_000, string: 4 << 20, key: 4 << 10, text: 4 << 20 }
    }
}

/// Which limit is exceeded, and where.
///
/// ```
/// use headwater_json::InputLimits;
///
/// let mut limits = InputLimits::default();
/// limits.values = 3;
/// let refused = limits.check(b"[1, 2, 3]").unwrap_err();
/// assert_eq!((refused.limit(), refused.to_string().as_str()), (3, "more than 3 values, at byte 7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitExceeded {
    kind: LimitKind,
    limit: usize,
    place: Place,
}

/// Which of the [`InputLimits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// Too many containers within each other.
    Depth,
    /// Too many values.
    Values,
    /// A string is too long.
    String,
    /// A key is too long.
    Key,
    /// A key that `serde_json` gives a meaning of its own: the string behind it would be parsed as JSON, past all limits.
    ReservedKey,
    /// All strings and keys together are too long.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Bytes before it.
    Offset(usize),
    /// Keys and indexes that lead to it, the innermost first.
    Path(Vec<String>),
}

impl LimitKind {
    /// The last part of an error code: `too-deep`, `too-many-values`, `string-too-long`, `key-too-long`, `reserved-key`,
    /// `too-large`.
    ///
    /// ```
    /// use headwater_json::LimitKind;
    ///
    /// assert_eq!(LimitKind::Depth.code(), "too-deep");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::Depth => "too-deep",
            Self::Values => "too-many-values",
            Self::String => "string-too-long",
            Self::Key => "key-too-long",
            Self::ReservedKey => "reserved-key",
            Self::Text => "too-large",
        }
    }
}

impl LimitExceeded {
    /// Which limit.
    pub fn kind(&self) -> LimitKind {
        self.kind
    }

    /// What the limit is.
    pub fn limit(&self) -> usize {
        self.limit
    }

    fn offset(kind: LimitKind, limit: usize, at: usize) -> Self {
        Self { kind, limit, place: Place::Offset(at) }
    }

    fn here(kind: LimitKind, limit: usize) -> Self {
        Self { kind, limit, place: Place::Path(Vec::new()) }
    }

    fn within(mut self, step: impl FnOnce() -> String) -> Self {
        if let Place::Path(path) = &mut self.place {
            path.push(step());
        }
        self
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        match self.kind {
            LimitKind::Depth => write!(f, "nested deeper than {limit} levels"),
            LimitKind::Values => write!(f, "more than {limit} values"),
            LimitKind::String => write!(f, "a string of more than {limit} bytes"),
            LimitKind::Key => write!(f, "a key of more than {limit} bytes"),
            LimitKind::ReservedKey => write!(f, "the reserved key `{RESERVED_KEY}`"),
            LimitKind::Text => write!(f, "more than {limit} bytes of strings and keys"),
        }?;
        match &self.place {
            Place::Offset(at) => write!(f, ", at byte {at}"),
            Place::Path(path) if path.is_empty() => Ok(()),
            Place::Path(path) => {
                write!(f, ", at ")?;
                // The path is as long as the sender likes: its beginning is enough to find the place.
                const STEPS: usize = 8;
                for step in path.iter().rev().take(STEPS) {
                    let shown: String = step.chars().take(32).collect();
                    write!(
                        f,
                        "/{}{}",
                        shown.escape_debug(),
                        if shown.len() < step.len() { "…" } else { "" }
                    )?;
                }
                if path.len() > STEPS { write!(f, "/…") } else { Ok(()) }
            }
        }
    }
}

impl std::error::Error for LimitExceeded {}

impl InputLimits {
    /// Checks a JSON text without parsing it. Whether it is JSON at all is left to the parser: of other bytes the verdict
    /// means nothing.
    ///
    /// # Errors
    /// The first limit that the text exceeds, and the offset of the byte.
    pub fn check(&self, json: &[u8]) -> Result<(), LimitExceeded> {
        self.count(json).map(drop)
    }

    /// Checks a JSON text as [`check`](Self::check) does, and returns how many values it has: what it takes once it is
    /// parsed depends on them more than on its bytes.
    ///
    /// ```
    /// # use headwater_json::InputLimits;
    /// assert_eq!(InputLimits::default().count(br#"{"a": [1, "b"]}"#), Ok(4));
    /// ```
    ///
    /// # Errors
    /// The first limit that the text exceeds, and the offset of the byte.
    pub fn count(&self, json: &[u8]) -> Result<usize, LimitExceeded> {
        let mut tally = Tally::new(self);
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(&byte) = json.get(at) {
            let placed = |kind_and_limit: (LimitKind, usize)| {
                LimitExceeded::offset(kind_and_limit.0, kind_and_limit.1, at)
            };
            match byte {
                b'{' | b'[' => {
                    depth += 1;
                    tally.container(depth).map_err(placed)?;
                    at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                b'"' => {
                    let (length, end) = string(json, at + 1);
                    let next = json.get(end..).and_then(|rest| rest.iter().find(|byte| !is_space(**byte)));
                    if next == Some(&b':') {
                        tally.key(length).map_err(placed)?;
                        // Escapes are resolved only where the length fits.
                        if length == RESERVED_KEY.len() && is_reserved(json.get(at..end)) {
                            return Err(placed((LimitKind::ReservedKey, 0)));
                        }
                    } else {
                        tally.string(length).map_err(placed)?;
                    }
                    at = end;
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => at += 1,
                _ => {
                    tally.value().map_err(placed)?;
                    let rest = json.get(at..).unwrap_or_default();
                    at += rest.iter().position(|byte| ends_scalar(*byte)).unwrap_or(rest.len());
                }
            }
        }
        Ok(tally.values)
    }

    /// Checks a value that is parsed already.
    ///
    /// # Errors
    /// The first limit that it exceeds, and the keys and indexes that lead there.
    pub fn check_value(&self, value: &Value) -> Result<(), LimitExceeded> {
        Tally::new(self).walk(value, 0)
    }

    /// Checks an object that is parsed already, as [`check_value`](Self::check_value) does.
    ///
    /// # Errors
    /// The first limit that it exceeds, and the keys and indexes that lead there.
    pub fn check_object(&self, object: &Map<String, Value>) -> Result<(), LimitExceeded> {
        Tally::new(self).object(object, 0)
    }
}

/// What has been counted so far.
struct Tally<'a> {
    limits: &'a InputLimits,
    values: usize,
    text: usize,
}

type Counted = Result<(), (LimitKind, usize)>;

impl<'a> Tally<'a> {
    fn new(limits: &'a InputLimits) -> Self {
        Self { limits, values: 0, text: 0 }
    }

    fn value(&mut self) -> Counted {
        self.values += 1;
        within(LimitKind::Values, self.values, self.limits.values)
    }

    fn container(&mut self, depth: usize) -> Counted {
        within(LimitKind::Depth, depth, self.limits.depth)?;
        self.value()
    }

    fn string(&mut self, length: usize) -> Counted {
        within(LimitKind::String, length, self.limits.string)?;
        self.text(length)?;
        self.value()
    }

    fn key(&mut self, length: usize) -> Counted {
        within(LimitKind::Key, length, self.limits.key)?;
        self.text(length)
    }

    fn text(&mut self, length: usize) -> Counted {
        self.text = self.text.saturating_add(length);
        within(LimitKind::Text, self.text, self.limits.text)
    }

    /// Recursive, and never deeper than the limit.
    fn walk(&mut self, value: &Value, depth: usize) -> Result<(), LimitExceeded> {
        match value {
            Value::Object(object) => self.object(object, depth),
            Value::Array(items) => {
                self.container(depth + 1).map_err(here)?;
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, depth + 1).map_err(|refused| refused.within(|| index.to_string()))?;
                }
                Ok(())
            }
            Value::String(text) => self.string(text.len()).map_err(here),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.value().map_err(here),
        }
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), LimitExceeded> {
        self.container(depth + 1).map_err(here)?;
        for (key, value) in object {
            if key == RESERVED_KEY {
                return Err(here((LimitKind::ReservedKey, 0)));
            }
            let counted = self.key(key.len()).map_err(here);
            counted
                .and_then(|()| self.walk(value, depth + 1))
                .map_err(|refused| refused.within(|| key.clone()))?;
        }
        Ok(())
    }
}

/// Whether a key is the reserved one, whatever of it is escaped.
fn is_reserved(key: Option<&[u8]>) -> bool {
    key.and_then(|key| serde_json::from_slice::<String>(key).ok()).is_some_and(|key| key == RESERVED_KEY)
}

fn within(kind: LimitKind, count: usize, limit: usize) -> Counted {
    if count > limit { Err((kind, limit)) } else { Ok(()) }
}

fn here((kind, limit): (LimitKind, usize)) -> LimitExceeded {
    LimitExceeded::here(kind, limit)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b',' | b':') || is_space(byte)
}

/// The length of the string that begins at a place, with its escapes resolved, and where the text goes on.
fn string(json: &[u8], from: usize) -> (usize, usize) {
    let (mut at, mut length) = (from, 0);
    loop {
        let plain = plain_end(json, at);
        length += plain - at;
        match json.get(plain) {
            None => return (length, json.len()),
            Some(b'"') => return (length, plain + 1),
            Some(b'\\') if json.get(plain + 1) == Some(&b'u') => {
                let digits = json.get(plain + 2..plain + 6).unwrap_or_default();
                length += match digits {
                    [b'0', b'0', b'0'..=b'7', _] => 1,
                    [b'0', b'0'..=b'7', ..] => 2,
                    // Half of a pair: the pair has four bytes.
                    [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => 2,
                    _ => 3,
                };
                at = plain + 2 + digits.len();
            }
            Some(b'\\') => {
                length += 1;
                at = (plain + 2).min(json.len());
            }
            // A control character, which the parser refuses.
            Some(_) => {
                length += 1;
                at = plain + 1;
            }
        }
    }
}
