//! The vendors' packages under `conformance/vendors`: installing them, and running what is written on them.

use std::fs;
use std::path::Path;

use crate::command::{CommandOutput, Failure, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::tools;

/// Where the vendors' packages live.
pub(crate) const FOLDER: &str = "conformance/vendors";

/// Names the folder in which the Rust tests leave streams for the vendors' clients.
pub(crate) const GENERATED: &str = "HEADWATER_GENERATED_CASES";

/// Installs what the lock names, unless exactly that is installed.
pub(crate) fn install(folder: &Path) -> Result<(), Failure> {
    tools::ensure(tools::NODE)?;
    let wanted = folder.join("package-lock.json");
    // npm keeps no copy of the lock that it installed from, so this does.
    let installed = folder.join("node_modules/.installed-lock.json");
    let lock = fs::read(&wanted)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", wanted.display())))?;
    if fs::read(&installed).is_ok_and(|known| known == lock) {
        return Ok(());
    }
    let finished = run(command(folder, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    if !finished.ok {
        return Err(Failure::new(format!("npm ci failed:\n{}", finished.output)));
    }
    fs::write(&installed, lock)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", installed.display())))
}

/// Has the vendors' clients judge our streams.
pub(crate) fn test(root: &Path, generated: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    install(&folder)?;
    let mut node = command(&folder, "node", &["--test", "--test-reporter=tap"]);
    node.env(GENERATED, generated);
    if let Some(filter) = filter {
        node.arg("--test-name-pattern").arg(literal(filter));
    }
    let finished = run(node)?;
    let mut counts = counted(&finished);
    // Node counts the tests that were not asked for; cargo does not.
    if filter.is_some() {
        counts.skipped = 0;
    }
    let notes = finished.output.lines().filter_map(|line| line.strip_prefix("# cases: "));
    let notes = notes.map(|note| format!("cases: {note}")).collect();
    Ok(SuiteOutcome { counts, notes, output: finished.output })
}

/// The filter of the Rust tests is plain text, and Node's is a pattern.
pub(crate) fn literal(filter: &str) -> String {
    let escaped = |c: char| {
        if c.is_alphanumeric() { c.to_string() } else { format!("[{c}]") }
    };
    filter.chars().map(|c| if "^\\".contains(c) { format!("\\{c}") } else { escaped(c) }).collect()
}

/// What a run of Node's tests counted; one that died before it could count has failed.
pub(crate) fn counted(finished: &CommandOutput) -> Counts {
    let mut counts = count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    counts
}

/// Sums the lines with which a TAP report ends.
pub(crate) fn count(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in output.lines() {
        let mut words = line.split(' ');
        let (Some("#"), Some(name), Some(number), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match name {
            "pass" => counts.passed += number,
            "fail" | "cancelled" => counts.failed += number,
            "skipped" | "todo" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_tap_report_is_counted() {
        let output =
            "ok 1 - x\n# cases: 4 judged\n1..5\n# tests 5\n# pass 2\n# fail 1\n# cancelled 1\n# skipped 1\n";
        assert_eq!(count(output), Counts { passed: 2, failed: 2, skipped: 1 });
    }

    #[test]
    fn filter_is_taken_literally() {
        assert_eq!(literal("ai-7 a.b"), "ai[-]7[ ]a[.]b");
    }
}
