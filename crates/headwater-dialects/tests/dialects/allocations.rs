//! Once its buffer has grown, encoding a delta allocates nothing.

use headwater_dialects::{EncodeOptions, Encoder};
use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, Event, MessageStarted, Origin, Record, Role, RunStarted,
    ToolCall, ToolInputDelta,
};

fn record(seq: u64, event: Event) -> Record {
    let origin = Origin { message: Some("msg_1".into()), ..Origin::default() };
    Record::new(seq, event).at(1_700_000_000_000 + seq).from(origin)
}

#[test]
fn warm_encoder_allocates_nothing_for_a_delta() {
    let head = [
        Event::RunStarted(RunStarted { run: Some("run_1".into()), ..RunStarted::default() }),
        Event::MessageStarted(MessageStarted {
            message: "msg_1".into(),
            role: Role::Assistant,
            ..Default::default()
        }),
        Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, "think_1")),
        Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, "think_1")),
        Event::BlockStarted(BlockStarted::new(BlockKind::Text, "text_1")),
    ];
    let text: Vec<_> = (0..1_000)
        .map(|n| {
            record(n, Event::BlockDelta(BlockDelta::new(BlockKind::Text, "text_1", format!("word {n} "))))
        })
        .collect();
    let tool: Vec<_> = (0..1_000)
        .map(|n| record(n, Event::ToolInputDelta(ToolInputDelta::new("call_1", format!("{n} ")))))
        .collect();
    for dialect in headwater_dialects::ALL {
        let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
        for event in &head {
            encoder.record(&record(0, event.clone()));
        }
        let warm = |encoder: &mut Encoder, records: &[Record]| {
            encoder.clear();
            records.iter().for_each(|record| encoder.record(record));
        };
        warm(&mut encoder, &text);
        let counted = allocation_counter::measure(|| warm(&mut encoder, &text));
        // A dialect that may have to repeat the message keeps its text, in a buffer that doubles now and
        // then.
        assert!(
            counted.count_total <= 4,
            "{}: {} allocations for 1000 text deltas",
            dialect.name(),
            counted.count_total
        );

        encoder.record(&record(0, Event::ToolInputStart(ToolCall::new("call_1", "search"))));
        warm(&mut encoder, &tool);
        let counted = allocation_counter::measure(|| warm(&mut encoder, &tool));
        assert!(
            counted.count_total <= 4,
            "{}: {} allocations for 1000 tool deltas",
            dialect.name(),
            counted.count_total
        );
    }
}
