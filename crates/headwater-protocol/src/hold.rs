//! Holding an attempt back until it has ended, so that nothing must be taken back.

use crate::{
    event::{
        ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, Event, Record, ToolDenied,
        ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
    },
    id::{AttemptId, ToolCallId},
};

/// Keeps the records of open attempts; gives them out when the attempt has finished, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hold {
    open: Vec<(AttemptId, Vec<Record>)>,
}

impl Hold {
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
                let settled: Vec<_> = held.iter().filter_map(|record| settles(&record.event)).collect();
                // A call that was made is never taken back.
                let happened =
                    |record: &&Record| call_of(&record.event).is_some_and(|call| settled.contains(&call));
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

/// The call that an event belongs to.
fn call_of(event: &Event) -> Option<&ToolCallId> {
    match event {
        Event::ToolInputStart(tool)
        | Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
        | Event::ToolInputError(ToolInputError { tool, .. })
        | Event::ApprovalRequested(ApprovalRequested { tool, .. }) => Some(&tool.call),
        Event::ToolInputDelta(ToolInputDelta { call, .. }) => Some(call),
        Event::ApprovalAnswered(ApprovalAnswered { call, .. }) => call.as_ref(),
        event => settles(event),
    }
}

/// The call that an event is the outcome of.
fn settles(event: &Event) -> Option<&ToolCallId> {
    match event {
        Event::ToolOutput(ToolOutput { call, .. })
        | Event::ToolOutputError(ToolOutputError { call, .. })
        | Event::ToolDenied(ToolDenied { call, .. }) => Some(call),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{BlockDelta, BlockKind, Origin, ToolCall};

    fn said(attempt: &str, delta: &str) -> Record {
        let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta));
        Record::new(0, event).from(Origin { attempt: Some(attempt.into()), ..Origin::default() })
    }

    #[test]
    fn a_retracted_attempt_is_never_seen_but_for_what_it_did_and_a_finished_one_is_seen_whole() {
        let mut hold = Hold::default();
        let mut seen = Vec::new();
        let records = [
            Record::new(0, AttemptStarted { attempt: "a".into(), ..Default::default() }),
            said("a", "dead"),
            Record { event: Event::ToolInputStart(ToolCall::new("c1", "pay")), ..said("a", "") },
            Record {
                event: Event::ToolOutputError(ToolOutputError {
                    call: "c1".into(),
                    error: "declined".into(),
                    ..Default::default()
                }),
                ..said("a", "")
            },
            Record::new(0, AttemptRetracted { attempt: "a".into(), ..Default::default() }),
            Record::new(0, AttemptStarted { attempt: "b".into(), ..Default::default() }),
            said("b", "alive"),
            Record::new(0, Event::Message { content: "between".into() }),
            Record::new(0, Event::AttemptFinished { attempt: "b".into() }),
        ];
        for record in &records {
            hold.push(record, &mut |record| seen.push(record.event.clone()));
        }
        let texts: Vec<_> = seen
            .iter()
            .filter_map(|event| match event {
                Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. }) => Some(delta.as_str()),
                Event::Message { content } => Some(content.as_str()),
                Event::ToolOutputError(ToolOutputError { error, .. }) => Some(error.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["declined", "between", "alive"]);
    }
}
