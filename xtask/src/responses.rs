//! Clients of the Responses API against a real server, under `conformance/responses`.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::report::SuiteOutcome;
use crate::{clients, tools, vendors};

const FOLDER: &str = "conformance/responses";

/// Runs the clients from npm, and those from PyPI.
pub(crate) fn test(root: &Path, filter: Option<&str>) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    vendors::install(&folder)?;
    let python = tools::install_python(&folder, &root.join("target/responses-venv"))?;
    let mut node = command(&folder, "node", &["--test", "--test-reporter=tap"]);
    node.env("HEADWATER_BINARY", clients::build(root)?).env("HEADWATER_PYTHON", python);
    if let Some(filter) = filter {
        node.arg("--test-name-pattern").arg(vendors::literal(filter));
    }
    let finished = run(node)?;
    Ok(SuiteOutcome { counts: vendors::counted(&finished), notes: Vec::new(), output: finished.output })
}
