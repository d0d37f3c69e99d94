//! The steps of a simulation.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock as _, Cursor, Error, ErrorKind, Expect, JournalId, Lease, Pending, ReadLimit, Store as _,
    Time, embedded::Embedded,
};

use super::{
    CallResult, Simulation, StoreCall,
    oracle::{Control, StoreRule, ValueChange, Verdict, Violation},
};

/// Start time of the simulation: later than any real clock, so that an offline compaction finds nothing
/// expired.
pub(super) const START: Time = Time(9_000_000_000_000);

/// Duration of leases.
const TTL: Duration = Duration::from_secs(10);

impl Simulation {
    /// Takes one random step.
    pub(super) fn act(&mut self) -> Verdict {
        match self.random.below(104) {
            0..=29 => self.append(),
            30..=49 => self.step(),
            50..=56 => self.look(),
            57..=63 => self.claim(),
            64..=66 => self.control(),
            67..=69 => self.try_old_lease(),
            70..=77 => self.change_value(),
            78..=82 => self.get(),
            83..=85 => self.look_at_cursor(),
            86..=87 => self.pass_time(),
            88 => self.set_wall_clock(),
            89..=91 => self.sweep(),
            92 => self.flush(),
            93 => self.list(),
            94..=96 => {
                self.arm();
                Ok(())
            }
            97..=99 => self.crash(),
            100 => self.stall(),
            101 => {
                self.disk.free_descriptors();
                Ok(())
            }
            _ => self.recover(),
        }
    }

    pub(super) fn store(&self) -> Verdict<Arc<Embedded>> {
        self.store
            .clone()
            .ok_or_else(|| Violation { rule: StoreRule::FailuresStop, what: "no store is open".into() })
    }

    /// The time for deciding what has expired: it never goes back, however the clock is set.
    fn now(&self) -> Time {
        self.over
    }

    /// Records that the clocks have moved, and lets the store see it.
    pub(super) fn record_clocks(&mut self) {
        self.over = self.over.max(self.clock.now().min(self.truth()));
        if let Some(store) = &self.store {
            drop(now_or_never(store.get("nothing")));
        }
    }

    /// When data with this retention expires.
    fn deadline(&self, keep: Duration) -> Time {
        self.clock.now().max(self.truth()).after(keep)
    }

    /// The time of a wall clock that is never set.
    pub(super) fn truth(&self) -> Time {
        Time(START.0 + self.clock.monotonic().0)
    }

    fn a_journal(&mut self) -> JournalId {
        self.random.pick(&self.journals).cloned().unwrap_or_else(|| "run".into())
    }

    fn a_key(&mut self) -> String {
        self.random.pick(&self.keys).cloned().unwrap_or_default()
    }

    fn append(&mut self) -> Verdict {
        let journal = self.a_journal();
        let Some(lease) = self.leases.get(&journal).cloned() else { return self.claim() };
        if self.busy.contains(journal.as_str()) {
            return self.step();
        }
        let class = if self.random.one_in(3) { Class::Fact } else { Class::Delta };
        let many = if self.random.one_in(15) { 100 } else { 3 };
        let bodies: Vec<Bytes> = (0..=self.random.below(many)).map(|_| self.body()).collect();
        let store = self.store()?;
        let name = format!("append {} {class}s to {journal}", bodies.len());
        match store.append(&lease, class, &bodies) {
            Ok(receipt) => {
                let name = format!("{name} at {}", receipt.first());
                self.oracle.appended(&lease, class, &bodies, receipt.first(), self.clock.now())?;
                self.summary.records += bodies.len() as u64;
                let future = async move {
                    let _open = store;
                    CallResult::Settled(receipt.await)
                };
                self.begin(name, StoreCall::Append(journal), Box::pin(future))
            }
            Err(error) => {
                self.log_step(format!("{name}: {} ({error})", error.code()));
                self.record_stop(&error);
                self.summary.refused += u64::from(*error.kind() == ErrorKind::Busy);
                self.oracle.write_refused(&lease, &error)
            }
        }
    }

    /// Stalls the disk: commits pile up while time passes.
    fn stall(&mut self) -> Verdict {
        self.stalled = 2 + self.random.below(8);
        self.summary.stalls += 1;
        self.log_step(format!("the disk stalls for {} commits", self.stalled));
        Ok(())
    }

    fn claim(&mut self) -> Verdict {
        let journal = self.a_journal();
        if !self.busy.insert(journal.to_string()) {
            return self.step();
        }
        self.oracle.began(&journal, Control::Claim);
        let store = self.store()?;
        let claimed = journal.clone();
        let future = async move { CallResult::Leased(store.claim(&claimed, "driver", TTL).await) };
        self.begin(format!("claim {journal}"), StoreCall::Claim(journal), Box::pin(future))
    }

