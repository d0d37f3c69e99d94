//! How a scripted model goes wrong.

use std::time::Duration;

use serde::Deserialize;

use crate::{ModelError, ModelErrorKind};

/// How a scripted model goes wrong.
///
/// ```
/// use headwater_models::{ModelError, ModelErrorKind, scripted::{Fault, Rule, When}};
///
/// let busy = ModelError::new(ModelErrorKind::Overloaded, "come back later");
/// let rule = Rule::when(When::attempt(0)).text("Let me").fault(Fault::error(busy));
/// # drop(rule);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub(super) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Stall,
    Cut,
    Error(ModelError),
}

impl Fault {
    /// The stream never goes on, and never ends.
    #[must_use]
    pub fn stall() -> Self {
        Self(Kind::Stall)
    }

    /// The stream ends without saying that the answer is complete.
    #[must_use]
    pub fn cut() -> Self {
        Self(Kind::Cut)
    }

    /// The provider sends what its documents do not know.
    #[must_use]
    pub fn malformed() -> Self {
        let message = "the script sends an answer that cannot be read";
        Self::error(ModelError::new(ModelErrorKind::Malformed, message))
    }

    /// The stream ends with this error.
    #[must_use]
    pub fn error(error: ModelError) -> Self {
        Self(Kind::Error(error))
    }
}

/// A fault as it is written in YAML, if it is more than a word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    error: ModelErrorKind,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    retry_after: Option<u64>,
    #[serde(default)]
    status: Option<u16>,
}

impl From<Fields> for Fault {
    fn from(fields: Fields) -> Self {
        let message = fields.message.unwrap_or_else(|| format!("the script says {}", fields.error.code()));
        let mut error = ModelError::new(fields.error, message);
        if let Some(wait) = fields.retry_after {
            error = error.retry_after(Duration::from_millis(wait));
        }
        if let Some(status) = fields.status {
            error = error.status(status);
        }
        Self::error(error)
    }
}
