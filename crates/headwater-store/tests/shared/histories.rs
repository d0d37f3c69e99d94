//! Random histories of two processes on one engine whose connections are cut, held to the oracle of the simulation.
//!
//! The oracle knows what every store must guarantee. One call follows another, so that it knows what each may give; the
//! cuts come at any moment of a call.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock as _, Cursor, ErrorKind, Expect, JournalId, Lease, ManualClock, ReadLimit, Store,
    remote::{EngineTime, Options},
};
use headwater_testkit::{
    balancer::Balancer,
    random::Random,
    store::simulation::oracle::{Control, Oracle, ValueChange, Verdict},
};

use crate::engine::{Engine, balanced, on_every_engine, soon};

on_every_engine!(random_histories_under_cut_connections_break_no_promise);

const HISTORIES: u64 = 50;
const STEPS: usize = 60;
const TTL: Duration = Duration::from_secs(10);

async fn random_histories_under_cut_connections_break_no_promise<E: Engine>(server: E) {
    let (balancer, url) = balanced(&server);
    let balancer = Arc::new(balancer);
    let clock = Arc::new(ManualClock::at(9_000_000_000_000));
    let mut options = Options::default();
    // What a cut announcement does not bring, the next poll does.
    options.poll = Duration::from_millis(200);
    options.clock = clock.clone();
    options.engine_time = EngineTime::Simulated;
    let connect = || E::connect(url.clone(), options.clone());
    let stores = [connect().await.unwrap(), connect().await.unwrap()];
    for seed in 1..=HISTORIES {
        let mut history = History::new(seed, stores.clone(), clock.clone(), balancer.clone());
        if let Err(violation) = history.run().await {
            panic!("history {seed}: {violation}\n{}", history.log.join("\n"));
        }
    }
}

struct History {
    random: Random,
    stores: [Arc<dyn Store>; 2],
    clock: Arc<ManualClock>,
    balancer: Arc<Balancer>,
    oracle: Oracle,
    journals: Vec<JournalId>,
    keys: Vec<String>,
    /// The newest leases, with the process that has each.
    leases: BTreeMap<JournalId, (usize, Lease)>,
    /// Leases of drivers that should have stopped.
    old: Vec<(usize, Lease)>,
    cursors: Vec<(Cursor, Bytes)>,
    bodies: u64,
    log: Vec<String>,
}

impl History {
    fn new(seed: u64, stores: [Arc<dyn Store>; 2], clock: Arc<ManualClock>, balancer: Arc<Balancer>) -> Self {
        let journals = ["run", "läuft 🦀"].map(|name| JournalId::from(&*format!("{seed} {name}"))).into();
        let keys = (0..3).map(|key| format!("{seed}/{key}")).collect();
        Self {
            random: Random::new(seed),
            stores,
            clock,
            balancer,
            oracle: Oracle::new(),
            journals,
            keys,
            leases: BTreeMap::new(),
            old: Vec::new(),
            cursors: Vec::new(),
            bodies: 0,
            log: Vec::new(),
        }
    }

    async fn run(&mut self) -> Verdict {
        for _ in 0..STEPS {
            if self.random.one_in(10) {
                self.cut_soon();
            }
            match self.random.below(20) {
                0..=5 => self.append().await?,
                6 => self.claim().await?,
                7 | 8 => self.control().await?,
                9 => self.try_old_lease().await?,
                10..=12 => self.change_value().await?,
                13 => self.get().await?,
                14..=16 => self.look().await?,
                17 => self.place().await?,
                18 => self.flush().await,
                _ => self.pass_time().await,
            }
        }
        self.flush().await;
        for journal in self.journals.clone() {
            for process in 0..self.stores.len() {
                self.catch_up(process, &journal).await;
                self.read(process, &journal, 0, ReadLimit::default()).await?;
            }
        }
        Ok(())
    }

