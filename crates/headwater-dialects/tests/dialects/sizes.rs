//! The bytes of a run on the wire of each dialect, as a table of `docs/dialects.md`; objects must stay linear
//! in their size.

use headwater_dialects::{Dialect, EncodeOptions, Encoder};
use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, Event, FinishReason, MessageStarted, Origin, Record,
    Role, RunFinished, RunStarted, StructuredOp, StructuredUpdate, ToolCall, ToolInputAvailable,
    ToolInputDelta, ToolOutput,
};
use serde_json::{Value, json};

/// The sizes of the object in the table, in kilobytes.
const OBJECTS: [usize; 5] = [50, 100, 200, 400, 800];

/// A run of these events. The model writes an event each millisecond.
fn run(body: impl IntoIterator<Item = Event>) -> Vec<Record> {
    let mut events = vec![
        Event::RunStarted(RunStarted { run: Some("run_1".into()), ..RunStarted::default() }),
        Event::MessageStarted(MessageStarted {
            message: "msg_1".into(),
            role: Role::Assistant,
            ..MessageStarted::default()
        }),
    ];
    events.extend(body);
    events
        .push(Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..RunFinished::default() }));
    let origin = Origin { message: Some("msg_1".into()), ..Origin::default() };
    let records = (1..).zip(events);
    records
        .map(|(seq, event)| Record::new(seq, event).at(1_700_000_000_000 + seq).from(origin.clone()))
        .collect()
}

/// A text of this many words, and its bytes.
fn text(words: usize) -> (Vec<Record>, usize) {
    let words: Vec<_> = (0..words).map(|n| format!("word{n:03} ")).collect();
    let bytes = words.iter().map(String::len).sum();
    let mut events = vec![Event::BlockStarted(BlockStarted::new(BlockKind::Text, "text_1"))];
    let delta = |word: &String| Event::BlockDelta(BlockDelta::new(BlockKind::Text, "text_1", word.clone()));
    events.extend(words.iter().map(delta));
    events.push(Event::BlockEnded(BlockEnded::new(BlockKind::Text, "text_1")));
    (run(events), bytes)
}

/// Tool calls whose input is streamed, and the bytes of their inputs and outputs.
fn tools(calls: usize) -> (Vec<Record>, usize) {
    let (mut events, mut bytes) = (Vec::new(), 0);
    for number in 0..calls {
        let call = format!("call_{number}");
        let tool = ToolCall::new(&*call, "search");
        let (input, output) = (json!({ "query": "rivers of Europe, by length" }), json!({ "rows": 5 }));
        let written = input.to_string();
        bytes += written.len() + output.to_string().len();
        events.push(Event::ToolInputStart(tool.clone()));
        let (first, second) = written.split_at(written.len() / 2);
        events.extend([first, second].map(|part| Event::ToolInputDelta(ToolInputDelta::new(&*call, part))));
        events.push(Event::ToolInputAvailable(ToolInputAvailable::new(tool, input)));
        events.push(Event::ToolOutput(ToolOutput::new(&*call, output)));
    }
    (run(events), bytes)
}

/// A row comes every 20 ms, and the runtime writes the rows of 100 ms as one update.
const ROWS: usize = 5;
const WINDOW: u64 = 100;

/// An object that grows row by row to at least this many bytes, and its bytes.
fn object(bytes: usize) -> (Vec<Record>, usize) {
    let row = |n: usize| json!({ "id": n, "title": "A row of the table", "body": "some text in a cell" });
    let (mut rows, mut size) = (Vec::new(), 0);
    while size < bytes {
        let row = row(rows.len());
        size += row.to_string().len() + 1;
        rows.push(row);
    }
    let append = |rows: &[Value]| {
        let op = StructuredOp::append("rows", rows.to_vec());
        Event::Structured(StructuredUpdate::new("stream_1", "table", op))
    };
    let mut events: Vec<_> = rows.chunks(ROWS).map(append).collect();
    let whole = json!({ "rows": rows });
    let size = whole.to_string().len();
    let done = StructuredOp::Final { data: Some(whole) };
    events.push(Event::Structured(StructuredUpdate::new("stream_1", "table", done)));
    let records = (0..).zip(run(events)).map(|(number, record)| {
        let time = 1_700_000_000_000 + number * WINDOW;
        record.at(time)
    });
    (records.collect(), size)
}

/// The bytes that a dialect sends per byte of content.
fn ratio(dialect: &'static dyn Dialect, (records, bytes): &(Vec<Record>, usize)) -> f64 {
    let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
    let mut sent = 0;
    for record in records {
        encoder.record(record);
        sent += encoder.take().len();
    }
    encoder.finish();
    sent += encoder.take().len();
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
    let ratio = sent as f64 / *bytes as f64;
    ratio
}

/// The table: bytes on the wire per byte of content.
pub(crate) fn table() -> String {
    let (text, tools) = (text(400), tools(20));
    let objects = OBJECTS.map(|size| object(size * 1_000));
    let mut table = String::from("| dialect | text | tools |");
    for size in OBJECTS {
        table.push_str(&format!(" object of {size} KB |"));
    }
    table.push_str("\n|---|---|---|---|---|---|---|---|\n");
    for dialect in headwater_dialects::ALL {
        table.push_str(&format!(
            "| `{}` | {:.1} | {:.1} |",
            dialect.name(),
            ratio(dialect, &text),
            ratio(dialect, &tools)
        ));
        for object in &objects {
            table.push_str(&format!(" {:.1} |", ratio(dialect, object)));
        }
        table.push('\n');
    }
    table
}

#[test]
fn object_cost_per_byte_does_not_grow_with_size() {
    for size in OBJECTS {
        let object = object(size * 1_000);
        for dialect in headwater_dialects::ALL {
            let (name, ratio) = (dialect.name(), ratio(dialect, &object));
            assert!(ratio <= 3.0, "{name}: {ratio:.2} bytes for each byte of an object of {size} KB");
        }
    }
}
