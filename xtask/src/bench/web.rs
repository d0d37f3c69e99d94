//! The web clients under `web` beside the vendors': `web/bench` measures them on a run of a real server.

use std::path::Path;
use std::process::ExitCode;

use crate::command::{Failure, cargo, command, output_of};
use crate::{Optional, clients, tools, vendors};

/// The folders whose packages are measured.
const VENDORS: [&str; 3] = [vendors::FOLDER, "conformance/clients", "conformance/pages"];

pub(super) fn run(root: &Path, write: bool, without: &[Optional]) -> Result<ExitCode, Failure> {
    if without.contains(&Optional::Vendors) || without.contains(&Optional::Browser) {
        return Err(Failure::new(
            "the web clients are measured beside the vendors', in a browser: leave out --without",
        ));
    }
    let folder = root.join(clients::WEB_FOLDER);
    for packages in VENDORS {
        vendors::install(&root.join(packages))?;
    }
    vendors::install(&folder)?;
    output_of(cargo(root, &["build", "--release", "-p", "headwater-command"]))?;
    output_of(command(&folder, "npm", &["run", "--silent", "build"]))?;
    let mut node = command(&folder, "node", &["bench/run.mjs"]);
    if write {
        node.arg("--write");
    }
    node.env("HEADWATER_BINARY", clients::target(root).join("release/headwater"));
    // What a page would run with: some of the packages check more in development.
    node.env("CHROME", tools::chromium()?).env("NODE_ENV", "production");
    let status = node.status().map_err(|error| Failure::new(format!("node cannot be started: {error}")))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
