//! Assertions and helpers of the cases.

use std::{fmt, future::Future, pin::Pin, task::Poll, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock as _, Error, ErrorKind, JournalId, Lease, Monotonic, ReadLimit, Record, Store, Time,
};

use super::{CASE_TIMEOUT, StoreUnderTest};

/// What a store did instead of the required behaviour.
#[derive(Debug)]
pub struct CheckFailure(String);

pub(super) type Outcome<T = ()> = Result<T, CheckFailure>;

impl CheckFailure {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckFailure {}

impl From<Error> for CheckFailure {
    fn from(error: Error) -> Self {
        Self(format!("unexpected error {}: {error}", error.code()))
    }
}

impl From<tokio::task::JoinError> for CheckFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(format!("a task of the case ended: {error}"))
    }
}

/// Lease duration in the cases.
pub(super) const TTL: Duration = Duration::from_secs(60);

pub(super) fn holds(what: &str, condition: bool) -> Outcome {
    if condition { Ok(()) } else { Err(CheckFailure::new(format!("{what}: false"))) }
}

pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    let (got, wanted) = (abbreviate(&got), abbreviate(&wanted));
    Err(CheckFailure::new(format!("{what}: got {got} instead of {wanted}")))
}

fn abbreviate(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    if text.len() <= 400 {
        return text;
    }
    let start: String = text.chars().take(400).collect();
    format!("{start}… ({} bytes)", text.len())
}

pub(super) fn refused<T: fmt::Debug>(what: &str, got: Result<T, Error>, wanted: &ErrorKind) -> Outcome {
    refused_with(what, got, |kind| kind == wanted, &format!("{wanted:?}"))
}

pub(super) fn refused_with<T: fmt::Debug>(
    what: &str,
    got: Result<T, Error>,
    wanted: impl FnOnce(&ErrorKind) -> bool,
    name: &str,
) -> Outcome {
    match got {
        Err(error) if wanted(error.kind()) => Ok(()),
        Err(error) => {
            let kind = error.kind();
            Err(CheckFailure::new(format!("{what}: refused with {kind:?} instead of {name} ({error})")))
        }
        Ok(got) => Err(CheckFailure::new(format!("{what}: returned {} instead of {name}", abbreviate(&got)))),
    }
}

/// Waits for a future that must complete on its own.
pub(super) async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> Outcome<T> {
    match tokio::time::timeout(CASE_TIMEOUT / 2, coming).await {
        Ok(value) => Ok(value),
        Err(_) => Err(CheckFailure::new(format!("{what}: it was not woken"))),
    }
}

/// Polls once, and fails if there is a result already.
pub(super) async fn sleeps<F>(what: &str, mut future: Pin<&mut F>) -> Outcome
where
    F: Future<Output: fmt::Debug> + ?Sized,
{
    let polled = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
    match polled {
        Poll::Pending => Ok(()),
        Poll::Ready(value) => {
            Err(CheckFailure::new(format!("{what}: gave {} too early", abbreviate(&value))))
        }
    }
}

impl StoreUnderTest {
    pub(super) fn now(&self) -> Time {
        self.setup.clock.now()
    }

    pub(super) fn monotonic(&self) -> Monotonic {
        self.setup.clock.monotonic()
    }

    /// Moves the wall clock forward or back without passing time.
    pub(super) fn step_wall(&self, seconds: i64) {
        let wall = self.now().0.saturating_add_signed(seconds * 1_000);
        self.setup.clock.set_wall(Time(wall));
    }

    pub(super) fn advance(&self, duration: Duration) {
        self.setup.clock.advance(duration);
    }

    pub(super) async fn claim(&self, journal: &str) -> Outcome<Lease> {
        Ok(self.store.claim(&journal.into(), "driver", TTL).await?)
    }

    pub(super) async fn append(&self, lease: &Lease, class: Class, bodies: &[&str]) -> Outcome<u64> {
        append(&*self.store, lease, class, bodies).await
    }

    /// Appends facts with these numbers as text.
    pub(super) async fn number(&self, lease: &Lease, numbers: std::ops::RangeInclusive<u64>) -> Outcome {
        let bodies: Vec<Bytes> = numbers.map(|number| number.to_string().into()).collect();
        self.store.append(lease, Class::Fact, &bodies)?.await?;
        Ok(())
    }

    pub(super) async fn all(&self, journal: &JournalId) -> Outcome<Vec<Record>> {
        read_all(&*self.store, journal).await
    }

    pub(super) async fn bodies(&self, journal: &JournalId) -> Outcome<Vec<String>> {
        Ok(texts(&self.all(journal).await?))
    }
}

pub(super) async fn append(store: &dyn Store, lease: &Lease, class: Class, bodies: &[&str]) -> Outcome<u64> {
    let bodies: Vec<Bytes> = bodies.iter().map(|body| Bytes::copy_from_slice(body.as_bytes())).collect();
    Ok(store.append(lease, class, &bodies)?.await?)
}

/// All visible records of a journal, read in small pages; checks that there are no gaps.
pub(super) async fn read_all(store: &dyn Store, journal: &JournalId) -> Outcome<Vec<Record>> {
    let first = store.info(journal).await?.map_or(1, |info| info.first);
    let mut records: Vec<Record> = Vec::new();
    let mut after = first - 1;
    loop {
        let page = store.read(journal, after, ReadLimit { records: 100, bytes: 1 << 20 }).await?;
        if page.records.is_empty() {
            same("the last record that can be read", after, page.tail.last)?;
            return Ok(records);
        }
        for record in &page.records {
            same("the sequence after the one before", record.seq, after + 1)?;
            after = record.seq;
        }
        records.extend(page.records);
    }
}

pub(super) fn texts(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| String::from_utf8_lossy(&record.body).into_owned()).collect()
}
