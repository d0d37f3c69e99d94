//! `cargo xtask sizes`: how many crates each set of features compiles, and what a cold release build costs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, run as finish};
use crate::report::{Counts, SuiteOutcome};
use crate::root;
use crate::table::DocumentBlock;

const DOCUMENT: &str = "docs/architecture.md";
const COUNTS: DocumentBlock = DocumentBlock { document: DOCUMENT, command: "cargo xtask sizes --write" };
const RELEASE: DocumentBlock =
    DocumentBlock { document: DOCUMENT, command: "cargo xtask sizes --cold --write" };

/// CPU minutes that a cold release build may take.
const CPU_MINUTES: f64 = 10.0;
/// Megabytes that the binary may have.
const BINARY_MB: f64 = 25.0;

/// A crate and its features, as another crate depends on them.
struct FeatureSet {
    name: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
    /// How many crates it may compile.
    limit: Option<usize>,
}

const fn set(name: &'static str, package: &'static str, arguments: &'static [&'static str]) -> FeatureSet {
    FeatureSet { name, package, arguments, limit: None }
}

const fn alone(name: &'static str, feature: &'static [&'static str]) -> FeatureSet {
    set(name, "headwater", feature)
}

const NONE: &str = "--no-default-features";

const SETS: [FeatureSet; 18] = [
    set("`headwater-json`", "headwater-json", &[]),
    FeatureSet {
        limit: Some(25),
        ..set("`headwater-dialects`: the protocols alone", "headwater-dialects", &[])
    },
    set("`headwater-dialects`, `axum`", "headwater-dialects", &["--features", "axum"]),
    FeatureSet { limit: Some(90), ..alone("`headwater` without features: the runtime", &[NONE]) },
    alone("with `embedded`", &[NONE, "--features", "embedded"]),
    alone("with `redis`", &[NONE, "--features", "redis"]),
    alone("with `postgres`", &[NONE, "--features", "postgres"]),
    alone("with `json-schema`", &[NONE, "--features", "json-schema"]),
    alone("with `providers`", &[NONE, "--features", "providers"]),
    alone("with `mcp`", &[NONE, "--features", "mcp"]),
    alone("with `yaml`", &[NONE, "--features", "yaml"]),
    alone("with `server`", &[NONE, "--features", "server"]),
    alone("with `client`", &[NONE, "--features", "client"]),
    alone("with `otel`", &[NONE, "--features", "otel"]),
    alone("with `cli`", &[NONE, "--features", "cli"]),
    alone("`headwater` with its default features", &[]),
    alone("`headwater` with all features", &["--all-features"]),
    set("`headwater-command`: the binary", "headwater-command", &[]),
];

pub(crate) fn run(cold: bool, write: bool) -> Result<ExitCode, Failure> {
    let root = root();
    let mut met = counts(&root, write)?;
    if cold {
        met &= release(&root, write)?;
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The part of `cargo xtask test`: the counts are within their limits, and those of the document.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let table = counts_table(root)?;
    let same = COUNTS.read(root)? == table.text.trim();
    let mut notes = table.over;
    if !same {
        notes.push(format!("the counts in {DOCUMENT} are others: `{}` writes them", COUNTS.command));
    }
    let counts = if notes.is_empty() { Counts::PASSED } else { Counts::FAILED };
    Ok(SuiteOutcome { counts, output: notes.join("\n"), notes: Vec::new() })
}

struct CountsTable {
    text: String,
    /// The sets that are over their limit.
    over: Vec<String>,
}

fn counts(root: &Path, write: bool) -> Result<bool, Failure> {
    let table = counts_table(root)?;
    anstream::print!("{}", table.text);
    for over in &table.over {
        anstream::println!("{over}");
    }
    if write {
        COUNTS.write(root, &table.text)?;
    }
    Ok(table.over.is_empty())
}

fn counts_table(root: &Path) -> Result<CountsTable, Failure> {
    let mut table = CountsTable {
        text: "| depend on | crates | at most |\n|---|---|---|\n".to_owned(),
        over: Vec::new(),
    };
    for set in &SETS {
        let count = count(root, set)?;
        let limit = set.limit.map_or_else(String::new, |limit| limit.to_string());
        table.text += &format!("| {} | {count} | {limit} |\n", set.name);
        if set.limit.is_some_and(|limit| count > limit) {
            table.over.push(format!("{} compiles {count} crates, and may compile {limit}", set.name));
        }
    }
    Ok(table)
}

/// The crates that are compiled, with their versions; proc macros and build scripts are among them.
fn count(root: &Path, set: &FeatureSet) -> Result<usize, Failure> {
    // A fixed target: platforms have crates of their own.
    let fixed = ["tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let target = ["--target", "x86_64-unknown-linux-gnu", "--package", set.package];
    let mut tree = cargo(root, &fixed);
    tree.args(target).args(set.arguments).env("CARGO_TERM_COLOR", "never");
    let finished = finish(tree)?;
    if !finished.ok {
        return Err(Failure::new(format!("cargo tree failed for {}:\n{}", set.name, finished.output)));
    }
    // `name v1.2.3 (proc-macro)`; other lines are cargo's own.
    let crates: BTreeSet<_> = finished
        .output
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?);
            version
                .strip_prefix('v')?
                .starts_with(|digit: char| digit.is_ascii_digit())
                .then_some((name, version))
        })
        .collect();
    Ok(crates.len())
}

/// Builds the binary from nothing, and prints what that cost.
fn release(root: &Path, write: bool) -> Result<bool, Failure> {
    let folder = root.join("target/cold");
    let _ = fs::remove_dir_all(&folder);
    let mut build = cargo(root, &["build", "--release", "--package", "headwater-command"]);
    build.env("CARGO_TARGET_DIR", &folder);
    let before = children_cpu_seconds()?;
    let finished = finish(build)?;
    let minutes = (children_cpu_seconds()? - before) / 60.0;
    if !finished.ok {
        return Err(Failure::new(finished.output));
    }
    let binary = folder.join("release/headwater");
    let size =
        fs::metadata(&binary).map_err(|error| Failure::new(format!("{}: {error}", binary.display())))?;
    #[expect(clippy::cast_precision_loss, reason = "a binary has far less than 2^52 bytes")]
    let megabytes = size.len() as f64 / 1e6;
    let _ = fs::remove_dir_all(&folder);
    let table = format!(
        "| cold `cargo build --release` | | at most |\n|---|---|---|\n\
         | CPU minutes | {minutes:.1} | {CPU_MINUTES:.0} |\n\
         | the binary, stripped, MB | {megabytes:.1} | {BINARY_MB:.0} |\n"
    );
    anstream::print!("{table}");
    if write {
        RELEASE.write(root, &table)?;
    }
    Ok(minutes <= CPU_MINUTES && megabytes <= BINARY_MB)
}

/// The CPU time of all programs that this one started and waited for.
fn children_cpu_seconds() -> Result<f64, Failure> {
    let unreadable =
        || Failure::new("CPU time is read from /proc/self/stat, which this machine does not have");
    let text = fs::read_to_string("/proc/self/stat").map_err(|_| unreadable())?;
    // After the program's name in parentheses come the fields from the third on; 16 and 17 are the children's ticks.
    let (_, fields) = text.rsplit_once(')').ok_or_else(unreadable)?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks.as_slice() {
        // Linux counts in hundredths of a second for programs, whatever the kernel's own clock.
        [user, system] => Ok((user + system) / 100.0),
        _ => Err(unreadable()),
    }
}
