//! The process dies at every write of a run, and another one takes over: nothing is lost, and nothing happens
//! twice.
//!
//! Each workflow of [`scenarios`] runs once undisturbed. Then it runs once per write, is stopped at that
//! write and taken over, and [`judge`] compares the results. In memory every completed write survives. On the
//! simulated disk the power fails too: writes that no commit made durable may be lost.

mod faults;
mod judge;
mod scenarios;

use std::{sync::Arc, time::Duration};

use headwater_runtime::{Agent, ErrorKind, Start, replay};
use headwater_store::{
    Clock as _, Cursor, JournalId, ManualClock, Memory, MemoryOptions, ReadLimit, Record, Store, Time,
    embedded::{Embedded, Options, Writer},
};
use headwater_testkit::{disk::Disk, store::crash::CrashingStore};

use judge::{Reader, RunEnd, judge};
use scenarios::{ALL, Scenario, World, answer};

use crate::stalling::Stalling;

const RUN: &str = "run_1";
/// Longer than a lease.
const LATER: Duration = Duration::from_secs(60);

/// The store's medium, which outlives the processes.
enum Ground {
    Memory(Arc<Memory>),
    Disk(Disk, Arc<ManualClock>),
}

impl Ground {
    fn memory(clock: &Arc<ManualClock>) -> Self {
        let options = MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() };
        Self::Memory(Arc::new(Memory::with(options)))
    }

    fn disk(clock: &Arc<ManualClock>, seed: u64) -> Self {
        Self::Disk(Disk::new(seed), clock.clone())
    }

    /// Opens the store for the next process, which dies after this many writes.
    fn open(&self, writes: u64) -> Arc<CrashingStore> {
        match self {
            Self::Memory(store) => Arc::new(CrashingStore::new(store.clone(), writes)),
            Self::Disk(disk, clock) => {
                let mut options = Options::default();
                options.writer = Writer::Manual;
                options.clock = clock.clone();
                let store = Arc::new(Embedded::open_with(Arc::new(disk.clone()), options).unwrap());
                let crashing = Arc::new(CrashingStore::new(store.clone(), writes));
                let (written, store) = (crashing.written(), Arc::downgrade(&store));
                // Ends when the store is dropped, whose last notification wakes it.
                tokio::spawn(async move {
                    loop {
                        written.notified().await;
                        let Some(store) = store.upgrade() else { return };
                        if store.step().is_err() {
                            return;
                        }
                    }
                });
                crashing
            }
        }
    }

    fn die(&self) {
        if let Self::Disk(disk, _) = self {
            disk.cut_power();
        }
    }
}

