//! Extraction and partial values on one core, beside `serde_json` on the whole document and beside other crates.
//!
//! Prints one line of JSON per measurement; `cargo xtask bench json` makes the tables. The documents that the vendors read
//! too are written to `HEADWATER_BENCH_DIR`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench is not a library"
)]

mod documents;
mod others;
mod pieces;

use std::hint::black_box;
use std::time::{Duration, Instant};

use documents::{ALL, Document};
use headwater_json::{Chunk, Extractor, Fields, PartialValue};
use serde_json::Value;

const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const PIECES: [usize; 4] = [1, 16, 256, usize::MAX];
/// The size and the piece at which everything is compared.
const SAME_AS_VENDORS: (usize, usize) = (100_000, 16);
/// What a ratio stands on is measured in turns for this long, and the best pass counts.
const BUDGET: Duration = Duration::from_millis(120);

fn main() {
    let wanted = std::env::var("HEADWATER_DOCUMENT").ok();
    let folder = std::env::var_os("HEADWATER_BENCH_DIR").map(std::path::PathBuf::from);
    for document in ALL {
        if wanted.as_deref().is_some_and(|wanted| wanted != document.name) {
            continue;
        }
        for size in SIZES {
            let bench = Bench { document, fields: document.fields(), text: (document.text)(size), size };
            bench.check();
            bench.measure();
            if size == SAME_AS_VENDORS.0 {
                bench.measure_others(SAME_AS_VENDORS.1);
                if let Some(folder) = &folder {
                    let path = folder.join(format!("{}.json", document.name));
                    std::fs::write(path, &bench.text).expect("the folder for the documents can be written");
                }
            }
        }
    }
}

/// One pass over a document.
type Pass<'a> = Box<dyn Fn() + 'a>;

struct Bench {
    document: &'static Document,
    fields: Fields,
    text: String,
    size: usize,
}

impl Bench {
    fn pieces(&self, piece: usize) -> Vec<&str> {
        pieces::split(&self.text, piece)
    }

    fn extract(&self, pieces: &[&str], mut emit: impl FnMut(Chunk<'_>)) {
        let mut extractor = Extractor::new(self.fields.clone());
        for piece in pieces {
            extractor.push(piece, &mut emit).unwrap();
        }
        extractor.finish().into_result().unwrap();
    }

    fn keep(pieces: &[&str], mut look: impl FnMut(&mut PartialValue)) {
        let mut value = PartialValue::new();
        for piece in pieces {
            value.push(piece).unwrap();
            look(&mut value);
        }
        value.finish().into_result().unwrap();
        black_box(&value);
    }

    /// What is measured does its work.
    fn check(&self) {
        let mut chunks = 0;
        self.extract(&self.pieces(16), |_| chunks += 1);
        assert!(chunks > 1, "{} has no fields", self.document.name);
        let mut value = PartialValue::new();
        for piece in self.pieces(16) {
            value.push(piece).unwrap();
        }
        assert_eq!(value.into_value().unwrap(), serde_json::from_str::<Value>(&self.text).unwrap());
    }

    /// Ours in all pieces, beside serde_json on the whole.
    fn measure(&self) {
        let all = PIECES.map(|piece| (piece, self.pieces(piece)));
        let serde: &dyn Fn() = &|| drop(black_box(serde_json::from_slice::<Value>(self.text.as_bytes())));
        let mut named: Vec<(String, usize, Pass<'_>)> =
            vec![("serde_json".to_owned(), usize::MAX, Box::new(serde))];
        for (piece, pieces) in &all {
            named.push((
                "extract".to_owned(),
                *piece,
                Box::new(|| self.extract(pieces, |chunk| drop(black_box(chunk)))),
            ));
            named.push(("partial".to_owned(), *piece, Box::new(|| Self::keep(pieces, |_| {}))));
        }
        let (_, sixteen) = &all[1];
        named.push((
            "partial, looked at".to_owned(),
            16,
            Box::new(|| {
                Self::keep(sixteen, |value| {
                    black_box(value.value());
                });
            }),
        ));
        let passes: Vec<&dyn Fn()> = named.iter().map(|(_, _, pass)| &**pass).collect();
        for ((what, piece, _), seconds) in named.iter().zip(best_in_turns(&passes)) {
            self.say(what, *piece, seconds);
        }
    }

    fn measure_others(&self, piece: usize) {
        let pieces = self.pieces(piece);
        for (what, other) in others::PUSH {
            let seconds = best_in_turns(&[&|| other(&pieces)]);
            self.say(what, piece, seconds.iter().sum());
        }
        for (what, other) in others::WHOLE {
            let seconds = best_in_turns(&[&|| other(&self.text)]);
            self.say(what, usize::MAX, seconds.iter().sum());
        }
        for (what, other) in others::AGAIN {
            self.say(what, piece, self.again(&pieces, *other));
        }
    }

    /// Seconds for reading all the text so far at each piece. Every 32nd piece is timed, which stands for its neighbours.
    fn again(&self, pieces: &[&str], other: fn(&str)) -> f64 {
        const EVERY: usize = 32;
        let mut end = 0;
        let mut seconds = 0.0;
        for (index, piece) in pieces.iter().enumerate() {
            end += piece.len();
            if index % EVERY == EVERY / 2 {
                let start = Instant::now();
                other(&self.text[..end]);
                seconds += start.elapsed().as_secs_f64() * EVERY as f64;
            }
        }
        seconds
    }

    fn say(&self, what: &str, piece: usize, seconds: f64) {
        let piece = if piece == usize::MAX { 0 } else { piece };
        println!(
            r#"{{"document":"{}","size":{},"piece":{piece},"what":"{what}","bytes":{},"seconds":{seconds:.9}}}"#,
            self.document.name,
            self.size,
            self.text.len()
        );
    }
}

/// The seconds of the best pass of each, all taking turns, so that a busy moment hits all of them.
fn best_in_turns(passes: &[&dyn Fn()]) -> Vec<f64> {
    let begin = Instant::now();
    let mut best = vec![f64::INFINITY; passes.len()];
    let mut turns = 0;
    while turns < 3 || begin.elapsed() < BUDGET * u32::try_from(passes.len()).unwrap() {
        for (best, pass) in best.iter_mut().zip(passes) {
            let start = seconds_of_cpu();
            let wall = Instant::now();
            pass();
            let wall = wall.elapsed().as_secs_f64();
            // The system counts by the tick, which says nothing about a short pass.
            let seconds = match (start, seconds_of_cpu()) {
                (Some(start), Some(end)) if wall > 0.05 => wall.min(end - start),
                _ => wall,
            };
            *best = best.min(seconds);
        }
        turns += 1;
    }
    best
}

/// The time that this thread has run for, where the system tells: a busy machine takes long over a long pass, which would
/// look like growth.
fn seconds_of_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}
