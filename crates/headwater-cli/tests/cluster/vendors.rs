//! The vendors' own clients as readers of a cluster: their connections are cut, and the node that answers is killed.

use std::{env, path::Path, process::Command};

use crate::{
    engine::{Engine, Kind},
    on_each_engine,
    report::held,
    server::binary,
};

/// Set where the packages of `conformance/clients` are installed, which `cargo xtask` does.
const INSTALLED: &str = "HEADWATER_CLUSTER_CLIENTS";

/// One client that is sent the rest of a stream, and one that asks for the run again.
const CLIENTS: [&str; 2] = ["ai-7", "ag-ui"];
const SCENARIOS: [&str; 3] = ["a long text", "two tools at once", "a call that is allowed"];

on_each_engine!(vendors_clients_end_with_the_same_messages);

fn vendors_clients_end_with_the_same_messages(kind: Kind) {
    if env::var_os(INSTALLED).is_none() {
        println!("skipped: {INSTALLED} is not set");
        return;
    }
    let Some(engine) = Engine::start(kind) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/clients");
    let mut judges = Command::new("node");
    judges.current_dir(folder).args(["run.mjs", "--binary"]).arg(binary());
    judges.args(["--store", &engine.url(), "--seed", "1", "--cuts", "1", "--kills", "1"]);
    judges.args(CLIENTS.iter().flat_map(|client| ["--client", client]));
    judges.args(SCENARIOS.iter().flat_map(|scenario| ["--scenario", scenario]));
    let finished = judges.output().unwrap();
    let output = String::from_utf8_lossy(&finished.stdout);
    let errors = String::from_utf8_lossy(&finished.stderr);
    assert!(finished.status.success(), "{output}{errors}");
    // Five cases for each client and scenario: none may have been passed over.
    let passed = output.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(passed, CLIENTS.len() * SCENARIOS.len() * 5, "{output}");
    held(
        "connections of the vendors' clients cut, and the node that answers them killed",
        CLIENTS.len() * SCENARIOS.len(),
        CLIENTS.len() * SCENARIOS.len(),
        "the same messages as undisturbed",
    );
}
