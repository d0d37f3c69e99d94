//! Encoding, decoding and reducing on one core, beside bare serde_json on the same payloads.
//!
//! Prints one line of JSON per measurement; `cargo xtask bench dialects` makes the table. The streams of the
//! vendors' size are written to `HEADWATER_BENCH_DIR`, so that the vendors read the same bytes.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench is not a library"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use headwater_dialects::{DecodeOutput, Decoder, Dialect, EncodeOptions, Encoder, Reader};
use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, Event, FinishReason, Frame, FrameReader, Framing,
    MessageStarted, Origin, Record, Role, RunFinished, RunStarted, RunState, StructuredOp, StructuredUpdate,
    ToolCall, ToolInputAvailable, ToolInputDelta, ToolOutput,
};
use serde_json::{Value, json};

/// As many events as the vendors are given.
const SAME_AS_VENDORS: usize = 20_000;
/// The length of the stream within which the time per event must not change …
const LONG: usize = 1_000_000;
/// … measured in slices of so many events …
const SLICE: usize = 10_000;
/// … of which the best of so many at the beginning and at the end count.
const SLICES: usize = 25;
/// Each figure is the best of the passes that fit in this time.
const BUDGET: Duration = Duration::from_millis(600);

fn main() {
    let wanted = std::env::var("HEADWATER_DIALECT").ok();
    let folder = std::env::var_os("HEADWATER_BENCH_DIR").map(std::path::PathBuf::from);
    for dialect in headwater_dialects::ALL {
        if wanted.as_deref().is_some_and(|wanted| wanted != dialect.name()) {
            continue;
        }
        for kind in [Kind::Text, Kind::Append, Kind::Tool] {
            let bench = Bench { dialect, kind, stream: kind.name().to_owned() };
            let body = bench.compare(SAME_AS_VENDORS);
            // The vendors' clients skip our extensions, so there is nothing to compare with.
            if let Some(folder) = folder.as_ref().filter(|_| !matches!(kind, Kind::Append)) {
                let path = folder.join(format!("{}.{}.sse", dialect.name(), kind.name()));
                std::fs::write(path, body).expect("the folder for the streams can be written");
            }
            bench.flatness();
        }
    }
}

/// What the stream is made of.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Deltas of one text.
    Text,
    /// Items of one structured array.
    Append,
    /// Deltas of one tool call's input.
    Tool,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Append => "append",
            Self::Tool => "tool",
        }
    }

    fn head(self) -> Vec<Event> {
        let mut events = vec![
            Event::RunStarted(RunStarted {
                run: Some("run_1".into()),
                session: Some("session_1".into()),
                model: Some("gpt-5.1".into()),
                ..RunStarted::default()
            }),
            Event::MessageStarted(MessageStarted {
                message: "msg_1".into(),
                role: Role::Assistant,
                ..Default::default()
            }),
        ];
        match self {
            Self::Text => events.push(Event::BlockStarted(BlockStarted::new(BlockKind::Text, "text_1"))),
            Self::Append => {}
            Self::Tool => events.push(Event::ToolInputStart(ToolCall::new("call_1", "write_file"))),
        }
        events
    }

    fn body(self, n: usize) -> Event {
        match self {
            Self::Text => Event::BlockDelta(BlockDelta::new(
                BlockKind::Text,
                "text_1",
                format!("word {:04} and so ", n % 10_000),
            )),
            Self::Append => {
                let item = json!({ "id": n % 10_000, "title": "A row of the table" });
                Event::Structured(StructuredUpdate::new(
                    "stream_1",
                    "table",
                    StructuredOp::append("rows", [item]),
                ))
            }
            Self::Tool => {
                let delta =
                    if n == 0 { "{\"text\":\"".to_owned() } else { format!("line {:04} \\n ", n % 10_000) };
                Event::ToolInputDelta(ToolInputDelta::new("call_1", delta))
            }
        }
    }

    fn tail(self) -> Vec<Event> {
        let mut events = match self {
            Self::Text => vec![Event::BlockEnded(BlockEnded::new(BlockKind::Text, "text_1"))],
            Self::Append => vec![],
            Self::Tool => vec![
                Event::ToolInputAvailable(ToolInputAvailable::new(
                    ToolCall::new("call_1", "write_file"),
                    json!({ "text": "…" }),
                )),
                Event::ToolOutput(ToolOutput::new("call_1", json!("written"))),
            ],
        };
        events
            .push(Event::RunFinished(RunFinished { reason: Some(FinishReason::Stop), ..Default::default() }));
        events
    }
}

fn record(seq: usize, event: Event) -> Record {
    let origin = Origin { message: Some("msg_1".into()), ..Origin::default() };
    Record::new(seq as u64, event).at(1_700_000_000_000 + seq as u64).from(origin)
}

struct Bench {
    dialect: &'static dyn Dialect,
    kind: Kind,
    stream: String,
}