    /// Renews, releases, trims, closes or deletes.
    fn control(&mut self) -> Verdict {
        let journal = self.a_journal();
        if self.busy.contains(journal.as_str()) {
            return self.step();
        }
        let store = self.store()?;
        let Some(lease) = self.leases.get(&journal).cloned() else {
            self.busy.insert(journal.to_string());
            self.oracle.began(&journal, Control::Delete);
            let deleted = journal.clone();
            let future = async move { CallResult::Done(store.delete(&deleted).await) };
            return self.begin(format!("delete {journal}"), StoreCall::Control(journal), Box::pin(future));
        };
        let mut kept = None;
        let (name, control) = match self.random.below(8) {
            0 | 1 => return self.renew(&lease),
            2 | 3 => ("release", Control::Release),
            4 | 5 => {
                let last = self.oracle.last(&journal);
                let reach = usize::try_from(last).unwrap_or(0) + 2;
                ("trim", Control::Trim(self.random.below(reach) as u64))
            }
            _ => {
                kept = self.random.one_in(2).then_some(TTL * 2);
                ("close", Control::Close(kept.map(|keep| self.deadline(keep))))
            }
        };
        self.busy.insert(journal.to_string());
        self.oracle.began(&journal, control.clone());
        let name = format!("{name} {journal}: {control:?}");
        if control == Control::Release || matches!(control, Control::Close(_)) {
            self.leases.remove(&journal);
            self.old.push(lease.clone());
        }
        let future = async move {
            CallResult::Done(match control {
                Control::Release => store.release(&lease).await,
                Control::Trim(before) => store.trim(&lease, before).await,
                Control::Close(_) => store.close(&lease, kept).await,
                Control::Claim | Control::Delete => Ok(()),
            })
        };
        self.begin(name, StoreCall::Control(journal), Box::pin(future))
    }

    fn renew(&mut self, lease: &Lease) -> Verdict {
        let store = self.store()?;
        let Some(renewed) = now_or_never(store.renew(lease, TTL)) else { return Ok(()) };
        self.log_step(format!("renew {}: {renewed:?}", lease.journal));
        match renewed {
            Ok(renewed) => {
                self.oracle.renewed(&renewed)?;
                self.leases.insert(renewed.journal.clone(), renewed);
                Ok(())
            }
            Err(error) => {
                self.record_stop(&error);
                self.oracle.write_refused(lease, &error)
            }
        }
    }

    /// A failed sweep may have stopped the store; the next write shows it.
    fn record_stop(&mut self, error: &Error) {
        if *error.kind() == ErrorKind::Stopped && self.write_failed {
            self.oracle.stopped();
        }
    }

    /// A driver that should have stopped continues.
    fn try_old_lease(&mut self) -> Verdict {
        let Some(lease) = self.random.pick(&self.old).cloned() else { return Ok(()) };
        // An expired lease that was not released works until the journal is claimed.
        if self.busy.contains(lease.journal.as_str()) || self.oracle.is_newest(&lease) {
            return Ok(());
        }
        let store = self.store()?;
        let journal = lease.journal.clone();
        let (name, refused) = match self.random.below(5) {
            0 => ("append", store.append(&lease, Class::Fact, &["stale".into()]).err().is_some()),
            1 => ("renew", is_refused(store.renew(&lease, TTL))),
            2 => ("trim", is_refused(store.trim(&lease, 1_000))),
            3 => ("release", is_refused(store.release(&lease))),
            _ => ("close", is_refused(store.close(&lease, None))),
        };
        self.log_step(format!("{name} {journal} with the old epoch {}: refused {refused}", lease.epoch));
        if refused {
            return Ok(());
        }
        let what = format!("{journal}: {name} with the old epoch {} is not refused", lease.epoch);
        Err(Violation { rule: StoreRule::OldEpochsAreRefused, what })
    }

