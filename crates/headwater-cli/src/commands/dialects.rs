//! `headwater dialects`: the dialects, their profiles, and the events they support.

use std::io::Write;

use clap::Args;
use headwater_dialects::{Dialect, Profile, Support};
use headwater_protocol::EventKind;
use serde_json::{Value, json};

use crate::{
    args,
    failure::{CommandFailure, ExitVerdict},
    style::{self, BOLD, CYAN, DIM, GREEN, PLAIN, YELLOW},
};

/// List the dialects and the events they support.
#[derive(Debug, Args)]
pub(crate) struct DialectsCommand {
    /// Show one dialect, with its support for each event.
    #[arg(value_parser = args::dialect())]
    dialect: Option<&'static dyn Dialect>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl DialectsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut out = style::stdout(self.json);
        let shown =
            |dialect: &&dyn Dialect| self.dialect.is_none_or(|wanted| wanted.name() == dialect.name());
        let shown = headwater_dialects::ALL.into_iter().filter(shown);
        if self.json {
            let all: Vec<Value> = shown.map(describe).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        } else if let Some(dialect) = self.dialect {
            print(dialect, &mut out)?;
            print_events(dialect, &mut out)?;
        } else {
            print_table(&mut out)?;
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

/// One line per dialect and its profiles.
fn print_table(out: &mut impl Write) -> Result<(), CommandFailure> {
    let room = style::terminal_width().saturating_sub(10);
    for dialect in headwater_dialects::ALL {
        let mut name = dialect.name();
        for line in style::wrap(dialect.about(), room) {
            writeln!(out, "{BOLD}{name:<10}{BOLD:#}{line}")?;
            name = "";
        }
    }
    writeln!(out)?;

    let mut rows = vec![["dialect", "profile"].map(str::to_owned).to_vec()];
    rows.extend(headwater_dialects::ALL.into_iter().flat_map(|dialect| {
        dialect.profiles().iter().map(|profile| vec![dialect.name().to_owned(), profile.name.to_owned()])
    }));
    let profiles = headwater_dialects::ALL.into_iter().flat_map(Dialect::profiles);
    for (row, profile) in rows.iter_mut().skip(1).zip(profiles) {
        row.extend(capabilities(profile).into_iter().map(|(_, value)| value));
    }
    if let Some(heading) = rows.first_mut() {
        heading.extend(capabilities(&Profile::PLAIN).into_iter().map(|(key, _)| key.to_owned()));
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| style::width(cell)).max();
    let widths: Vec<usize> = (0..columns).filter_map(widest).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let style = if at == 0 { DIM } else { PLAIN };
        writeln!(out, "{style}{}{style:#}", line.trim_end())?;
    }
    writeln!(out, "\n{DIM}headwater dialects <NAME> shows how a dialect supports each event{DIM:#}")?;
    Ok(())
}

/// One dialect with its profiles.
fn print(dialect: &dyn Dialect, out: &mut impl Write) -> Result<(), CommandFailure> {
    writeln!(out, "{BOLD}{}{BOLD:#}  {}", dialect.name(), dialect.about())?;
    let room = style::terminal_width().saturating_sub(20);
    for profile in dialect.profiles() {
        writeln!(out)?;
        let mut name = profile.name;
        for line in style::wrap(profile.clients, room).iter().filter(|line| !line.is_empty()) {
            writeln!(out, "  {CYAN}{name:<16}{CYAN:#}  {line}")?;
            name = "";
        }
        for (key, value) in capabilities(profile) {
            writeln!(out, "  {CYAN}{name:<16}{CYAN:#}  {DIM}{key:<11}{DIM:#} {value}")?;
            name = "";
        }
    }
    Ok(())
}

fn capabilities(profile: &Profile) -> [(&'static str, String); 7] {
    let framings: Vec<_> = profile.framings.iter().map(ToString::to_string).collect();
    [
        ("framing", framings.join(", ")),
        ("retraction", profile.retraction.to_string()),
        ("re-entry", profile.reentry.to_string()),
        ("keep-alive", profile.keep_alive.to_string()),
        ("end", profile.end_marker.unwrap_or("none").to_owned()),
        ("merging", if profile.coalesce { "yes" } else { "no" }.to_owned()),
        ("cursor", profile.cursor.to_string()),
    ]
}

/// The dialect's support for each event; a profile that differs from the default gets its own line.
fn print_events(dialect: &dyn Dialect, out: &mut impl Write) -> Result<(), CommandFailure> {
    writeln!(out)?;
    let default = dialect.default_profile();
    for kind in EventKind::ALL {
        let usual = dialect.support(*kind, default);
        print_support(kind.name(), usual, "", out)?;
        for profile in dialect.profiles().iter().filter(|profile| profile.name != default.name) {
            let here = dialect.support(*kind, profile);
            if here != usual {
                print_support("", here, profile.name, out)?;
            }
        }
    }
    Ok(())
}

fn print_support(
    mut kind: &str,
    support: Support,
    profile: &str,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let (mut word, how, mut style) = match support {
        Support::Exact => ("exact", "", GREEN),
        Support::Shown(how) => ("shown", how, YELLOW),
        Support::Hidden => ("not sent", "", DIM),
    };
    let how = if profile.is_empty() { how.to_owned() } else { format!("{how} ({profile})") };
    let room = style::terminal_width().saturating_sub(38).max(30);
    for line in style::wrap(how.trim_start(), room) {
        let column = if line.is_empty() { 0 } else { 10 };
        writeln!(out, "  {kind:<24}{style}{word:<column$}{style:#}{line}")?;
        (kind, word, style) = ("", "", PLAIN);
    }
    Ok(())
}

fn describe(dialect: &'static dyn Dialect) -> Value {
    let profiles: Vec<Value> =
        dialect.profiles().iter().map(|profile| describe_profile(dialect, profile)).collect();
    json!({ "name": dialect.name(), "about": dialect.about(), "profiles": profiles })
}

fn describe_profile(dialect: &dyn Dialect, profile: &Profile) -> Value {
    let events: serde_json::Map<String, Value> = EventKind::ALL
        .iter()
        .map(|kind| (kind.name().to_owned(), json!(dialect.support(*kind, profile).to_string())))
        .collect();
    json!({
        "name": profile.name,
        "clients": profile.clients,
        "framings": profile.framings,
        "retraction": profile.retraction.to_string(),
        "reentry": profile.reentry.to_string(),
        "cursor": profile.cursor.to_string(),
        "keepAlive": profile.keep_alive.to_string(),
        "endMarker": profile.end_marker,
        "coalesce": profile.coalesce,
        "events": events,
    })
}
