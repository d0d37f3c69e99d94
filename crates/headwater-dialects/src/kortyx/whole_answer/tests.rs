use headwater_protocol::{
    AttemptRetracted, AttemptStarted, BlockDelta, BlockKind, Origin, RunFinished, StructuredOp,
    StructuredUpdate, ToolCall, ToolInputAvailable, ToolOutputError,
};

use super::*;

fn said(attempt: Option<&str>, delta: &str) -> Record {
    let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta));
    Record::new(0, event).from(Origin { attempt: attempt.map(Into::into), ..Origin::default() })
}

#[test]
fn streamed_text_wins_over_messages_and_gets_no_spaces() {
    let message = Record::new(0, Event::Message { content: "whole".into() });
    let done = Record::new(0, Event::RunFinished(RunFinished::default()));
    let records = [message, said(None, "a"), said(None, "b"), done];
    assert_eq!(BufferedAnswer::new(&records).text, "ab");
    assert_eq!(BufferedAnswer::new(&records[..1]).text, "whole");
    assert_eq!(BufferedAnswer::new(&records).chunks.len(), 4);
}

#[test]
fn retracted_content_is_left_out_but_effects_stay() {
    let call = |id: &str| {
        let event = Event::ToolInputAvailable(ToolInputAvailable::new(ToolCall::new(id, "pay"), None));
        Record::new(0, event).from(Origin { attempt: Some("a1".into()), ..Origin::default() })
    };
    let failed = Event::ToolOutputError(ToolOutputError {
        call: "paid".into(),
        error: "late".into(),
        ..Default::default()
    });
    let records = [
        Record::new(0, Event::AttemptStarted(AttemptStarted { attempt: "a1".into(), ..Default::default() })),
        said(Some("a1"), "dead"),
        call("paid"),
        call("never made"),
        Record::new(0, failed),
        Record::new(
            0,
            Event::AttemptRetracted(AttemptRetracted { attempt: "a1".into(), ..Default::default() }),
        ),
        said(Some("a2"), "alive"),
    ];
    let answer = BufferedAnswer::new(&records);
    assert_eq!(answer.text, "alive");
    let json = serde_json::to_string(&answer).unwrap();
    assert!(json.contains("paid") && !json.contains("dead") && !json.contains("never made"), "{json}");
}

#[test]
fn structured_updates_are_listed_unchanged() {
    let update = StructuredUpdate::new("s", "note", StructuredOp::set("title", "Hi"));
    let answer = BufferedAnswer::new(&[Record::new(0, Event::Structured(update))]);
    let json = serde_json::to_value(answer).unwrap();
    assert_eq!(json["structured"], json["chunks"]);
    assert_eq!(json["structured"][0]["path"], "title");
}