/// Drives the run and answers its questions until it has ended and is cleaned up.
async fn continue_run(agent: &Agent) -> headwater_runtime::Result<()> {
    let journal = JournalId::from(RUN);
    let store = agent.store();
    if store.info(&journal).await?.is_none() {
        agent.start(Start::new("go").run(RUN)).await?;
    }
    loop {
        let Some(info) = store.info(&journal).await? else { panic!("the run is gone") };
        if info.tail.closed {
            return Ok(());
        }
        for question in agent.questions(None, 100).await? {
            match agent.answer(answer(&question)).await {
                Err(error) if !matches!(error.kind(), ErrorKind::Answered | ErrorKind::Ended) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        store.wait(&journal, info.tail.last).await?;
    }
}

/// Runs one process per limit, and then one without a limit. Returns the end of the run and the records that
/// readers of the dead processes had seen, or `None` if the run ended before all of them died.
async fn live(
    scenario: &Scenario,
    ground: &Ground,
    clock: &Arc<ManualClock>,
    limits: &[u64],
) -> Option<(RunEnd, Vec<Reader>)> {
    let world = World::default();
    let (mut asked, mut died) = (0, 0);
    let mut readers = Vec::new();
    for (nth, limit) in limits.iter().copied().chain([u64::MAX]).enumerate() {
        let store = ground.open(limit);
        let (builder, models) = (scenario.build)(&world);
        let agent = builder.store(store.clone()).clock(clock.clone()).build().unwrap();
        let living = async {
            if nth > 0 {
                agent.recover().await?;
            }
            continue_run(&agent).await
        };
        let crashed = tokio::select! {
            biased;
            () = store.tripped() => true,
            ended = tokio::time::timeout(Duration::from_secs(24 * 3_600), living) => match ended {
                // An error is a refused write.
                Ok(lived) => lived.is_err(),
                Err(_) => panic!("{}: it hangs after {limits:?}", scenario.name),
            },
        };
        asked += models.iter().map(headwater_models::scripted::ScriptedModel::asked).sum::<u64>();
        if !crashed {
            if nth < limits.len() {
                return None;
            }
            let finished = RunEnd::look(&agent, &world, asked, died).await;
            replays(scenario, &agent, &world, limits).await;
            return Some((finished, readers));
        }
        agent.abandon();
        readers.extend(Reader::of(&records(&*store, 0).await));
        // Stopped tasks end.
        drop((agent, store));
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        ground.die();
        died += 1;
        clock.advance(LATER);
    }
    None
}

/// The run can be replayed from its journal without side effects, however often its processes died.
async fn replays(scenario: &Scenario, agent: &Agent, world: &World, limits: &[u64]) {
    let (done, before) = (world.done(), records(&**agent.store(), 0).await.len());
    let replayed = replay(agent, RUN).await.unwrap();
    assert!(replayed.is_same(), "{} after {limits:?}: {:#?}", scenario.name, replayed.divergence);
    assert_eq!(world.done(), done, "{} after {limits:?}", scenario.name);
    assert_eq!(records(&**agent.store(), 0).await.len(), before, "{} after {limits:?}", scenario.name);
}

/// The visible records of the run's journal.
async fn records(store: &dyn Store, after: u64) -> Vec<Record> {
    let journal = JournalId::from(RUN);
    let mut all: Vec<Record> = Vec::new();
    loop {
        let after = all.last().map_or(after, |record| record.seq);
        match store.read(&journal, after, ReadLimit::default()).await {
            Ok(page) if !page.records.is_empty() => all.extend(page.records),
            _ => return all,
        }
    }
}

/// Dies at each write of each workflow, and again this many writes after the takeover.
async fn matrix(place: &str, ground: impl Fn(&Arc<ManualClock>, u64) -> Ground, again: &[u64]) {
    let clock = || Arc::new(ManualClock::at(1_700_000_000_000));
    let only = std::env::var("HEADWATER_SCENARIO").unwrap_or_default();
    let mut crashes = 0;
    for scenario in ALL.iter().filter(|scenario| scenario.name.contains(&only)) {
        let time = clock();
        let (calm, _) = live(scenario, &ground(&time, 0), &time, &[]).await.unwrap();
        let mut tried = 0;
        'limits: for limit in 0.. {
            let twice = again.iter().map(|second| vec![limit, *second]);
            for limits in [vec![limit]].into_iter().chain(twice) {
                let time = clock();
                match live(scenario, &ground(&time, limit), &time, &limits).await {
                    Some((lived, readers)) => {
                        tried += limits.len() as u64;
                        judge(scenario, &calm, &lived, &readers, &format!("{limits:?}"));
                    }
                    None if limits.len() == 1 => break 'limits,
                    None => {}
                }
            }
        }
        assert!(tried > 20, "{}: only {tried} crashes", scenario.name);
        crashes += tried;
    }
    println!("figure: {crashes} crashes {place}");
}

/// The write counts after which the second process dies. `HEADWATER_CRASHES=all` tries many, which takes some
/// minutes.
fn second(few: &'static [u64]) -> &'static [u64] {
    if std::env::var("HEADWATER_CRASHES").is_ok_and(|which| which == "all") {
        &[1, 2, 3, 5, 8, 13, 21]
    } else {
        few
    }
}

#[tokio::test(start_paused = true)]
async fn run_ends_the_same_after_a_crash_at_any_write() {
    matrix("in memory", |clock, _| Ground::memory(clock), &[]).await;
}

#[tokio::test(start_paused = true)]
async fn run_ends_the_same_after_two_crashes() {
    matrix("in memory, twice", |clock, _| Ground::memory(clock), second(&[5])).await;
}

#[tokio::test(start_paused = true)]
async fn run_ends_the_same_after_losing_writes_that_were_not_durable() {
    matrix("on a disk whose power is cut", Ground::disk, second(&[])).await;
}

/// Faults that do not end the process.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// The store refuses this many of this many appends, as with a slow disk.
    Busy(u64, u64),
    /// All clocks step forward by this many seconds again and again, while recovery checks the runs.
    Clocks(u64),
    /// The wall clock steps forward and back by this many seconds, while recovery checks the runs.
    Wall(i64),
}

/// Runs each workflow in one process with faults. They must leave no trace: not even an extra model call.
async fn trouble(trouble: Trouble) {
    for scenario in ALL {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let (calm, _) = live(scenario, &Ground::memory(&clock), &clock, &[]).await.unwrap();
        let options = MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() };
        let memory: Arc<dyn Store> = Arc::new(Memory::with(options));
        let stalling = match trouble {
            Trouble::Busy(refused, of) => Stalling::new(memory, (refused, of)),
            _ => Stalling::new(memory, (0, 1)),
        };
        let world = World::default();
        let (builder, models) = (scenario.build)(&world);
        let agent = builder.store(stalling.clone()).clock(clock.clone()).build().unwrap();
        let steps = async {
            for round in 0.. {
                // Sleeps now and then, because the paused test clock only advances then.
                match round % 4 {
                    3 => tokio::time::sleep(Duration::from_millis(1)).await,
                    _ => tokio::task::yield_now().await,
                }
                match trouble {
                    Trouble::Busy(..) => std::future::pending().await,
                    Trouble::Clocks(seconds) => clock.advance(Duration::from_secs(seconds)),
                    Trouble::Wall(seconds) => {
                        let step = if round % 2 == 0 { seconds } else { -seconds };
                        let now = clock.now().0.checked_add_signed(step * 1_000).unwrap();
                        clock.set_wall(Time(now));
                    }
                }
                let report = agent.recover().await.unwrap();
                assert!(report.taken_over.is_empty(), "{} with {trouble:?}", scenario.name);
            }
        };
        tokio::select! {
            lived = continue_run(&agent) => lived.unwrap(),
            () = steps => {}
        }
        let asked = models.iter().map(headwater_models::scripted::ScriptedModel::asked).sum::<u64>();
        assert_eq!(asked, calm.asked(), "{} with {trouble:?}", scenario.name);
        let lived = RunEnd::look(&agent, &world, asked, 0).await;
        judge(scenario, &calm, &lived, &[], &format!("{trouble:?}"));
        replays(scenario, &agent, &world, &[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn busy_store_changes_no_run() {
    for (refused, of) in [(1, 2), (1, 3), (4, 5)] {
        trouble(Trouble::Busy(refused, of)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn clock_steps_change_no_run() {
    const DAY: i64 = 24 * 3_600;
    for trouble_of in [Trouble::Clocks(40), Trouble::Wall(40), Trouble::Wall(DAY), Trouble::Wall(-DAY)] {
        trouble(trouble_of).await;
    }
}

/// The cursor of a reader that saw these records.
fn cursor(records: &[Record]) -> Option<Cursor> {
    let last = records.last()?;
    Some(Cursor { journal: RUN.into(), epoch: last.epoch, seq: last.seq, frame: 0, count: 0 })
}
