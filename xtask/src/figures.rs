//! `cargo xtask figures`: the figures of README.md and docs/reliability.md, from what commands printed and from
//! docs/benchmarks.md.
//!
//! A command with `--write` keeps what it printed, with its date, in [`RECORDED`].

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::command::{Failure, command, output_of};
use crate::root;
use crate::table::DocumentBlock;

/// What commands printed, one line of JSON for each.
const RECORDED: &str = "docs/measured/reliability.jsonl";
const COMMAND: &str = "cargo xtask figures --write";
const SPEED: &str = "cargo xtask figures --write (speed)";
/// The documents that have the counts.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/reliability.md"];
const BENCHMARKS: &str = "docs/benchmarks.md";

/// The beginnings of the rows of docs/benchmarks.md that the README repeats.
const SPEED_ROWS: [&str; 6] = [
    "| encode at least 20 × the vendor",
    "| decode and reduce at least 15 × the vendor",
    "| vendors, 100 KB in pieces of 16 bytes",
    "| at least 0.6 of bare axum's events/s",
    "| at least 15 × the vendor's whole route",
    "| back to a run of 10,000 deltas",
];

/// The highest counts that others publish, as far as we know: those of `durabl` on PyPI.
const OTHERS_CRASHES: u64 = 10_712;
const OTHERS_DEATHS: u64 = 11_882;

/// Which sum a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountKind {
    SimulatedCrash,
    RealDeath,
    Other,
}

/// A row: what a recorded command counted.
struct FaultCount {
    about: &'static str,
    kind: CountKind,
    /// The first word of the command after `cargo xtask`.
    task: &'static str,
    count: fn(&[String]) -> u64,
}

const ROWS: &[FaultCount] = &[
    FaultCount {
        about: "simulated crash of a run's process, at each of its writes: in memory, with a power cut, and twice in a row",
        kind: CountKind::SimulatedCrash,
        task: "crashes",
        count: |printed| sum(printed, " crashes "),
    },
    FaultCount {
        about: "simulated kill of the store's process, in random histories",
        kind: CountKind::SimulatedCrash,
        task: "faults",
        count: |printed| sum(printed, " kills,"),
    },
    FaultCount {
        about: "simulated power cut under the store, in the same histories",
        kind: CountKind::SimulatedCrash,
        task: "faults",
        count: |printed| sum(printed, " power cuts,"),
    },
    FaultCount {
        about: "real process killed with SIGKILL while it appends to a store, or drives runs",
        kind: CountKind::RealDeath,
        task: "kills",
        count: |printed| sum(printed, " kills: ") + sum(printed, " kills, "),
    },
    FaultCount {
        about: "real server node killed with SIGKILL while it drives runs, on Redis and on Postgres",
        kind: CountKind::RealDeath,
        task: "cluster",
        // The row has the number for each engine.
        count: |printed| 2 * rows(printed, &["SIGKILL of the node"]),
    },
    FaultCount {
        about: "real server killed with SIGKILL under the vendors' clients",
        kind: CountKind::RealDeath,
        task: "restarts",
        count: |printed| sum(printed, " kills"),
    },
    FaultCount {
        about: "real connection of the vendors' clients cut",
        kind: CountKind::Other,
        task: "cuts",
        count: |printed| sum(printed, " cuts,"),
    },
    FaultCount {
        about: "simulated full disk or failed fsync at each write of a run",
        kind: CountKind::Other,
        task: "crashes",
        count: |printed| sum(printed, " times "),
    },
    FaultCount {
        about: "simulated fault of the disk, or flipped bit, under the store",
        kind: CountKind::Other,
        task: "faults",
        count: |printed| sum(printed, " faults of the disk") + sum(printed, " flipped bits"),
    },
    FaultCount {
        about: "real start on a folder with flipped, overwritten or missing bytes",
        kind: CountKind::Other,
        task: "endure",
        count: |printed| rows(printed, &["flipped bits", "blocks of", "the end of the log"]),
    },
    FaultCount {
        about: "forged or tampered token, cursor or approval, sent to a real server",
        kind: CountKind::Other,
        task: "attack",
        count: |printed| rows(printed, &["forged", "tampered"]),
    },
    FaultCount {
        about: "other attack on a real server",
        kind: CountKind::Other,
        task: "attack",
        count: |printed| rows(printed, &[""]) - rows(printed, &["forged", "tampered"]),
    },
    FaultCount {
        about: "generated request to every route of a real server",
        kind: CountKind::Other,
        task: "garbage",
        count: |printed| sum(printed, " requests: "),
    },
];

