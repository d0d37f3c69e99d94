//! The reader of `docs/native.md` against a real server, under `conformance/native`.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::report::SuiteOutcome;
use crate::{clients, vendors};

const FOLDER: &str = "conformance/native";

/// Runs the reader's tests.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let mut node = command(&root.join(FOLDER), "node", &["--test", "--test-reporter=tap"]);
    node.env("HEADWATER_BINARY", clients::build(root)?);
    let finished = run(node)?;
    Ok(SuiteOutcome { counts: vendors::counted(&finished), notes: Vec::new(), output: finished.output })
}
