//! The steps of a run, page by page.

use headwater_store::{JournalId, ReadLimit};

use super::{Run, unknown::read_error};
use crate::{
    Result,
    journal::{TraceStep, step_of},
};

/// So many pages of records are read for one page of steps: a long text has few steps.
const PAGES: usize = 64;

/// A page of the steps of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTrace {
    /// In the order in which they happened.
    pub steps: Vec<TraceStep>,
    /// The sequence number of the last record that was read: the next page begins after it.
    pub last: u64,
    /// Whether there are more records.
    pub has_more: bool,
}

impl Run {
    /// The steps of the run after a sequence number: the visits of nodes and the calls of models and tools, those that readers are
    /// shown nothing of included. It may hold fewer than `limit`, and more may follow.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn trace(&self, after: u64, limit: usize) -> Result<RunTrace> {
        let journal = JournalId::from(self.id().as_str());
        let mut trace = RunTrace { steps: Vec::new(), last: after, has_more: true };
        for _ in 0..PAGES {
            let page = self.store().read(&journal, trace.last, ReadLimit::default()).await;
            let page = page.map_err(|error| read_error(self.id(), error))?;
            for record in &page.records {
                if trace.steps.len() >= limit {
                    return Ok(trace);
                }
                trace.last = record.seq;
                trace.steps.extend(step_of(record)?);
            }
            trace.has_more = trace.last < page.tail.last;
            if !trace.has_more || page.records.is_empty() {
                break;
            }
        }
        Ok(trace)
    }
}