    /// Resets all connections to the engine, most likely during the next call.
    fn cut_soon(&mut self) {
        let (balancer, wait) = (self.balancer.clone(), self.random.below(3_000) as u64);
        self.log.push(format!("a cut after {wait} µs"));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(wait)).await;
            balancer.reset(0);
        });
    }

    fn a_journal(&mut self) -> JournalId {
        self.random.pick(&self.journals).cloned().unwrap()
    }

    fn process(&mut self) -> (usize, Arc<dyn Store>) {
        let process = self.random.below(self.stores.len());
        (process, self.stores[process].clone())
    }

    fn body(&mut self) -> Bytes {
        self.bodies += 1;
        format!("{}:{}", self.bodies, "x".repeat(self.random.below(400))).into()
    }

    /// Everything is written, so that both processes may see it.
    async fn flush(&mut self) {
        for store in &self.stores {
            soon("the flush", store.flush()).await.unwrap();
        }
        self.oracle.committed();
    }

    async fn append(&mut self) -> Verdict {
        let journal = self.a_journal();
        let Some((process, lease)) = self.leases.get(&journal).cloned() else { return self.claim().await };
        let class = if self.random.one_in(3) { Class::Fact } else { Class::Delta };
        let bodies: Vec<Bytes> = (0..=self.random.below(5)).map(|_| self.body()).collect();
        let receipt = match self.stores[process].append(&lease, class, &bodies) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.log.push(format!("append {journal}: {error}"));
                return self.oracle.write_refused(&lease, &error);
            }
        };
        let first = receipt.first();
        self.log.push(format!("append {} {class}s to {journal} at {first}", bodies.len()));
        self.oracle.appended(&lease, class, &bodies, first, self.clock.now())?;
        if class == Class::Delta {
            return Ok(());
        }
        let last = soon("the fact", receipt).await;
        self.log.push(format!("the fact: {last:?}"));
        self.flush().await;
        self.oracle.settled(&journal, last.unwrap())
    }

    async fn claim(&mut self) -> Verdict {
        let journal = self.a_journal();
        self.flush().await;
        let (process, store) = self.process();
        self.oracle.began(&journal, Control::Claim);
        let claimed = soon("a claim", store.claim(&journal, "driver", TTL)).await;
        self.log.push(format!("{process} claims {journal}: {claimed:?}"));
        match claimed {
            Ok(lease) => {
                self.oracle.claimed(&lease, self.clock.now(), self.clock.monotonic())?;
                self.old.extend(self.leases.insert(journal, (process, lease)));
                Ok(())
            }
            Err(error) => {
                self.oracle.refused(&journal);
                self.oracle.claim_refused(&journal, &error, self.clock.monotonic())
            }
        }
    }

    /// Renews, releases, trims, closes or deletes.
    async fn control(&mut self) -> Verdict {
        let journal = self.a_journal();
        self.flush().await;
        let Some((process, lease)) = self.leases.get(&journal).cloned() else {
            let (_, store) = self.process();
            self.oracle.began(&journal, Control::Delete);
            let deleted = soon("a delete", store.delete(&journal)).await;
            // The other process may know the deleted one until it polls. That is why a run's id is never used again.
            self.journals.retain(|known| *known != journal);
            self.journals.push(JournalId::from(&*format!("{journal} again")));
            return self.controlled(&journal, &Control::Delete, deleted);
        };
        let store = self.stores[process].clone();
        let (control, done) = match self.random.below(8) {
            0..=2 => {
                let renewed = soon("a renewal", store.renew(&lease, TTL)).await;
                self.log.push(format!("renew {journal}: {renewed:?}"));
                let renewed = match renewed {
                    Ok(renewed) => renewed,
                    Err(error) => return self.oracle.write_refused(&lease, &error),
                };
                self.oracle.renewed(&renewed)?;
                self.leases.insert(journal, (process, renewed));
                return Ok(());
            }
            3 | 4 => (Control::Release, soon("a release", store.release(&lease)).await),
            5 | 6 => {
                let before = self.random.below(self.oracle.last(&journal) as usize + 2) as u64;
                (Control::Trim(before), soon("a trim", store.trim(&lease, before)).await)
            }
            _ => {
                let goes = self.clock.now().after(TTL * 2);
                (Control::Close(Some(goes)), soon("a close", store.close(&lease, Some(TTL * 2))).await)
            }
        };
        self.oracle.began(&journal, control.clone());
        if !matches!(control, Control::Trim(_)) {
            self.old.extend(self.leases.remove(&journal));
        }
        self.controlled(&journal, &control, done)
    }

    fn controlled(
        &mut self,
        journal: &JournalId,
        control: &Control,
        done: headwater_store::Result<()>,
    ) -> Verdict {
        self.log.push(format!("{control:?} {journal}: {done:?}"));
        match done {
            Ok(()) => self.oracle.acknowledged(journal),
            Err(error) => {
                self.oracle.refused(journal);
                self.oracle.control_refused(journal, &error)
            }
        }
    }

    /// A driver that should have stopped continues, in the process that it was in.
    async fn try_old_lease(&mut self) -> Verdict {
        let Some((process, lease)) = self.random.pick(&self.old).cloned() else { return Ok(()) };
        if self.oracle.is_newest(&lease) {
            return Ok(());
        }
        let store = self.stores[process].clone();
        let done = match self.random.below(3) {
            // It may learn that it lost the lease only from the engine.
            0 => match store.append(&lease, Class::Fact, &["stale".into()]) {
                Ok(receipt) => soon("an old fact", receipt).await.map(drop),
                Err(error) => Err(error),
            },
            1 => soon("an old renewal", store.renew(&lease, TTL)).await.map(drop),
            _ => soon("an old trim", store.trim(&lease, 1_000)).await,
        };
        self.log.push(format!("epoch {} of {} again: {done:?}", lease.epoch, lease.journal));
        assert!(done.is_err(), "an old epoch is accepted:\n{}", self.log.join("\n"));
        Ok(())
    }

    async fn change_value(&mut self) -> Verdict {
        let key = self.random.pick(&self.keys).cloned().unwrap();
        let (now, (process, store)) = (self.clock.now(), self.process());
        let current = self.oracle.version(&key, now);
        let (expect, fits) = match self.random.below(5) {
            0 => (Expect::Absent, current.is_none()),
            1 => (Expect::Version(1), false),
            2 | 3 => current.map_or((Expect::Absent, true), |current| (Expect::Version(current), true)),
            _ => (Expect::Any, true),
        };
        let error = if self.random.one_in(4) {
            self.oracle.began_change(&key, ValueChange::Remove, now);
            let removed = soon("a removal", store.remove(&key, expect)).await;
            self.log.push(format!("{process} removes {key}, {expect:?}: {removed:?}"));
            match removed {
                Ok(there) => return self.oracle.removed(&key, there, fits),
                // The connection was lost before the result arrived. Only this history removes values, so it was removed.
                Err(error) if error.is_retryable() && current.is_some() => {
                    return self.oracle.removed(&key, true, fits);
                }
                Err(error) if error.is_retryable() => {
                    self.oracle.change_refused(&key);
                    return Ok(());
                }
                Err(error) => error,
            }
        } else {
            let (bytes, ttl) = (self.body(), self.random.one_in(3).then_some(TTL / 2));
            let goes = ttl.map(|ttl| now.after(ttl));
            self.oracle.began_change(&key, ValueChange::Put(bytes.clone(), goes), now);
            let put = soon("a put", store.put(&key, bytes, expect, ttl)).await;
            self.log.push(format!("{process} puts {key}, {expect:?}: {put:?}"));
            match put {
                Ok(version) => return self.oracle.put(&key, version, fits),
                Err(error) => error,
            }
        };
        let ErrorKind::Conflict { current } = error.kind() else {
            panic!("{error}:\n{}", self.log.join("\n"));
        };
        self.oracle.conflicted(&key, fits, *current, now)
    }

    async fn get(&mut self) -> Verdict {
        let key = self.random.pick(&self.keys).cloned().unwrap();
        let (_, store) = self.process();
        let value = soon("a value", store.get(&key)).await.unwrap();
        self.oracle.got(&key, value.as_ref(), self.clock.now())
    }

    /// Reads a part of a journal in either process.
    async fn look(&mut self) -> Verdict {
        let journal = self.a_journal();
        let (process, store) = self.process();
        if self.leases.get(&journal).is_none_or(|(driver, _)| *driver != process) {
            // Deltas that are not written yet are seen in their own process alone.
            self.flush().await;
        }
        let info = soon("an info", store.info(&journal)).await.unwrap();
        self.oracle.informed(&journal, info.as_ref(), self.clock.now())?;
        self.catch_up(process, &journal).await;
        let after = self.random.below(self.oracle.last(&journal) as usize + 2) as u64;
        let limit = ReadLimit { records: 1 + self.random.below(40), bytes: 1 + self.random.below(2_000) };
        self.read(process, &journal, after, limit).await
    }

    /// Waits until a process knows what another has written: it learns that from announcements, which a cut may lose.
    async fn catch_up(&self, process: usize, journal: &JournalId) {
        let store = &self.stores[process];
        // A driver learns that it lost its lease when it renews it. Until then it knows only its own records.
        for (_, lease) in self.old.iter().filter(|(of, old)| *of == process && old.journal == *journal) {
            if !self.oracle.is_newest(lease) {
                assert!(soon("an old renewal", store.renew(lease, TTL)).await.is_err());
            }
        }
        let info = soon("an info", store.info(journal)).await.unwrap();
        let Some(known) = info.map(|info| info.tail).filter(|tail| tail.last > 0) else { return };
        // A close has no record of its own: it is what comes after the last one.
        let after = if known.closed { known.last } else { known.last - 1 };
        let tail = soon("the records of another process", store.wait(journal, after)).await.unwrap();
        let is_current = tail.last >= known.last && (tail.closed || !known.closed);
        assert!(is_current, "{journal}: {tail:?}, not {known:?}:\n{}", self.log.join("\n"));
    }

    async fn read(&mut self, process: usize, journal: &JournalId, after: u64, limit: ReadLimit) -> Verdict {
        let page = soon("a page", self.stores[process].read(journal, after, limit)).await;
        self.log.push(format!(
            "{process} reads {journal} after {after}: {:?}",
            page.as_ref().map(|page| page.tail)
        ));
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.oracle.read_failed(journal, after, &error),
        };
        self.oracle.read(journal, after, &page.records, page.tail)?;
        if let Some(record) = self.random.pick(&page.records) {
            let (epoch, seq, body) = (record.epoch, record.seq, record.body.clone());
            let cursor = Cursor { journal: journal.clone(), epoch, seq, frame: 0, count: 0 };
            self.cursors.push((cursor, body));
        }
        Ok(())
    }

    /// A reader reconnects with a cursor, to either process.
    async fn place(&mut self) -> Verdict {
        let Some((cursor, body)) = self.random.pick(&self.cursors).cloned() else { return Ok(()) };
        self.flush().await;
        let (_, store) = self.process();
        let info = soon("an info", store.info(&cursor.journal)).await.unwrap();
        let Some(info) = info else { return Ok(()) };
        let place = cursor.place(&cursor.journal, &info);
        self.oracle.placed(&cursor, &body, place.as_ref().copied())
    }

    /// Leases, values and closed journals run out.
    async fn pass_time(&mut self) {
        self.clock.advance(if self.random.one_in(3) { TTL } else { Duration::from_millis(700) });
        let (_, store) = self.process();
        soon("a sweep", store.sweep()).await.unwrap();
        self.log.push(format!("it is {}", self.clock.now()));
    }
}
