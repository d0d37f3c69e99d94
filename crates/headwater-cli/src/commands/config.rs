//! `headwater config`: the effective settings and where each value comes from.

use std::io::Write;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::{
    config::{Layers, ServerSettings, SettingValue, flags::Flags},
    failure::{CommandFailure, ExitVerdict},
    style::{self, BOLD, DIM},
};

/// Print the effective settings and where each value comes from.
///
/// Takes the flags of `serve` and reads the same file and environment variables. Secrets are not shown.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(flatten)]
    flags: Flags,

    /// Describe each setting.
    #[arg(long)]
    about: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl ConfigCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let layers = self.flags.layers()?;
        for warning in &layers.warnings {
            style::warning(warning);
        }
        // Parse the settings as `serve` does, so that both agree.
        let settings = ServerSettings::of(&layers)?;
        let mut out = style::stdout(self.json);
        if self.json {
            serde_json::to_writer_pretty(&mut out, &as_json(&layers, &settings))?;
            writeln!(out)?;
        } else {
            let width = layers.settings().iter().map(|setting| setting.key.name.len()).max().unwrap_or(0);
            for setting in layers.settings() {
                let mut value = shown(&setting.value, setting.key.kind.is_secret());
                if setting.key.name == "store" {
                    value = settings.store.to_string();
                }
                let value = style::printable(&value);
                let (name, origin) = (setting.key.name, &setting.origin);
                writeln!(out, "{BOLD}{name:width$}{BOLD:#}  {value}  {DIM}{origin}{DIM:#}")?;
                if self.about {
                    let columns = style::terminal_width().saturating_sub(width + 2);
                    for line in style::wrap(setting.key.about, columns) {
                        writeln!(out, "{:width$}  {DIM}{line}{DIM:#}", "")?;
                    }
                }
            }
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

/// A value in readable form.
fn shown(value: &SettingValue, secret: bool) -> String {
    match value {
        SettingValue::One(text) if text.is_empty() => "-".to_owned(),
        SettingValue::One(_) if secret => "…".to_owned(),
        SettingValue::One(text) => text.clone(),
        SettingValue::Many(items) if items.is_empty() => "-".to_owned(),
        SettingValue::Many(items) => items.join(", "),
        SettingValue::Secrets(pairs) if pairs.is_empty() => "-".to_owned(),
        SettingValue::Secrets(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(name, _)| format!("{name}=…")).collect();
            pairs.join(", ")
        }
    }
}

fn as_json(layers: &Layers, settings: &ServerSettings) -> Json {
    let settings = layers.settings().iter().map(|setting| {
        let value = match &setting.value {
            SettingValue::One(text) if text.is_empty() => Json::Null,
            SettingValue::One(_) if setting.key.kind.is_secret() => json!("…"),
            // A store URL may contain a password; its `Display` hides it.
            SettingValue::One(_) if setting.key.name == "store" => json!(settings.store.to_string()),
            SettingValue::One(text) => json!(text),
            SettingValue::Many(items) => json!(items),
            SettingValue::Secrets(pairs) => {
                Json::Object(pairs.iter().map(|(name, _)| (name.clone(), json!("…"))).collect())
            }
        };
        let origin = setting.origin.to_string();
        let (variable, about) = (setting.key.variable(), setting.key.about);
        let told = json!({ "value": value, "from": origin, "variable": variable, "about": about });
        (setting.key.name.to_owned(), told)
    });
    Json::Object(settings.collect())
}
