//! Restarts: of the engine under its nodes, and of all nodes one after another, while clients keep starting runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    load::Under,
    on_each_engine,
    reader::Reader,
    report::held,
};

/// How many clients start one run after another.
const CLIENTS: usize = 4;
/// How often the engine is killed and restarted in one test.
const CRASHES: usize = 2;

on_each_engine!(engine_restart_loses_and_repeats_nothing, rolling_restart_disturbs_no_run);

fn engine_restart_loses_and_repeats_nothing(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    at_once(async {
        let load = Load::start(&cluster).await;
        for number in 0..CRASHES * 2 {
            load.wait_for(CLIENTS).await;
            let cluster = cluster.clone();
            let restart = tokio::task::spawn_blocking(move || {
                let mut engine = cluster.engine();
                if number % 2 == 0 { engine.crash() } else { engine.restart() }
            });
            restart.await.unwrap();
        }
        load.end().await;
    });
    held(
        "engine killed, and stopped, and started again under load",
        CRASHES * 2,
        CRASHES * 2,
        "all runs end with the same messages, each tool effect once",
    );
}

fn rolling_restart_disturbs_no_run(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup::default()) else { return };
    at_once(async {
        let load = Load::start(&cluster).await;
        for node in 0..cluster.len() {
            load.wait_for(CLIENTS).await;
            let cluster = cluster.clone();
            let restart = tokio::task::spawn_blocking(move || {
                assert_eq!(cluster.terminate(node), Some(0), "node {node} did not end well");
                cluster.start_node(node);
            });
            restart.await.unwrap();
        }
        load.end().await;
    });
    held(
        "rolling restart of all nodes by SIGTERM under load",
        3,
        3,
        "all runs end with the same messages, each tool effect once",
    );
}

/// Clients that start one run after another over the balancer, and judge each.
pub(crate) struct Load {
    clients: JoinSet<()>,
    ended: Arc<AtomicBool>,
    done: tokio::sync::watch::Receiver<usize>,
}

impl Load {
    pub(crate) async fn start(cluster: &Arc<Cluster>) -> Self {
        let expected: Arc<Value> = Arc::new(cluster.undisturbed().await);
        let (ended, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        let (count, done) = tokio::sync::watch::channel(0);
        for client in 0..CLIENTS {
            let (cluster, expected, ended) = (cluster.clone(), expected.clone(), ended.clone());
            let count = count.clone();
            clients.spawn(async move {
                let mut number = 0;
                while !ended.load(Ordering::Relaxed) {
                    number += 1;
                    let input = format!("load-{client}-{number}");
                    let run = cluster.start_run(cluster.front(), &input, json!({})).await;
                    cluster.judge(Under { run, input, reader: Reader::default() }, &expected).await;
                    count.send_modify(|count| *count += 1);
                }
            });
        }
        Self { clients, ended, done }
    }

    /// Waits until so many more runs have ended as they should.
    pub(crate) async fn wait_for(&self, more: usize) {
        let mut done = self.done.clone();
        let wanted = *done.borrow_and_update() + more;
        let waited = tokio::time::timeout(Duration::from_secs(120), done.wait_for(|count| *count >= wanted));
        if !matches!(waited.await, Ok(Ok(_))) {
            // A client that failed says why.
            panic!("the clients got stuck, or failed: see above");
        }
    }

    /// Lets the clients end what they have begun.
    pub(crate) async fn end(mut self) {
        self.wait_for(CLIENTS).await;
        self.ended.store(true, Ordering::Relaxed);
        while let Some(client) = self.clients.join_next().await {
            client.unwrap();
        }
    }
}
