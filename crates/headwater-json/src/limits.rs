//! Limits on untrusted JSON, checked before it is parsed or stored.
//!
//! A parsed value takes many times the memory of its text, and a value nested too deeply cannot be read back
//! after it is embedded in a record. So the text is scanned first: one pass over the bytes, without
//! allocating.

use std::fmt;

use serde_json::{Map, Value};

use crate::parser::plain_end;

/// `serde_json` treats an object with this first key as a `RawValue` and parses the string behind it.
const RESERVED_KEY: &str = "$serde_json::private::RawValue";

/// Limits on JSON from outside: request bodies, answers, model and tool output.
///
/// The same limits apply to text ([`check`](Self::check)) and to parsed values
/// ([`check_value`](Self::check_value)), with the same verdict.
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
/// # Ok::<(), headwater_json::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InputLimits {
    /// Maximum nesting depth: 64. Far below the 128 levels that `serde_json` reads, so that a value can be
    /// embedded in a record and read back.
    pub depth: usize,
    /// Maximum number of values, counting containers and scalars: 50,000.
    pub values: usize,
    /// Maximum bytes of one string, unescaped and without quotes: 4 MiB.
    pub string: usize,
    /// Maximum bytes of one key, counted like a string: 4 KiB.
    pub key: usize,
    /// Maximum bytes of all strings and keys together: 4 MiB.
    pub text: usize,
}

impl Default for InputLimits {
    fn default() -> Self {
        Self { depth: 64, values: 50_000, string: 4 << 20, key: 4 << 10, text: 4 << 20 }
    }
}

/// The exceeded limit and its location.
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
pub struct LimitError {
    kind: LimitKind,
    limit: usize,
    place: LimitLocation,
}

/// One of the [`InputLimits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// Nested too deeply.
    Depth,
    /// Too many values.
    Values,
    /// A string is too long.
    String,
    /// A key is too long.
    Key,
    /// A key that makes `serde_json` parse the string behind it as JSON, bypassing the limits.
    ReservedKey,
    /// All strings and keys together are too long.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LimitLocation {
    /// Byte offset.
    Offset(usize),
    /// Keys and indexes from the root, innermost first.
    Path(Vec<String>),
}

impl LimitKind {
    /// Suffix of the error code: `too-deep`, `too-many-values`, `string-too-long`, `key-too-long`,
    /// `reserved-key` or `too-large`.
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

impl LimitError {
    /// Which limit it was, to tell apart text that is too deep and text that is too long.
    pub fn kind(&self) -> LimitKind {
        self.kind
    }

    /// The limit's value.
    pub fn limit(&self) -> usize {
        self.limit
    }

    fn offset(kind: LimitKind, limit: usize, at: usize) -> Self {
        Self { kind, limit, place: LimitLocation::Offset(at) }
    }

    fn here(kind: LimitKind, limit: usize) -> Self {
        Self { kind, limit, place: LimitLocation::Path(Vec::new()) }
    }

