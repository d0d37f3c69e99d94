//! The verdict on a text at its end.

use crate::error::Error;

/// Whether a text that has ended is a complete JSON value.
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
#[must_use = "a truncated text must not be used as a complete one"]
pub enum Completion {
    /// The value is complete.
    Complete,
    /// The text is a valid beginning of a value, but ended too early.
    Truncated(Error),
    /// The text is not JSON.
    Invalid(Error),
}

impl Completion {
    /// Turns both failures into an error.
    ///
    /// # Errors
    ///
    /// If the value is incomplete or the text is not JSON.
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
