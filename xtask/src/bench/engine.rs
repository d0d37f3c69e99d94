//! `cargo xtask bench engine`: the cost of a delta, a chat, a turn and a run, beside their targets, in one table.
//!
//! The benches print a line of JSON for each figure, `{"figure":"paced memory","of":"ai-sdk","value":1.21}`. A row of the
//! table shows the smallest and the largest figure of its name, and its aim is met when all of them meet it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use super::measurement::{number, text};
use crate::command::{Failure, cargo, follow};
use crate::table::Table;
use crate::{Optional, vendors};

/// A target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum EngineAim {
    AtMost(f64),
    AtLeast(f64),
}

impl EngineAim {
    fn is_met(self, found: f64) -> bool {
        match self {
            Self::AtMost(most) => found <= most,
            Self::AtLeast(least) => found >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", short(most)),
            Self::AtLeast(least) => format!("≥ {}", short(least)),
        }
    }
}

/// One row: its name, the figures that it shows, those of which variant if not all, what it was before, and its aim.
struct EngineRow {
    what: &'static str,
    figure: &'static str,
    of: Option<&'static str>,
    before: &'static str,
    aim: EngineAim,
}

const fn row(what: &'static str, figure: &'static str, before: &'static str, aim: EngineAim) -> EngineRow {
    EngineRow { what, figure, of: None, before, aim }
}

/// The turns of a dialect, by what its page sends with each message.
const fn turns(what: &'static str, of: &'static str, before: &'static str) -> EngineRow {
    row(what, "turn 2,000 ÷ turn 0", before, EngineAim::AtMost(1.1)).of(of)
}

impl EngineRow {
    const fn of(mut self, of: &'static str) -> Self {
        self.of = Some(of);
        self
    }
}

const ROWS: [EngineRow; 20] = [
    row("paced delta, memory store, ÷ bare axum", "paced memory", "2.3–3.2", EngineAim::AtMost(1.3)),
    row("unpaced delta, embedded store, ÷ bare axum", "unpaced embedded", "1.7–2.7", EngineAim::AtMost(1.3)),
    row("hello, embedded store, alone: fsyncs", "hello alone fsyncs", "12.8", EngineAim::AtMost(3.0))
        .of("embedded"),
    row("hello, embedded store, alone: ms on a core", "hello alone ms", "2.2–2.5", EngineAim::AtMost(0.7))
        .of("embedded"),
    row("hello, memory store, 50 connections: ms on a core", "hello busy ms", "0.5", EngineAim::AtMost(0.15))
        .of("memory"),
    row("disk per text byte while running", "disk per text byte while running", "25", EngineAim::AtMost(2.0)),
    row("disk per text byte after the end", "disk per text byte after the end", "25", EngineAim::AtMost(1.3)),
    turns("turn 2,000 ÷ turn 0, kortyx, the newest message", "kortyx, the newest message", "1.0"),
    turns("turn 2,000 ÷ turn 0, mui, the newest message", "mui, the newest message", "2.4"),
    turns("turn 2,000 ÷ turn 0, ai-sdk, the newest message", "ai-sdk, the newest message", ""),
    turns("turn 2,000 ÷ turn 0, ai-sdk, the whole transcript", "ai-sdk, the whole transcript", "3.6"),
    turns("turn 2,000 ÷ turn 0, agents, the whole transcript", "agents, the whole transcript", ""),
    turns("turn 2,000 ÷ turn 0, tanstack, the whole transcript", "tanstack, the whole transcript", ""),
    turns("turn 2,000 ÷ turn 0, ag-ui, the whole transcript", "ag-ui, the whole transcript", "2.2"),
    row(
        "answer after 10,000 ÷ 10 records",
        "answer after 10,000 ÷ 10 records",
        "linear",
        EngineAim::AtMost(1.5),
    ),
    row("structured object, wire ÷ object", "structured wire ÷ object", "12–22", EngineAim::AtMost(3.0)),
    row("one-node runs per core second", "runs per core second", "12,281", EngineAim::AtLeast(30_000.0)),
    row(
        "appends over 10,000 runs ÷ plain file",
        "appends ÷ plain file",
        "0.24–0.44",
        EngineAim::AtLeast(0.6),
    ),
    row("idle reader, KB", "idle reader KB", "16.7", EngineAim::AtMost(12.0)),
    row("silent live run with session and reader, KB", "silent run KB", "63–69", EngineAim::AtMost(25.0)),
];

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the index")]
const NAMES: [&str; ROWS.len()] = {
    let mut names = [""; ROWS.len()];
    let mut at = 0;
    while at < ROWS.len() {
        names[at] = ROWS[at].what;
        at += 1;
    }
    names
};

const TABLE: Table = Table {
    document: "docs/benchmarks.md",
    command: "cargo xtask bench engine --write",
    heading: "| what | before | now | aim | |\n|---|---|---|---|---|\n",
    rows: &NAMES,
};

/// The benches that print the figures: package, bench, and its parts.
const BENCHES: [(&str, &str, &[&str]); 3] = [
    (
        "headwater-server",
        "server",
        &["memory", "paced", "unpaced", "chats", "turns", "answers", "sizes", "structured"],
    ),
    ("headwater-runtime", "runtime", &["one-node"]),
    ("headwater-store", "store", &["many-runs"]),
];