    fn within(mut self, step: impl FnOnce() -> String) -> Self {
        if let LimitLocation::Path(path) = &mut self.place {
            path.push(step());
        }
        self
    }
}

impl fmt::Display for LimitError {
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
            LimitLocation::Offset(at) => write!(f, ", at byte {at}"),
            LimitLocation::Path(path) if path.is_empty() => Ok(()),
            LimitLocation::Path(path) => {
                write!(f, ", at ")?;
                // The sender controls the length of the path; its beginning is enough to find the value.
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

impl std::error::Error for LimitError {}

impl InputLimits {
    /// Checks a JSON text without parsing it. The verdict is meaningless for invalid JSON, which the parser
    /// rejects later.
    ///
    /// # Errors
    /// The first exceeded limit and its byte offset.
    pub fn check(&self, json: &[u8]) -> Result<(), LimitError> {
        if self.surely_allow(json) { Ok(()) } else { self.count(json).map(drop) }
    }

    /// Whether JSON is so short and has so few brackets that it cannot exceed a limit, and no reserved key. Nearly all
    /// records of a run are: this is ten times as fast as counting.
    fn surely_allow(&self, json: &[u8]) -> bool {
        let &Self { depth, values, string, key, text } = self;
        let brackets = |bracket| memchr::memchr_iter(bracket, json).count();
        json.len() <= values.min(string).min(key).min(text)
            && brackets(b'{') + brackets(b'[') <= depth
            // A reserved key begins with a dollar sign, which may be written as an escape.
            && memchr::memchr(b'$', json).is_none()
            && memchr::memmem::find(json, br"\u").is_none()
    }

    /// Like [`check`](Self::check), and returns the number of values: memory use after parsing depends on it
    /// more than on the number of bytes.
    ///
    /// ```
    /// # use headwater_json::InputLimits;
    /// assert_eq!(InputLimits::default().count(br#"{"a": [1, "b"]}"#), Ok(4));
    /// ```
    ///
    /// # Errors
    /// The first exceeded limit and its byte offset.
    pub fn count(&self, json: &[u8]) -> Result<usize, LimitError> {
        let mut tally = Tally::new(self);
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(&byte) = json.get(at) {
            let placed = |kind_and_limit: (LimitKind, usize)| {
                LimitError::offset(kind_and_limit.0, kind_and_limit.1, at)
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
                        // Unescaping allocates, so only keys of the right length are unescaped.
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

    /// Checks a parsed value.
    ///
    /// # Errors
    /// The first exceeded limit and its path.
    pub fn check_value(&self, value: &Value) -> Result<(), LimitError> {
        Tally::new(self).walk(value, 0)
    }

    /// Checks a parsed object like [`check_value`](Self::check_value).
    ///
    /// # Errors
    /// The first exceeded limit and its path.
    pub fn check_object(&self, object: &Map<String, Value>) -> Result<(), LimitError> {
        Tally::new(self).object(object, 0)
    }
}

/// Running totals.
struct Tally<'a> {
    limits: &'a InputLimits,
    values: usize,
    text: usize,
}

type CountResult = Result<(), (LimitKind, usize)>;

impl<'a> Tally<'a> {
    fn new(limits: &'a InputLimits) -> Self {
        Self { limits, values: 0, text: 0 }
    }

    fn value(&mut self) -> CountResult {
        self.values += 1;
        within(LimitKind::Values, self.values, self.limits.values)
    }

    fn container(&mut self, depth: usize) -> CountResult {
        within(LimitKind::Depth, depth, self.limits.depth)?;
        self.value()
    }

    fn string(&mut self, length: usize) -> CountResult {
        within(LimitKind::String, length, self.limits.string)?;
        self.text(length)?;
        self.value()
    }

    fn key(&mut self, length: usize) -> CountResult {
        within(LimitKind::Key, length, self.limits.key)?;
        self.text(length)
    }

    fn text(&mut self, length: usize) -> CountResult {
        self.text = self.text.saturating_add(length);
        within(LimitKind::Text, self.text, self.limits.text)
    }

    /// The recursion is bounded by the depth limit.
    fn walk(&mut self, value: &Value, depth: usize) -> Result<(), LimitError> {
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

    fn object(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), LimitError> {
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

/// Whether a key equals the reserved one after unescaping.
fn is_reserved(key: Option<&[u8]>) -> bool {
    key.and_then(|key| serde_json::from_slice::<String>(key).ok()).is_some_and(|key| key == RESERVED_KEY)
}

fn within(kind: LimitKind, count: usize, limit: usize) -> CountResult {
    if count > limit { Err((kind, limit)) } else { Ok(()) }
}

fn here((kind, limit): (LimitKind, usize)) -> LimitError {
    LimitError::here(kind, limit)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b',' | b':') || is_space(byte)
}

/// Unescaped length of the string that begins at `from`, and the offset after it.
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
                    // One half of a surrogate pair; the pair takes four bytes of UTF-8.
                    [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => 2,
                    _ => 3,
                };
                at = plain + 2 + digits.len();
            }
            Some(b'\\') => {
                length += 1;
                at = (plain + 2).min(json.len());
            }
            // A control character; the parser rejects it later.
            Some(_) => {
                length += 1;
                at = plain + 1;
            }
        }
    }
}
