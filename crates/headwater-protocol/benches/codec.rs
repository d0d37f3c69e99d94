//! Records of a run as JSON after a tag, which is how they are kept, and as postcard: bytes, and the time to write and read.
//!
//! Postcard writes no names, so it cannot write the types of the journal: events say by a name which they are, and hold JSON
//! of applications. So the same records are moved into types that it can write, with such JSON as text. That is the least
//! that a binary form of the journal could take.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

use std::{hint::black_box, time::Instant};

use headwater_protocol::{BlockDelta, BlockKind, Event, Origin, StructuredOp, StructuredUpdate, native};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A run with a text, a tool call, a question and an answer.
const RECORDED: &str = include_str!("../../../examples/streams/native.ndjson");

/// How often each is measured: the best counts.
const PASSES: usize = 15;

/// An event as the journal has it.
#[derive(Serialize, Deserialize)]
struct JsonRecord {
    event: Event,
    origin: Origin,
}

impl JsonRecord {
    fn again(&self) -> Self {
        Self { event: self.event.clone(), origin: self.origin.clone() }
    }
}

/// The same without names.
#[derive(Serialize, Deserialize)]
struct BareRecord {
    node: Option<String>,
    visit: Option<u32>,
    operation: Option<String>,
    attempt: Option<String>,
    message: Option<String>,
    event: BareEvent,
}

#[derive(Serialize, Deserialize)]
enum BareEvent {
    BlockDelta { is_text: bool, id: String, delta: String },
    Append { stream: String, data_type: String, path: String, items: Vec<String>, node: Option<String> },
    Other(String),
}

impl BareRecord {
    fn of(record: &JsonRecord) -> Self {
        let JsonRecord { event, origin } = record;
        let event = match event {
            Event::BlockDelta(block) => BareEvent::BlockDelta {
                is_text: block.kind == BlockKind::Text,
                id: block.id.to_string(),
                delta: block.delta.clone(),
            },
            Event::Structured(update) => match &update.op {
                StructuredOp::Append { path, items } => BareEvent::Append {
                    stream: update.stream.clone(),
                    data_type: update.data_type.clone(),
                    path: path.clone(),
                    items: items.iter().map(ToString::to_string).collect(),
                    node: update.node.clone(),
                },
                _ => BareEvent::Other(serde_json::to_string(event).unwrap()),
            },
            _ => BareEvent::Other(serde_json::to_string(event).unwrap()),
        };
        Self {
            node: origin.node.clone(),
            visit: origin.visit,
            operation: origin.operation.clone(),
            attempt: origin.attempt.as_ref().map(ToString::to_string),
            message: origin.message.as_ref().map(ToString::to_string),
            event,
        }
    }
}

/// Where a hook of a node writes.
fn origin() -> Origin {
    Origin {
        node: Some("speak".to_owned()),
        visit: Some(1),
        operation: Some("op_019a3c7d2f4b7c4a9b1e4c1fd3a5e0b2".to_owned()),
        attempt: Some("a1".into()),
        message: Some("msg_019a3c7d2f4b7c4a9b1e4c1fd3a5e0b2".into()),
        ..Origin::default()
    }
}

/// A delta as it begins a text: those that follow are written as their text alone, in either form.
fn delta(number: usize) -> JsonRecord {
    let event = Event::BlockDelta(BlockDelta::new(BlockKind::Text, "a1.0", format!("word{number:03} ")));
    JsonRecord { event, origin: origin() }
}

/// An update with the rows of 100 ms.
fn rows(number: usize) -> JsonRecord {
    let row = |id: usize| json!({ "id": id, "title": "A row of the table", "body": "some text in a cell" });
    let op = StructuredOp::append("rows", (0..5).map(|at| row(number * 5 + at)));
    let mut update = StructuredUpdate::new("stream_019a3c7d2f4b7c4a9b1e4c1fd3a5e0b2", "table", op);
    update.node = Some("speak".to_owned());
    JsonRecord { event: Event::Structured(update), origin: origin() }
}

/// The nanoseconds of each of so many, at best.
fn nanoseconds(count: usize, mut act: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..PASSES {
        let began = Instant::now();
        act();
        best = best.min(began.elapsed().as_secs_f64());
    }
    best * 1e9 / count as f64
}

fn row(what: &str, records: &[JsonRecord]) {
    let bare: Vec<_> = records.iter().map(BareRecord::of).collect();
    let json: Vec<_> = records.iter().map(|record| serde_json::to_vec(record).unwrap()).collect();
    let binary: Vec<_> = bare.iter().map(|record| postcard::to_stdvec(record).unwrap()).collect();
    let count = records.len();
    let bytes = |bodies: &[Vec<u8>]| bodies.iter().map(Vec::len).sum::<usize>() as f64 / count as f64;
    let mut out = Vec::with_capacity(4 << 10);
    let write_json = nanoseconds(count, || {
        for record in records {
            out.clear();
            serde_json::to_writer(&mut out, record).unwrap();
            black_box(&out);
        }
    });
    let write_binary = nanoseconds(count, || {
        for record in &bare {
            out.clear();
            out = postcard::to_extend(record, std::mem::take(&mut out)).unwrap();
            black_box(&out);
        }
    });
    let read_json = nanoseconds(count, || {
        for body in &json {
            black_box(serde_json::from_slice::<JsonRecord>(body).unwrap());
        }
    });
    let read_binary = nanoseconds(count, || {
        for body in &binary {
            black_box(postcard::from_bytes::<BareRecord>(body).unwrap());
        }
    });
    println!(
        "| {what} | {count} | {:.0} | {:.0} | {write_json:.0} | {write_binary:.0} | {read_json:.0} | {read_binary:.0} |",
        bytes(&json),
        bytes(&binary)
    );
}

fn main() {
    let recorded = RECORDED.lines().filter(|line| !line.is_empty()).map(|line| {
        let record = native::read_record(line).unwrap().record;
        JsonRecord { event: record.event, origin: record.origin }
    });
    // Often enough that a pass takes longer than the clock is exact.
    let recorded: Vec<_> = recorded.collect();
    let recorded: Vec<_> = (0..100).flat_map(|_| recorded.iter().map(JsonRecord::again)).collect();
    println!(
        "| records | number | JSON, bytes | postcard, bytes | write JSON, ns | postcard | read JSON, ns | postcard |\n\
         |---|---|---|---|---|---|---|---|"
    );
    row("a recorded run", &recorded);
    row("first deltas of texts", &(0..1_000).map(delta).collect::<Vec<_>>());
    row("rows of an object", &(0..1_000).map(rows).collect::<Vec<_>>());
}
