//! The MCP servers under `conformance/mcp` that others wrote: installing them, and running our client's tests on them.

use std::path::Path;

use crate::command::{Failure, cargo, run};
use crate::report::{Counts, SuiteOutcome};
use crate::{suite, tools, vendors};

/// Where the servers' versions are pinned.
const FOLDER: &str = "conformance/mcp";

/// Names the folder of the installed npm packages for the Rust tests.
const NODE: &str = "HEADWATER_MCP_NODE";

/// Names the Python that has the servers from PyPI for the Rust tests.
const PYTHON: &str = "HEADWATER_MCP_PYTHON";

/// The tests that run on them.
pub(crate) const TESTS: &str = "mcp::vendors::";

/// Runs our client's tests on servers that others wrote.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    vendors::install(&folder)?;
    let python = tools::install_python(&folder, &root.join("target/mcp-venv"))?;
    // The whole workspace, so that nothing is built again with other features.
    let mut tests = cargo(root, &["test", "--workspace", "--test", "tools", "--", TESTS]);
    tests.env(NODE, folder.join("node_modules")).env(PYTHON, python);
    let finished = run(tests)?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}
