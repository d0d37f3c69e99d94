//! The conformance suite and the client of Durable Streams against a real server, under `conformance/durable-streams`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{Failure, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::{clients, vendors};

const FOLDER: &str = "conformance/durable-streams";

/// How many tests the published suite has. Fewer would mean that some were left out.
const SUITE: usize = 338;

pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    vendors::install(&folder)?;
    let report = root.join("target/durable-streams.json");
    let _ = fs::remove_file(&report);
    let mut vitest = command(&folder, "node", &["node_modules/vitest/vitest.mjs", "run", "--reporter=json"]);
    vitest.arg("--outputFile").arg(&report).env("HEADWATER_BINARY", clients::build(root)?);
    if let Some(filter) = filter {
        vitest.arg("--testNamePattern").arg(vendors::literal(filter));
    }
    let finished = run(vitest)?;
    let text = fs::read_to_string(&report)
        .map_err(|error| Failure::new(format!("vitest wrote no report: {error}\n{}", finished.output)))?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("the report of vitest is not JSON: {error}")))?;
    let (mut counts, failures) = read(&report);
    let suite = passed_in(&report, "suite.test.mjs");
    if filter.is_none() && suite != SUITE {
        return Err(Failure::new(format!("{suite} of {SUITE} tests of the suite passed:\n{failures}")));
    }
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    let notes = vec![format!("{suite} of {SUITE} tests of the published suite")];
    Ok(SuiteOutcome { counts, notes, output: failures })
}

/// The tests of all files.
fn all_tests(report: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let files = report["testResults"].as_array().into_iter().flatten();
    files.flat_map(|file| {
        let name = file["name"].as_str().unwrap_or_default();
        file["assertionResults"].as_array().into_iter().flatten().map(move |test| (name, test))
    })
}

/// How many tests of a file passed.
fn passed_in(report: &Value, file: &str) -> usize {
    all_tests(report).filter(|(name, test)| name.ends_with(file) && test["status"] == "passed").count()
}

/// The counts, and why tests failed.
fn read(report: &Value) -> (Counts, String) {
    let (mut counts, mut failures) = (Counts::default(), String::new());
    for (_, test) in all_tests(report) {
        match test["status"].as_str() {
            Some("passed") => counts.passed += 1,
            Some("failed") => {
                counts.failed += 1;
                let why = test
                    .pointer("/failureMessages/0")
                    .and_then(serde_json::Value::as_str)
                    .unwrap_or_default();
                failures.push_str(&format!("{}\n  {why}\n", test["fullName"].as_str().unwrap_or_default()));
            }
            _ => {}
        }
    }
    (counts, failures)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Counts, passed_in, read};

    #[test]
    fn report_is_counted_by_file() {
        let report = json!({ "testResults": [
            { "name": "/a/suite.test.mjs", "assertionResults": [
                { "status": "passed", "fullName": "one" },
                { "status": "failed", "fullName": "two", "failureMessages": ["because"] },
                { "status": "pending", "fullName": "three" },
            ] },
            { "name": "/a/runs.test.mjs", "assertionResults": [{ "status": "passed", "fullName": "four" }] },
        ] });
        let (counts, failures) = read(&report);
        assert_eq!(counts, Counts { passed: 2, failed: 1, skipped: 0 });
        assert_eq!(failures, "two\n  because\n");
        assert_eq!(passed_in(&report, "suite.test.mjs"), 1);
    }
}
