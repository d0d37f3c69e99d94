//! `headwater dialects`: the dialects, their profiles, and what each can say.

use std::io::{BufWriter, Write};

use clap::Args;
use headwater_protocol::{Dialect, EventKind, Profile, Support, dialects};
use serde_json::{Value, json};

use crate::{
    args,
    failure::{Failure, Verdict},
    style::{self, BOLD, CYAN, DIM, GREEN, PLAIN, YELLOW},
};

/// List the dialects and what they can say.
#[derive(Debug, Args)]
pub(crate) struct Dialects {
    /// One dialect, with how it says each event.
    #[arg(value_parser = args::dialect())]
    dialect: Option<&'static dyn Dialect>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Dialects {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let mut out = BufWriter::new(anstream::stdout().lock());
        let shown =
            |dialect: &&dyn Dialect| self.dialect.is_none_or(|wanted| wanted.name() == dialect.name());
        let shown = dialects::ALL.into_iter().filter(shown);
        if self.json {
            let all: Vec<Value> = shown.map(describe).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        } else {
            for (at, dialect) in shown.enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                print(dialect, &mut out)?;
            }
            if let Some(dialect) = self.dialect {
                print_events(dialect, &mut out)?;
            }
        }
        out.flush()?;
        Ok(Verdict::Sound)
    }
}

fn print(dialect: &dyn Dialect, out: &mut impl Write) -> Result<(), Failure> {
    let width = style::terminal_width();
    let about = style::wrap(dialect.about(), width.saturating_sub(10));
    for (at, line) in about.iter().enumerate() {
        let name = if at == 0 { dialect.name() } else { "" };
        writeln!(out, "{BOLD}{name:<10}{BOLD:#}{line}")?;
    }
    for profile in dialect.profiles() {
        let mut name = profile.name;
        if !profile.clients.is_empty() {
            for line in style::wrap(profile.clients, width.saturating_sub(20)) {
                writeln!(out, "  {CYAN}{name:<16}{CYAN:#}  {line}")?;
                name = "";
            }
        }
        for (key, value) in capabilities(profile) {
            writeln!(out, "  {CYAN}{name:<16}{CYAN:#}  {DIM}{key:<11}{DIM:#} {value}")?;
            name = "";
        }
    }
    Ok(())
}

fn capabilities(profile: &Profile) -> Vec<(&'static str, String)> {
    let framings: Vec<_> = profile.framings.iter().map(ToString::to_string).collect();
    vec![
        ("framing", framings.join(", ")),
        ("retraction", profile.retraction.to_string()),
        ("re-entry", profile.reentry.to_string()),
        ("cursor", profile.cursor.to_string()),
        ("keep-alive", profile.keep_alive.to_string()),
        ("end", profile.end_marker.unwrap_or("none").to_owned()),
        ("merging", if profile.coalesce { "yes" } else { "no" }.to_owned()),
    ]
}

/// How the dialect says each event; a profile that differs from the default has its own line.
fn print_events(dialect: &dyn Dialect, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out)?;
    let default = dialect.profile(None);
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

fn print_support(kind: &str, support: Support, profile: &str, out: &mut impl Write) -> Result<(), Failure> {
    let (word, how, style) = match support {
        Support::Exact => ("exact", "", GREEN),
        Support::Carried(how) => ("carried", how, YELLOW),
        Support::Dropped => ("dropped", "", DIM),
    };
    let word = if profile.is_empty() { word.to_owned() } else { format!("{profile}: {word}") };
    let room = style::terminal_width().saturating_sub(38).max(30);
    let mut kind = kind;
    let mut word = word.as_str();
    let mut style = style;
    for line in style::wrap(how, room) {
        let text = format!("  {kind:<24}{style}{word:<8}{style:#}  {line}");
        writeln!(out, "{}", text.trim_end())?;
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
