//! `cargo xtask attack`: tries to get past the server, and holds the table in `docs/security.md` to what was tried.

use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, command, run as finish};
use crate::report::{Counts, Outcome};
use crate::table::{Table, rows};
use crate::{root, test, vendors};

/// Where the page is attacked.
const PAGE: &str = "conformance/page";

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
pub(crate) fn test(root: &Path) -> Result<Outcome, Failure> {
    let finished = finish(cargo(root, &["test", "--workspace", "--test", "attack"]))?;
    let mut counts = test::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(Outcome { counts, notes: Vec::new(), output: finished.output })
}

/// The part of `cargo xtask test` that needs Node: the page.
pub(crate) fn test_page(root: &Path) -> Result<Outcome, Failure> {
    let (rows, outcome) = attack_page(root)?;
    let missing = TABLE.lacks(root, &rows)?;
    if outcome.counts.failed == 0 && !missing.is_empty() {
        let message = format!("{} has no {missing:?}: run `{}`", TABLE.document, TABLE.command);
        return Err(Failure::new(message));
    }
    Ok(outcome)
}

fn attack_page(root: &Path) -> Result<(Vec<String>, Outcome), Failure> {
    let folder = root.join(PAGE);
    vendors::install(&folder)?;
    let finished = finish(command(&folder, "node", &["--test", "--test-reporter=tap"]))?;
    let counts = vendors::counted(&finished);
    Ok((rows(&finished.output), Outcome { counts, notes: Vec::new(), output: finished.output }))
}

/// All attacks: prints the table, and compares it with the one in the document or writes it there.
pub(crate) fn run(write: bool, without_page: bool) -> Result<ExitCode, Failure> {
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
    if !without_page {
        let (page, outcome) = attack_page(&root)?;
        if outcome.counts.failed > 0 {
            ok = false;
            anstream::print!("{}", outcome.output);
        }
        found.extend(page);
    }
    TABLE.settle(&root, &found, write && ok)?;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