/// One figure that a bench printed.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    name: String,
    of: String,
    value: f64,
}

impl Figure {
    fn parse(line: &str) -> Option<Self> {
        Some(Self { name: text(line, "figure")?, of: text(line, "of")?, value: number(line, "value")? })
    }
}

pub(super) fn run(
    root: &Path,
    write: bool,
    only: &[String],
    without: &[Optional],
) -> Result<ExitCode, Failure> {
    let known: Vec<&str> = BENCHES.iter().flat_map(|(_, _, parts)| parts.iter().copied()).collect();
    if let Some(unknown) = only.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(Failure::new(format!("unknown part `{unknown}`: use {}", known.join(", "))));
    }
    if without.contains(&Optional::Vendors) {
        anstream::println!("vendors: measured only where they are installed, --without vendors");
    } else {
        vendors::install(&root.join(vendors::FOLDER))?;
    }
    let mut figures = Vec::new();
    for (package, bench, parts) in BENCHES {
        let mut parts = parts.to_vec();
        parts.retain(|part| only.is_empty() || only.iter().any(|only| only == part));
        if parts.is_empty() {
            continue;
        }
        // As `--release` builds it: linking across crates takes longer than all that is measured here. Built before the
        // clock runs, so that the seconds are those of measuring.
        let build = ["bench", "-q", "--no-run", "--profile", "release", "-p", package, "--bench", bench];
        follow(cargo(root, &build), |line| anstream::println!("{line}"))?;
        let began = Instant::now();
        let mut arguments =
            vec!["bench", "-q", "--profile", "release", "-p", package, "--bench", bench, "--"];
        arguments.extend(parts);
        let printed = |line: &str| {
            if Figure::parse(line).is_none() {
                anstream::println!("{line}");
            }
        };
        // A bench that misses its own aims ends with an error, and has measured all the same.
        let finished = follow(cargo(root, &arguments), printed)?;
        anstream::println!("\nthe bench `{bench}` of {package}: {:.0} s", began.elapsed().as_secs_f64());
        let found = finished.output.lines().filter_map(Figure::parse);
        let known = figures.len();
        figures.extend(found);
        if figures.len() == known {
            return Err(Failure::new(format!("the bench `{bench}` of {package} printed no figures")));
        }
    }
    anstream::println!();
    let rows: Vec<(String, bool)> = ROWS.iter().filter_map(|row| shown(row, &figures)).collect();
    let lines: Vec<String> = rows.iter().map(|(line, _)| line.clone()).collect();
    TABLE.update(root, &lines, write)?;
    let missed = rows.iter().filter(|(_, met)| !met).count();
    anstream::println!("\n{} of {} rows measured, {missed} miss their aim", rows.len(), ROWS.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A row with the figures that belong to it, and whether its aim is met; nothing if it was not measured.
fn shown(row: &EngineRow, figures: &[Figure]) -> Option<(String, bool)> {
    let own =
        figures.iter().filter(|figure| figure.name == row.figure && row.of.is_none_or(|of| figure.of == of));
    let values: Vec<f64> = own.map(|figure| figure.value).collect();
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let met = row.aim.is_met(least) && row.aim.is_met(most);
    let now = if short(least) == short(most) {
        short(least)
    } else {
        format!("{}–{}", short(least), short(most))
    };
    let (what, before, aim) = (row.what, row.before, row.aim.text());
    let verdict = if met { "met" } else { "**missed**" };
    Some((format!("| {what} | {before} | {now} | {aim} | {verdict} |"), met))
}

/// A number with as many digits as mean something.
fn short(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => format!("{},{:03}", value as u64 / 1_000, value as u64 % 1_000),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        value => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, of: &str, value: f64) -> Figure {
        Figure { name: name.to_owned(), of: of.to_owned(), value }
    }

    #[test]
    fn row_shows_the_range_of_its_figures_and_is_met_when_all_of_them_are() {
        let row = row("a", "f", "2–3", EngineAim::AtMost(1.3));
        let figures = [figure("f", "x", 1.1), figure("g", "x", 9.0), figure("f", "y", 1.31)];
        assert_eq!(
            shown(&row, &figures),
            Some(("| a | 2–3 | 1.1–1.31 | ≤ 1.3 | **missed** |".to_owned(), false))
        );
        let only = row.of("x");
        assert_eq!(shown(&only, &figures), Some(("| a | 2–3 | 1.1 | ≤ 1.3 | met |".to_owned(), true)));
    }

    #[test]
    fn row_that_was_not_measured_is_not_shown() {
        assert_eq!(shown(&row("a", "f", "", EngineAim::AtLeast(30_000.0)), &[]), None);
    }

    #[test]
    fn figure_is_read_from_a_line_and_other_lines_are_not() {
        let line = r#"{"figure":"runs per core second","of":"memory","value":12281.4000}"#;
        assert_eq!(Figure::parse(line), Some(figure("runs per core second", "memory", 12_281.4)));
        assert_eq!(Figure::parse("| a | b |"), None);
        assert_eq!(short(12_281.4), "12,281");
    }

    #[test]
    fn document_has_a_place_for_the_table() {
        let text = std::fs::read_to_string(crate::root().join(TABLE.document)).unwrap();
        assert!(text.contains(&format!("<!-- written by `{}` -->\n", TABLE.command)));
    }
}
