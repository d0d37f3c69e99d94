//! Cut and stalled networks: between a node and the engine, and between readers and nodes.

use std::time::Duration;

use futures_util::future::join_all;
use headwater_testkit::balancer::LinkState;

use crate::{
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    on_each_engine,
    reader::Until,
    report::held,
};

/// How many runs a node drives when its network fails.
const RUNS: usize = 3;
/// How often all readers are moved.
const MOVES: usize = 10;

on_each_engine!(
    node_cut_off_from_the_engine_loses_its_runs_to_others,
    node_with_a_stalled_engine_loses_its_runs_to_others,
    idle_node_without_its_engine_is_not_ready,
    readers_moved_between_nodes_lose_and_repeat_nothing,
);

fn node_cut_off_from_the_engine_loses_its_runs_to_others(kind: Kind) {
    lose_the_engine(kind, LinkState::Cut);
    held(
        "network cut between the driving node and the engine",
        RUNS,
        RUNS,
        "the runs end elsewhere with the same messages, each tool effect once; the node writes nothing more to them and recovers by itself",
    );
}

fn node_with_a_stalled_engine_loses_its_runs_to_others(kind: Kind) {
    lose_the_engine(kind, LinkState::Stalled);
    held(
        "packets dropped between the driving node and the engine",
        RUNS,
        RUNS,
        "the runs end elsewhere with the same messages, each tool effect once; the node writes nothing more to them and recovers by itself",
    );
}

/// One node loses the engine while it drives runs, for as long as these take to end on another.
fn lose_the_engine(kind: Kind, link: LinkState) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    at_once(async {
        let expected = cluster.undisturbed().await;
        let runs = cluster.begin(0, "cut", RUNS, 3).await;
        let ids: Vec<_> = runs.iter().map(|under| under.run.clone()).collect();
        cluster.wire(0, link);
        cluster.judge_all(runs, &expected).await;
        let read = || join_all(ids.iter().map(|run| cluster.read(run, Until::End)));
        let before: Vec<_> = read().await.into_iter().map(|reader| reader.end()).collect();
        cluster.wire(0, LinkState::Open);
        // What it had not written and what it sends again reaches the engine now, and so do its renewals.
        tokio::time::sleep(Duration::from_secs(2) + cluster.lease() * 2).await;
        let after: Vec<_> = read().await.into_iter().map(|reader| reader.end()).collect();
        assert_eq!(before, after, "the node wrote to runs that another had taken over");
        // The node is well again without having been started anew.
        let runs = cluster.begin(0, "after", RUNS, 3).await;
        cluster.judge_all(runs, &expected).await;
    });
}

fn idle_node_without_its_engine_is_not_ready(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    let links = [LinkState::Cut, LinkState::Stalled];
    at_once(async {
        for link in links {
            answers(&cluster, 0, "/readyz", 200).await;
            cluster.wire(0, link);
            answers(&cluster, 0, "/readyz", 503).await;
            // A reader is not left waiting: it can ask again, and elsewhere.
            let refused = answers(&cluster, 0, "/v1/runs", 503).await;
            assert!(refused.contains("store.failed"), "{link:?}: {refused}");
            answers(&cluster, 1, "/readyz", 200).await;
            cluster.wire(0, LinkState::Open);
            answers(&cluster, 0, "/readyz", 200).await;
            answers(&cluster, 0, "/v1/runs", 200).await;
        }
    });
    held(
        "network cut, and packets dropped, between an idle node and the engine",
        links.len(),
        links.len(),
        "`/readyz` is 503, requests get 503 that can be retried; all is well again by itself",
    );
}

/// Asks a node until it answers with this status. Gives the body.
async fn answers(cluster: &Cluster, node: usize, path: &str, status: u16) -> String {
    let url = format!("http://{}{path}", cluster.address(node));
    let asking = async {
        loop {
            let answer = cluster.http.get(&url).send().await.unwrap();
            if answer.status().as_u16() == status {
                return answer.text().await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asking).await;
    asked.unwrap_or_else(|_| panic!("{path} of node {node} is not {status}"))
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
