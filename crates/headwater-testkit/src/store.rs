//! The behaviour that every store must show, as a list of cases that any store can be checked with.

mod cases;
mod check;
pub mod crash;
pub mod simulation;

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use headwater_store::{ManualClock, Store};

pub use self::check::CheckFailure;
use self::check::Outcome;

/// Maximum time of a case. No result depends on it: a correct store never comes near.
const CASE_TIMEOUT: Duration = Duration::from_secs(60);

/// How the store under test is opened.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Its clock. Only the cases move it.
    pub clock: Arc<ManualClock>,
    /// Limits that it must enforce.
    pub limits: Limits,
}

/// Limits that a store under test must enforce.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum bytes of a record.
    pub record_bytes: usize,
    /// Maximum bytes of a value.
    pub value_bytes: usize,
    /// Approximate maximum bytes of records in a journal.
    pub journal_bytes: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            clock: Arc::new(ManualClock::at(1_700_000_000_000)),
            limits: Limits { record_bytes: 64 << 10, value_bytes: 64 << 10, journal_bytes: 4 << 20 },
        }
    }
}

/// A store and its setup.
struct StoreUnderTest {
    store: Arc<dyn Store>,
    setup: Setup,
}

/// One behaviour that a store must show.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    run: fn(StoreUnderTest) -> Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

impl Case {
    /// The required behaviour as a sentence.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Checks a new store. It must have been opened with this setup and not be shared.
    ///
    /// # Errors
    /// What the store did instead.
    pub async fn run(&self, store: Arc<dyn Store>, setup: Setup) -> Result<(), CheckFailure> {
        within(self.name, (self.run)(StoreUnderTest { store, setup })).await
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

/// All cases, for a harness that reports each separately.
pub fn cases() -> impl Iterator<Item = Case> {
    cases::ALL.iter().flat_map(|topic| topic.iter().copied())
}

/// Checks a store with all cases: `open` is called for each with a new setup and returns an empty store.
///
/// ```
/// use std::sync::Arc;
/// use headwater_store::{Memory, MemoryOptions, Store};
/// use headwater_testkit::store::{Setup, behaviour};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), headwater_testkit::store::Failures> {
/// behaviour(async |setup: Setup| {
///     let options = MemoryOptions {
///         clock: setup.clock,
///         max_record_bytes: setup.limits.record_bytes,
///         max_value_bytes: setup.limits.value_bytes,
///         max_journal_bytes: setup.limits.journal_bytes,
///         ..MemoryOptions::default()
///     };
///     Arc::new(Memory::with(options)) as Arc<dyn Store>
/// })
/// .await
/// # }
/// ```
///
/// # Errors
/// Every failed case, with what the store did instead.
pub async fn behaviour(open: impl AsyncFn(Setup) -> Arc<dyn Store>) -> Result<(), Failures> {
    let mut failures = Vec::new();
    for case in cases() {
        let setup = Setup::default();
        let store = open(setup.clone()).await;
        if let Err(failure) = case.run(store, setup).await {
            failures.push((case.name, failure));
        }
    }
    Failures::of(failures)
}

/// A store that can be closed and reopened, for the cases of [`reopening`].
struct ReopenableStore<'a> {
    open: &'a dyn Fn() -> Opening<'a>,
    setup: Setup,
}

/// A future that opens a store.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Arc<dyn Store>> + 'a>>;

/// The names of the cases of [`reopening`].
pub fn reopening_cases() -> impl Iterator<Item = &'static str> {
    cases::reopening::CASES.iter().map(|case| case.name)
}

/// Checks a persistent store with the cases about closing and reopening it.
///
/// `place` creates a new, empty location for each case; the returned function opens the store there. A store
/// is always dropped before it is reopened.
///
/// # Errors
/// Every failed case, with what the store did instead.
pub async fn reopening<P>(place: impl Fn(Setup) -> P) -> Result<(), Failures>
where
    P: Fn() -> Opening<'static>,
{
    let mut failures = Vec::new();
    for case in cases::reopening::CASES {
        let setup = Setup::default();
        let open = place(setup.clone());
        let open = move || open() as Opening<'_>;
        let home = ReopenableStore { open: &open, setup };
        if let Err(failure) = within(case.name, (case.run)(&home)).await {
            failures.push((case.name, failure));
        }
    }
    Failures::of(failures)
}

async fn within(what: &str, case: impl Future<Output = Outcome>) -> Outcome {
    match tokio::time::timeout(CASE_TIMEOUT, case).await {
        Ok(outcome) => outcome,
        Err(_) => Err(CheckFailure::new(format!("{what}: it hangs"))),
    }
}

/// The cases that a store failed.
#[derive(Debug)]
pub struct Failures(Vec<(&'static str, CheckFailure)>);

impl Failures {
    fn of(failures: Vec<(&'static str, CheckFailure)>) -> Result<(), Self> {
        if failures.is_empty() { Ok(()) } else { Err(Self(failures)) }
    }

    /// Each failed case, with what the store did instead.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &CheckFailure)> {
        self.0.iter().map(|(name, failure)| (*name, failure))
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the store failed {} cases:", self.0.len())?;
        for (name, failure) in &self.0 {
            writeln!(f, "  {name}\n    {failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failures {}
