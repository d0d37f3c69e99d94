//! `headwater models`: lists the model providers and what each one still needs.

use std::io::Write;

use clap::Args;
use headwater_models::http::Provider;
use serde_json::{Value, json};

use super::reason::model_name::{ECHO, SCRIPTED};
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style::{self, BOLD, DIM, GREEN, YELLOW},
};

/// List the model providers and whether each one can be used.
///
/// API keys are read from the environment and never shown.
#[derive(Debug, Args)]
pub(crate) struct ModelsCommand {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl ModelsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut providers = Vec::new();
        for name in Provider::names() {
            let provider =
                Provider::new(name).map_err(|error| CommandFailure::new(error.to_string()))?.with_env();
            providers.push(provider);
        }
        let mut out = style::stdout(self.json);
        if self.json {
            let mut listed: Vec<Value> = providers.iter().map(describe).collect();
            listed.push(json!({ "provider": SCRIPTED, "ready": true, "api": "a script", "missing": null }));
            serde_json::to_writer_pretty(&mut out, &json!({ "providers": listed }))?;
            writeln!(out)?;
        } else {
            let widest = |of: fn(&Provider) -> &str| {
                providers.iter().map(|provider| of(provider).len()).max().unwrap_or_default()
            };
            let wide = widest(Provider::name);
            let columns = (wide, widest(Provider::language));
            for provider in &providers {
                line(&mut out, provider, columns)?;
            }
            let example = format!("{SCRIPTED}:FILE follows a script, {SCRIPTED}:{ECHO} repeats its input");
            writeln!(out, "{GREEN}✓{GREEN:#} {BOLD}{SCRIPTED:wide$}{BOLD:#}  {example}")?;
            writeln!(out, "\nAsk one: headwater reason --model PROVIDER:MODEL \"Hello\"")?;
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

fn describe(provider: &Provider) -> Value {
    let missing = provider.check().err().map(|error| error.message().to_owned());
    json!({
        "provider": provider.name(),
        "ready": missing.is_none(),
        "api": provider.language(),
        "baseUrl": provider.location(),
        "key": provider.has_key(),
        "keyVariables": provider.key_variables(),
        "baseUrlVariable": provider.address_variable(),
        "missing": missing,
    })
}

fn line(
    out: &mut dyn Write,
    provider: &Provider,
    (wide, speaks): (usize, usize),
) -> Result<(), CommandFailure> {
    let (name, place) = (provider.name(), provider.location().unwrap_or("nowhere yet"));
    let key = if provider.has_key() { "with a key" } else { "without a key" };
    match provider.check() {
        Ok(()) => {
            let place = style::printable(place);
            writeln!(
                out,
                "{GREEN}✓{GREEN:#} {BOLD}{name:wide$}{BOLD:#}  {:speaks$}  at {place}, {key}",
                provider.language()
            )?;
        }
        Err(error) => {
            writeln!(
                out,
                "{YELLOW}–{YELLOW:#} {BOLD}{name:wide$}{BOLD:#}  {:speaks$}  {DIM}{}{DIM:#}",
                provider.language(),
                error.message()
            )?;
        }
    }
    Ok(())
}
