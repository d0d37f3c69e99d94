//! The vendors' own SDKs under `conformance/models`: they judge the requests that our wires write.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::report::SuiteOutcome;
use crate::vendors;

/// Where the SDKs' versions are pinned.
pub(crate) const FOLDER: &str = "conformance/models";

/// Has the SDKs make the calls that we make, and compares.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(FOLDER);
    vendors::install(&folder)?;
    let finished = run(command(&folder, "node", &["--test", "--test-reporter=tap"]))?;
    Ok(SuiteOutcome { counts: vendors::counted(&finished), notes: Vec::new(), output: finished.output })
}
