//! A cluster under half of the load that it can carry, for as long as is asked for: nothing grows, nothing fails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    agent,
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    on_each_engine,
    reader::Until,
    report::{held, measured, setting},
};

const NODES: usize = 2;
/// The connections that a node may have to its engine.
const CONNECTIONS: usize = 8;
/// How many clients find out what the cluster can carry.
const CLIENTS: usize = 8;
/// How long that is tried.
const TRIAL: Duration = Duration::from_secs(2);
/// How many seconds `cargo xtask cluster` takes.
const LONG: usize = 600;
/// After this many seconds, growth is no longer start-up.
const ENOUGH: usize = 60;

on_each_engine!(half_load_grows_nothing);

/// What a cluster takes at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    memory: u64,
    connections: usize,
    engine: u64,
}

fn half_load_grows_nothing(kind: Kind) {
    let seconds = setting("HEADWATER_CLUSTER_SOAK", 4);
    let setup = Setup { nodes: NODES, keep: "3s", ..Setup::default() };
    let Some(cluster) = Cluster::start(kind, setup) else { return };
    let (rate, runs, samples) = at_once(soak(cluster.clone(), seconds));
    assert!(samples.iter().all(|sample| sample.connections <= NODES * CONNECTIONS), "{samples:?}");
    let third = samples.len() / 3;
    let most = |samples: &[Sample], of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or_default();
    let (middle, end) = (&samples[third..third * 2], &samples[third * 2..]);
    let memory = (most(middle, |sample| sample.memory), most(end, |sample| sample.memory));
    let engine = (most(middle, |sample| sample.engine), most(end, |sample| sample.engine));
    let connections = most(&samples, |sample| sample.connections as u64);
    measured(
        kind,
        "half load",
        &format!(
            "{seconds} s, {runs} runs at {rate:.0}/s | nodes {} then {} MiB, engine {} then {} MiB, {connections} connections",
            memory.0 >> 20,
            memory.1 >> 20,
            engine.0 >> 20,
            engine.1 >> 20,
        ),
    );
    if seconds >= ENOUGH {
        assert!(memory.1 <= memory.0 + memory.0 / 8 + (16 << 20), "memory grows: {memory:?}");
        assert!(engine.1 <= engine.0 + engine.0 / 8 + (16 << 20), "the engine grows: {engine:?}");
    }
    held(
        "seconds at half load, runs kept for 3 s",
        seconds,
        LONG,
        "memory, connections and engine flat, at most 8 connections per node, no error",
    );
}

/// Finds out what the cluster can carry, and has it carry half of that. Gives the rate, how many runs there were, and what
/// the cluster took meanwhile.
async fn soak(cluster: Arc<Cluster>, seconds: usize) -> (f64, usize, Vec<Sample>) {
    let number = Arc::new(AtomicUsize::new(0));
    let trial = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (cluster, number) = (cluster.clone(), number.clone());
        clients.spawn(async move {
            while trial.elapsed() < TRIAL {
                one(&cluster, number.fetch_add(1, Ordering::Relaxed)).await;
            }
        });
    }
    clients.join_all().await;
    let full = number.load(Ordering::Relaxed) as f64 / trial.elapsed().as_secs_f64();
    let rate = (full / 2.0).max(1.0);

    let (start, length) = (Instant::now(), Duration::from_secs(seconds as u64));
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut runs, mut count, mut samples) = (JoinSet::new(), 0, Vec::new());
    let mut next_sample = Duration::ZERO;
    while start.elapsed() < length {
        ticks.tick().await;
        let (cluster_, number) = (cluster.clone(), number.fetch_add(1, Ordering::Relaxed));
        runs.spawn(async move { one(&cluster_, number).await });
        count += 1;
        while let Some(run) = runs.try_join_next() {
            run.unwrap();
        }
        if start.elapsed() >= next_sample {
            next_sample += length / 60;
            let cluster = cluster.clone();
            samples.push(tokio::task::spawn_blocking(move || sample(&cluster)).await.unwrap());
        }
    }
    runs.join_all().await;
    (rate, count, samples)
}

/// One run from its start to its end.
async fn one(cluster: &Cluster, number: usize) {
    let input = format!("quick-{number}");
    let run = cluster.start_run(cluster.front(), &input, json!({})).await;
    let reader = cluster.read(&run, Until::End).await;
    let text = reader.shown(&input).to_string();
    assert!(text.contains(&format!("INPUT: {}", agent::ANSWER)), "{text}");
}

fn sample(cluster: &Cluster) -> Sample {
    let nodes = 0..cluster.len();
    let memory = nodes.clone().filter_map(|node| cluster.memory(node)).sum();
    let connections = nodes.map(|node| cluster.wires(node)).sum();
    Sample { memory, connections, engine: cluster.engine().bytes() }
}
