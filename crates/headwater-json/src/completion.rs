//! What a text has come to when it ends.

use crate::error::Error;

/// The verdict on a text that has ended.
///
/// ```
/// use headwater_json::{Completion, PartialValue};
///
/// let verdict = |text: &str| {
///     let mut value = PartialValue::new();
///     let _ = value.push(text);
///     value.finish()
/// };
/// assert_eq!(verdict("[1, 2]"), Completion::Complete);
/// let Completion::Truncated(error) = verdict("[1, \"tw") else { panic!() };
/// assert_eq!(error.to_string(), "the text ends within a string, at line 1 column 8");
/// let Completion::Invalid(error) = verdict("[1, two]") else { panic!() };
/// assert_eq!(error.offset(), 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a text that was cut must not pass for a whole one"]
pub enum Completion {
    /// The value is whole.
    Complete,
    /// The text could have gone on, and ended here.
    Truncated(Error),
    /// The text is not JSON, and this is where it stops being it.
    Invalid(Error),
}

impl Completion {
    /// The same as a result, for whoever does not care why a value is not whole.
    ///
    /// # Errors
    ///
    /// Unless the value is whole.
    ///
    /// ```
    /// use headwater_json::PartialValue;
    ///
    /// let mut value = PartialValue::new();
    /// value.push("[1")?;
    /// assert!(value.finish().into_result().is_err());
    /// # Ok::<(), headwater_json::Error>(())
    /// ```
    pub fn into_result(self) -> Result<(), Error> {
        match self {
            Self::Complete => Ok(()),
            Self::Truncated(error) | Self::Invalid(error) => Err(error),
        }
    }
}
