//! `headwater lint`: checks a stream against the rules of its dialect.

use std::io::Write;

use clap::Args;
use headwater_dialects::{Finding, Reader};
use headwater_protocol::{Framing, Place, RunState};

use crate::{
    args::StreamArgs,
    decode_walk::{StreamWalk, WalkItem},
    failure::{CommandFailure, ExitVerdict},
    style::{self, BOLD, DIM, RED},
};

/// The rule name of findings that come from the decoder.
const DECODE: &str = "decode";

/// Check a stream against the rules of its dialect.
///
/// Prints one finding per line and exits with 1, or prints nothing and exits with 0. Errors of the decoder
/// that no rule covers are reported under the rule `decode`.
#[derive(Debug, Args)]
pub(crate) struct LintCommand {
    #[command(flatten)]
    stream: StreamArgs,

    /// List the rules of all dialects, or of the one given.
    #[arg(long, conflicts_with_all = ["framing", "file"])]
    rules: bool,

    /// Print JSON, one object on each line.
    #[arg(long)]
    json: bool,
}

impl LintCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        if self.rules {
            return self.list_rules();
        }
        let stream = self.stream.open()?;
        let bytes = stream.input.read_all()?;
        let findings = check(stream.dialect, stream.framing, &bytes);
        let mut out = style::stdout(self.json);
        for finding in &findings {
            if self.json {
                writeln!(out, "{}", serde_json::to_string(finding)?)?;
            } else {
                print(finding, &mut out)?;
            }
        }
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(!findings.is_empty()))
    }

    fn list_rules(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut out = style::stdout(self.json);
        let shown =
            |dialect: &&dyn Reader| self.stream.dialect.is_none_or(|wanted| wanted.name() == dialect.name());
        for (at, dialect) in headwater_dialects::READERS.into_iter().filter(shown).enumerate() {
            let rules = dialect.lint_rules();
            if self.json {
                for rule in rules {
                    let line = serde_json::json!({
                        "dialect": dialect.name(), "rule": rule.name, "demands": rule.demands,
                    });
                    writeln!(out, "{line}")?;
                }
                continue;
            }
            if at > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{BOLD}{}{BOLD:#}", dialect.name())?;
            let column = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
            let room = style::terminal_width().saturating_sub(column + 4).max(30);
            for rule in rules {
                let mut name = rule.name;
                for line in style::wrap(rule.demands, room) {
                    writeln!(out, "  {name:column$}  {DIM}{line}{DIM:#}")?;
                    name = "";
                }
            }
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

/// Findings of the linter, plus errors of the decoder and reducer that it does not cover, in stream order.
fn check(dialect: &dyn Reader, framing: Framing, stream: &[u8]) -> Vec<Finding> {
    let mut findings = headwater_dialects::lint(dialect, framing, stream);
    let known: std::collections::HashSet<Option<u64>> =
        findings.iter().map(|finding| finding.frame).collect();
    let mut state = RunState::with_rules(dialect.rules());
    StreamWalk::new(dialect, framing).through(stream, |place, found| {
        let error = match found {
            WalkItem::Record(record) => match state.apply(&record) {
                Ok(()) => return,
                Err(error) => error,
            },
            WalkItem::Error(error) => error,
        };
        if !known.contains(&place.map(|place| place.frame)) {
            findings.push(unread(place, error.message()));
        }
    });
    findings.sort_by_key(|finding| finding.frame.unwrap_or(u64::MAX));
    findings
}

fn unread(place: Option<Place>, message: &str) -> Finding {
    Finding {
        rule: DECODE,
        frame: place.map(|place| place.frame),
        offset: place.map(|place| place.offset),
        seen: format!("what cannot be read ({message})"),
        expected: "what the dialect's clients read".to_owned(),
    }
}

fn print(finding: &Finding, out: &mut impl Write) -> Result<(), CommandFailure> {
    let line = style::printable(&finding.to_string()).replace('\n', "␊");
    let rule = format!("{}: ", finding.rule);
    match line.split_once(&rule) {
        Some((place, rest)) => writeln!(out, "{DIM}{place}{DIM:#}{RED}{}{RED:#}: {rest}", finding.rule)?,
        None => writeln!(out, "{line}")?,
    }
    Ok(())
}
