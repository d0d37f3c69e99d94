use headwater_protocol::{
    AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockStarted, Record, ToolCall,
    ToolInputAvailable, ToolOutput,
};
use serde_json::json;

use super::*;

const LOOK: MarkdownLook = MarkdownLook { width: 40, colour: true };

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

/// A run that is read event by event.
#[derive(Default)]
struct Reading {
    state: RunState,
    view: RunView,
    seq: u64,
}

impl Reading {
    fn read(&mut self, event: impl Into<headwater_protocol::Event>) -> Vec<String> {
        self.seq += 1;
        self.state.apply(&Record::new(self.seq, event.into())).unwrap();
        texts(&self.view.take_finished(&self.state, false, LOOK))
    }

    fn live(&self) -> Vec<String> {
        texts(&self.view.live_lines(&self.state, "*", LOOK))
    }
}

fn delta(kind: BlockKind, text: &str) -> BlockDelta {
    BlockDelta::new(kind, "t", text)
}

#[test]
fn paragraph_is_live_until_the_next_one_begins() {
    let mut reading = Reading::default();
    assert_eq!(reading.read(delta(BlockKind::Text, "One **bo")), [""; 0]);
    assert_eq!(reading.live(), ["One bo"]);
    assert_eq!(reading.read(delta(BlockKind::Text, "ld**.\n\nTwo")), ["One bold."]);
    assert_eq!(reading.live(), ["", "Two"]);
    assert_eq!(texts(&reading.view.take_finished(&reading.state, true, LOOK)), ["", "Two"]);
}

#[test]
fn part_waits_for_the_parts_before_it() {
    let mut reading = Reading::default();
    let call = |id: &str| ToolInputAvailable::new(ToolCall::new(id, "search"), json!({ "q": id }));
    reading.read(call("a"));
    reading.read(call("b"));
    assert_eq!(reading.read(ToolOutput::new("b", json!("second"))), [""; 0]);
    assert_eq!(reading.live(), ["* search  q: a", "✓ search  q: b", "  └ second"]);
    let lines = reading.read(ToolOutput::new("a", json!("first")));
    assert_eq!(lines, ["✓ search  q: a", "  └ first", "✓ search  q: b", "  └ second"]);
    assert_eq!(reading.live(), [""; 0]);
}

#[test]
fn reasoning_is_marked_with_a_bar() {
    let mut reading = Reading::default();
    reading.read(BlockStarted { kind: BlockKind::Reasoning, id: "t".into(), ..Default::default() });
    reading.read(delta(BlockKind::Reasoning, "Hm."));
    let lines = reading.read(BlockEnded { kind: BlockKind::Reasoning, id: "t".into(), ..Default::default() });
    assert_eq!(lines, ["┊ Hm."]);
}

#[test]
fn retracted_text_is_live_no_longer_and_known_if_it_was_printed() {
    for (text, was_printed) in [("half", false), ("whole\n\nhalf", true)] {
        let mut reading = Reading::default();
        let start = AttemptStarted { attempt: "a1".into(), ..Default::default() };
        reading.read(start);
        reading.seq += 1;
        let mut record =
            Record::new(reading.seq, headwater_protocol::Event::from(delta(BlockKind::Text, text)));
        record.origin.attempt = Some("a1".into());
        reading.state.apply(&record).unwrap();
        reading.view.take_finished(&reading.state, false, LOOK);
        reading.read(AttemptRetracted { attempt: "a1".into(), ..Default::default() });
        assert_eq!(reading.live(), [""; 0]);
        assert_eq!(reading.view.forget_retracted(&reading.state), was_printed, "{text:?}");
    }
}
