//! Merges the sources of settings; later sources override earlier ones.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use headwater_models::nearest;

use super::{
    file,
    keys::{KEYS, SettingKey},
    value::{SettingValue, default, of_text},
};
use crate::failure::CommandFailure;

/// The default name of the settings file.
const FILE: &str = "headwater.toml";

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(name) => write!(f, "{name}"),
        }
    }
}

/// A setting with its effective value.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) key: &'static SettingKey,
    pub(crate) value: SettingValue,
    pub(crate) origin: SettingOrigin,
}

/// All effective settings, in the order of [`KEYS`], and warnings about the environment.
#[derive(Debug)]
pub(crate) struct Layers {
    settings: Vec<Setting>,
    pub(crate) warnings: Vec<String>,
}

/// A setting given as a flag.
#[derive(Debug, Clone)]
pub(crate) struct FlagValue {
    pub(crate) key: &'static SettingKey,
    pub(crate) value: SettingValue,
    pub(crate) flag: String,
}

impl Layers {
    /// Merges the sources: flags over environment over file over defaults.
    pub(crate) fn gather(
        flags: Vec<FlagValue>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, CommandFailure> {
        let settings =
            KEYS.iter().map(|key| Setting { key, value: default(key), origin: SettingOrigin::Default });
        let mut layers = Self { settings: settings.collect(), warnings: Vec::new() };
        let (environment, common): (Vec<_>, Vec<_>) =
            environment.into_iter().partition(|(name, _)| name.starts_with("HEADWATER_"));
        let named = environment.iter().find(|(name, _)| name == "HEADWATER_CONFIG");
        let named = file.map(Path::to_owned).or_else(|| named.map(|(_, path)| path.into()));
        layers.read_file(named.as_deref())?;
        layers.heed_common(common)?;
        for (name, text) in environment {
            match KEYS.iter().find(|key| key.variable() == name) {
                Some(key) => {
                    let value = of_text(key, &text)
                        .map_err(|wrong| CommandFailure::new(format!("${name}: {wrong}")))?;
                    layers.set(key, value, SettingOrigin::Variable(name));
                }
                None => layers.doubt(&name),
            }
        }
        for FlagValue { key, value, flag } in flags {
            layers.set(key, value, SettingOrigin::Flag(flag));
        }
        Ok(layers)
    }

    fn read_file(&mut self, named: Option<&Path>) -> Result<(), CommandFailure> {
        let path = named.unwrap_or(Path::new(FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(CommandFailure::reading(&path.display().to_string(), error)),
        };
        for (key, value, line) in file::read(path, &text)? {
            self.set(key, value, SettingOrigin::File { path: path.to_owned(), line });
        }
        Ok(())
    }

    /// Applies variables that are shared by many programs, such as those of OpenTelemetry.
    fn heed_common(&mut self, common: Vec<(String, String)>) -> Result<(), CommandFailure> {
        let named = |name: &str| KEYS.iter().find(|key| key.common_variable() == Some(name));
        for (name, text) in common.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
            let Some(key) = named(&name) else { continue };
            if cfg!(feature = "otel") {
                let value =
                    of_text(key, &text).map_err(|wrong| CommandFailure::new(format!("${name}: {wrong}")))?;
                self.set(key, value, SettingOrigin::Variable(name));
            } else if key.name == "otel.endpoint" {
                let warning = format!("${name} has no effect: this build does not have the feature `otel`");
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &'static SettingKey, value: SettingValue, origin: SettingOrigin) {
        if let Some(setting) = self.settings.iter_mut().find(|setting| setting.key.name == key.name) {
            setting.value = value;
            setting.origin = origin;
        }
    }

    /// Warns about unknown variables only if they resemble ours; others may belong to another program.
    fn doubt(&mut self, name: &str) {
        // The last two are of commands that talk to a server.
        if ["HEADWATER_CONFIG", "HEADWATER_SERVER", "HEADWATER_KEY"].contains(&name) {
            return;
        }
        let known: Vec<_> = KEYS.iter().map(SettingKey::variable).collect();
        if let Some(meant) = nearest(name, known.iter().map(String::as_str)) {
            self.warnings.push(format!("unknown setting ${name}: did you mean ${meant}?"));
        }
    }

    /// All effective settings.
    pub(crate) fn settings(&self) -> &[Setting] {
        &self.settings
    }

    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }
}
