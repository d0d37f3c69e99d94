//! `cargo xtask endure`: many readers, many runs and damaged folders, and the table in `docs/reliability.md`.

use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, run as finish};
use crate::report::{Counts, SuiteOutcome};
use crate::table::{self, Table};
use crate::{figures, root, suite};

const TABLE: Table = Table {
    document: "docs/reliability.md",
    command: "cargo xtask endure --write",
    heading: "| what | cases | result |\n|---|---|---|\n",
    rows: &[
        "readers of one run that wait, and then read its end",
        "runs at once, in six dialects",
        "streaming runs under a server that gets SIGTERM",
        "runs one after another, kept for 3 s",
        "flipped bits, each in a folder of 40 runs",
        "blocks of 512 B to 8 KiB overwritten",
        "the end of the log cut off, at each of the last 2,049 bytes",
    ],
};

/// The part of `cargo xtask test`: some cases of each.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let finished = finish(cargo(root, &["test", "--workspace", "--test", "endure"]))?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}

/// All cases, one test after another: prints the table, and compares it with the one in the document or writes it there.
pub(crate) fn run(write: bool) -> Result<ExitCode, Failure> {
    let root = root();
    anstream::println!("all of it takes some minutes");
    let arguments = [
        "test",
        "--release",
        "-p",
        "headwater-command",
        "--test",
        "endure",
        "--",
        "--nocapture",
        "--test-threads=1",
    ];
    let mut tests = cargo(&root, &arguments);
    tests.env("HEADWATER_ENDURE", "1").env("HEADWATER_ENDURE_WRITE", "1");
    let finished = finish(tests)?;
    if !finished.ok {
        anstream::print!("{}", finished.output);
    }
    let found = table::rows(&finished.output);
    TABLE.settle(&root, &found, write && finished.ok)?;
    if write && finished.ok {
        figures::record(&root, "cargo xtask endure", found)?;
    }
    Ok(if finished.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
