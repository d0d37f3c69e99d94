//! The values of settings, and how text becomes one.

use headwater_models::nearest;

use super::{
    keys::{KEYS, SettingKey, SettingKind},
    parse,
};

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingValue {
    One(String),
    Many(Vec<String>),
    /// Pairs of name and secret.
    Secrets(Vec<(String, String)>),
}

/// The default of a setting.
pub(super) fn default(key: &SettingKey) -> SettingValue {
    match key.kind {
        SettingKind::One | SettingKind::Secret | SettingKind::Path => {
            SettingValue::One(key.default.to_owned())
        }
        SettingKind::Many | SettingKind::Paths => SettingValue::Many(Vec::new()),
        SettingKind::Secrets => SettingValue::Secrets(Vec::new()),
    }
}

/// Parses a value from a string, as in the environment and in flags.
pub(super) fn of_text(key: &SettingKey, text: &str) -> Result<SettingValue, String> {
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match key.kind {
        SettingKind::One | SettingKind::Secret | SettingKind::Path => {
            Ok(SettingValue::One(text.trim().to_owned()))
        }
        SettingKind::Many | SettingKind::Paths => {
            Ok(SettingValue::Many(items().map(str::to_owned).collect()))
        }
        SettingKind::Secrets => items().map(named).collect::<Result<_, _>>().map(SettingValue::Secrets),
    }
}

/// Parses a secret and its principal. A secret without a name belongs to `default`.
pub(super) fn named(text: &str) -> Result<(String, String), String> {
    let (name, secret) = parse::named_secret(text);
    if secret.len() < 16 {
        return Err(
            "the key is too short: use at least 16 characters, such as the output of `openssl rand -hex 24`"
                .to_owned(),
        );
    }
    Ok((name.unwrap_or("default").to_owned(), secret.to_owned()))
}

/// The message for an unknown setting, with a suggestion.
pub(super) fn unknown(name: &str) -> String {
    match nearest(name, KEYS.iter().map(|key| key.name)) {
        Some(meant) => format!("unknown setting `{name}`: did you mean `{meant}`?"),
        None => format!("unknown setting `{name}`: `headwater config` lists all"),
    }
}
