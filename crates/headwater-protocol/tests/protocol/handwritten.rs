//! Deltas are written by hand: the very bytes that their typed chunks serialise to.

use headwater_protocol::{
    EncodeOptions, Encoder, Event, Executor, Record, ToolCall, dialects,
    dialects::{ag_ui, agents, kortyx, tanstack},
};
use proptest::prelude::*;
use serde::Serialize;

use crate::{laws, runs};

fn bytes(dialect: &str, records: &[Record]) -> String {
    let mut encoder = Encoder::new(dialects::find(dialect).unwrap(), &EncodeOptions::default());
    records.iter().for_each(|record| encoder.record(record));
    String::from_utf8(encoder.take()).unwrap()
}

fn frame(chunk: &impl Serialize) -> String {
    format!("data: {}\n\n", serde_json::to_string(chunk).unwrap())
}

/// The run with what most runs consist of.
fn with_deltas(mut records: Vec<Record>, text: &str) -> Vec<Record> {
    let at = records.len().min(2);
    let origin = records.get(at.saturating_sub(1)).map(|record| record.origin.clone()).unwrap_or_default();
    let tool = ToolCall::new("call_x", "search").by(Executor::Server);
    let events = [
        Event::ReasoningStart { id: "think_x".into(), metadata: None },
        Event::ReasoningDelta { id: "think_x".into(), delta: text.into(), metadata: None },
        Event::ReasoningEnd { id: "think_x".into(), metadata: None },
        Event::TextStart { id: "text_x".into(), metadata: None },
        Event::TextDelta { id: "text_x".into(), delta: text.into(), metadata: None },
        Event::TextEnd { id: "text_x".into(), metadata: None },
        Event::ToolInputStart(tool.clone()),
        Event::ToolInputDelta { call: "call_x".into(), delta: text.into() },
        Event::ToolInputAvailable { tool, input: Some(serde_json::json!({})) },
    ];
    let events =
        events.into_iter().map(|event| Record::new(7, event).at(1_700_000_000_000).from(origin.clone()));
    records.splice(at..at, events);
    records
}

proptest! {
    #![proptest_config(laws::cases())]

    #[test]
    fn what_is_written_is_what_the_chunks_say(records in runs::run(), text in any::<String>()) {
        let records = with_deltas(records, &text);
        let options = EncodeOptions::default();

        let mut said = String::new();
        let mut encoder = kortyx::Encoder::new(&options);
        records.iter().for_each(|record| encoder.chunks(record, &mut |chunk| said.push_str(&frame(chunk))));
        prop_assert_eq!(bytes("kortyx", &records), said);

        let mut said = String::new();
        let mut encoder = tanstack::Encoder::new(&options);
        records.iter().for_each(|record| encoder.chunks(record, &mut |chunk| said.push_str(&frame(chunk))));
        prop_assert_eq!(bytes("tanstack", &records), said);

        let mut said = String::new();
        let mut encoder = ag_ui::Encoder::new(&options);
        records.iter().for_each(|record| encoder.chunks(record, &mut |chunk| said.push_str(&frame(chunk))));
        prop_assert_eq!(bytes("ag-ui", &records), said);

        let mut said = String::new();
        let mut encoder = agents::Encoder::new(&options);
        records.iter().for_each(|record| encoder.chunks(record, &mut |chunk| {
            said.push_str(&format!("event: {}\n{}", chunk.name(), frame(chunk)));
        }));
        prop_assert_eq!(bytes("agents", &records), said);
    }
}
