//! `headwater doctor`: checks whether a server would work as it is set up.

mod access;
mod models;
mod store;

use std::io::Write;

use anstyle::Style;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::{
    ProgramAgents,
    config::{Layers, ServerSettings, flags::Flags},
    failure::{CommandFailure, ExitVerdict},
    server_args::block_on,
    style::{self, BOLD, GREEN, RED, YELLOW},
};

/// Check whether a server would work as it is set up: its settings, keys, store, port, agents and models.
///
/// Takes the flags of `serve`. A line for each check says what to do; the exit code is 1 if something is wrong.
/// Nothing is changed, and no key is sent anywhere.
#[derive(Debug, Args)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    flags: Flags,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    Good,
    Warning,
    Wrong,
}

/// A line of the report.
#[derive(Debug, Serialize)]
struct CheckResult {
    check: &'static str,
    state: CheckState,
    message: String,
}

impl CheckResult {
    fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, state: CheckState::Good, message: message.into() }
    }

    fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, state: CheckState::Warning, message: message.into() }
    }

    fn wrong(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, state: CheckState::Wrong, message: message.into() }
    }
}

impl DoctorCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        let results = block_on(async { Ok(self.check(agents).await) })?;
        let is_wrong = results.iter().any(|result| result.state == CheckState::Wrong);
        let mut out = style::stdout(self.json);
        if self.json {
            serde_json::to_writer_pretty(&mut out, &json!({ "checks": results }))?;
            writeln!(out)?;
        } else {
            results.iter().try_for_each(|result| write(result, &mut out))?;
        }
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(is_wrong))
    }

    async fn check(&self, agents: &ProgramAgents) -> Vec<CheckResult> {
        let mut results = Vec::new();
        let settings = self.flags.layers().and_then(|layers| {
            results.extend(layers.warnings.iter().map(|warning| CheckResult::warning("settings", warning)));
            results.push(CheckResult::good("settings", origins(&layers)));
            ServerSettings::of(&layers)
        });
        let settings = match settings {
            Ok(settings) => settings,
            Err(failure) => {
                // Without settings there is nothing else to check.
                results.retain(|result| result.state == CheckState::Warning);
                results.push(CheckResult::wrong("settings", failure.to_string()));
                return results;
            }
        };
        results.push(access::keys(&settings).await);
        results.push(store::check(&settings).await);
        results.push(access::port(&settings).await);
        results.extend(models::check(&settings, agents).await);
        results
    }
}

/// How many settings are not the defaults, and where they are from.
fn origins(layers: &Layers) -> String {
    let origins = layers.settings().iter().map(|setting| setting.origin.to_string());
    let set: Vec<_> = origins.filter(|origin| origin != "default").collect();
    match set.len() {
        0 => "all are the defaults".to_owned(),
        1 => "1 is not the default: `headwater config` shows it".to_owned(),
        count => format!("{count} are not the defaults: `headwater config` shows them"),
    }
}

fn write(result: &CheckResult, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let (sign, colour): (_, Style) = match result.state {
        CheckState::Good => ("✓", GREEN),
        CheckState::Warning => ("!", YELLOW),
        CheckState::Wrong => ("✗", RED),
    };
    let room = style::terminal_width().saturating_sub(12);
    for (at, line) in style::wrap(&result.message, room).iter().enumerate() {
        let (sign, check) = if at == 0 { (sign, result.check) } else { (" ", "") };
        writeln!(out, "{colour}{sign}{colour:#} {BOLD}{check:<9}{BOLD:#} {line}")?;
    }
    Ok(())
}