    fn change_value(&mut self) -> Verdict {
        let key = self.a_key();
        if !self.busy.insert(key.clone()) {
            return self.step();
        }
        let now = self.now();
        let current = self.oracle.version(&key, now);
        let (expect, fits) = match self.random.below(6) {
            0 => (Expect::Absent, current.is_none()),
            1 => (Expect::Version(self.random.below(50) as u64 + 1_000_000_000), false),
            2 | 3 => current.map_or((Expect::Absent, true), |current| (Expect::Version(current), true)),
            _ => (Expect::Any, true),
        };
        let store = self.store()?;
        let named = key.clone();
        if self.random.one_in(4) {
            self.oracle.began_change(&key, ValueChange::Remove, now);
            let future = async move { CallResult::Removed(store.remove(&named, expect).await) };
            let name = format!("remove {key}, {expect:?}");
            return self.begin(name, StoreCall::Remove(key, fits), Box::pin(future));
        }
        let bytes = self.body();
        let ttl = self.random.one_in(3).then_some(TTL / 2);
        self.oracle.began_change(
            &key,
            ValueChange::Put(bytes.clone(), ttl.map(|ttl| self.deadline(ttl))),
            now,
        );
        let name = format!("put {key} {:?}, {expect:?}, {ttl:?}", bytes.get(..8).unwrap_or(&bytes));
        let future = async move { CallResult::Version(store.put(&named, bytes, expect, ttl).await) };
        self.begin(name, StoreCall::Put(key, fits), Box::pin(future))
    }

    pub(super) fn get(&mut self) -> Verdict {
        let key = self.a_key();
        self.get_key(&key)
    }

    pub(super) fn get_key(&mut self, key: &str) -> Verdict {
        let store = self.store()?;
        let Some(got) = now_or_never(store.get(key)) else { return self.no_answer("get") };
        match got {
            Ok(value) => self.oracle.got(key, value.as_ref(), self.now()),
            Err(error) => self.excused("get", &error),
        }
    }

