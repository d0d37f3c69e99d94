//! Handwritten deltas are byte for byte what serde would write.

use headwater_dialects::{EncodeOptions, Encoder};
use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, Event, Executor, Frame, FrameReader, Framing, Record,
    ToolCall, ToolInputAvailable, ToolInputDelta,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{laws, runs};

/// The run with additional deltas, which most runs consist of.
fn with_deltas(mut records: Vec<Record>, text: &str) -> Vec<Record> {
    let at = records.len().min(2);
    let origin = records.get(at.saturating_sub(1)).map(|record| record.origin.clone()).unwrap_or_default();
    let tool = ToolCall::new("call_x", "search").by(Executor::Server);
    let events = [
        Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, "think_x")),
        Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "think_x", text)),
        Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, "think_x")),
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "text_x")),
        Event::BlockDelta(BlockDelta::new(BlockKind::Text, "text_x", text)),
        Event::BlockEnded(BlockEnded::new(BlockKind::Text, "text_x")),
        Event::ToolInputStart(tool.clone()),
        Event::ToolInputDelta(ToolInputDelta::new("call_x", text)),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(serde_json::json!({})))),
    ];
    let events =
        events.into_iter().map(|event| Record::new(7, event).at(1_700_000_000_000).from(origin.clone()));
    records.splice(at..at, events);
    records
}

proptest! {
    #![proptest_config(laws::cases())]

    #[test]
    fn handwritten_frames_equal_serde_output(records in runs::run(), text in any::<String>()) {
        let records = with_deltas(records, &text);
        for dialect in headwater_dialects::ALL {
            let mut options = EncodeOptions::default();
            options.framing = Some(Framing::Sse);
            let mut encoder = Encoder::new(dialect, &options);
            records.iter().for_each(|record| encoder.record(record));
            let bytes = encoder.take();
            let mut frames = Vec::new();
            FrameReader::new(Framing::Sse).push(&bytes, |frame: Result<Frame<'_>, _>| {
                frames.push(frame.unwrap().data.to_owned());
            });
            for frame in frames {
                let value: Value = serde_json::from_str(&frame).unwrap();
                prop_assert_eq!(value.to_string(), frame, "{}", dialect.name());
            }
        }
    }
}
