//! A simulation of the embedded store on a faulty disk: random calls, commits, faults, crashes and
//! reopenings, all determined by a seed and checked by an [`Oracle`] that knows what the
//! store must guarantee.
//!
//! There are no threads and no real clock: the same seed gives the same history on every machine.

pub mod oracle;
mod steps;
mod survey;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Cursor, Error, ErrorKind, JournalId, Lease, ManualClock, Store as _, Time,
    embedded::{Embedded, Fsync, Options, Writer},
};

use self::{
    oracle::{Oracle, Verdict, Violation},
    steps::now_or_never,
};
use crate::{
    disk::{Disk, DiskFault},
    random::Random,
};

/// Number of last steps shown when a promise is broken.
const LAST_STEPS: usize = 60;

/// Settings of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct SimulationSettings {
    /// Number of steps.
    pub steps: usize,
    /// Syncs report success without making data durable, to show that the oracle notices.
    pub disk_lies: bool,
}

impl Default for SimulationSettings {
    fn default() -> Self {
        Self { steps: 300, disk_lies: false }
    }
}

/// Counts of a simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulationSummary {
    /// Steps.
    pub steps: u64,
    /// Appended records.
    pub records: u64,
    /// Values put.
    pub values: u64,
    /// Successful commits.
    pub commits: u64,
    /// Kills of the process.
    pub kills: u64,
    /// Power cuts.
    pub power_cuts: u64,
    /// Disk faults.
    pub faults: u64,
    /// Flipped bits.
    pub flips: u64,
    /// Changes of the wall clock.
    pub clock_steps: u64,
    /// Stalls of the disk.
    pub stalls: u64,
    /// Appends refused because a stalled disk left no room.
    pub refused: u64,
    /// Recoveries of a stopped store in place.
    pub recoveries: u64,
}

impl std::ops::AddAssign for SimulationSummary {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.records += other.records;
        self.values += other.values;
        self.commits += other.commits;
        self.kills += other.kills;
        self.power_cuts += other.power_cuts;
        self.faults += other.faults;
        self.flips += other.flips;
        self.clock_steps += other.clock_steps;
        self.stalls += other.stalls;
        self.refused += other.refused;
        self.recoveries += other.recoveries;
    }
}

impl fmt::Display for SimulationSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, records, values, commits, kills, power_cuts, faults, flips, .. } = self;
        let Self { clock_steps, stalls, refused, recoveries, .. } = self;
        write!(
            f,
            "{steps} steps, {records} records, {values} values, {commits} commits, {kills} kills, \
             {power_cuts} power cuts, {faults} faults of the disk, {flips} flipped bits, {clock_steps} clock steps, \
             {stalls} stalls with {refused} refused appends, {recoveries} recoveries in place"
        )
    }
}

/// A broken promise, with the steps that led to it.
#[derive(Debug)]
pub struct BrokenPromise {
    /// Seed of the history.
    pub seed: u64,
    /// The broken promise.
    pub violation: Violation,
    setup: String,
    steps: Vec<String>,
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.violation)?;
        writeln!(f, "{}; the last steps:", self.setup)?;
        for step in &self.steps {
            writeln!(f, "  {step}")?;
        }
        write!(f, "replay it with HEADWATER_SEED={}", self.seed)
    }
}

impl std::error::Error for BrokenPromise {}

/// Simulates one history.
///
/// ```
/// use headwater_testkit::store::simulation::{SimulationSettings, run};
///
/// let settings = SimulationSettings { steps: 50, ..SimulationSettings::default() };
/// let summary = run(7, settings)?;
/// assert_eq!(run(7, settings)?, summary, "the same seed is the same history");
/// # Ok::<(), headwater_testkit::store::simulation::BrokenPromise>(())
/// ```
///
/// # Errors
/// The first promise that the store broke.
pub fn run(seed: u64, settings: SimulationSettings) -> Result<SimulationSummary, BrokenPromise> {
    let mut simulation = Simulation::new(seed, settings);
    match simulation.run(settings.steps) {
        Ok(()) => Ok(simulation.summary),
        Err(violation) => {
            Err(BrokenPromise { seed, violation, setup: simulation.setup(), steps: simulation.log.into() })
        }
    }
}

/// A call that has begun but not completed.
struct PendingCall {
    name: String,
    call: StoreCall,
    future: Pin<Box<dyn Future<Output = CallResult>>>,
}

