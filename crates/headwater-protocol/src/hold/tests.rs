use super::*;
use crate::event::{Origin, ToolCall};

fn said(attempt: &str, delta: &str) -> Record {
    let event = Event::TextDelta { id: "t".into(), delta: delta.into(), metadata: None };
    Record::new(0, event).from(Origin { attempt: Some(attempt.into()), ..Origin::default() })
}

#[test]
fn a_retracted_attempt_is_never_seen_but_for_what_it_did_and_a_finished_one_is_seen_whole() {
    let mut hold = Hold::default();
    let mut seen = Vec::new();
    let records = [
        Record::new(0, Event::AttemptStarted { attempt: "a".into(), model: None }),
        said("a", "dead"),
        Record { event: Event::ToolInputStart(ToolCall::new("c1", "pay")), ..said("a", "") },
        Record {
            event: Event::ToolOutputError { call: "c1".into(), name: None, error: "declined".into() },
            ..said("a", "")
        },
        Record::new(0, Event::AttemptRetracted { attempt: "a".into(), reason: None }),
        Record::new(0, Event::AttemptStarted { attempt: "b".into(), model: None }),
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
            Event::TextDelta { delta, .. } => Some(delta.as_str()),
            Event::Message { content } => Some(content.as_str()),
            Event::ToolOutputError { error, .. } => Some(error.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["declined", "between", "alive"]);
}
