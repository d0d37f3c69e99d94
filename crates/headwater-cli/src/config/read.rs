//! Settings by name, with errors that say where a value was set.

use std::fmt;

use super::{layers::Layers, value::SettingValue};
use crate::failure::CommandFailure;

/// A secret; its `Debug` output hides the value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(pub(crate) String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Parses settings by name.
pub(super) struct SettingsReader<'a>(pub(super) &'a Layers);

impl SettingsReader<'_> {
    pub(super) fn one(&self, name: &str) -> String {
        match self.0.get(name).map(|setting| &setting.value) {
            Some(SettingValue::One(text)) => text.clone(),
            _ => String::new(),
        }
    }

    pub(super) fn optional(&self, name: &str) -> Option<String> {
        Some(self.one(name)).filter(|text| !text.is_empty())
    }

    pub(super) fn many(&self, name: &str) -> Vec<String> {
        match self.0.get(name).map(|setting| &setting.value) {
            Some(SettingValue::Many(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn secrets(&self, name: &str) -> Vec<(String, SecretText)> {
        match self.0.get(name).map(|setting| &setting.value) {
            Some(SettingValue::Secrets(pairs)) => {
                pairs.iter().map(|(name, secret)| (name.clone(), SecretText(secret.clone()))).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn with<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, CommandFailure> {
        read(&self.one(name)).map_err(|wrong| self.wrong(name, wrong))
    }

    /// An error that names the setting and where it was set.
    pub(super) fn wrong(&self, name: &str, wrong: impl fmt::Display) -> CommandFailure {
        match self.0.get(name) {
            Some(setting) => CommandFailure::new(format!("{}: `{name}`: {wrong}", setting.origin)),
            None => CommandFailure::new(format!("`{name}`: {wrong}")),
        }
    }
}
