//! The vendors' servers under `conformance/servers`, read by `headwater-client`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};

use crate::command::{Failure, cargo, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::{clients, root, suite, vendors};

/// Where the vendors' servers live.
pub(crate) const FOLDER: &str = "conformance/servers";

/// The servers of all vendors in one process, which ends when this is dropped.
struct VendorServers {
    process: Child,
    url: String,
}

impl VendorServers {
    fn start(root: &Path) -> Result<Self, Failure> {
        let folder = root.join(FOLDER);
        vendors::install(&folder)?;
        let mut node = command(&folder, "node", &["serve.mjs"]);
        let mut process = node
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::new(format!("cannot run node: {error}")))?;
        let lines = process.stdout.take().map(|output| BufReader::new(output).lines());
        let port = lines
            .into_iter()
            .flatten()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("listening ").map(str::to_owned));
        match port {
            Some(port) => Ok(Self { process, url: format!("http://127.0.0.1:{port}") }),
            None => {
                let _ = process.kill();
                Err(Failure::new(format!("`node serve.mjs` in {FOLDER} did not print its port")))
            }
        }
    }
}

impl Drop for VendorServers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The part of `cargo xtask test`.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let servers = VendorServers::start(root)?;
    let mut tests = cargo(root, &["test", "--workspace", "--test", "servers"]);
    tests.env("HEADWATER_VENDOR_SERVERS", &servers.url);
    let finished = run(tests)?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    let behind = behind_the_proxy(root, &servers)?;
    counts.add(behind.counts);
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output + &behind.output })
}

/// The servers behind `headwater proxy`, with other vendors' clients in front.
fn behind_the_proxy(root: &Path, servers: &VendorServers) -> Result<SuiteOutcome, Failure> {
    clients::install(root)?;
    let mut pairs = command(&root.join(clients::FOLDER), "node", &["upstreams.mjs", "--binary"]);
    pairs.arg(clients::build(root)?).args(["--servers", &servers.url]);
    let finished = run(pairs)?;
    let mut counts = vendors::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}

/// Follows so many runs behind a balancer that cuts at random.
pub(crate) fn client_cuts(runs: u64) -> Result<ExitCode, Failure> {
    let arguments =
        ["test", "--release", "-p", "headwater-client", "--test", "client", "cuts::", "--", "--nocapture"];
    let mut tests = cargo(&root(), &arguments);
    tests.env("HEADWATER_CLIENT_RUNS", runs.to_string());
    let finished = run(tests)?;
    anstream::print!("{}", finished.output);
    Ok(if finished.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
