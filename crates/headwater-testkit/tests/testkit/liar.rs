//! A store with one fault.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, ManualClock, Memory,
    MemoryOptions, Monotonic, Page, Pending, ReadLimit, Receipt, Record, Result, Store, Swept, Tail, Time,
    Value, Watch,
};
use headwater_testkit::store::Setup;
use tokio::sync::Notify;

use super::lie::Lie;

/// A store in memory with one fault.
#[derive(Debug)]
pub(crate) struct Liar {
    inner: Arc<Memory>,
    lie: Lie,
    shared_watch: Arc<Notify>,
    filled: std::sync::atomic::AtomicBool,
}

/// Uses the wall clock for everything.
#[derive(Debug)]
struct WallClock(Time, Arc<ManualClock>);

impl Clock for WallClock {
    fn now(&self) -> Time {
        self.1.now()
    }

    fn monotonic(&self) -> Monotonic {
        Monotonic(self.now().0.saturating_sub(self.0.0))
    }
}

const MOMENT: Duration = Duration::from_millis(1);

impl Liar {
    pub(crate) fn new(setup: Setup, lie: Lie) -> Self {
        let limits = setup.limits;
        let clock: Arc<dyn Clock> = match lie {
            Lie::GoesByTheWallClock => Arc::new(WallClock(setup.clock.now(), setup.clock)),
            _ => setup.clock,
        };
        let mut options = MemoryOptions { clock, ..MemoryOptions::default() };
        if lie != Lie::HasNoLimits {
            options.max_record_bytes = limits.record_bytes;
            options.max_value_bytes = limits.value_bytes;
            options.max_journal_bytes = limits.journal_bytes;
        }
        if lie == Lie::IsAlwaysFull {
            options.max_journal_bytes /= 2;
        }
        Self::around(Arc::new(Memory::with(options)), lie)
    }

    pub(crate) fn around(inner: Arc<Memory>, lie: Lie) -> Self {
        Self { inner, lie, shared_watch: Arc::default(), filled: false.into() }
    }

    fn name(&self, id: &JournalId) -> JournalId {
        match self.lie {
            Lie::MixesJournals => id.as_str().trim_end_matches(|c: char| c.is_ascii_digit()).into(),
            Lie::LosesCase => id.as_str().to_lowercase().into(),
            Lie::CutsLongNames => id.as_str().chars().take(100).collect::<String>().into(),
            _ => id.clone(),
        }
    }

    fn lease(&self, lease: &Lease) -> Lease {
        Lease { journal: self.name(&lease.journal), ..lease.clone() }
    }

    /// The lease of the journal's newest epoch.
    async fn newest(&self, lease: &Lease) -> Lease {
        let info = self.inner.info(&lease.journal).await.ok().flatten();
        let epoch =
            info.and_then(|info| info.epochs.last().copied()).map_or(lease.epoch, |start| start.epoch);
        Lease { epoch, ..lease.clone() }
    }

    /// The lease that a stale one is treated as.
    async fn taken_for(&self, lease: &Lease) -> Lease {
        if self.lie == Lie::IgnoresEpochs { self.newest(lease).await } else { self.lease(lease) }
    }

    fn expect(&self, expect: Expect) -> Expect {
        if self.lie == Lie::IgnoresExpectations { Expect::Any } else { expect }
    }
}

