//! The vendors' stock pages and our examples of them in a real Chromium, under `conformance/pages`.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::command::{Failure, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::{browser, clients, root, tools, vendors};

/// Where the tests live.
const FOLDER: &str = "conformance/pages";

/// The packages of the pages that bring many others along.
const MORE: &str = "conformance/pages/more";

/// The examples made of those packages.
const EXAMPLES: [&str; 3] =
    ["more/examples/copilotkit.mjs", "more/examples/assistant-ui.mjs", "more/examples/responses.mjs"];

/// Runs the tests of the short set, and those of every example.
pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let (mut counts, mut output) = (Counts::default(), String::new());
    // Without a file Node finds those of the short set; with one it looks for no others.
    for files in [&[][..], &EXAMPLES] {
        // A page waits for its server most of the time, so two share a core.
        let mut node = node(root, &["--test", "--test-reporter=tap", "--test-concurrency=2"])?;
        if let Some(filter) = filter {
            node.arg("--test-name-pattern").arg(vendors::literal(filter));
        }
        node.args(files);
        let finished = run(node)?;
        counts.add(vendors::counted(&finished));
        output.push_str(&finished.output);
    }
    // Node counts the tests that were not asked for; cargo does not.
    if filter.is_some() {
        counts.skipped = 0;
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output })
}

/// `cargo xtask pages`: every page.
pub(crate) fn all() -> Result<ExitCode, Failure> {
    let status = node(&root(), &["run.mjs"])?
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .map_err(|error| Failure::new(format!("cannot run node: {error}")))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Node in the folder of the tests, with all packages, a server and a browser.
fn node(root: &Path, args: &[&str]) -> Result<Command, Failure> {
    let folder = root.join(FOLDER);
    let chromium = tools::chromium()?;
    for packages in [&root.join(browser::DRIVER), &folder, &root.join(MORE)] {
        vendors::install(packages)?;
    }
    let mut node = command(&folder, "node", args);
    node.env("HEADWATER_BINARY", clients::build(root)?).env("CHROME", chromium);
    Ok(node)
}