/// A command and what it printed.
#[derive(Debug, Clone, PartialEq)]
struct RecordedRun {
    command: String,
    date: String,
    printed: Vec<String>,
}

/// Keeps what a command printed, in place of what its task printed before, and writes the figures.
pub(crate) fn record(root: &Path, line: &str, printed: Vec<String>) -> Result<(), Failure> {
    let date = output_of(command(root, "date", &["-u", "+%F"]))?.trim().to_owned();
    let run = RecordedRun { command: line.to_owned(), date, printed };
    let mut runs = read(root)?;
    runs.retain(|known| task(&known.command) != task(line));
    runs.push(run);
    runs.sort_by(|one, other| one.command.cmp(&other.command));
    let lines = runs.iter().map(|RecordedRun { command, date, printed }| {
        format!("{}\n", json!({ "command": command, "date": date, "printed": printed }))
    });
    let path = root.join(RECORDED);
    fs::write(&path, lines.collect::<String>())
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    write(root)
}

/// `cargo xtask figures`: compares the documents with the recorded output, or writes them.
pub(crate) fn run(write_them: bool) -> Result<ExitCode, Failure> {
    let root = root();
    if write_them {
        write(&root)?;
        return Ok(ExitCode::SUCCESS);
    }
    let problems = problems(&root)?;
    for problem in &problems {
        anstream::println!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(root: &Path) -> Result<(), Failure> {
    blocks(root)?.into_iter().try_for_each(|(block, content)| block.write(root, &content))
}

/// The documents whose figures differ from the recorded ones.
fn problems(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for (block, content) in blocks(root)? {
        if block.read(root)? != content.trim() {
            problems.push(format!(
                "{} has other figures than {RECORDED} and {BENCHMARKS}: run `{COMMAND}`",
                block.document
            ));
        }
    }
    Ok(problems)
}

/// The written parts of the documents, with what they must say.
fn blocks(root: &Path) -> Result<Vec<(DocumentBlock, String)>, Failure> {
    let counts = render(&read(root)?);
    let mut blocks: Vec<_> = DOCUMENTS
        .iter()
        .map(|&document| (DocumentBlock { document, command: COMMAND }, counts.clone()))
        .collect();
    blocks.push((DocumentBlock { document: "README.md", command: SPEED }, speed(root)?));
    Ok(blocks)
}

/// The rows of the benchmarks that the README has.
fn speed(root: &Path) -> Result<String, Failure> {
    let path = root.join(BENCHMARKS);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let mut table = "| aim | found |\n|---|---|\n".to_owned();
    for begin in SPEED_ROWS {
        let found = text.lines().find(|line| line.starts_with(begin));
        let found = found.ok_or_else(|| Failure::new(format!("{BENCHMARKS} has no row `{begin} …`")))?;
        table.push_str(found);
        table.push('\n');
    }
    Ok(table)
}

fn read(root: &Path) -> Result<Vec<RecordedRun>, Failure> {
    let path = root.join(RECORDED);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let run = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |field: &str| Some(value.get(field)?.as_str()?.to_owned());
        let printed = value.get("printed")?.as_array()?.iter().filter_map(|line| line.as_str());
        let printed = printed.map(str::to_owned).collect();
        Some(RecordedRun { command: text("command")?, date: text("date")?, printed })
    };
    let wrong = |line: &str| Failure::new(format!("{RECORDED}: not a recorded command: {line}"));
    text.lines().map(|line| run(line).ok_or_else(|| wrong(line))).collect()
}

/// The table, and what it adds up to.
fn render(runs: &[RecordedRun]) -> String {
    let mut table = "| what | times | command | date |\n|---|---|---|---|\n".to_owned();
    let (mut crashes, mut deaths) = (0, 0);
    for row in ROWS {
        let Some(run) = runs.iter().find(|run| task(&run.command) == row.task) else { continue };
        let count = (row.count)(&run.printed);
        match row.kind {
            CountKind::SimulatedCrash => crashes += count,
            CountKind::RealDeath => deaths += count,
            CountKind::Other => {}
        }
        let (count, command, date) = (grouped(count), &run.command, &run.date);
        table.push_str(&format!("| {} | {count} | `{command}` | {date} |\n", row.about));
    }
    let compared = |count, others, what| match count > others {
        true => format!(
            " (`durabl` on PyPI, the highest count that we know others to publish, has {} {what})",
            grouped(others)
        ),
        false => String::new(),
    };
    format!(
        "{table}\nTogether {} simulated crashes{} and {} real processes killed{}, each followed by the checks of its command.\n",
        grouped(crashes),
        compared(crashes, OTHERS_CRASHES, "crash scenarios"),
        grouped(deaths),
        compared(deaths, OTHERS_DEATHS, "process deaths"),
    )
}

/// The task of a command line.
fn task(command: &str) -> &str {
    command.trim_start_matches("cargo xtask ").split(' ').next().unwrap_or_default()
}

/// The sum of the numbers that stand before a word, in all lines.
fn sum(printed: &[String], word: &str) -> u64 {
    let before = |text: &str| {
        let digits: String =
            text.chars().rev().take_while(|each| each.is_ascii_digit() || *each == ',').collect();
        digits.chars().rev().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().ok()
    };
    let numbers = printed.iter().filter_map(|line| before(line.split_once(word)?.0));
    numbers.sum()
}

/// The sum of the second cells of the rows whose first cell begins so.
fn rows(printed: &[String], beginnings: &[&str]) -> u64 {
    let cells = printed.iter().filter_map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let name = cells.next()?;
        let number = cells.next()?.replace(',', "").parse::<u64>().ok()?;
        beginnings.iter().any(|begin| name.starts_with(begin)).then_some(number)
    });
    cells.sum()
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_recorded_figures() {
        let problems = problems(&root()).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn numbers_are_read_from_what_commands_print() {
        let printed =
            ["5000 histories: 1,500 steps, 34055 kills, 33490 power cuts, 23 faults of the disk".to_owned()];
        assert_eq!(sum(&printed, " kills,"), 34_055);
        assert_eq!(sum(&printed, " power cuts,"), 33_490);
        let printed =
            ["| forged tokens | 1,609 | 0 through |".to_owned(), "| hosts | 84 | 0 through |".to_owned()];
        assert_eq!((rows(&printed, &["forged"]), rows(&printed, &[""])), (1_609, 1_693));
    }

    #[test]
    fn comparison_follows_the_sums() {
        let run = |command: &str, printed: &str| RecordedRun {
            command: command.to_owned(),
            date: "2026-01-01".to_owned(),
            printed: vec![printed.to_owned()],
        };
        let kills = run("cargo xtask kills 1", "1 kills: x");
        let few = render(&[run("cargo xtask crashes", "12 crashes in memory"), kills.clone()]);
        assert!(!few.contains("durabl"), "{few}");
        let many = render(&[run("cargo xtask crashes", "10713 crashes in memory"), kills]);
        assert!(many.contains("crash scenarios") && !many.contains("process deaths"), "{many}");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
