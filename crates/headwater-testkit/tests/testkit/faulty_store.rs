//! A store with one fault.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, ManualClock, Memory,
    MemoryOptions, Monotonic, Page, Pending, ReadLimit, Receipt, Record, Result, Store, SweepReport, Tail,
    Time, Value, Watch,
};
use headwater_testkit::store::Setup;
use tokio::sync::Notify;

use super::store_fault::StoreFault;

/// A store in memory with one fault.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: Arc<Memory>,
    fault: StoreFault,
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

impl FaultyStore {
    pub(crate) fn new(setup: Setup, fault: StoreFault) -> Self {
        let limits = setup.limits;
        let clock: Arc<dyn Clock> = match fault {
            StoreFault::GoesByTheWallClock => Arc::new(WallClock(setup.clock.now(), setup.clock)),
            _ => setup.clock,
        };
        let mut options = MemoryOptions { clock, ..MemoryOptions::default() };
        if fault != StoreFault::HasNoLimits {
            options.max_record_bytes = limits.record_bytes;
            options.max_value_bytes = limits.value_bytes;
            options.max_journal_bytes = limits.journal_bytes;
        }
        if fault == StoreFault::IsAlwaysFull {
            options.max_journal_bytes /= 2;
        }
        Self::around(Arc::new(Memory::with(options)), fault)
    }

    pub(crate) fn around(inner: Arc<Memory>, fault: StoreFault) -> Self {
        Self { inner, fault, shared_watch: Arc::default(), filled: false.into() }
    }