    /// Listing all values gives the same as reading each one.
    fn list(&mut self) -> Verdict {
        let store = self.store()?;
        let Some(listed) = now_or_never(store.list("key/", None, 100)) else { return self.no_answer("list") };
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => return self.excused("list", &error),
        };
        for key in self.keys.clone() {
            let value = listed.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
            self.oracle.got(&key, value, self.now())?;
        }
        Ok(())
    }

    /// Reads part of a journal and keeps a cursor.
    fn look(&mut self) -> Verdict {
        let journal = self.a_journal();
        self.inform(&journal)?;
        let last = usize::try_from(self.oracle.last(&journal)).unwrap_or(0);
        let after = self.random.below(last + 2) as u64;
        let limit = ReadLimit { records: 1 + self.random.below(40), bytes: 1 + self.random.below(5_000) };
        self.read(&journal, after, limit).map(drop)
    }

    pub(super) fn inform(&mut self, journal: &JournalId) -> Verdict {
        let store = self.store()?;
        let Some(info) = now_or_never(store.info(journal)) else { return self.no_answer("info") };
        match info {
            Ok(info) => self.oracle.informed(journal, info.as_ref(), self.now()),
            Err(error) => self.excused("info", &error),
        }
    }

    /// Returns the last sequence read; `None` at the end or after an error.
    pub(super) fn read(&mut self, journal: &JournalId, after: u64, limit: ReadLimit) -> Verdict<Option<u64>> {
        let store = self.store()?;
        let Some(page) = now_or_never(store.read(journal, after, limit)) else {
            return self.no_answer("read").map(|()| None);
        };
        self.record_faults();
        match page {
            Ok(page) => {
                self.oracle.read(journal, after, &page.records, page.tail)?;
                if let Some(record) = self.random.pick(&page.records) {
                    let &headwater_store::Record { epoch, seq, ref body, .. } = record;
                    let cursor = Cursor { journal: journal.clone(), epoch, seq, frame: 0, count: 0 };
                    self.cursors.push((cursor, body.clone()));
                }
                let waits = now_or_never(store.wait(journal, after));
                let ready = matches!(waits, Some(Ok(tail)) if tail == page.tail);
                let expected = page.tail.last > after || page.tail.closed;
                if ready != expected {
                    let what = format!(
                        "{journal}: a wait after {after} gives {waits:?}, the tail is {:?}",
                        page.tail
                    );
                    return Err(Violation { rule: StoreRule::NothingDisappears, what });
                }
                Ok(page.records.last().map(|record| record.seq))
            }
            Err(error) if *error.kind() == ErrorKind::Io => self.excused("read", &error).map(|()| None),
            Err(error) => self.oracle.read_failed(journal, after, &error).map(|()| None),
        }
    }

    fn look_at_cursor(&mut self) -> Verdict {
        let Some((cursor, body)) = self.random.pick(&self.cursors).cloned() else { return Ok(()) };
        self.place(&cursor, &body)
    }

    pub(super) fn place(&mut self, cursor: &Cursor, body: &Bytes) -> Verdict {
        let store = self.store()?;
        let Some(Ok(Some(info))) = now_or_never(store.info(&cursor.journal)) else { return Ok(()) };
        let place = cursor.place(&cursor.journal, &info);
        self.oracle.placed(cursor, body, place.as_ref().copied())
    }

    fn pass_time(&mut self) -> Verdict {
        let passed = if self.random.one_in(3) { TTL } else { Duration::from_millis(700) };
        self.clock.advance(passed);
        self.record_clocks();
        self.log_step(format!("{passed:?} pass"));
        // The driver of an expired lease does not know it and continues until a takeover.
        Ok(())
    }

    /// An operator or NTP sets the wall clock, while no time passes.
    fn set_wall_clock(&mut self) -> Verdict {
        let by = *self.random.pick(&[0, 40_000, 86_400_000]).unwrap_or(&0);
        let truth = self.truth();
        let wall = if self.random.one_in(2) { truth.0 + by } else { truth.0 - by };
        self.clock.set_wall(Time(wall));
        self.record_clocks();
        self.summary.clock_steps += 1;
        self.log_step(format!("the wall clock is set to {wall}, true is {truth}"));
        Ok(())
    }

    fn sweep(&mut self) -> Verdict {
        let store = self.store()?;
        let future = async move { CallResult::Done(store.sweep().await.map(drop)) };
        self.begin("sweep".into(), StoreCall::Sweep, Box::pin(future))
    }

    fn flush(&mut self) -> Verdict {
        let store = self.store()?;
        let future = async move { CallResult::Done(store.flush().await) };
        self.begin("flush".into(), StoreCall::Flush, Box::pin(future))
    }

    /// Reports the result of a call to the oracle.
    pub(super) fn judge(&mut self, call: StoreCall, answer: CallResult, open: bool) -> Verdict {
        let (now, at) = (self.now(), self.clock.monotonic());
        if let StoreCall::Claim(name) | StoreCall::Control(name) = &call
            && !open
        {
            self.busy.remove(name.as_str());
        }
        if let StoreCall::Put(key, _) | StoreCall::Remove(key, _) = &call
            && !open
        {
            self.busy.remove(key);
        }
        if open {
            // A sweep also reads, and data that it could not rewrite is unchanged.
            if !matches!(call, StoreCall::Sweep) {
                self.oracle.stopped();
            }
            return Ok(());
        }
        match (call, answer) {
            (StoreCall::Append(journal), CallResult::Settled(Ok(last))) => {
                self.oracle.settled(&journal, last)
            }
            (StoreCall::Claim(journal), CallResult::Leased(Ok(lease))) => {
                if let Some(before) = self.leases.insert(journal, lease.clone()) {
                    self.old.push(before);
                }
                self.oracle.claimed(&lease, now, at)
            }
            (StoreCall::Claim(journal), CallResult::Leased(Err(error))) => {
                self.oracle.refused(&journal);
                self.oracle.claim_refused(&journal, &error, at)
            }
            (StoreCall::Control(journal), CallResult::Done(Ok(()))) => self.oracle.acknowledged(&journal),
            (StoreCall::Control(journal), CallResult::Done(Err(error))) => {
                self.oracle.refused(&journal);
                self.oracle.control_refused(&journal, &error)
            }
            (StoreCall::Put(key, fits), CallResult::Version(Ok(version))) => {
                self.summary.values += 1;
                self.oracle.put(&key, version, fits)
            }
            (StoreCall::Remove(key, fits), CallResult::Removed(Ok(there))) => {
                self.oracle.removed(&key, there, fits)
            }
            (StoreCall::Put(key, fits), CallResult::Version(Err(error)))
            | (StoreCall::Remove(key, fits), CallResult::Removed(Err(error))) => match error.kind() {
                ErrorKind::Conflict { current } => self.oracle.conflicted(&key, fits, *current, now),
                _ => {
                    self.oracle.change_refused(&key);
                    self.excused("change", &error)
                }
            },
            _ => Ok(()),
        }
    }

    /// Accepts an error that only a failing disk explains.
    pub(super) fn excused(&mut self, what: &str, error: &Error) -> Verdict {
        self.log_step(format!("{what}: {} ({error})", error.code()));
        self.oracle.excuse(what, error)
    }

    fn no_answer(&self, what: &str) -> Verdict {
        Err(Violation { rule: StoreRule::NothingIsLost, what: format!("{what} did not complete") })
    }
}

/// The result of a future that completes immediately.
pub(super) fn now_or_never<T>(pending: Pending<'_, T>) -> Option<Result<T, Error>> {
    let mut pending = pending;
    match pending.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(result) => Some(result),
        std::task::Poll::Pending => None,
    }
}

fn is_refused<T>(pending: Pending<'_, T>) -> bool {
    now_or_never(pending).is_some_and(|result| result.is_err())
}