impl Bench {
    fn reader(&self) -> &'static dyn Reader {
        headwater_dialects::reader(self.dialect.name()).unwrap()
    }

    fn say(&self, what: &str, events: usize, seconds: f64) {
        let line = json!({
            "dialect": self.dialect.name(), "stream": self.stream, "what": what, "events": events, "seconds": seconds,
        });
        println!("{line}");
    }

    /// Encodes a run of `size` events, handing out the bytes in batches as a server would.
    ///
    /// The middle of the run is a window of records that comes again and again: this measures the
    /// encoder, not the memory that a million records take.
    fn encode(&self, size: usize, sink: &mut dyn FnMut(&[u8])) {
        let window: Vec<_> = (0..size.min(1_000)).map(|n| record(n, self.kind.body(n))).collect();
        self.encode_window(size, &window, sink);
    }

    fn encode_window(&self, size: usize, window: &[Record], sink: &mut dyn FnMut(&[u8])) {
        let mut encoder = Encoder::new(self.dialect, &EncodeOptions::default());
        for event in self.kind.head() {
            encoder.record(&record(0, event));
        }
        let mut left = size;
        while left > 0 {
            for record in window.iter().take(left) {
                encoder.record(record);
            }
            left = left.saturating_sub(window.len());
            sink(encoder.bytes());
            encoder.clear();
        }
        for event in self.kind.tail() {
            encoder.record(&record(size, event));
        }
        encoder.finish();
        sink(encoder.bytes());
    }

    fn measure_encode(&self, size: usize) -> f64 {
        let window: Vec<_> = (0..size.min(1_000)).map(|n| record(n, self.kind.body(n))).collect();
        best(|| {
            self.encode_window(size, &window, &mut |bytes| {
                black_box(bytes.len());
            });
        })
    }

    fn body(&self, size: usize) -> Vec<u8> {
        let mut body = Vec::new();
        self.encode(size, &mut |bytes| body.extend_from_slice(bytes));
        body
    }

    fn decode(&self, body: &[u8], mut sink: impl FnMut(&[Record])) {
        let mut decoder = Decoder::new(self.reader(), Framing::Sse);
        let mut out = DecodeOutput::default();
        for piece in body.chunks(16 * 1024) {
            decoder.feed(piece, &mut out);
            sink(&out.records);
            out.clear();
        }
        decoder.finish(&mut out);
        sink(&out.records);
        assert!(!decoder.is_dead(), "{}: {:?}", self.dialect.name(), out.errors);
    }

    fn measure_decode(&self, body: &[u8]) -> f64 {
        best(|| {
            self.decode(body, |records| {
                black_box(records.len());
            });
        })
    }

    fn measure_decode_and_reduce(&self, body: &[u8]) -> f64 {
        best(|| {
            let mut state = RunState::with_rules(self.reader().rules());
            self.decode(body, |records| {
                for record in records {
                    let _ = state.apply(record);
                }
            });
            black_box(state.messages().len());
        })
    }

    /// Ours beside serde_json.
    fn compare(&self, size: usize) -> Vec<u8> {
        let body = self.body(size);
        let payloads = payloads(&body);
        // Where a frame holds many events, as an object so far does, the time of a frame says nothing about that of an event.
        let comparable = payloads.len() >= size / 2;
        let values: Vec<Value> = payloads.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        let mut buffer = Vec::with_capacity(64 * 1024);
        let floor = best(|| {
            for batch in values.chunks(1_000) {
                buffer.clear();
                for value in batch {
                    serde_json::to_writer(&mut buffer, value).unwrap();
                }
                black_box(buffer.len());
            }
        });
        if comparable {
            self.say("serde_json encode", size, floor);
        }
        self.say("encode", size, self.measure_encode(size));
        let floor = best(|| {
            for text in &payloads {
                black_box(serde_json::from_str::<Value>(text).is_ok());
            }
        });
        if comparable {
            self.say("serde_json decode", size, floor);
        }
        self.say("decode", size, self.measure_decode(&body));
        self.say("decode+reduce", size, self.measure_decode_and_reduce(&body));
        body
    }

    /// How long a slice takes at the beginning and at the end of one long stream.
    fn flatness(&self) {
        let window: Vec<_> = (0..1_000).map(|n| record(n, self.kind.body(n))).collect();
        let mut slices = Slices::default();
        self.encode_window(LONG, &window, &mut |_| slices.count(window.len()));
        self.say_slices("encode", &slices);

        let body = self.body(LONG);
        let mut slices = Slices::default();
        let mut state = RunState::with_rules(self.reader().rules());
        self.decode(&body, |records| {
            for record in records {
                let _ = state.apply(record);
            }
            slices.count(records.len());
        });
        black_box(state.messages().len());
        self.say_slices("decode+reduce", &slices);
    }

    fn say_slices(&self, what: &str, slices: &Slices) {
        // Many dialects send an object a few times as it grows, and not each change: docs/dialects.md has its bytes.
        if slices.seconds.len() < 2 * SLICES {
            return;
        }
        let best = |slices: &[f64]| slices.iter().copied().fold(f64::INFINITY, f64::min);
        let (first, last) = (&slices.seconds[..SLICES], &slices.seconds[slices.seconds.len() - SLICES..]);
        for (at, seconds) in [(SLICE, best(first)), (LONG, best(last))] {
            Self { stream: format!("{}@{at}", self.stream), ..*self }.say(what, SLICE, seconds);
        }
    }
}

/// The seconds that each slice of a stream took, per so many events.
struct Slices {
    begin: Instant,
    events: usize,
    seconds: Vec<f64>,
}

impl Default for Slices {
    fn default() -> Self {
        Self { begin: Instant::now(), events: 0, seconds: Vec::new() }
    }
}

impl Slices {
    fn count(&mut self, events: usize) {
        self.events += events;
        if self.events >= SLICE {
            let took = self.begin.elapsed().as_secs_f64();
            self.seconds.push(took * SLICE as f64 / self.events as f64);
            self.events = 0;
            self.begin = Instant::now();
        }
    }
}

fn payloads(body: &[u8]) -> Vec<String> {
    let mut reader = FrameReader::new(Framing::Sse);
    let mut payloads = Vec::new();
    reader.push(body, |frame| {
        if let Ok(Frame { data, .. }) = frame {
            payloads.push(data.to_owned());
        }
    });
    payloads
}

/// The seconds of the best pass.
fn best(mut pass: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    let mut passes = 0;
    while passes < 3 || begin.elapsed() < BUDGET {
        let start = Instant::now();
        pass();
        best = best.min(start.elapsed().as_secs_f64());
        passes += 1;
    }
    best
}
