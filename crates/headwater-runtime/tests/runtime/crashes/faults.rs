//! The disk fails under a run with active models and tools, and the same process continues when the store has
//! recovered.

use std::{sync::Arc, time::Duration};

use headwater_models::scripted::ScriptedModel;
use headwater_store::{
    ManualClock,
    embedded::{Embedded, Options, Writer},
};
use headwater_testkit::{
    disk::{Disk, DiskFault},
    store::crash::CrashingStore,
};
use tokio::sync::Notify;

use super::{
    Ground, LATER, continue_run,
    judge::{Reader, RunEnd, judge},
    live, records, replays,
    scenarios::{ALL, Scenario, World},
};

/// A store on a disk that reports its failures.
struct Failing {
    embedded: Arc<Embedded>,
    store: Arc<CrashingStore>,
    failed: Arc<Notify>,
}

impl Failing {
    fn open(disk: &Disk, clock: &Arc<ManualClock>) -> Self {
        let mut options = Options::default();
        options.writer = Writer::Manual;
        options.clock = clock.clone();
        let embedded = Arc::new(Embedded::open_with(Arc::new(disk.clone()), options).unwrap());
        // The limit is never reached: `CrashingStore` is used because it reports each write.
        let store = Arc::new(CrashingStore::new(embedded.clone(), u64::MAX));
        let failed = Arc::new(Notify::new());
        let (written, weak, fails) = (store.written(), Arc::downgrade(&embedded), failed.clone());
        tokio::spawn(async move {
            loop {
                written.notified().await;
                let Some(store) = weak.upgrade() else { return };
                if store.step().is_err() {
                    fails.notify_one();
                }
            }
        });
        Self { embedded, store, failed }
    }
}

/// Runs a workflow on a disk that fails after this many operations. Returns the end of the run, or `None` if
/// it ended before the disk failed.
async fn live_with(scenario: &Scenario, fault: DiskFault, skip: u64) -> Option<(RunEnd, Vec<Reader>)> {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let disk = Disk::new(skip);
    let Failing { embedded, store, failed } = Failing::open(&disk, &clock);
    disk.arm(fault, skip);
    let world = World::default();
    let (builder, models) = (scenario.build)(&world);
    let agent = builder.store(store.clone()).clock(clock.clone()).build().unwrap();
    tokio::select! {
        biased;
        () = failed.notified() => {}
        lived = continue_run(&agent) => if lived.is_ok() && disk.fired().is_empty() {
            return None;
        }
    }
    // The drivers notice that writes fail and abandon their work.
    let let_go = async {
        while agent.driving() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let case = format!("{} with {fault:?} after {skip}", scenario.name);
    tokio::time::timeout(LATER, let_go).await.unwrap_or_else(|_| panic!("{case}: a driver does not let go"));
    let readers = Reader::of(&records(&*store, 0).await);
    disk.make_room();
    embedded.recover().await.unwrap();
    clock.advance(LATER);
    // Recovery waits a minute before it retries a run that could not be resumed, so it is run again here.
    let recovered = async {
        agent.recover().await.unwrap();
        tokio::select! {
            ended = continue_run(&agent) => ended.unwrap(),
            () = async {
                loop {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                    clock.advance(Duration::from_secs(10));
                    agent.recover().await.unwrap();
                }
            } => {}
        }
    };
    let day = Duration::from_secs(24 * 3_600);
    tokio::time::timeout(day, recovered).await.unwrap_or_else(|_| panic!("{case}: it hangs"));
    let asked = models.iter().map(ScriptedModel::asked).sum();
    let finished = RunEnd::look(&agent, &world, asked, 1).await;
    replays(scenario, &agent, &world, &[skip]).await;
    // An attempt does not wait until its predecessor is durable. A failing disk loses the attempts of the
    // current pass, which makes at most three here.
    Some((finished.unrecorded(3), readers))
}

/// Makes the disk fail at each operation of each workflow.
async fn matrix(fault: DiskFault) {
    let only = std::env::var("HEADWATER_SCENARIO").unwrap_or_default();
    let mut failures = 0;
    for scenario in ALL.iter().filter(|scenario| scenario.name.contains(&only)) {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let (calm, _) = live(scenario, &Ground::memory(&clock), &clock, &[]).await.unwrap();
        let mut tried = 0;
        while let Some((lived, readers)) = live_with(scenario, fault, tried).await {
            judge(scenario, &calm, &lived, &readers, &format!("{fault:?} at {tried}"));
            tried += 1;
        }
        assert!(tried > 5, "{}: only {tried} failures", scenario.name);
        failures += tried;
    }
    println!("figure: {failures} times {fault:?} under a run");
}

#[tokio::test(start_paused = true)]
async fn full_disk_at_any_write_leaves_a_run_that_ends_the_same() {
    matrix(DiskFault::NoSpace).await;
}

#[tokio::test(start_paused = true)]
async fn failed_sync_at_any_commit_leaves_a_run_that_ends_the_same() {
    matrix(DiskFault::SyncError).await;
}
