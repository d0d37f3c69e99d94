//! A connection that is cut at random: every run ends in the right state, nothing is lost and nothing comes twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use headwater_client::{ConnectionStatus, RunHandle, Update};
use headwater_protocol::Event;
use headwater_testkit::balancer::Balancer;

use crate::harness::{TestServer, client, long_text};

/// How many runs are followed: `cargo xtask client-cuts` sets more.
fn runs() -> usize {
    std::env::var("HEADWATER_CLIENT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(30)
}

/// How many events the readers must have got between two cuts: on a busy machine a connection that is cut by the clock alone
/// may never get as far as its first event.
const PROGRESS: usize = 100;

/// The longest time between two cuts.
const LONGEST: Duration = Duration::from_secs(1);

/// Resets all connections again and again until it is dropped.
struct Cutter {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Cutter {
    fn start(balancer: Arc<Balancer>, events: Arc<AtomicUsize>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut seed = 7_u64;
            while !stopped.load(Ordering::Relaxed) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (before, began) = (events.load(Ordering::Relaxed), Instant::now());
                std::thread::sleep(Duration::from_millis(20 + (seed >> 58)));
                while events.load(Ordering::Relaxed) < before + PROGRESS && began.elapsed() < LONGEST {
                    std::thread::sleep(Duration::from_millis(5));
                }
                balancer.reset(0);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Follows a run and checks that each record came once, in order. Gives how often the connection was lost.
async fn follow(run: RunHandle, direct: RunHandle, events: &AtomicUsize) -> usize {
    let mut stream = run.follow();
    let (mut text, mut last, mut lost) = (String::new(), 0, 0);
    while let Some(update) = stream.next().await.unwrap() {
        match update {
            Update::Connection(ConnectionStatus::Lost { .. }) => lost += 1,
            Update::Event(event) => {
                events.fetch_add(1, Ordering::Relaxed);
                assert!(event.record.seq > last, "{} after {last}", event.record.seq);
                assert!(!event.replay && event.problem.is_none(), "{event:?}");
                last = event.record.seq;
                if let Event::BlockDelta(delta) = &event.record.event {
                    text.push_str(&delta.delta);
                }
            }
            _ => {}
        }
    }
    assert_eq!(text, long_text());
    let whole = direct.follow().finish().await.unwrap();
    let view = |state| serde_json::to_value(headwater_protocol::RunState::view(state)).unwrap();
    assert_eq!(view(stream.state()), view(&whole));
    lost
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_behind_a_connection_that_is_cut_lose_and_repeat_nothing() {
    let server = TestServer::start().await;
    let address = server.address;
    // It has a runtime of its own, which cannot be started inside of another.
    let balancer = tokio::task::spawn_blocking(move || Balancer::start(&[address]).unwrap());
    let balancer = Arc::new(balancer.await.unwrap());
    let (through, direct) = (client(balancer.address()), server.client());
    let events = Arc::new(AtomicUsize::new(0));
    let cutter = Cutter::start(balancer.clone(), events.clone());
    let lost = Arc::new(AtomicUsize::new(0));
    let total = runs();
    // As many at a time as one machine runs without making them slower than the cuts.
    let waves = total.div_ceil(50);
    for wave in 0..waves {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..(total - wave * 50).min(50) {
            let (through, direct) = (through.clone(), direct.clone());
            let (lost, events) = (lost.clone(), events.clone());
            tasks.spawn(async move {
                let run = through.send("long").await.unwrap();
                let same = direct.run(run.id().as_str());
                lost.fetch_add(follow(run, same, &events).await, Ordering::Relaxed);
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
    drop(cutter);
    let lost = lost.load(Ordering::Relaxed);
    println!("{total} runs, {lost} connections lost");
    assert!(lost > total, "the balancer cut only {lost} times");
}
