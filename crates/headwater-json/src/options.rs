//! What a parser skips, ignores and allows.

/// How to read a text.
///
/// The default is strict: the text is one JSON value with nothing around it but white space. Models like to say
/// something first, so [`Extractor`](crate::Extractor) begins with [`Options::lenient`] instead.
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
    /// What may come before the value.
    pub lead_in: LeadIn,
    /// What may come after it.
    pub trailing: Trailing,
    /// How large it may be.
    pub limits: Limits,
}

impl Options {
    /// Skips what comes before the value and ignores what comes after it.
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

/// What may come before the value.
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
    /// White space only; the value may be of any type.
    #[default]
    Refuse,
    /// A byte order mark, prose, a Markdown code fence; the value must be an object or an array.
    ///
    /// The value begins at the first bracket if nothing but white space is before it. Otherwise it begins at the
    /// first bracket that cannot be taken for prose: a `{` before a `"`, or a `[` before a `{` or a `"`. A bracket
    /// that is the first on its line may also be followed by anything else that JSON allows there. So neither
    /// `[1]` nor `[x](y)` nor `- [ ]` nor `{name}` within a sentence is taken for the value.
    Skip,
}

/// What may come after the value.
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
    /// White space only; all else is an error.
    #[default]
    Refuse,
    /// Anything. Where it begins can be asked for, what it is is not looked at.
    Ignore,
}

/// Bounds on what a text can make a parser hold.
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
    /// How many containers may be open within each other. The default, 120, stays below the 128 levels that
    /// `serde_json` reads. Much larger values can exhaust the stack when such a value is dropped.
    pub max_depth: usize,
    /// How many bytes the text may have, with what comes before the value and without what comes after it.
    /// Default 64 MiB.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 120, max_bytes: 64 << 20 }
    }
}
