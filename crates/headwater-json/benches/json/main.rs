//! Extraction and partial values on one core, compared with `serde_json` on the whole document and with other
//! crates.
//!
//! Prints one line of JSON per measurement; `cargo xtask bench json` turns them into tables. Documents shared
//! with the vendors' benchmarks are written to `HEADWATER_BENCH_DIR`.
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
/// The document size and piece size used to compare all implementations.
const SAME_AS_VENDORS: (usize, usize) = (100_000, 16);
/// The sides of a ratio alternate for this long, and the best pass counts.
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

/// A document to measure.
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

    /// Checks that the measured code does its work.
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

    /// Headwater with all piece sizes, and serde_json on the whole document.
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

    /// Seconds to parse the whole text so far at each piece. Only every 32nd piece is timed and stands for
    /// its neighbours.
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

/// Best time of each pass in seconds. The passes alternate, so that a busy moment affects all of them.
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
            // CPU time is counted in ticks, too coarse for a short pass.
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

/// CPU time of this thread, where available. Wall time on a busy machine would make long passes look
/// superlinear.
fn seconds_of_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}
