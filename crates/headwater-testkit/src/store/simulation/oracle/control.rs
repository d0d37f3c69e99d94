//! Claims and other calls for a whole journal.

use headwater_store::{Error, ErrorKind, JournalId, Lease, Monotonic, Time};

use super::{Control, JournalHistory, Oracle, StoreRule, Verdict, hold};

impl Oracle {
    /// A control call has begun.
    pub fn began(&mut self, journal: &JournalId, control: Control) {
        self.journals.entry(journal.clone()).or_default().in_flight = Some(control);
    }

    /// A control call other than a claim was acknowledged.
    ///
    /// # Errors
    /// If it should have been refused.
    pub fn acknowledged(&mut self, journal: &JournalId) -> Verdict {
        let entry = self.journals.entry(journal.clone()).or_default();
        if let Some(control) = entry.in_flight.take() {
            entry.apply(&control);
        }
        self.wrote("a control call")
    }

    /// A control call was refused before it did anything.
    pub fn refused(&mut self, journal: &JournalId) {
        self.journals.entry(journal.clone()).or_default().in_flight = None;
    }

    /// A claim was acknowledged.
    ///
    /// # Errors
    /// If it should have been refused, or its epoch or first sequence is wrong.
    pub fn claimed(&mut self, lease: &Lease, now: Time, at: Monotonic) -> Verdict {
        self.wrote("a claim")?;
        hold(StoreRule::EpochsGrow, lease.epoch > self.highest_epoch, || {
            format!("{}: claimed with epoch {} after {}", lease.journal, lease.epoch, self.highest_epoch)
        })?;
        self.highest_epoch = lease.epoch;
        self.journals.entry(lease.journal.clone()).or_default().claimed(lease, now, at)
    }

    /// A claim was refused.
    ///
    /// # Errors
    /// If it should have succeeded.
    pub fn claim_refused(&self, id: &JournalId, error: &Error, at: Monotonic) -> Verdict {
        let life = self.journals.get(id).and_then(JournalHistory::life);
        let fine = match (error.kind(), life) {
            (ErrorKind::Held { .. }, Some(life)) => life.holder.is_some() && at < life.expires,
            (ErrorKind::Closed, Some(life)) => life.closed.is_some(),
            _ => self.stopped,
        };
        hold(StoreRule::OldEpochsAreRefused, fine, || format!("{id}: a claim is refused: {error}"))
    }

    /// A control call was refused.
    ///
    /// # Errors
    /// If it should have been accepted.
    pub fn control_refused(&self, id: &JournalId, error: &Error) -> Verdict {
        let held = matches!(error.kind(), ErrorKind::Held { .. });
        let holder = self.journals.get(id).and_then(JournalHistory::life).and_then(|life| life.holder);
        // The simulation deletes only journals without a driver; the holder of a stolen lease still drives.
        hold(StoreRule::OldEpochsAreRefused, self.stopped || (held && holder.is_some()), || {
            format!("{id}: a control call of {holder:?} is refused: {error}")
        })
    }
}
