//! The vendors' clients under `conformance/clients`, run against a real server whose connections are cut and whose
//! process is killed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::command::{Failure, cargo, command, follow, run};
use crate::report::{Counts, SuiteOutcome};
use crate::suite::LongRun;
use crate::{root, vendors};

/// Where the judges of a running server live.
pub(crate) const FOLDER: &str = "conformance/clients";

/// The npm workspace of our own packages.
pub(crate) const WEB_FOLDER: &str = "web";

/// How often each client repeats each scenario.
#[derive(Clone, Copy, Debug)]
struct Repeats {
    cuts: u64,
    kills: u64,
}

/// The part of `cargo xtask test`.
pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let mut judges = prepare(root, Repeats { cuts: 1, kills: 1 })?;
    if std::env::var_os("HEADWATER_SEED").is_none() {
        // The same faults in every test; `cargo xtask cuts` and `restarts` look for new ones.
        judges.args(["--seed", "1"]);
    }
    if let Some(filter) = filter {
        judges.arg("--scenario").arg(filter);
    }
    let finished = run(judges)?;
    let mut counts = vendors::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    let notes = finished.output.lines().filter_map(|line| line.strip_prefix("# figure: "));
    let notes = notes.map(str::to_owned).collect();
    // The cases that are well are hundreds of lines.
    let shown = finished.output.lines().filter(|line| !line.starts_with("ok "));
    Ok(SuiteOutcome { counts, notes, output: shown.collect::<Vec<_>>().join("\n") })
}

/// Every client and scenario so many times with cut connections.
pub(crate) fn cuts(times: u64, write: bool) -> Result<ExitCode, Failure> {
    long(Repeats { cuts: times, kills: 0 })?.settle(write.then_some(&*format!("cargo xtask cuts {times}")))
}

/// Every client and scenario so many times with a server that is killed.
pub(crate) fn restarts(times: u64, write: bool) -> Result<ExitCode, Failure> {
    let command = format!("cargo xtask restarts {times}");
    long(Repeats { cuts: 0, kills: times })?.settle(write.then_some(&*command))
}

fn long(repeats: Repeats) -> Result<LongRun, Failure> {
    let finished = follow(prepare(&root(), repeats)?, |line| anstream::println!("{line}"))?;
    let printed = finished.output.lines().filter_map(|line| line.strip_prefix("# figure: "));
    Ok(LongRun { ok: finished.ok, printed: printed.map(str::to_owned).collect() })
}

fn prepare(root: &Path, repeats: Repeats) -> Result<Command, Failure> {
    let folder = root.join(FOLDER);
    install(root)?;
    let binary = build(root)?;
    let mut judges = command(&folder, "node", &["run.mjs", "--binary"]);
    judges.arg(binary);
    judges.arg("--cuts").arg(repeats.cuts.to_string()).arg("--kills").arg(repeats.kills.to_string());
    if let Some(seed) = std::env::var_os("HEADWATER_SEED") {
        judges.arg("--seed").arg(seed);
    }
    Ok(judges)
}

/// Installs the clients.
pub(crate) fn install(root: &Path) -> Result<(), Failure> {
    vendors::install(&root.join(vendors::FOLDER))?;
    vendors::install(&root.join(FOLDER))?;
    // The adapter of MUI X Chat is TypeScript, and is bundled with the tools installed there.
    vendors::install(&root.join(WEB_FOLDER))
}

/// Builds the server as the tests have it, so that nothing is built again with other features, and gives its path.
pub(crate) fn build(root: &Path) -> Result<PathBuf, Failure> {
    let built = run(cargo(root, &["test", "--workspace", "--no-run", "--test", "cli"]))?;
    if !built.ok {
        return Err(Failure::new(format!("headwater cannot be built:\n{}", built.output)));
    }
    Ok(target(root).join("debug/headwater"))
}

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target))
}
