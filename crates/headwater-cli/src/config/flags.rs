//! Command line flags for settings.

use std::path::PathBuf;

use clap::Args;

use super::{
    Layers, SettingKey, SettingValue,
    layers::FlagValue,
    value::{named, of_text, unknown},
};
use crate::failure::CommandFailure;

/// Settings. Flags override the environment, which overrides the file.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Agent files, and folders of them. Default: the demo agents.
    #[arg(value_name = "AGENT")]
    agents: Vec<PathBuf>,

    /// The settings file. Default: `headwater.toml` if it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The address and port to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,

    /// The folder for persistent data.
    #[arg(long, value_name = "DIR")]
    data: Option<String>,

    /// The store for runs: `memory:`, `file:FOLDER`, `redis://HOST` or `postgres://HOST/DATABASE`. Other
    /// users of the machine can see flags: set a URL with a password in the environment or the file.
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// How long the runs of a crashed server wait before another server takes them over, such as `10s`.
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,

    /// An API key for clients, or `name=key`. Repeatable. Other users of the machine can see flags: prefer
    /// the environment or the file.
    #[arg(long = "api-key", value_name = "KEY")]
    api_keys: Vec<String>,

    /// Reload agent files when they change.
    #[arg(long)]
    watch: bool,

    /// Any setting, as `NAME=VALUE` with its name in the file. Repeatable.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Flags {
    /// Merges flags, environment and file.
    pub(crate) fn layers(&self) -> Result<Layers, CommandFailure> {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Layers::gather(self.flagged()?, environment, self.config.as_deref())
    }

    fn flagged(&self) -> Result<Vec<FlagValue>, CommandFailure> {
        let mut flagged = Vec::new();
        let mut say = |name: &str, value: SettingValue, flag: &str| {
            flagged.extend(SettingKey::find(name).map(|key| FlagValue { key, value, flag: flag.to_owned() }));
        };
        for text in &self.set {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| CommandFailure::new(format!("--set {text}: expected NAME=VALUE")))?;
            let key = SettingKey::find(name.trim())
                .ok_or_else(|| CommandFailure::new(format!("--set {text}: {}", unknown(name.trim()))))?;
            let value =
                of_text(key, value).map_err(|wrong| CommandFailure::new(format!("--set {name}: {wrong}")))?;
            say(key.name, value, "--set");
        }
        for (name, flag, text) in [
            ("listen", "--listen", &self.listen),
            ("data", "--data", &self.data),
            ("store", "--store", &self.store),
            ("lease", "--lease", &self.lease),
        ] {
            if let Some(text) = text {
                say(name, SettingValue::One(text.clone()), flag);
            }
        }
        if !self.agents.is_empty() {
            let agents = self.agents.iter().map(|path| path.display().to_string()).collect();
            say("agents", SettingValue::Many(agents), "the arguments");
        }
        if self.watch {
            say("watch", SettingValue::One("true".to_owned()), "--watch");
        }
        if !self.api_keys.is_empty() {
            let keys = self.api_keys.iter().map(|key| named(key)).collect::<Result<_, _>>();
            let keys = keys.map_err(|wrong| CommandFailure::new(format!("--api-key: {wrong}")))?;
            say("api_keys", SettingValue::Secrets(keys), "--api-key");
        }
        Ok(flagged)
    }
}
