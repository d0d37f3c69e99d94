//! Failures of a scripted model.

use std::time::Duration;

use serde::Deserialize;

use crate::{ModelError, ModelErrorKind};

/// A failure of a scripted model.
///
/// ```
/// use headwater_models::{ModelError, ModelErrorKind, scripted::{Fault, Rule, When}};
///
/// let busy = ModelError::new(ModelErrorKind::Overloaded, "come back later");
/// let rule = Rule::when(When::attempt(0)).text("Let me").fault(Fault::error(busy));
/// # drop(rule);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub(super) FaultKind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FaultKind {
    Stall,
    Cut,
    Error(ModelError),
}

impl Fault {
    /// The stream stops without ending.
    #[must_use]
    pub fn stall() -> Self {
        Self(FaultKind::Stall)
    }

    /// The stream ends before the answer is complete.
    #[must_use]
    pub fn cut() -> Self {
        Self(FaultKind::Cut)
    }

    /// The provider sends an invalid answer.
    #[must_use]
    pub fn malformed() -> Self {
        let message = "the script sends an invalid answer";
        Self::error(ModelError::new(ModelErrorKind::Malformed, message))
    }

    /// The stream ends with this error.
    #[must_use]
    pub fn error(error: ModelError) -> Self {
        Self(FaultKind::Error(error))
    }
}

/// A fault written as a YAML mapping.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultFields {
    error: ModelErrorKind,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    retry_after: Option<u64>,
    #[serde(default)]
    status: Option<u16>,
}

impl From<FaultFields> for Fault {
    fn from(fields: FaultFields) -> Self {
        let message = fields.message.unwrap_or_else(|| format!("scripted error {}", fields.error.code()));
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
