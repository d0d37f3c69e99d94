use headwater_protocol::{BlockDelta, BlockKind, Origin, ToolCall, ToolOutputError};

use super::*;

fn said(attempt: &str, delta: &str) -> Record {
    let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta));
    Record::new(0, event).from(Origin { attempt: Some(attempt.into()), ..Origin::default() })
}

#[test]
fn held_attempt_is_dropped_except_effects_or_released_whole() {
    let mut hold = AttemptBuffer::default();
    let mut seen = Vec::new();
    let records = [
        Record::new(0, Event::AttemptStarted(AttemptStarted { attempt: "a".into(), ..Default::default() })),
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
        Record::new(
            0,
            Event::AttemptRetracted(AttemptRetracted { attempt: "a".into(), ..Default::default() }),
        ),
        Record::new(0, Event::AttemptStarted(AttemptStarted { attempt: "b".into(), ..Default::default() })),
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
