//! `cargo xtask attack`: tries to get past the server, and holds the table in `docs/security.md` to its results.

use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, run as finish};
use crate::report::{Counts, SuiteOutcome};
use crate::table::{Table, rows};
use crate::{Optional, browser, figures, root, suite, vendors};

const TABLE: Table = Table {
    document: "docs/security.md",
    command: "cargo xtask attack --write",
    heading: "| attack | cases | result |\n|---|---|---|\n",
    rows: &[
        "forged tokens",
        "foreign ids compared with invented ones",
        "tampered approvals",
        "racing answers",
        "tampered cursors",
        "forged list cursors",
        "hosts (DNS rebinding)",
        "origins, fetch metadata and content types",
        "nested JSON, 1 to 1,000,000 deep",
        "bodies that are too large or never end",
        "mutated bodies",
        "hostile page events",
        "malformed HTTP/1",
        "HTTP/2 floods and malformed frames",
        "slow and silent connections",
    ],
};

/// The part of `cargo xtask test`: some cases of each attack on the binary.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let finished = finish(cargo(root, &["test", "--workspace", "--test", "attack"]))?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}

/// Fails if the table lacks a row that tests of the studio printed.
pub(crate) fn check_rows(root: &Path, output: &str) -> Result<(), Failure> {
    let missing = TABLE.lacks(root, &rows(output))?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("{} has no {missing:?}: run `{}`", TABLE.document, TABLE.command)))
}

fn attack_page(root: &Path) -> Result<(Vec<String>, SuiteOutcome), Failure> {
    let finished = finish(browser::tests(root, None, &["test/hostile.test.mjs".to_owned()])?)?;
    let counts = vendors::counted(&finished);
    Ok((rows(&finished.output), SuiteOutcome { counts, notes: Vec::new(), output: finished.output }))
}

/// All attacks: prints the table, and compares it with the one in the document or writes it there.
pub(crate) fn run(write: bool, without: &[Optional]) -> Result<ExitCode, Failure> {
    let root = root();
    anstream::println!("all attacks on the binary; they take a minute or two");
    let mut tests = cargo(&root, &["test", "--workspace", "--test", "attack", "--", "--nocapture"]);
    tests.env("HEADWATER_ATTACK", "1").env("HEADWATER_ATTACK_WRITE", "1");
    let finished = finish(tests)?;
    let mut ok = finished.ok;
    if !ok {
        anstream::print!("{}", finished.output);
    }
    let mut found = rows(&finished.output);
    if !without.contains(&Optional::Vendors) && !without.contains(&Optional::Browser) {
        let (page, outcome) = attack_page(&root)?;
        if outcome.counts.failed > 0 {
            ok = false;
            anstream::print!("{}", outcome.output);
        }
        found.extend(page);
    }
    TABLE.settle(&root, &found, write && ok)?;
    if write && ok {
        figures::record(&root, "cargo xtask attack", found)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
