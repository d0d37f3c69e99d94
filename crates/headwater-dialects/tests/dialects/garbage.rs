//! Feeds any bytes to any decoder: no panic, and no more output than the input accounts for.
//!
//! `HEADWATER_GARBAGE` sets how many inputs each decoder gets; `cargo xtask garbage` gives it a million.

use headwater_dialects::{DecodeOutput, Decoder, Dialect, EncodeOptions, Encoder, lint};
use headwater_protocol::{Framing, Record, RunState};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::{Value, json};

use crate::runs;

/// A small random generator, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % (limit.max(1) as u64)).unwrap()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

fn inputs() -> u64 {
    std::env::var("HEADWATER_GARBAGE").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// Streams of the dialect to be damaged.
fn seeds(dialect: &dyn Dialect, framing: Framing) -> Vec<Vec<u8>> {
    let mut runner = TestRunner::deterministic();
    let strategy = runs::run();
    let mut options = EncodeOptions::default();
    options.framing = Some(framing);
    let encode = |records: Vec<Record>| {
        let mut encoder = Encoder::new(dialect, &options);
        records.iter().for_each(|record| encoder.record(record));
        encoder.finish();
        encoder.take()
    };
    (0..64).map(|_| encode(strategy.new_tree(&mut runner).unwrap().current())).collect()
}

/// The field names and types of the seeds: garbage with real words goes deepest.
fn vocabulary(seeds: &[Vec<u8>]) -> Vec<String> {
    let mut words = std::collections::BTreeSet::new();
    for seed in seeds {
        let text = String::from_utf8_lossy(seed);
        words.extend(text.split('"').skip(1).step_by(2).filter(|word| word.len() < 40).map(str::to_owned));
    }
    words.into_iter().collect()
}

fn value(dice: &mut Dice, words: &[String], depth: usize) -> Value {
    match dice.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(dice.roll().is_multiple_of(2)),
        2 => json!(dice.roll()),
        3 => json!(-0.5),
        4 | 5 => json!(dice.pick(words)),
        6 => (0..dice.below(4)).map(|_| value(dice, words, depth - 1)).collect(),
        _ => object(dice, words, depth - 1),
    }
}

fn object(dice: &mut Dice, words: &[String], depth: usize) -> Value {
    let count = dice.below(6);
    let fields = (0..count).map(|_| (dice.pick(words).clone(), value(dice, words, depth)));
    Value::Object(fields.collect())
}

fn garbage(dice: &mut Dice, seeds: &[Vec<u8>], words: &[String], framing: Framing) -> Vec<u8> {
    match dice.below(4) {
        0 => (0..dice.below(200)).map(|_| dice.roll().to_le_bytes()[0]).collect(),
        1 => {
            let mut out = Vec::new();
            for _ in 0..dice.below(12) {
                let mut chunk = object(dice, words, 3);
                chunk["type"] = json!(dice.pick(words));
                let line = match framing {
                    Framing::Sse => format!("event: {}\ndata: {chunk}\n\n", dice.pick(words)),
                    Framing::Ndjson => format!("{chunk}\n"),
                };
                out.extend_from_slice(line.as_bytes());
            }
            out
        }
        _ => {
            let mut out = dice.pick(seeds).clone();
            for _ in 0..=dice.below(6) {
                if out.is_empty() {
                    break;
                }
                let at = dice.below(out.len());
                match dice.below(4) {
                    0 => out[at] = dice.roll().to_le_bytes()[0],
                    1 => out.truncate(at),
                    2 => {
                        let end = (at + dice.below(60)).min(out.len());
                        out.drain(at..end);
                    }
                    _ => {
                        let end = (at + dice.below(200)).min(out.len());
                        let again = out[at..end].to_vec();
                        out.splice(at..at, again);
                    }
                }
            }
            out
        }
    }
}

#[test]
fn decoders_survive_any_bytes() {
    for dialect in headwater_dialects::ALL {
        let reader = headwater_dialects::reader(dialect.name()).unwrap();
        for &framing in dialect.default_profile().framings {
            let seeds = seeds(dialect, framing);
            let words = vocabulary(&seeds);
            let mut dice = Dice(7);
            let mut out = DecodeOutput::default();
            for _ in 0..inputs() {
                let bytes = garbage(&mut dice, &seeds, &words, framing);
                out.clear();
                let mut decoder = Decoder::new(reader, framing);
                let cut = dice.below(bytes.len() + 1);
                decoder.feed(&bytes[..cut], &mut out);
                decoder.feed(&bytes[cut..], &mut out);
                decoder.finish(&mut out);
                let bound = 64 + bytes.len();
                assert!(out.records.len() + out.errors.len() <= bound, "{}: {bytes:?}", dialect.name());

                let mut state = RunState::with_rules(reader.rules());
                for record in &out.records {
                    let _ = state.apply(record);
                }
                let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
                encoder.reentry(&state);
                out.records.iter().for_each(|record| encoder.record(record));
                encoder.finish();
                if dice.below(8) == 0 {
                    let _ = lint(reader, framing, &bytes);
                }
            }
        }
    }
}