    fn name(&self, id: &JournalId) -> JournalId {
        match self.fault {
            StoreFault::MixesJournals => id.as_str().trim_end_matches(|c: char| c.is_ascii_digit()).into(),
            StoreFault::LosesCase => id.as_str().to_lowercase().into(),
            StoreFault::CutsLongNames => id.as_str().chars().take(100).collect::<String>().into(),
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
        if self.fault == StoreFault::IgnoresEpochs { self.newest(lease).await } else { self.lease(lease) }
    }

    fn expect(&self, expect: Expect) -> Expect {
        if self.fault == StoreFault::IgnoresExpectations { Expect::Any } else { expect }
    }
}

impl Store for FaultyStore {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let mut lease = self.lease(lease);
        let mut bodies = bodies.to_vec();
        let mut class = class;
        match self.fault {
            StoreFault::LosesTheLastOfABatch if bodies.len() > 1 => drop(bodies.pop()),
            StoreFault::TurnsBatchesAround => bodies.reverse(),
            StoreFault::MakesDeltasFacts => class = Class::Fact,
            StoreFault::TakesEmptyBodiesForMissing => bodies.retain(|body| !body.is_empty()),
            StoreFault::TakesAnEmptyBatchForARecord if bodies.is_empty() => bodies.push("nothing".into()),
            StoreFault::FencesWhatRanOut => {
                let expired = poll_now(self.inner.expired(usize::MAX))?;
                if expired.contains(&lease.journal) {
                    return Err(Error::stale(&lease.journal, lease.epoch, None));
                }
            }
            StoreFault::IgnoresEpochs => lease = poll_now(async { Ok(self.newest(&lease).await) })?,
            StoreFault::StaysFull if self.filled.load(std::sync::atomic::Ordering::Relaxed) => {
                return Err(Error::full(&lease.journal, class, 0));
            }
            StoreFault::AppendsWhenTheReceiptIsPolled => {
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
        Ok(match self.fault {
            StoreFault::NeverSettlesReceipts => {
                Receipt::later(receipt.first(), receipt.last(), Box::pin(std::future::pending()))
            }
            StoreFault::CountsReceiptsFromZero => {
                Receipt::settled(receipt.first() - 1, receipt.last().saturating_sub(1))
            }
            _ => receipt,
        })
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move {
            let (mut after, mut limit) = (after, limit);
            match self.fault {
                StoreFault::IgnoresTheRecordLimit => limit.records = usize::MAX,
                StoreFault::IgnoresTheByteLimit => limit.bytes = usize::MAX,
                StoreFault::ReadsFromTheStart => after = after.min(1),
                StoreFault::ReadsTrimmedRecords => {
                    let first = self.inner.info(journal).await?.map_or(1, |info| info.first);
                    after = after.max(first - 1);
                }
                _ => {}
            }
            let page = self.inner.read(&self.name(journal), after, limit).await;
            if self.fault == StoreFault::ReadsUnknownJournals && page.is_err() {
                return Ok(Page { records: Vec::new(), tail: Tail { last: 0, closed: false } });
            }
            let mut page = page?;
            for record in &mut page.records {
                match self.fault {
                    StoreFault::ForgetsEpochs => record.epoch = 0,
                    StoreFault::ForgetsTimes => record.time = Time(0),
                    _ => {}
                }
            }
            if self.fault == StoreFault::HidesTheLastRecord
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
            match (self.fault, info) {
                (StoreFault::WaitsForNothing, Some(info)) => Ok(info.tail),
                (StoreFault::WakesNobody, Some(info)) if info.tail.last <= after && !info.tail.closed => {
                    std::future::pending().await
                }
                (StoreFault::WakesForAppendsOnly, _) => match self.inner.wait(&name, after).await {
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
                match self.fault {
                    StoreFault::ListsTheNewestEpochOnly => drop(info.epochs.drain(..info.epochs.len() - 1)),
                    StoreFault::CountsNoBytes => info.bytes = 0,
                    _ => {}
                }
            }
            let hidden = self.fault == StoreFault::BeginsNoJournal;
            Ok(info.filter(|info| !hidden || info.tail.last > 0))
        })
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        Box::pin(async move {
            match self.fault {
                StoreFault::ListsNoJournals => Ok(Vec::new()),
                StoreFault::ListsJournalsBackwards => {
                    let mut all = self.inner.journals(after, limit).await?;
                    all.reverse();
                    Ok(all)
                }
                StoreFault::ListsJournalsFromTheStart => {
                    let mut all = self.inner.journals(None, limit).await?;
                    all.retain(|name| after.is_none_or(|after| name > after));
                    Ok(all)
                }
                StoreFault::ListsJournalsWithoutLimit => self.inner.journals(after, usize::MAX).await,
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
            match self.fault {
                StoreFault::RestoresOverAnother => self.inner.delete(journal).await?,
                StoreFault::RestoresTimesAnew => records.iter_mut().for_each(|record| record.time = Time(1)),
                StoreFault::RestoresFactsOnly => {
                    records.iter_mut().for_each(|record| record.class = Class::Fact);
                }
                StoreFault::RestoresTheNewestEpochOnly => {
                    info.epochs.drain(..info.epochs.len().saturating_sub(1));
                    info.epochs.iter_mut().for_each(|start| start.first = 1);
                    let epoch = info.epochs.first().map_or(0, |start| start.epoch);
                    records.iter_mut().for_each(|record| record.epoch = epoch);
                }
                StoreFault::RestoresFromTheFirst => {
                    info.first = records.first().map_or(1, |record| record.seq.max(4));
                }
                StoreFault::ShowsUnfinishedRestores => {
                    info.tail.last = records.last().map_or(info.tail.last, |record| record.seq);
                }
                StoreFault::RestoresAsGivenBack => info.driven = false,
                StoreFault::RestoresAsDriven => info.driven = !info.tail.closed,
                StoreFault::RestoresAsOpen => (info.tail.closed, info.goes) = (false, None),
                StoreFault::RestoresForEver => info.goes = None,
                StoreFault::RestoresAnything => {
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
            let keep = match self.fault {
                StoreFault::KeepsForEver => None,
                StoreFault::KeepsForNoTime => Some(Duration::ZERO),
                StoreFault::SweepsWhatHasNoTime => keep.or(Some(Duration::from_secs(1))),
                _ => keep,
            };
            self.inner.close(&self.taken_for(lease).await, keep).await
        })
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        Box::pin(async move {
            let before = match self.fault {
                StoreFault::TrimsNothing => 0,
                StoreFault::TrimsOneTooMany => before + 1,
                _ => before,
            };
            self.inner.trim(&self.taken_for(lease).await, before).await
        })
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        Box::pin(async move {
            match self.fault {
                StoreFault::DeletesNothing => return Ok(()),
                StoreFault::KeepsUnfinishedRestores if self.inner.info(journal).await?.is_none() => {
                    return Ok(());
                }
                StoreFault::DeletesTheValueToo => {
                    self.inner.remove(journal.as_str(), Expect::Any).await?;
                }
                StoreFault::DeletesHeldJournals => {
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
            let ttl = match self.fault {
                StoreFault::NeverExpires => ttl * 1_000,
                StoreFault::ExpiresOneMomentEarly => ttl - MOMENT,
                _ => ttl,
            };
            let claimed = self.inner.claim(&self.name(journal), owner, ttl).await;
            let Err(error) = claimed else {
                return claimed.map(|mut lease| {
                    if self.fault == StoreFault::ReusesEpochs {
                        lease.epoch = 1;
                    }
                    Lease { journal: journal.clone(), ..lease }
                });
            };
            match (self.fault, error.kind()) {
                (StoreFault::ClaimsHeldJournals, ErrorKind::Held { expires, .. }) => {
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
                (StoreFault::ClaimsClosedJournals, ErrorKind::Closed) => {
                    self.inner.delete(journal).await?;
                    self.inner.claim(journal, owner, ttl).await
                }
                _ => Err(error),
            }
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            if self.fault == StoreFault::RenewsNothing {
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
            match self.fault {
                StoreFault::ListsNothingAsExpired => Ok(Vec::new()),
                StoreFault::ListsTooMuchAsExpired => self.inner.expired(usize::MAX).await,
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
            let ttl = match self.fault {
                StoreFault::ForgetsTimeToLive => None,
                StoreFault::LivesOneMomentLess => ttl.map(|ttl| ttl - MOMENT),
                _ => ttl,
            };
            let key: String = if self.fault == StoreFault::CutsLongNames {
                key.chars().take(100).collect()
            } else {
                key.to_owned()
            };
            let put = self.inner.put(&key, bytes, self.expect(expect), ttl).await;
            if self.fault == StoreFault::TellsOneWatch
                || (self.fault == StoreFault::TellsOfRefusedPuts && put.is_err())
            {
                self.shared_watch.notify_one();
            }
            if self.fault == StoreFault::TellsWaitingWatchesOnly {
                self.shared_watch.notify_waiters();
            }
            Ok(if self.fault == StoreFault::GivesVersionOne { put.map(|_| 1)? } else { put? })
        })
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        Box::pin(async move {
            if self.fault == StoreFault::RemovesNothing {
                return Ok(self.inner.get(key).await?.is_some());
            }
            let removed = self.inner.remove(key, self.expect(expect)).await?;
            if self.fault == StoreFault::TellsOneWatch {
                self.shared_watch.notify_one();
            }
            if self.fault == StoreFault::TellsWaitingWatchesOnly {
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
            match self.fault {
                StoreFault::ListsBackwards => {
                    let mut all = self.inner.list(prefix, after, usize::MAX).await?;
                    all.reverse();
                    all.truncate(limit);
                    Ok(all)
                }
                StoreFault::ListsFromTheStart => {
                    let mut all = self.inner.list(prefix, None, limit).await?;
                    all.retain(|(key, _)| after.is_none_or(|after| **key > *after));
                    Ok(all)
                }
                StoreFault::ListsWithoutLimit => self.inner.list(prefix, after, usize::MAX).await,
                StoreFault::ListsByPrefixWithoutItsEnd => {
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
        match self.fault {
            StoreFault::TellsNoWatch => Watch::new(Arc::default()),
            StoreFault::TellsOneWatch
            | StoreFault::TellsOfRefusedPuts
            | StoreFault::TellsWaitingWatchesOnly => Watch::new(self.shared_watch.clone()),
            StoreFault::TellsEveryWatch => self.inner.watch(""),
            _ => self.inner.watch(prefix),
        }
    }

    fn sweep(&self) -> Pending<'_, SweepReport> {
        match self.fault {
            StoreFault::SweepsNothing => Box::pin(std::future::ready(Ok(SweepReport::default()))),
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
