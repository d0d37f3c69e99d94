//! `cargo xtask cluster`: several nodes on one engine, killed a thousand times, and the tables in `docs/reliability.md`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::ValueEnum;

use crate::command::{Failure, cargo, follow, run as finish};
use crate::report::{Counts, SuiteOutcome};
use crate::table::{self, Table};
use crate::{Optional, clients, figures, root, suite, tools};

/// The document and the command that writes its tables.
const DOCUMENT: &str = "docs/reliability.md";
const COMMAND: &str = "cargo xtask cluster --write";
/// What the command printed when it wrote them.
const RECORDED: &str = "crates/headwater-cli/tests/cluster/recorded.txt";

const FAULTS: Table = Table {
    document: DOCUMENT,
    command: COMMAND,
    heading: "| fault | times on each engine | result |\n|---|---|---|\n",
    rows: &[
        "SIGKILL of the node that drives three runs",
        "SIGSTOP of the driving node for longer than its lease, then SIGCONT",
        "network cut between the driving node and the engine",
        "packets dropped between the driving node and the engine",
        "network cut, and packets dropped, between an idle node and the engine",
        "engine killed, and stopped, and started again under load",
        "rolling restart of all nodes by SIGTERM under load",
        "all connections of all readers reset, so that each continues on another node",
        "three nodes whose clocks are up to twelve minutes apart, each killed in turn",
        "approval, answer and stop on a node that does not drive the run",
        "second message of a session on another node while the first is answered",
        "connections of the vendors' clients cut, and the node that answers them killed",
        "SIGSTOP of the node that answers a vendor's client for longer than its lease, then SIGCONT",
        "seconds at half load, runs kept for 3 s",
    ],
};

/// What differs from machine to machine.
const FIGURES: Table = Table {
    document: DOCUMENT,
    command: "cargo xtask cluster --write (figures)",
    heading: "| what | how much | figures |\n|---|---|---|\n",
    rows: &[
        "Redis: takeover after a kill",
        "Postgres: takeover after a kill",
        "Redis: half load",
        "Postgres: half load",
    ],
};

/// An engine, as the names of tests have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    Redis,
    Postgres,
}

/// What `cargo xtask cluster` is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The engine, if not both
    #[arg(long)]
    engine: Option<EngineChoice>,
    /// How often a driving node is killed on each engine
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// How long half load lasts on each engine, such as `10m`
    #[arg(long, default_value = "10m", value_parser = seconds)]
    soak: u64,
    /// How many clusters are killed at the same time, each with an engine of its own
    #[arg(long, default_value_t = 6)]
    parallel: u64,
    /// The `headwater` to run, if it is built already (also HEADWATER_BINARY); otherwise an optimised one is built
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Run only the scenarios whose name contains this
    #[arg(long)]
    scenario: Option<String>,
    /// Write the tables into docs/reliability.md
    #[arg(long)]
    write: bool,
    /// Parts to leave out, where a tool that they need cannot be had
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    without: Vec<Optional>,
}

/// The part of `cargo xtask test`: some kills, and each other fault once.
pub(crate) fn test(root: &Path, without: &[Optional]) -> Result<SuiteOutcome, Failure> {
    tools::ensure_engines(without)?;
    // Two at a time: more would take longer than their leases on a small machine.
    let mut tests = cargo(root, &["test", "--workspace", "--test", "cluster", "--", "--test-threads=2"]);
    suite::leave_out(&mut tests, without);
    install_clients(root, &mut tests, without)?;
    let finished = finish(tests)?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}

