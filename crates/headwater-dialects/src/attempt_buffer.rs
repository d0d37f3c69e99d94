//! Holds an attempt back until it has ended, so that nothing needs to be retracted.

use headwater_protocol::{AttemptId, AttemptRetracted, AttemptStarted, Event, Record};

/// Buffers the records of open attempts and releases them in order when the attempt has finished.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttemptBuffer {
    open: Vec<(AttemptId, Vec<Record>)>,
}

impl AttemptBuffer {
    pub(crate) fn push(&mut self, record: &Record, sink: &mut dyn FnMut(&Record)) {
        match &record.event {
            Event::AttemptStarted(AttemptStarted { attempt, .. }) => {
                self.open.push((attempt.clone(), Vec::new()));
                sink(record);
            }
            Event::AttemptFinished { attempt } => {
                for held in self.close(attempt) {
                    sink(&held);
                }
                sink(record);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                let held = self.close(attempt);
                let settled: Vec<_> = held.iter().filter_map(|record| record.event.settled_call()).collect();
                // An executed call is never retracted.
                let happened =
                    |record: &&Record| record.event.tool_call().is_some_and(|call| settled.contains(&call));
                held.iter().filter(happened).for_each(&mut *sink);
                sink(record);
            }
            event => {
                if event.kind().ends_run() {
                    for (_, held) in std::mem::take(&mut self.open) {
                        held.iter().for_each(&mut *sink);
                    }
                }
                let attempt = record.origin.attempt.as_ref();
                match self.open.iter_mut().find(|(open, _)| Some(open) == attempt) {
                    Some((_, held)) => held.push(record.clone()),
                    None => sink(record),
                }
            }
        }
    }

    fn close(&mut self, attempt: &AttemptId) -> Vec<Record> {
        let at = self.open.iter().position(|(open, _)| open == attempt);
        at.map(|at| self.open.remove(at).1).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
