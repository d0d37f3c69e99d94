//! Cut and stalled networks: between a node and the engine, and between readers and nodes.

use std::time::Duration;

use headwater_testkit::balancer::LinkState;

use crate::{
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    on_each_engine,
    report::held,
};

/// How many runs a node drives when its network fails.
const RUNS: usize = 3;
/// How often all readers are moved.
const MOVES: usize = 10;

on_each_engine!(
    node_cut_off_from_the_engine_loses_its_runs_to_others,
    node_with_a_stalled_engine_loses_its_runs_to_others,
    readers_moved_between_nodes_lose_and_repeat_nothing,
);

fn node_cut_off_from_the_engine_loses_its_runs_to_others(kind: Kind) {
    lose_the_engine(kind, LinkState::Cut);
    held(
        "network cut between the driving node and the engine",
        RUNS,
        RUNS,
        "the runs end elsewhere with the same messages, each tool effect once; the node recovers by itself",
    );
}

fn node_with_a_stalled_engine_loses_its_runs_to_others(kind: Kind) {
    lose_the_engine(kind, LinkState::Stalled);
    held(
        "packets dropped between the driving node and the engine",
        RUNS,
        RUNS,
        "the runs end elsewhere with the same messages, each tool effect once; the node recovers by itself",
    );
}

/// One node loses the engine while it drives runs, for as long as these take to end on another.
fn lose_the_engine(kind: Kind, link: LinkState) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    at_once(async {
        let expected = cluster.undisturbed().await;
        let runs = cluster.begin(0, "cut", RUNS, 3).await;
        cluster.wire(0, link);
        cluster.judge_all(runs, &expected).await;
        cluster.wire(0, LinkState::Open);
        // The node is well again without having been started anew.
        let runs = cluster.begin(0, "after", RUNS, 3).await;
        cluster.judge_all(runs, &expected).await;
    });
}

fn readers_moved_between_nodes_lose_and_repeat_nothing(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup::default()) else { return };
    at_once(async {
        let expected = cluster.undisturbed().await;
        let mut runs = Vec::new();
        for node in 0..cluster.len() {
            runs.extend(cluster.begin(node, &format!("moved-{node}"), RUNS, 1).await);
        }
        let judged = cluster.judge_all(runs, &expected);
        let moving = async {
            for _ in 0..MOVES {
                (0..cluster.len()).for_each(|node| cluster.balancer.reset(node));
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
        };
        let (readers, ()) = tokio::join!(judged, moving);
        let connections: usize = readers.iter().map(|reader| reader.connections).sum();
        assert!(connections > readers.len(), "no reader was moved");
    });
    held(
        "all connections of all readers reset, so that each continues on another node",
        MOVES,
        MOVES,
        "the same messages, no record twice",
    );
}
