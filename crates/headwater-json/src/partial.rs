//! The value of an unfinished text.

use serde_json::Value;

use crate::build::ValueBuilder;
use crate::completion::Completion;
use crate::error::Error;
use crate::options::Options;
use crate::parser::Parser;

/// A value that can be read while it arrives, such as the arguments of a tool call.
///
/// The cost of a piece depends only on its own bytes. Reading the value takes one step per open container and
/// copies nothing.
///
/// It never shows more than the text contains:
///
/// | element | shown |
/// |---|---|
/// | string | the text so far, up to the last whole character; an escape or surrogate pair when it is complete |
/// | object, array | the entries so far |
/// | key | only with its value: `{"a` and `{"a":` are `{}` |
/// | number | after the byte that ends it, since `12` may become `123` or `12e9` |
/// | `true`, `false`, `null` | at the last letter |
/// | repeated key | the earlier value until the new one shows, at the earlier position |
///
/// ```
/// use headwater_json::{Completion, PartialValue};
/// use serde_json::json;
///
/// let mut value = PartialValue::new();
/// value.push(r#"{"city":"São P"#)?;
/// assert_eq!(value.value(), Some(&json!({"city": "São P"})));
/// value.push(r#"aulo","days":1"#)?;
/// assert_eq!(value.value(), Some(&json!({"city": "São Paulo"})));
/// value.push(r#"4,"units":"#)?;
/// assert_eq!(value.value(), Some(&json!({"city": "São Paulo", "days": 14})));
/// value.push("null}")?;
/// assert_eq!(value.finish(), Completion::Complete);
/// # Ok::<(), headwater_json::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PartialValue {
    parser: Parser,
    builder: ValueBuilder,
}

impl PartialValue {
    /// An empty value that accepts exactly one JSON value.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// assert_eq!(PartialValue::new().value(), None);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty value with other [`Options`].
    ///
    /// ```
    /// use headwater_json::{Options, PartialValue};
    ///
    /// let mut value = PartialValue::with(Options::lenient());
    /// value.push("Sure: [\"a\"")?;
    /// assert_eq!(value.value(), Some(&serde_json::json!(["a"])));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn with(options: Options) -> Self {
        Self { parser: Parser::new(options), builder: ValueBuilder::default() }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// If the text cannot be the beginning of a value, or exceeds a limit. The part before the error stays
    /// readable.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// assert!(value.push("[1, 2; 3").is_err());
    /// assert_eq!(value.value(), Some(&serde_json::json!([1, 2])));
    /// ```
    #[inline]
    pub fn push(&mut self, piece: &str) -> Result<(), Error> {
        self.parser.push(piece, &mut self.builder)
    }

    /// Reads the next piece, which may begin or end inside a UTF-8 character.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push), and when the bytes are not UTF-8.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push_bytes(b"\"\xF0\x9F")?;
    /// assert_eq!(value.value(), Some(&"".into()));
    /// value.push_bytes(b"\x98\x80")?;
    /// assert_eq!(value.value(), Some(&"😀".into()));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    #[inline]
    pub fn push_bytes(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.parser.push_bytes(piece, &mut self.builder)
    }

    /// The value so far, if any.
    ///
    /// Takes `&mut self` because open containers are stored apart and nested only for reading.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push("[[1],[2")?;
    /// assert_eq!(value.value(), Some(&serde_json::json!([[1], []])));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn value(&mut self) -> Option<&Value> {
        self.builder.fold()
    }

    /// A copy of the value so far.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push("[1,")?;
    /// let snapshot = value.snapshot();
    /// value.push("2]")?;
    /// assert_eq!(snapshot, Some(serde_json::json!([1])));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn snapshot(&mut self) -> Option<Value> {
        self.value().cloned()
    }

    /// Ends the text and reports whether the value is complete.
    ///
    /// ```
    /// use headwater_json::{Completion, PartialValue};
    ///
    /// let mut value = PartialValue::new();
    /// value.push("[1,2")?;
    /// assert!(matches!(value.finish(), Completion::Truncated(error) if error.offset() == 4));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn finish(&mut self) -> Completion {
        self.parser.finish(&mut self.builder)
    }

    /// Ends the text and returns the value.
    ///
    /// # Errors
    ///
    /// If the value is incomplete or the text is not JSON.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push("1")?;
    /// value.push("2")?;
    /// assert_eq!(value.into_value()?, 12);
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn into_value(mut self) -> Result<Value, Error> {
        self.finish().into_result()?;
        // A complete value is never missing.
        Ok(self.builder.into_root().unwrap_or_default())
    }

    /// Whether the value is complete. A number is complete only when a byte follows it or at
    /// [`finish`](Self::finish).
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push("{}")?;
    /// assert!(value.is_complete());
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        self.parser.is_complete()
    }

    /// Offset of the first ignored byte after the value that is not whitespace.
    ///
    /// ```
    /// use headwater_json::{Options, PartialValue};
    ///
    /// let mut value = PartialValue::with(Options::lenient());
    /// value.push("{} done")?;
    /// assert_eq!(value.trailing_offset(), Some(3));
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn trailing_offset(&self) -> Option<u64> {
        self.parser.trailing_offset()
    }
}
