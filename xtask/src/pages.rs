//! The vendors' stock pages in a real Chromium, under `conformance/pages`.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::report::SuiteOutcome;
use crate::{browser, clients, tools, vendors};

/// Where the tests live.
const FOLDER: &str = "conformance/pages";

/// Runs the pages' tests.
pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    let chromium = tools::chromium()?;
    vendors::install(&root.join(browser::DRIVER))?;
    vendors::install(&folder)?;
    // A page waits for its server most of the time, so two share a core.
    let mut node = command(&folder, "node", &["--test", "--test-reporter=tap", "--test-concurrency=2"]);
    node.env("HEADWATER_BINARY", clients::build(root)?).env("CHROME", chromium);
    if let Some(filter) = filter {
        node.arg("--test-name-pattern").arg(vendors::literal(filter));
    }
    let finished = run(node)?;
    let mut counts = vendors::counted(&finished);
    // Node counts the tests that were not asked for; cargo does not.
    if filter.is_some() {
        counts.skipped = 0;
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}