/// The long form: prints progress and the tables, and writes them into the document on demand.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let root = root();
    tools::ensure_engines(&arguments.without)?;
    anstream::println!("a thousand kills take about ten minutes on each engine");
    let mut tests = arguments.tests(&root)?;
    tests.args(["--nocapture", "--test-threads=1"]);
    tests.args(arguments.filter());
    tests.env("HEADWATER_CLUSTER_KILLS", arguments.kills.to_string());
    tests.env("HEADWATER_CLUSTER_PARALLEL", arguments.parallel.max(1).to_string());
    tests.env("HEADWATER_CLUSTER_SOAK", arguments.soak.to_string());
    tests.env("HEADWATER_CLUSTER_WRITE", "1");
    suite::leave_out(&mut tests, &arguments.without);
    install_clients(&root, &mut tests, &arguments.without)?;
    let finished = follow(tests, |line| {
        let shown =
            line.starts_with("test ") || ["progress: ", "measured: "].iter().any(|word| line.contains(word));
        if shown {
            anstream::println!("   {line}");
        }
    })?;
    if !finished.ok {
        anstream::print!("{}", finished.output);
    }
    let write = arguments.write && finished.ok;
    if write {
        record(&root, &finished.output)?;
    }
    FAULTS.update(&root, &table::rows(&finished.output), write)?;
    FIGURES.update(&root, &table::figures(&finished.output), write)?;
    if write {
        let recorded = fs::read_to_string(root.join(RECORDED)).unwrap_or_default();
        figures::record(&root, "cargo xtask cluster", table::rows(&recorded))?;
    }
    Ok(if finished.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Installs the vendors' clients for the tests that have them as readers.
fn install_clients(root: &Path, tests: &mut Command, without: &[Optional]) -> Result<(), Failure> {
    if without.contains(&Optional::Vendors) {
        return Ok(());
    }
    clients::install(root)?;
    tests.env("HEADWATER_CLUSTER_CLIENTS", "1");
    Ok(())
}

/// Keeps the rows that a run printed, in place of older ones about the same. A test compares the document with them.
fn record(root: &Path, output: &str) -> Result<(), Failure> {
    let path = root.join(RECORDED);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let text = merge(output, &kept);
    fs::write(&path, text).map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// The lines about each row of the tables: those of the last run, or else the recorded ones.
fn merge(output: &str, kept: &str) -> String {
    let mut merged = String::new();
    for (word, table) in [(table::ROW, &FAULTS), (table::FIGURES, &FIGURES)] {
        for name in table.rows {
            let begin = format!("{word}{name} | ");
            let find =
                |text: &str| Some(text.lines().rev().find_map(|line| line.split_once(&begin))?.1.to_owned());
            merged.extend(find(output).or_else(|| find(kept)).map(|rest| format!("{begin}{rest}\n")));
        }
    }
    merged
}

impl Arguments {
    /// The test program. With a binary that is there already, only the tests are built, as `cargo xtask test` builds them.
    fn tests(&self, root: &Path) -> Result<Command, Failure> {
        let named = || env::var_os("HEADWATER_BINARY").map(PathBuf::from);
        let Some(binary) = self.binary.clone().or_else(named) else {
            return Ok(cargo(
                root,
                &["test", "--release", "-p", "headwater-command", "--test", "cluster", "--"],
            ));
        };
        let binary = fs::canonicalize(&binary).map_err(|error| {
            Failure::new(format!("cannot run {}: {error}: name a built `headwater`", binary.display()))
        })?;
        let mut tests = cargo(root, &["test", "--workspace", "--test", "cluster", "--"]);
        tests.env("HEADWATER_BINARY", binary);
        Ok(tests)
    }

    /// The filters of the test program: a scenario is `kills::redis::name`.
    fn filter(&self) -> Vec<String> {
        let engine = self.engine.map(|engine| match engine {
            EngineChoice::Redis => ("redis::", "postgres::"),
            EngineChoice::Postgres => ("postgres::", "redis::"),
        });
        let mut filter: Vec<String> = self.scenario.iter().cloned().collect();
        if let Some((_, other)) = engine {
            filter.extend(["--skip".to_owned(), other.to_owned()]);
        }
        filter
    }
}

/// A length of time such as `90s`, `10m` or `2h`, in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("invalid length of time `{text}`: use a number and `s`, `m` or `h`, such as `10m`");
    let at = text.len().checked_sub(1).ok_or_else(wrong)?;
    let (number, unit) = text.split_at_checked(at).ok_or_else(wrong)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{merge, seconds};

    #[test]
    fn newer_rows_take_the_place_of_recorded_ones() {
        let kept = "figure: seconds at half load, runs kept for 3 s | 4 | flat\nmeasured: Redis: half load | 4 s | old\n";
        let output = "test soak ... measured: Redis: half load | 600 s | new\nother\n";
        let merged = "figure: seconds at half load, runs kept for 3 s | 4 | flat\nmeasured: Redis: half load | 600 s | new\n";
        assert_eq!(merge(output, kept), merged);
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        assert_eq!((seconds("90s"), seconds("10m"), seconds("2h")), (Ok(90), Ok(600), Ok(7_200)));
        for wrong in ["", "10", "m", "10x", "-1m", "99999999999999999999h", "1é"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
