//! Stock chat clients on a network that cuts, under `conformance/network`: the short form, with our server alone.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::report::SuiteOutcome;
use crate::{clients, vendors};

/// Where the clients and their network live.
pub(crate) const FOLDER: &str = "conformance/network";

/// Installs the clients.
pub(crate) fn install(root: &Path) -> Result<(), Failure> {
    vendors::install(&root.join(FOLDER))
}

/// The part of `cargo xtask test`.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    install(root)?;
    let mut node = command(&root.join(FOLDER), "node", &["short.mjs"]);
    node.env("HEADWATER_BINARY", clients::build(root)?);
    let finished = run(node)?;
    Ok(SuiteOutcome { counts: vendors::counted(&finished), notes: Vec::new(), output: finished.output })
}
