//! `cargo xtask attack`: tries to get past the server, and holds the table in `docs/security.md` to what was tried.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, command, run as finish};
use crate::report::{Counts, Outcome};
use crate::{root, test, vendors};

/// Where the page is attacked.
const PAGE: &str = "conformance/page";

/// Where the table stands.
const DOCUMENT: &str = "docs/security.md";
const BEGIN: &str = "<!-- attacks: written by `cargo xtask attack --write` -->\n";
const END: &str = "<!-- end -->";

/// The attacks in the order of the table. A run that lacks one is not whole.
const ATTACKS: [&str; 15] = [
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
];

/// What comes before the row of an attack.
const ROW: &str = "told: ";

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
    let text = document(root)?;
    let missing: Vec<_> = rows.iter().filter(|row| !text.lines().any(|line| line == row.as_str())).collect();
    if outcome.counts.failed == 0 && !missing.is_empty() {
        return Err(Failure::new(format!("{DOCUMENT} has no {missing:?}: run `cargo xtask attack --write`")));
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
    let (mut table, mut missing) = (String::from("| attack | cases | result |\n|---|---|---|\n"), Vec::new());
    for name in ATTACKS {
        match found.iter().find(|row| row.starts_with(&format!("| {name} | "))) {
            Some(row) => table = format!("{table}{row}\n"),
            None => missing.push(name),
        }
    }
    anstream::print!("{table}");
    for name in &missing {
        anstream::println!("skipped or failed: {name}");
    }
    if !ok {
        return Ok(ExitCode::FAILURE);
    }
    let text = document(&root)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (written, after) = rest.split_once(END)?;
        Some((before, written, after))
    });
    let Some((before, written, after)) = parts else {
        return Err(Failure::new(format!("{DOCUMENT} has no place for the table: `{}`", BEGIN.trim())));
    };
    if write {
        if !missing.is_empty() {
            return Err(Failure::new(format!("{missing:?} did not run, so the table is not written")));
        }
        let path = root.join(DOCUMENT);
        return fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())));
    }
    if missing.is_empty() && written.trim() != table.trim() {
        let message =
            format!("the table in {DOCUMENT} is another one: `cargo xtask attack --write` writes it");
        return Err(Failure::new(message));
    }
    Ok(ExitCode::SUCCESS)
}

/// The rows that a run printed.
fn rows(output: &str) -> Vec<String> {
    let row = |line: &str| Some(format!("| {} |", line.split_once(ROW)?.1.trim()));
    output.lines().filter_map(row).collect()
}

fn document(root: &Path) -> Result<String, Failure> {
    let path = root.join(DOCUMENT);
    fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_wherever_a_line_has_them() {
        let output = "test x ... told: forged tokens | 1,286 | 0 through\n# \\# told: hostile page events | 352 | 0 through\nok";
        let expected = ["| forged tokens | 1,286 | 0 through |", "| hostile page events | 352 | 0 through |"];
        assert_eq!(rows(output), expected);
    }
}
