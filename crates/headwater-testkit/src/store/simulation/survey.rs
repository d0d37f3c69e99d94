//! Crashes and reopenings, and the checks after them.

use std::sync::Arc;

use headwater_store::{
    ErrorKind, Expect, ReadLimit, Store as _,
    embedded::{Embedded, Files, check, compact},
};

use super::{
    CallResult, Simulation, StoreCall,
    oracle::{StoreRule, Verdict, Violation},
    steps::now_or_never,
};

impl Simulation {
    /// Ends the process, by a kill or a power cut, and starts the next one.
    pub(super) fn crash(&mut self) -> Verdict {
        self.flights.clear();
        self.busy.clear();
        self.old.extend(std::mem::take(&mut self.leases).into_values());
        let first = self.old.len().saturating_sub(20);
        self.old.drain(..first);
        self.die("");
        // The old store must not write either; its handles no longer work.
        self.store = None;
        self.disk.make_room();
        self.record_faults();
        self.write_failed = false;
        self.stalled = 0;
        // A clock that is wrong at the start of a process is wrong for everything found then, so nothing
        // could be promised.
        self.clock.set_wall(self.truth());
        self.over = self.truth();
        self.reopen()
    }

    /// Reopens a stopped store in place, after the cause has ended.
    pub(super) fn recover(&mut self) -> Verdict {
        let store = self.store()?;
        // A failed sweep may have stopped it.
        if self.reports_stopped(&store) {
            self.oracle.stopped();
        }
        if !self.oracle.is_stopped() {
            let recovered = now_or_never(Box::pin(store.recover()));
            if matches!(recovered, Some(Ok(()))) {
                return Ok(());
            }
            let what = format!("a store that has not stopped: {recovered:?}");
            return Err(Violation { rule: StoreRule::FailuresStop, what });
        }
        self.disk.disarm();
        self.disk.free_descriptors();
        let full = self.disk.is_full();
        if full && self.random.one_in(2) {
            let recovered = now_or_never(Box::pin(store.recover()));
            self.log_step(format!("recover a full disk: {recovered:?}"));
            return self.oracle.not_recovered(recovered.is_some_and(|done| done.is_ok()));
        }
        self.disk.make_room();
        let recovered = now_or_never(Box::pin(store.recover()));
        self.log_step(format!("recover: {recovered:?}"));
        // All pending calls were answered when the store stopped.
        self.poll_calls()?;
        let reports_stopped = self.reports_stopped(&store);
        self.oracle.recovered(matches!(recovered, Some(Ok(()))), reports_stopped)?;
        self.summary.recoveries += 1;
        self.flights.clear();
        self.busy.clear();
        self.old.extend(std::mem::take(&mut self.leases).into_values());
        self.write_failed = false;
        self.survey()
    }

    /// Kills the process, or cuts the power.
    fn die(&mut self, when: &str) {
        if self.random.one_in(2) {
            self.log_step(format!("the power is cut{when}"));
            self.summary.power_cuts += 1;
            self.disk.cut_power();
            if self.survives_power_cuts() {
                self.oracle.lost_power();
            } else {
                self.oracle.forgot();
            }
        } else {
            self.log_step(format!("the process is killed{when}"));
            self.summary.kills += 1;
            self.disk.kill();
        }
        self.oracle.crashed();
    }

    fn files(&self) -> Arc<dyn Files> {
        Arc::new(self.disk.clone())
    }

    /// Reopens the store, possibly through several crashes, and checks everything in it.
    pub(super) fn reopen(&mut self) -> Verdict {
        if self.random.one_in(3) {
            self.check()?;
        }
        // The process may die while it opens or compacts.
        for round in 0..4 {
            let dies = round < 3 && self.random.one_in(4);
            if dies {
                let skip = self.random.below(40) as u64;
                self.log_step(format!("arm Death after {skip}"));
                self.disk.arm(crate::disk::DiskFault::Death, skip);
            }
            if self.random.one_in(6) {
                let compacted = compact(self.files());
                self.log_step(format!("compact: {compacted:?}"));
            }
            let opened = Embedded::open_with(self.files(), self.options.clone());
            self.disk.disarm();
            let dead = self.disk.is_dead();
            match opened {
                Ok(store) if !dead => {
                    self.log_step("open");
                    self.store = Some(Arc::new(store));
                    return self.survey();
                }
                Err(error) if !dead => {
                    let what = format!("it cannot be opened: {} ({error})", error.code());
                    return Err(Violation { rule: StoreRule::NothingIsLost, what });
                }
                opened => {
                    drop(opened);
                    self.record_faults();
                    self.die(" while it opens");
                }
            }
        }
        Err(Violation { rule: StoreRule::NothingIsLost, what: "it cannot be opened at all".to_owned() })
    }