#[derive(Debug, Clone)]
enum StoreCall {
    Append(JournalId),
    Claim(JournalId),
    Control(JournalId),
    Put(String, bool),
    Remove(String, bool),
    Sweep,
    Flush,
}

/// How a call ended.
enum CallResult {
    Settled(Result<u64, Error>),
    Leased(Result<Lease, Error>),
    Done(Result<(), Error>),
    Version(Result<u64, Error>),
    Removed(Result<bool, Error>),
}

struct Simulation {
    random: Random,
    disk: Disk,
    clock: Arc<ManualClock>,
    /// Data that expires at or before this time has expired.
    over: Time,
    options: Options,
    store: Option<Arc<Embedded>>,
    oracle: Oracle,
    flights: Vec<PendingCall>,
    journals: Vec<JournalId>,
    keys: Vec<String>,
    /// Journals and keys with an incomplete call, or with an unknown outcome until the store is reopened.
    busy: BTreeSet<String>,
    leases: BTreeMap<JournalId, Lease>,
    /// Leases of drivers that should have stopped.
    old: Vec<Lease>,
    cursors: Vec<(Cursor, Bytes)>,
    /// Number of commits for which the disk still stalls.
    stalled: usize,
    /// Whether a write of this process has failed.
    write_failed: bool,
    /// Makes every body unique.
    bodies: u64,
    summary: SimulationSummary,
    log: VecDeque<String>,
}

impl Simulation {
    fn new(seed: u64, settings: SimulationSettings) -> Self {
        let mut random = Random::new(seed);
        let disk = Disk::new(random.next());
        if settings.disk_lies {
            disk.lie_about_sync();
        }
        let clock = Arc::new(ManualClock::at(steps::START.0));
        let mut options = Options::default();
        options.writer = Writer::Manual;
        options.clock = clock.clone();
        options.fsync = match random.below(6) {
            0 => Fsync::Never,
            1 => Fsync::Interval(Duration::from_millis(500)),
            _ => Fsync::Commit,
        };
        options.segment_bytes = *random.pick(&[1_024, 4_096, 16_384, 64 << 20]).unwrap_or(&4_096);
        options.tail_bytes = *random.pick(&[0, 200, 4_096, 256 << 10]).unwrap_or(&0);
        options.cache_bytes = *random.pick(&[0, 1_000, 32 << 20]).unwrap_or(&0);
        options.max_journal_bytes = 1 << 20;
        options.max_pending_bytes = *random.pick(&[4_096, 16_384, 64 << 20]).unwrap_or(&4_096);
        let journals = ["run", "läuft 🦀", "third"];
        let journals = journals.iter().take(1 + random.below(3)).map(|name| JournalId::from(*name)).collect();
        let keys = (0..=random.below(4)).map(|key| format!("key/{key}")).collect();
        Self {
            random,
            disk,
            clock,
            over: steps::START,
            options,
            store: None,
            oracle: Oracle::new(),
            flights: Vec::new(),
            journals,
            keys,
            busy: BTreeSet::new(),
            leases: BTreeMap::new(),
            old: Vec::new(),
            cursors: Vec::new(),
            stalled: 0,
            write_failed: false,
            bodies: 0,
            summary: SimulationSummary::default(),
            log: VecDeque::new(),
        }
    }

    fn run(&mut self, steps: usize) -> Verdict {
        self.reopen()?;
        for _ in 0..steps {
            self.summary.steps += 1;
            self.act()?;
            self.record_faults();
            if self.disk.is_dead() {
                self.log_step("the process dies of its fault");
                self.crash()?;
            } else if self.oracle.is_stopped() && self.random.one_in(8) {
                if self.random.one_in(2) { self.recover()? } else { self.crash()? }
            }
        }
        self.log_step("the end");
        self.crash()?;
        if self.random.one_in(3) {
            self.flip()?;
        }
        Ok(())
    }

    fn setup(&self) -> String {
        let options = &self.options;
        format!(
            "fsync {:?}, segments of {}, tails of {}, caches of {}",
            options.fsync, options.segment_bytes, options.tail_bytes, options.cache_bytes
        )
    }

    fn log_step(&mut self, step: impl Into<String>) {
        if self.log.len() == LAST_STEPS {
            self.log.pop_front();
        }
        self.log.push_back(format!("{:>4} {}", self.summary.steps, step.into()));
    }

