//! A node that stands still for longer than its lease, and continues as if nothing had happened.

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

/// How many runs the node drives when it stands still.
const RUNS: usize = 4;

on_each_engine!(paused_driver_writes_nothing_when_it_continues);

fn paused_driver_writes_nothing_when_it_continues(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    at_once(async {
        let expected = cluster.undisturbed().await;
        let runs = cluster.begin(0, "paused", RUNS, 3).await;
        cluster.pause(0);
        // A balancer finds out by its health checks.
        cluster.balancer.set_link(0, LinkState::Cut);
        let ids: Vec<_> = runs.iter().map(|under| under.run.clone()).collect();
        let readers = cluster.judge_all(runs, &expected).await;
        assert!(readers.iter().any(|reader| reader.connections > 1), "no reader was moved");
        let read = || join_all(ids.iter().map(|run| cluster.read(run, Until::End)));
        let before: Vec<_> = read().await.into_iter().map(|reader| reader.end()).collect();
        cluster.resume(0);
        // It renews its leases several times within one, and learns that they are lost: nothing that it does in twice
        // that time may be seen.
        tokio::time::sleep(Duration::from_secs(2) + cluster.lease() * 2).await;
        let after: Vec<_> = read().await.into_iter().map(|reader| reader.end()).collect();
        assert_eq!(before, after, "the paused node wrote to runs that another had taken over");
        // It serves again, and drives new runs.
        cluster.balancer.set_link(0, LinkState::Open);
        let runs = cluster.begin(0, "after", 2, 3).await;
        cluster.judge_all(runs, &expected).await;
    });
    held(
        "SIGSTOP of the driving node for longer than its lease, then SIGCONT",
        RUNS,
        RUNS,
        "the runs end elsewhere with the same messages; the old driver writes nothing",
    );
}