    fn check(&mut self) -> Verdict {
        match check(self.files()) {
            Ok(report) => {
                self.log_step(format!("check: {:?}", report.damages));
                self.oracle.checked(!report.is_good())
            }
            Err(error) => {
                let what = format!("check fails: {} ({error})", error.code());
                Err(Violation { rule: StoreRule::DamageIsFound, what })
            }
        }
    }

    /// Checks every journal, record, value and cursor.
    fn survey(&mut self) -> Verdict {
        for journal in self.journals.clone() {
            self.inform(&journal)?;
            let mut after = self.oracle.first(&journal).map_or(0, |first| first - 1);
            while self.oracle.first(&journal).is_some() {
                match self.read(&journal, after, ReadLimit { records: 64, bytes: 1 << 20 })? {
                    Some(last) => after = last,
                    None => break,
                }
            }
        }
        for key in self.keys.clone() {
            self.get_key(&key)?;
        }
        if !self.oracle.is_damaged() {
            let first = self.cursors.len().saturating_sub(50);
            self.cursors.drain(..first);
            for (cursor, body) in self.cursors.clone() {
                self.place(&cursor, &body)?;
            }
        }
        Ok(())
    }

    /// Begins a write and requests durability, whatever the policy.
    fn begin_marking(&mut self) -> Verdict {
        let (one, two) = (self.store()?, self.store()?);
        let put =
            async move { CallResult::Done(one.put("after", "x".into(), Expect::Any, None).await.map(drop)) };
        self.begin("put after".into(), StoreCall::Flush, Box::pin(put))?;
        let flush = async move { CallResult::Done(two.flush().await) };
        self.begin("flush".into(), StoreCall::Flush, Box::pin(flush))
    }

    /// Flips one durable bit: it must be detected, and reads must return correct data or an error.
    pub(super) fn flip(&mut self) -> Verdict {
        // The last commit cannot be distinguished from an incomplete one, so two more follow it.
        let before = self.disk.sizes();
        self.stalled = 0;
        for _ in 0..2 {
            self.begin_marking()?;
            self.step()?;
        }
        let sizes: Vec<(String, u64)> = before.into_iter().filter(|(_, size)| *size > 0).collect();
        let Some((name, size)) = self.random.pick(&sizes).cloned() else { return Ok(()) };
        let offset = self.random.next() % size;
        let bit = self.random.below(8) as u8;
        self.store = None;
        self.disk.kill();
        if !self.disk.flip(&name, offset, bit) {
            return Ok(());
        }
        self.log_step(format!(
            "flip bit {bit} of byte {offset} of {name}, which had {size}; {:?}",
            self.disk
        ));
        self.summary.flips += 1;
        self.oracle.crashed();
        self.oracle.damaged();
        let report = match check(self.files()) {
            Ok(report) => report,
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => return Ok(()),
            Err(error) => {
                let what = format!("check fails: {} ({error})", error.code());
                return Err(Violation { rule: StoreRule::DamageIsFound, what });
            }
        };
        self.log_step(format!("check: {report:?}"));
        // A rebuilt footer contains nothing that the frames do not.
        self.oracle.checked(!report.is_good() || !report.footers.is_empty())?;
        match Embedded::open_with(self.files(), self.options.clone()) {
            Ok(store) => {
                self.log_step(format!("open: {:?}", store.damages()));
                self.store = Some(Arc::new(store));
                self.survey()
            }
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => Ok(()),
            Err(error) => {
                let what = format!("it cannot be opened: {} ({error})", error.code());
                Err(Violation { rule: StoreRule::DamageIsFound, what })
            }
        }
    }
}
