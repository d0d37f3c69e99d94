//! The studio of `headwater serve` in a real Chromium, under `web/studio/test`.

use std::path::Path;
use std::process::Command;

use crate::command::{Failure, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::{clients, tools, vendors};

/// The package that drives the browser, for the tests of the vendors' pages too.
pub(crate) const DRIVER: &str = "conformance/browser";

const FOLDER: &str = "web";

/// Checks that the committed files of the studio are the build of its sources, and runs its tests.
pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let pattern = filter.map(|filter| format!("--test-name-pattern={}", vendors::literal(filter)));
    let node = tests(root, pattern.as_deref(), &test_files(root)?)?;
    let (mut counts, mut output) = (Counts::default(), String::new());
    if filter.is_none() {
        let checked = run(command(&root.join(FOLDER), "npm", &["run", "--silent", "studio:check"]))?;
        counts.add(if checked.ok { Counts::PASSED } else { Counts::FAILED });
        output.push_str(&checked.output);
    }
    let finished = run(node)?;
    let mut tested = vendors::counted(&finished);
    // Node counts the tests that were not asked for; cargo does not.
    if filter.is_some() {
        tested.skipped = 0;
    }
    counts.add(tested);
    output.push_str(&finished.output);
    Ok(SuiteOutcome { counts, notes: Vec::new(), output })
}

/// The files with tests; older versions of Node know no patterns.
fn test_files(root: &Path) -> Result<Vec<String>, Failure> {
    let folder = root.join(FOLDER).join("studio/test");
    let failed = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            files.push(format!("test/{name}"));
        }
    }
    files.sort();
    Ok(files)
}

/// Node on these tests of the studio, with a server and a browser. An option has to come before the files.
pub(crate) fn tests(root: &Path, option: Option<&str>, files: &[String]) -> Result<Command, Failure> {
    let chromium = tools::chromium()?;
    vendors::install(&root.join(FOLDER))?;
    // Each file has a server and a browser of its own.
    let arguments = ["--test", "--test-reporter=tap", "--test-concurrency=2"];
    let mut node = command(&root.join(FOLDER).join("studio"), "node", &arguments);
    node.args(option).args(files).env("HEADWATER_BINARY", clients::build(root)?).env("CHROME", chromium);
    Ok(node)
}