    /// Whether acknowledged data survives a power cut.
    fn survives_power_cuts(&self) -> bool {
        self.options.fsync == Fsync::Commit
    }

    fn body(&mut self) -> Bytes {
        self.bodies += 1;
        let size = match self.random.below(20) {
            0 => 3_000,
            1..=4 => 0,
            size => size * 8,
        };
        format!("{}:{}", self.bodies, "x".repeat(size)).into()
    }

    /// Begins a call, and processes its result if it completes immediately.
    fn begin(
        &mut self,
        name: String,
        call: StoreCall,
        future: Pin<Box<dyn Future<Output = CallResult>>>,
    ) -> Verdict {
        let mut flight = PendingCall { name, call, future };
        match poll(&mut flight.future) {
            Some(answer) => self.finish_call(&flight.name, flight.call, answer),
            None => {
                self.log_step(flight.name.clone());
                self.flights.push(flight);
                Ok(())
            }
        }
    }

    /// Processes all completed calls.
    fn poll_calls(&mut self) -> Verdict {
        for mut flight in std::mem::take(&mut self.flights) {
            match poll(&mut flight.future) {
                Some(answer) => self.finish_call(&flight.name, flight.call, answer)?,
                None => self.flights.push(flight),
            }
        }
        Ok(())
    }

    fn finish_call(&mut self, name: &str, call: StoreCall, answer: CallResult) -> Verdict {
        let failed = match &answer {
            CallResult::Settled(Err(error))
            | CallResult::Leased(Err(error))
            | CallResult::Done(Err(error))
            | CallResult::Version(Err(error))
            | CallResult::Removed(Err(error)) => Some(error.clone()),
            _ => None,
        };
        let how =
            failed.as_ref().map_or_else(|| "done".to_owned(), |error| format!("{} ({error})", error.code()));
        self.log_step(format!("{name}: {how}"));
        // A write that failed halfway may or may not be found after reopening.
        self.record_faults();
        let open = failed.as_ref().is_some_and(|error| {
            matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Stopped)
        });
        self.judge(call, answer, open)
    }

    fn record_faults(&mut self) {
        let fired = self.disk.fired();
        self.summary.faults += fired.len() as u64;
        if !fired.is_empty() {
            self.log_step(format!("the disk has failed: {fired:?}"));
        }
        let harmless = [DiskFault::ReadError, DiskFault::ShortWrite, DiskFault::NoDescriptors];
        self.write_failed |= fired.iter().any(|fault| !harmless.contains(fault));
    }

    /// One commit.
    fn step(&mut self) -> Verdict {
        let Some(store) = self.store.clone() else { return Ok(()) };
        if self.stalled > 0 {
            self.stalled -= 1;
            self.log_step("the disk stalls");
            return Ok(());
        }
        match store.step() {
            Ok(something) => {
                self.log_step(format!("step: {something}"));
                // A stopped store writes nothing and reports that.
                if something || !(self.write_failed || self.oracle.is_stopped()) {
                    self.oracle.committed();
                }
                self.summary.commits += u64::from(something);
                let has_room = now_or_never(store.room()).is_some();
                self.oracle.caught_up(has_room)?;
            }
            Err(error) => {
                self.log_step(format!("step: {} ({error})", error.code()));
                self.record_faults();
                self.oracle.failed(self.write_failed, self.reports_stopped(&store))?;
            }
        }
        self.poll_calls()
    }

    /// Whether the store reports that it has stopped.
    fn reports_stopped(&self, store: &Embedded) -> bool {
        store.stopped().as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    fn arm(&mut self) {
        let faults = [
            DiskFault::ShortWrite,
            DiskFault::WriteError,
            DiskFault::NoSpace,
            DiskFault::SyncError,
            DiskFault::NamesError,
            DiskFault::CreateError,
            DiskFault::ReadError,
            DiskFault::NoDescriptors,
            DiskFault::NoDescriptors,
            DiskFault::Death,
            DiskFault::Death,
        ];
        let skip = self.random.below(12) as u64;
        if let Some(fault) = self.random.pick(&faults).copied() {
            self.log_step(format!("arm {fault:?} after {skip}"));
            self.disk.arm(fault, skip);
        }
    }
}

/// The simulation polls again by itself, so no waker is needed.
fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