impl Store for Liar {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let mut lease = self.lease(lease);
        let mut bodies = bodies.to_vec();
        let mut class = class;
        match self.lie {
            Lie::LosesTheLastOfABatch if bodies.len() > 1 => drop(bodies.pop()),
            Lie::TurnsBatchesAround => bodies.reverse(),
            Lie::MakesDeltasFacts => class = Class::Fact,
            Lie::TakesEmptyBodiesForMissing => bodies.retain(|body| !body.is_empty()),
            Lie::TakesAnEmptyBatchForARecord if bodies.is_empty() => bodies.push("nothing".into()),
            Lie::FencesWhatRanOut => {
                let expired = poll_now(self.inner.expired(usize::MAX))?;
                if expired.contains(&lease.journal) {
                    return Err(Error::stale(&lease.journal, lease.epoch, None));
                }
            }
            Lie::IgnoresEpochs => lease = poll_now(async { Ok(self.newest(&lease).await) })?,
            Lie::StaysFull if self.filled.load(std::sync::atomic::Ordering::Relaxed) => {
                return Err(Error::full(&lease.journal, class, 0));
            }
            Lie::AppendsWhenTheReceiptIsPolled => {
                let tail = poll_now(self.inner.info(&lease.journal))?.map_or(0, |info| info.tail.last);
                let inner = self.inner.clone();
                let (first, last) = (tail + 1, tail + bodies.len() as u64);
                let append = async move { inner.append(&lease, class, &bodies).map(|_| ()) };
                return Ok(Receipt::later(first, last, Box::pin(append)));
            }
            _ => {}
        }
        let appended = self.inner.append(&lease, class, &bodies);
        if appended.as_ref().is_err_and(|error| *error.kind() == ErrorKind::Full) {
            self.filled.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        let receipt = appended?;
        Ok(match self.lie {
            Lie::NeverSettlesReceipts => {
                Receipt::later(receipt.first(), receipt.last(), Box::pin(std::future::pending()))
            }
            Lie::CountsReceiptsFromZero => {
                Receipt::settled(receipt.first() - 1, receipt.last().saturating_sub(1))
            }
            _ => receipt,
        })
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move {
            let (mut after, mut limit) = (after, limit);
            match self.lie {
                Lie::IgnoresTheRecordLimit => limit.records = usize::MAX,
                Lie::IgnoresTheByteLimit => limit.bytes = usize::MAX,
                Lie::ReadsFromTheStart => after = after.min(1),
                Lie::ReadsTrimmedRecords => {
                    let first = self.inner.info(journal).await?.map_or(1, |info| info.first);
                    after = after.max(first - 1);
                }
                _ => {}
            }
            let page = self.inner.read(&self.name(journal), after, limit).await;
            if self.lie == Lie::ReadsUnknownJournals && page.is_err() {
                return Ok(Page { records: Vec::new(), tail: Tail { last: 0, closed: false } });
            }
            let mut page = page?;
            for record in &mut page.records {
                match self.lie {
                    Lie::ForgetsEpochs => record.epoch = 0,
                    Lie::ForgetsTimes => record.time = Time(0),
                    _ => {}
                }
            }
            if self.lie == Lie::HidesTheLastRecord
                && page.records.last().is_some_and(|last| last.seq == page.tail.last)
            {
                page.records.pop();
            }
            Ok(page)
        })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        Box::pin(async move {
            let name = self.name(journal);
            let info = self.inner.info(&name).await?;
            match (self.lie, info) {
                (Lie::WaitsForNothing, Some(info)) => Ok(info.tail),
                (Lie::WakesNobody, Some(info)) if info.tail.last <= after && !info.tail.closed => {
                    std::future::pending().await
                }
                (Lie::WakesForAppendsOnly, _) => match self.inner.wait(&name, after).await {
                    Ok(tail) if tail.last > after => Ok(tail),
                    _ => std::future::pending().await,
                },
                _ => self.inner.wait(&name, after).await,
            }
        })
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        Box::pin(async move {
            let mut info = self.inner.info(&self.name(journal)).await?;
            if let Some(info) = &mut info {
                match self.lie {
                    Lie::ListsTheNewestEpochOnly => drop(info.epochs.drain(..info.epochs.len() - 1)),
                    Lie::CountsNoBytes => info.bytes = 0,
                    _ => {}
                }
            }
            let hidden = self.lie == Lie::BeginsNoJournal;
            Ok(info.filter(|info| !hidden || info.tail.last > 0))
        })
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        Box::pin(async move {
            match self.lie {
                Lie::ListsNoJournals => Ok(Vec::new()),
                Lie::ListsJournalsBackwards => {
                    let mut all = self.inner.journals(after, limit).await?;
                    all.reverse();
                    Ok(all)
                }
                Lie::ListsJournalsFromTheStart => {
                    let mut all = self.inner.journals(None, limit).await?;
                    all.retain(|name| after.is_none_or(|after| name > after));
                    Ok(all)
                }
                Lie::ListsJournalsWithoutLimit => self.inner.journals(after, usize::MAX).await,
                _ => self.inner.journals(after, limit).await,
            }
        })
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            let (mut info, mut records) = (info.clone(), records.to_vec());
            match self.lie {
                Lie::RestoresOverAnother => self.inner.delete(journal).await?,
                Lie::RestoresTimesAnew => records.iter_mut().for_each(|record| record.time = Time(1)),
                Lie::RestoresFactsOnly => records.iter_mut().for_each(|record| record.class = Class::Fact),
                Lie::RestoresTheNewestEpochOnly => {
                    info.epochs.drain(..info.epochs.len().saturating_sub(1));
                    info.epochs.iter_mut().for_each(|start| start.first = 1);
                    let epoch = info.epochs.first().map_or(0, |start| start.epoch);
                    records.iter_mut().for_each(|record| record.epoch = epoch);
                }
                Lie::RestoresFromTheFirst => {
                    info.first = records.first().map_or(1, |record| record.seq.max(4));
                }
                Lie::ShowsUnfinishedRestores => {
                    info.tail.last = records.last().map_or(info.tail.last, |record| record.seq);
                }
                Lie::RestoresAsGivenBack => info.driven = false,
                Lie::RestoresAsDriven => info.driven = !info.tail.closed,
                Lie::RestoresAsOpen => (info.tail.closed, info.goes) = (false, None),
                Lie::RestoresForEver => info.goes = None,
                Lie::RestoresAnything => {
                    let restored = self.inner.restore(journal, &info, &records).await;
                    return match restored {
                        Err(error) if *error.kind() == ErrorKind::Corrupt => Ok(()),
                        restored => restored,
                    };
                }
                _ => {}
            }
            self.inner.restore(journal, &info, &records).await
        })
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        Box::pin(async move {
            let keep = match self.lie {
                Lie::KeepsForEver => None,
                Lie::KeepsForNoTime => Some(Duration::ZERO),
                Lie::SweepsWhatHasNoTime => keep.or(Some(Duration::from_secs(1))),
                _ => keep,
            };
            self.inner.close(&self.taken_for(lease).await, keep).await
        })
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        Box::pin(async move {
            let before = match self.lie {
                Lie::TrimsNothing => 0,
                Lie::TrimsOneTooMany => before + 1,
                _ => before,
            };
            self.inner.trim(&self.taken_for(lease).await, before).await
        })
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        Box::pin(async move {
            match self.lie {
                Lie::DeletesNothing => return Ok(()),
                Lie::KeepsUnfinishedRestores if self.inner.info(journal).await?.is_none() => return Ok(()),
                Lie::DeletesTheValueToo => {
                    self.inner.remove(journal.as_str(), Expect::Any).await?;
                }
                Lie::DeletesHeldJournals => {
                    let lease = Lease {
                        journal: journal.clone(),
                        epoch: 0,
                        owner: "".into(),
                        expires: Monotonic(0),
                        first: 1,
                    };
                    drop(self.inner.release(&self.newest(&lease).await).await);
                }
                _ => {}
            }
            self.inner.delete(&self.name(journal)).await
        })
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            let ttl = match self.lie {
                Lie::NeverExpires => ttl * 1_000,
                Lie::ExpiresOneMomentEarly => ttl - MOMENT,
                _ => ttl,
            };
            let claimed = self.inner.claim(&self.name(journal), owner, ttl).await;
            let Err(error) = claimed else {
                return claimed.map(|mut lease| {
                    if self.lie == Lie::ReusesEpochs {
                        lease.epoch = 1;
                    }
                    Lease { journal: journal.clone(), ..lease }
                });
            };
            match (self.lie, error.kind()) {
                (Lie::ClaimsHeldJournals, ErrorKind::Held { expires, .. }) => {
                    let lease = Lease {
                        journal: journal.clone(),
                        epoch: 0,
                        owner: owner.into(),
                        expires: *expires,
                        first: 1,
                    };
                    self.inner.release(&self.newest(&lease).await).await?;
                    self.inner.claim(journal, owner, ttl).await
                }
                (Lie::ClaimsClosedJournals, ErrorKind::Closed) => {
                    self.inner.delete(journal).await?;
                    self.inner.claim(journal, owner, ttl).await
                }
                _ => Err(error),
            }
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            if self.lie == Lie::RenewsNothing {
                return Ok(lease.clone());
            }
            self.inner.renew(&self.taken_for(lease).await, ttl).await
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        Box::pin(async move { self.inner.release(&self.taken_for(lease).await).await })
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        Box::pin(async move {
            match self.lie {
                Lie::ListsNothingAsExpired => Ok(Vec::new()),
                Lie::ListsTooMuchAsExpired => self.inner.expired(usize::MAX).await,
                _ => self.inner.expired(limit).await,
            }
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        self.inner.get(key)
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        Box::pin(async move {
            let ttl = match self.lie {
                Lie::ForgetsTimeToLive => None,
                Lie::LivesOneMomentLess => ttl.map(|ttl| ttl - MOMENT),
                _ => ttl,
            };
            let key: String =
                if self.lie == Lie::CutsLongNames { key.chars().take(100).collect() } else { key.to_owned() };
            let put = self.inner.put(&key, bytes, self.expect(expect), ttl).await;
            if self.lie == Lie::TellsOneWatch || (self.lie == Lie::TellsOfRefusedPuts && put.is_err()) {
                self.shared_watch.notify_one();
            }
            if self.lie == Lie::TellsWaitingWatchesOnly {
                self.shared_watch.notify_waiters();
            }
            Ok(if self.lie == Lie::GivesVersionOne { put.map(|_| 1)? } else { put? })
        })
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        Box::pin(async move {
            if self.lie == Lie::RemovesNothing {
                return Ok(self.inner.get(key).await?.is_some());
            }
            let removed = self.inner.remove(key, self.expect(expect)).await?;
            if self.lie == Lie::TellsOneWatch {
                self.shared_watch.notify_one();
            }
            if self.lie == Lie::TellsWaitingWatchesOnly {
                self.shared_watch.notify_waiters();
            }
            Ok(removed)
        })
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        Box::pin(async move {
            match self.lie {
                Lie::ListsBackwards => {
                    let mut all = self.inner.list(prefix, after, usize::MAX).await?;
                    all.reverse();
                    all.truncate(limit);
                    Ok(all)
                }
                Lie::ListsFromTheStart => {
                    let mut all = self.inner.list(prefix, None, limit).await?;
                    all.retain(|(key, _)| after.is_none_or(|after| **key > *after));
                    Ok(all)
                }
                Lie::ListsWithoutLimit => self.inner.list(prefix, after, usize::MAX).await,
                Lie::ListsByPrefixWithoutItsEnd => {
                    let mut all = self.inner.list("", after, usize::MAX).await?;
                    all.retain(|(key, _)| **key >= *prefix);
                    all.truncate(limit);
                    Ok(all)
                }
                _ => self.inner.list(prefix, after, limit).await,
            }
        })
    }

    fn watch(&self, prefix: &str) -> Watch {
        match self.lie {
            Lie::TellsNoWatch => Watch::new(Arc::default()),
            Lie::TellsOneWatch | Lie::TellsOfRefusedPuts | Lie::TellsWaitingWatchesOnly => {
                Watch::new(self.shared_watch.clone())
            }
            Lie::TellsEveryWatch => self.inner.watch(""),
            _ => self.inner.watch(prefix),
        }
    }

    fn sweep(&self) -> Pending<'_, Swept> {
        match self.lie {
            Lie::SweepsNothing => Box::pin(std::future::ready(Ok(Swept::default()))),
            _ => self.inner.sweep(),
        }
    }

    fn flush(&self) -> Pending<'_, ()> {
        self.inner.flush()
    }

    fn limits(&self) -> headwater_store::Limits {
        self.inner.limits()
    }
}

/// The result of a call that the memory store completes immediately.
fn poll_now<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => unreachable!("the memory store never waits here"),
    }
}
