//! A cluster under half of the load that it can carry, for as long as is asked for: nothing grows, nothing fails.

use std::{
    fmt,
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
/// What an allocator or a table may take more from one moment to the next.
const SLACK: u64 = 4 << 20;

on_each_engine!(half_load_grows_nothing);

/// What a cluster takes at one moment.
#[derive(Debug, Clone)]
struct Sample {
    memory: u64,
    /// Of each node.
    connections: Vec<usize>,
    engine_memory: Option<u64>,
    engine_disk: u64,
}

/// The bytes in the middle third of the samples, and in the last one: the most that was taken, or the least where that
/// goes up and down between two rewrites of a file.
#[derive(Debug, Clone, Copy)]
struct Growth {
    middle: u64,
    end: u64,
}

impl Growth {
    fn of_most(samples: &[Sample], of: impl Fn(&Sample) -> u64) -> Self {
        Self::of(samples, |samples| samples.iter().map(&of).max())
    }

    fn of_least(samples: &[Sample], of: impl Fn(&Sample) -> u64) -> Self {
        Self::of(samples, |samples| samples.iter().map(&of).min())
    }

    fn of(samples: &[Sample], of: impl Fn(&[Sample]) -> Option<u64>) -> Self {
        let third = samples.len() / 3;
        let of = |samples: &[Sample]| of(samples).unwrap_or_default();
        Self { middle: of(&samples[third..third * 2]), end: of(&samples[third * 2..]) }
    }

    /// As many runs have gone in the last third as in the one before, so what they leave behind shows here.
    fn assert_flat(self, what: &str) {
        assert!(self.end <= self.middle + self.middle / 8 + SLACK, "{what} grows: {self:?}");
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} then {} MiB", self.middle >> 20, self.end >> 20)
    }
}

fn half_load_grows_nothing(kind: Kind) {
    let seconds = setting("HEADWATER_CLUSTER_SOAK", 4);
    let setup = Setup { nodes: NODES, keep: "3s", ..Setup::default() };
    let Some(cluster) = Cluster::start(kind, setup) else { return };
    let (rate, runs, samples) = at_once(soak(cluster.clone(), seconds));
    for sample in &samples {
        assert!(sample.connections.iter().all(|connections| *connections <= CONNECTIONS), "{sample:?}");
    }
    let memory = Growth::of_most(&samples, |sample| sample.memory);
    let disk = Growth::of_least(&samples, |sample| sample.engine_disk);
    let in_memory = samples.iter().any(|sample| sample.engine_memory.is_some());
    let engine =
        in_memory.then(|| Growth::of_most(&samples, |sample| sample.engine_memory.unwrap_or_default()));
    let most = samples.iter().flat_map(|sample| sample.connections.iter().copied()).max().unwrap_or_default();
    let engine_memory = engine.map(|engine| format!("engine {engine}, ")).unwrap_or_default();
    measured(
        kind,
        "half load",
        &format!(
            "{seconds} s, {runs} runs at {rate:.0}/s | nodes {memory}, {engine_memory}on disk {disk}, at most {most} \
             connections of a node"
        ),
    );
    if seconds >= ENOUGH {
        memory.assert_flat("memory");
        disk.assert_flat("the engine on disk");
        if let Some(engine) = engine {
            engine.assert_flat("the engine");
        }
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
    let connections = nodes.map(|node| cluster.wires(node)).collect();
    let engine = cluster.engine();
    Sample { memory, connections, engine_memory: engine.memory(), engine_disk: engine.disk() }
}
