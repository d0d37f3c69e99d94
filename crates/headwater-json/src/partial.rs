//! The value so far.

use serde_json::Value;

use crate::build::Builder;
use crate::completion::Completion;
use crate::error::Error;
use crate::options::Options;
use crate::parser::Parser;

/// A value that can be looked at while it arrives, such as the arguments of a tool call.
///
/// Each piece costs what its own bytes cost, however much came before. A look costs one step for each container that is
/// open, and copies nothing.
///
/// It never shows what the text has not said:
///
/// | of this | there is |
/// |---|---|
/// | a string | what has come of it, up to the last whole character; an escape or a pair of surrogates counts when it is whole |
/// | an object, an array | what has come of it |
/// | a key | nothing before its value: `{"a` and `{"a":` are `{}` |
/// | a number | nothing before the byte that ends it, since `12` may become `123` or `12e9` |
/// | `true`, `false`, `null` | nothing before the last letter |
/// | a key that comes again | the earlier value until the new one shows, in the place of the earlier one |
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
    builder: Builder,
}

impl PartialValue {
    /// Nothing yet, of a text that is one JSON value and nothing else.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// assert_eq!(PartialValue::new().value(), None);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, of a text that is read in another way.
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
        Self { parser: Parser::new(options), builder: Builder::default() }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// When the text cannot be the beginning of a value, or goes over a limit. What came before the place can still be
    /// looked at.
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

    /// Reads the next piece, which need not begin or end between two characters.
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

    /// Looks at all that there is so far; nothing if no value has begun to show.
    ///
    /// It wants `&mut` because the open containers are kept apart between two looks.
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

    /// A copy of all that there is so far.
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

    /// Ends the text and says whether the value is whole.
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

    /// Ends the text and takes the value, if it is whole.
    ///
    /// # Errors
    ///
    /// When the text was cut, or is not JSON.
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
        // A whole value is always there.
        Ok(self.builder.into_root().unwrap_or_default())
    }

    /// Whether the value is whole. A number that nothing follows is not whole before [`finish`](Self::finish).
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

    /// Where something other than white space begins after the value, if it has come and is ignored.
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
