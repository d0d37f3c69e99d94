//! A journal that this process drives: the appended, committing and durable records.

use std::{collections::VecDeque, sync::Arc};

use super::JournalHeader;
use crate::batch::Batch;

/// The lease of a journal, and how far its records have come.
#[derive(Debug)]
pub(super) struct JournalDriver {
    pub(super) epoch: u64,
    /// The last sequence that was appended, that a commit has taken, that is durable.
    pub(super) last: u64,
    pub(super) taken: u64,
    pub(super) durable: u64,
    /// The bytes of all records that were ever appended, those that a commit has taken, and those that were trimmed.
    pub(super) total: u64,
    pub(super) taken_total: u64,
    pub(super) trimmed: u64,
    /// The facts that are not durable.
    pub(super) facts: VecDeque<u64>,
    /// Settled when all that was appended so far and that no commit had taken is durable.
    pub(super) gather: Arc<Batch>,
    /// The same for what a commit has taken.
    pub(super) flying: Option<Arc<Batch>>,
    /// A close or release is on its way: nothing is appended after it.
    pub(super) ending: bool,
}

impl JournalDriver {
    /// The state of a lease that was just given.
    pub(super) fn new(header: &JournalHeader) -> Self {
        Self {
            epoch: header.epoch,
            last: header.last,
            taken: header.last,
            durable: header.last,
            total: header.total,
            taken_total: header.total,
            trimmed: header.trimmed,
            facts: VecDeque::new(),
            gather: Arc::default(),
            flying: None,
            ending: false,
        }
    }

    /// How far the journal may be seen: nothing passes a fact that is not durable, and only so many deltas are seen before
    /// they are durable.
    pub(super) fn visible(&self, delta_limit: u64) -> u64 {
        let before_fact = self.facts.front().map_or(self.last, |fact| fact - 1);
        before_fact.min(self.durable.saturating_add(delta_limit)).max(self.durable)
    }

    /// Takes note that everything up to a sequence is durable.
    pub(super) fn settle(&mut self, durable: u64) {
        self.durable = self.durable.max(durable);
        while self.facts.front().is_some_and(|fact| *fact <= self.durable) {
            self.facts.pop_front();
        }
    }

    /// What to wait for until all that was appended so far is durable.
    pub(super) fn pending(&self) -> Option<Arc<Batch>> {
        if self.taken < self.last { Some(self.gather.clone()) } else { self.flying.clone() }
    }
}
