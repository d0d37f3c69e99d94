//! Stock chat clients on a network that cuts, against their vendors' servers and ours: `conformance/network`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::command::{Failure, cargo, command, output_of};
use crate::{Optional, clients, network, servers, tools, vendors};

pub(super) fn run(root: &Path, write: bool, without: &[Optional]) -> Result<ExitCode, Failure> {
    if without.contains(&Optional::Vendors) || without.contains(&Optional::Redis) {
        return Err(Failure::new(
            "the vendors' servers are measured too, one of them on Redis: leave out --without",
        ));
    }
    tools::ensure_engines(&[Optional::Postgres, Optional::Clocks])?;
    network::install(root)?;
    vendors::install(&root.join(servers::FOLDER))?;
    let mut node = command(&root.join(network::FOLDER), "node", &["run.mjs", "--binary"]);
    node.arg(binary(root)?).env("NODE_ENV", "production");
    if write {
        node.arg("--write");
    }
    if let Some(seed) = env::var_os("HEADWATER_SEED") {
        node.arg("--seed").arg(seed);
    }
    let status = node.status().map_err(|error| Failure::new(format!("node cannot be started: {error}")))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The server that `HEADWATER_BINARY` names, or an optimised one.
fn binary(root: &Path) -> Result<PathBuf, Failure> {
    if let Some(named) = env::var_os("HEADWATER_BINARY").map(PathBuf::from) {
        return std::fs::canonicalize(&named).map_err(|error| {
            Failure::new(format!("cannot run {}: {error}: name a built `headwater`", named.display()))
        });
    }
    output_of(cargo(root, &["build", "--release", "-p", "headwater-command"]))?;
    Ok(clients::target(root).join("release/headwater"))
}
