//! Nodes whose clocks are minutes apart: leases follow the engine's clock.
//!
//! The clocks are set by `libfaketime`, which is loaded into the real binary: what the program asks the system for the
//! time of day is answered with another one.

use std::path::PathBuf;

use headwater_testkit::engines::left_out;

use crate::{
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    on_each_engine,
    reader::Until,
    report::held,
};

/// How far the clocks of the nodes are from the right time.
const SKEWS: [&str; 3] = ["+7m", "-5m", "+0"];
const RUNS: usize = 3;

on_each_engine!(skewed_clocks_neither_steal_nor_strand_runs);

fn skewed_clocks_neither_steal_nor_strand_runs(kind: Kind) {
    if left_out("clocks") {
        return;
    }
    let library = library().to_str().unwrap().to_owned();
    let skewed = |skew: &str| {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![set("LD_PRELOAD", &library), set("FAKETIME", skew), set("FAKETIME_DONT_FAKE_MONOTONIC", "1")]
    };
    let environment = SKEWS.iter().map(|skew| skewed(skew)).collect();
    let Some(cluster) = Cluster::start(kind, Setup { environment, ..Setup::default() }) else { return };
    at_once(async {
        // Each node drives runs that no other takes away, however late its clock says it is.
        let expected = cluster.undisturbed().await;
        for node in 0..cluster.len() {
            let runs = cluster.begin(node, &format!("skewed-{node}"), RUNS, 1).await;
            let readers = cluster.judge_all(runs, &expected).await;
            // A machine under load may pause a node for longer than its lease, but not in every run.
            assert!(
                readers.iter().any(|reader| reader.retracted == 0),
                "the runs of node {node} are taken away"
            );
        }
        // And each one's runs are taken over, however early its clock says it is.
        for node in 0..cluster.len() {
            let runs = cluster.begin(node, &format!("killed-{node}"), RUNS, 3).await;
            cluster.kill(node);
            cluster.judge_all(runs, &expected).await;
            cluster.start_later(node).await.unwrap();
        }
        let run = cluster.start_run(cluster.address(0), "last", serde_json::json!({})).await;
        cluster.read(&run, Until::End).await;
    });
    held(
        "three nodes whose clocks are up to twelve minutes apart, each killed in turn",
        SKEWS.len(),
        SKEWS.len(),
        "no run is taken from a live node, all runs end with the same messages, each tool effect once",
    );
}

/// Debian has it in a folder of the architecture.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().filter_map(Result::ok);
    let files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("libfaketime is missing: install it (Debian: faketime), or set HEADWATER_WITHOUT=clocks");
    })
}
