//! Options for reading a text.

/// How to read a text.
///
/// The default is strict: one JSON value, surrounded only by whitespace. Models often write prose around it,
/// so [`Extractor`](crate::Extractor) defaults to [`Options::lenient`].
///
/// ```
/// use headwater_json::{Options, PartialValue};
///
/// let text = "Here you are:\n```json\n{\"a\":1}\n```\nAnything else?";
/// assert!(PartialValue::new().push(text).is_err());
///
/// let mut value = PartialValue::with(Options::lenient());
/// value.push(text)?;
/// assert!(value.is_complete());
/// # Ok::<(), headwater_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Options {
    /// What may precede the value.
    pub lead_in: LeadIn,
    /// What may follow the value.
    pub trailing: Trailing,
    /// Size limits.
    pub limits: Limits,
}

impl Options {
    /// Skips text before the value and ignores text after it.
    ///
    /// ```
    /// use headwater_json::{LeadIn, Options, Trailing};
    ///
    /// let options = Options::lenient();
    /// assert_eq!((options.lead_in, options.trailing), (LeadIn::Skip, Trailing::Ignore));
    /// ```
    pub fn lenient() -> Self {
        Self { lead_in: LeadIn::Skip, trailing: Trailing::Ignore, limits: Limits::default() }
    }
}

/// What may precede the value.
///
/// ```
/// use headwater_json::{LeadIn, Options, PartialValue, Trailing};
///
/// let mut options = Options::default();
/// options.lead_in = LeadIn::Skip;
/// let mut value = PartialValue::with(options);
/// value.push("As [1] says: {\"a\":")?;
/// value.push("true}")?;
/// assert_eq!(value.value(), Some(&serde_json::json!({"a": true})));
/// # Ok::<(), headwater_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LeadIn {
    /// Only whitespace. The value may have any type.
    #[default]
    Refuse,
    /// A byte order mark, prose or a Markdown code fence. The value must be an object or an array.
    ///
    /// After nothing but whitespace, the first bracket begins the value. After prose, the value begins at the
    /// first bracket that cannot be prose: `{` before `"`, or `[` before `{` or `"`. If the bracket is the
    /// first character of its line, anything that JSON allows may follow it. So `[1]`, `[x](y)`, `- [ ]` and
    /// `{name}` inside a sentence are skipped.
    Skip,
}

/// What may follow the value.
///
/// ```
/// use headwater_json::{Completion, Options, PartialValue, Trailing};
///
/// let mut options = Options::default();
/// options.trailing = Trailing::Ignore;
/// let mut value = PartialValue::with(options);
/// value.push("[1] and more")?;
/// assert_eq!(value.finish(), Completion::Complete);
/// assert_eq!(value.trailing_offset(), Some(4));
/// # Ok::<(), headwater_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Trailing {
    /// Only whitespace; anything else is an error.
    #[default]
    Refuse,
    /// Anything. It is not parsed; `trailing_offset` reports where it begins.
    Ignore,
}

/// Size limits of a parser.
///
/// ```
/// use headwater_json::{ErrorKind, Options, PartialValue};
///
/// let mut options = Options::default();
/// options.limits.max_depth = 2;
/// let error = PartialValue::with(options).push("[[[").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (ErrorKind::TooDeep, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum nesting depth. The default of 120 stays below the 128 levels that `serde_json` reads. Dropping
    /// a value nested much deeper can overflow the stack.
    pub max_depth: usize,
    /// Maximum number of bytes, including skipped text before the value, excluding text after it. Default 64
    /// MiB.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 120, max_bytes: 64 << 20 }
    }
}
