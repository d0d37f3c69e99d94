//! What each source says, one over the other, and who has the last word.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use headwater_models::nearest;

use super::{
    file,
    keys::{KEYS, Key, Kind},
    parse,
};
use crate::failure::Failure;

/// The file that is read when none is named.
const FILE: &str = "headwater.toml";

/// What a setting says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    One(String),
    Many(Vec<String>),
    /// Names and secrets.
    Secrets(Vec<(String, String)>),
}

/// Who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(name) => write!(f, "{name}"),
        }
    }
}

/// A setting that is in force.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// All settings in force, in the order of [`KEYS`], and what was odd about them.
#[derive(Debug)]
pub(crate) struct Layers {
    settings: Vec<Setting>,
    pub(crate) warnings: Vec<String>,
}

/// What a flag says about a setting.
#[derive(Debug, Clone)]
pub(crate) struct Flagged {
    pub(crate) key: &'static Key,
    pub(crate) value: Value,
    pub(crate) flag: String,
}

impl Layers {
    /// Puts flags over the environment over the file over what is usual.
    pub(crate) fn gather(
        flags: Vec<Flagged>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let settings = KEYS.iter().map(|key| Setting { key, value: default(key), origin: Origin::Default });
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
                    let value =
                        of_text(key, &text).map_err(|wrong| Failure::new(format!("${name}: {wrong}")))?;
                    layers.set(key, value, Origin::Variable(name));
                }
                None => layers.doubt(&name),
            }
        }
        for Flagged { key, value, flag } in flags {
            layers.set(key, value, Origin::Flag(flag));
        }
        Ok(layers)
    }

    fn read_file(&mut self, named: Option<&Path>) -> Result<(), Failure> {
        let path = named.unwrap_or(Path::new(FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::reading(&path.display().to_string(), error)),
        };
        for (key, value, line) in file::read(path, &text)? {
            self.set(key, value, Origin::File { path: path.to_owned(), line });
        }
        Ok(())
    }

    /// Takes what the environment says to every program.
    fn heed_common(&mut self, common: Vec<(String, String)>) -> Result<(), Failure> {
        let named = |name: &str| KEYS.iter().find(|key| key.common_variable() == Some(name));
        for (name, text) in common.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
            let Some(key) = named(&name) else { continue };
            if cfg!(feature = "otel") {
                let value = of_text(key, &text).map_err(|wrong| Failure::new(format!("${name}: {wrong}")))?;
                self.set(key, value, Origin::Variable(name));
            } else if key.name == "otel.endpoint" {
                let warning = format!("${name} does nothing: this build was made without the feature `otel`");
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &'static Key, value: Value, origin: Origin) {
        if let Some(setting) = self.settings.iter_mut().find(|setting| setting.key.name == key.name) {
            setting.value = value;
            setting.origin = origin;
        }
    }

    /// A variable that is none of ours may be somebody else's; one that looks like ours is a slip.
    fn doubt(&mut self, name: &str) {
        if name == "HEADWATER_CONFIG" {
            return;
        }
        let known: Vec<_> = KEYS.iter().map(Key::variable).collect();
        if let Some(meant) = nearest(name, known.iter().map(String::as_str)) {
            self.warnings.push(format!("${name} is not a setting: did you mean ${meant}?"));
        }
    }

    /// All settings in force.
    pub(crate) fn settings(&self) -> &[Setting] {
        &self.settings
    }

    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }
}

fn default(key: &Key) -> Value {
    match key.kind {
        Kind::One | Kind::Secret | Kind::Path => Value::One(key.default.to_owned()),
        Kind::Many | Kind::Paths => Value::Many(Vec::new()),
        Kind::Secrets => Value::Secrets(Vec::new()),
    }
}

/// Reads a value that is one text, as the environment and flags have it.
pub(super) fn of_text(key: &Key, text: &str) -> Result<Value, String> {
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match key.kind {
        Kind::One | Kind::Secret | Kind::Path => Ok(Value::One(text.trim().to_owned())),
        Kind::Many | Kind::Paths => Ok(Value::Many(items().map(str::to_owned).collect())),
        Kind::Secrets => items().map(named).collect::<Result<_, _>>().map(Value::Secrets),
    }
}

/// A secret and whom it belongs to. One without a name belongs to `default`.
pub(super) fn named(text: &str) -> Result<(String, String), String> {
    let (name, secret) = parse::named_secret(text);
    if secret.len() < 16 {
        return Err("a key has at least 16 characters: `openssl rand -hex 24` makes a good one".to_owned());
    }
    Ok((name.unwrap_or("default").to_owned(), secret.to_owned()))
}

/// A name that is no setting's, and the one that was probably meant.
pub(super) fn unknown(name: &str) -> String {
    match nearest(name, KEYS.iter().map(|key| key.name)) {
        Some(meant) => format!("there is no setting `{name}`: did you mean `{meant}`?"),
        None => format!("there is no setting `{name}`: `headwater config` lists all"),
    }
}
