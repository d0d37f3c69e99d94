//! The end of a process and the beginning of the next, and what must be found then.

use std::sync::Arc;

use headwater_store::{
    ErrorKind, Expect, ReadLimit, Store as _,
    embedded::{Embedded, Files, check, compact},
};

use super::{
    Answer, Call, Simulation,
    act::now_or_never,
    oracle::{Rule, Verdict, Violation},
};

impl Simulation {
    /// Ends the process, by a kill or a power cut, and begins the next.
    pub(super) fn crash(&mut self) -> Verdict {
        self.flights.clear();
        self.busy.clear();
        self.old.extend(std::mem::take(&mut self.leases).into_values());
        let first = self.old.len().saturating_sub(20);
        self.old.drain(..first);
        self.die("");
        // A store that nobody told of the crash must not write either: its files are gone.
        self.store = None;
        self.disk.make_room();
        self.hear_of_faults();
        self.write_failed = false;
        self.stalled = 0;
        // A clock that is wrong when a process begins is wrong for all that it finds: nothing can be promised then.
        self.clock.set_wall(self.truth());
        self.over = self.truth();
        self.reopen()
    }

    /// Opens a store that has stopped anew in place, when what stopped it is over.
    pub(super) fn recover(&mut self) -> Verdict {
        let store = self.store()?;
        // A sweep that failed may have stopped it.
        if self.says_stopped(&store) {
            self.oracle.stopped();
        }
        if !self.oracle.is_stopped() {
            let recovered = now_or_never(Box::pin(store.recover()));
            if matches!(recovered, Some(Ok(()))) {
                return Ok(());
            }
            let what = format!("a store that has not stopped: {recovered:?}");
            return Err(Violation { rule: Rule::FailuresStop, what });
        }
        self.disk.disarm();
        self.disk.free_descriptors();
        let full = self.disk.is_full();
        if full && self.random.one_in(2) {
            let recovered = now_or_never(Box::pin(store.recover()));
            self.tell(format!("recover a full disk: {recovered:?}"));
            return self.oracle.not_recovered(recovered.is_some_and(|done| done.is_ok()));
        }
        self.disk.make_room();
        let recovered = now_or_never(Box::pin(store.recover()));
        self.tell(format!("recover: {recovered:?}"));
        // All that waited was answered when the store stopped.
        self.listen()?;
        let says_stopped = self.says_stopped(&store);
        self.oracle.recovered(matches!(recovered, Some(Ok(()))), says_stopped)?;
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
            self.tell(format!("the power is cut{when}"));
            self.summary.power_cuts += 1;
            self.disk.cut_power();
            if self.survives_power_cuts() {
                self.oracle.lost_power();
            } else {
                self.oracle.forgot();
            }
        } else {
            self.tell(format!("the process is killed{when}"));
            self.summary.kills += 1;
            self.disk.kill();
        }
        self.oracle.crashed();
    }

    fn files(&self) -> Arc<dyn Files> {
        Arc::new(self.disk.clone())
    }

    /// Opens the store, perhaps through several crashes, and looks at everything that is there.
    pub(super) fn reopen(&mut self) -> Verdict {
        if self.random.one_in(3) {
            self.check()?;
        }
        // The process may die while it opens, and while it compacts.
        for round in 0..4 {
            let dies = round < 3 && self.random.one_in(4);
            if dies {
                let skip = self.random.below(40) as u64;
                self.tell(format!("arm Death after {skip}"));
                self.disk.arm(crate::disk::Fault::Death, skip);
            }
            if self.random.one_in(6) {
                let compacted = compact(self.files());
                self.tell(format!("compact: {compacted:?}"));
            }
            let opened = Embedded::open_with(self.files(), self.options.clone());
            self.disk.disarm();
            let dead = self.disk.is_dead();
            match opened {
                Ok(store) if !dead => {
                    self.tell("open");
                    self.store = Some(Arc::new(store));
                    return self.survey();
                }
                Err(error) if !dead => {
                    let what = format!("it cannot be opened: {} ({error})", error.code());
                    return Err(Violation { rule: Rule::NothingIsLost, what });
                }
                opened => {
                    drop(opened);
                    self.hear_of_faults();
                    self.die(" while it opens");
                }
            }
        }
        Err(Violation { rule: Rule::NothingIsLost, what: "it cannot be opened at all".to_owned() })
    }

    fn check(&mut self) -> Verdict {
        match check(self.files()) {
            Ok(report) => {
                self.tell(format!("check: {:?}", report.damages));
                self.oracle.checked(!report.is_good())
            }
            Err(error) => {
                let what = format!("check fails: {} ({error})", error.code());
                Err(Violation { rule: Rule::DamageIsFound, what })
            }
        }
    }

    /// Looks at every journal, every record, every value and every cursor.
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

    /// Begins a write and asks for it to be durable, whatever the policy.
    fn begin_marking(&mut self) -> Verdict {
        let (one, two) = (self.store()?, self.store()?);
        let put =
            async move { Answer::Done(one.put("after", "x".into(), Expect::Any, None).await.map(drop)) };
        self.begin("put after".into(), Call::Flush, Box::pin(put))?;
        let flush = async move { Answer::Done(two.flush().await) };
        self.begin("flush".into(), Call::Flush, Box::pin(flush))
    }

    /// Turns one bit of what is durable around: it must be found, and what is read must be right or an error.
    pub(super) fn flip(&mut self) -> Verdict {
        // The last commit cannot be told from one that was never complete, so it is followed by two more.
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
        self.tell(format!("flip bit {bit} of byte {offset} of {name}, which had {size}; {:?}", self.disk));
        self.summary.flips += 1;
        self.oracle.crashed();
        self.oracle.damaged();
        let report = match check(self.files()) {
            Ok(report) => report,
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => return Ok(()),
            Err(error) => {
                let what = format!("check fails: {} ({error})", error.code());
                return Err(Violation { rule: Rule::DamageIsFound, what });
            }
        };
        self.tell(format!("check: {report:?}"));
        // A footer that is built anew says nothing that the frames do not say.
        self.oracle.checked(!report.is_good() || !report.footers.is_empty())?;
        match Embedded::open_with(self.files(), self.options.clone()) {
            Ok(store) => {
                self.tell(format!("open: {:?}", store.damages()));
                self.store = Some(Arc::new(store));
                self.survey()
            }
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => Ok(()),
            Err(error) => {
                let what = format!("it cannot be opened: {} ({error})", error.code());
                Err(Violation { rule: Rule::DamageIsFound, what })
            }
        }
    }
}
