//! Number of allocations while reading the second half of a document in pieces of 16 bytes.
//!
//! A separate benchmark, because counting allocations slows down the measured code. Prints one line of JSON
//! per document.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench is not a library")]

#[path = "json/documents.rs"]
mod documents;
#[path = "json/pieces.rs"]
mod pieces;

use headwater_json::{Chunk, Extractor};

const SIZE: usize = 100_000;

fn main() {
    for document in documents::ALL {
        let text = (document.text)(SIZE);
        let pieces = pieces::split(&text, 16);
        let (warm, rest) = pieces.split_at(pieces.len() / 2);
        let mut extractor = Extractor::new(document.fields());
        for piece in warm {
            extractor.push(piece, |_| {}).unwrap();
        }
        let (mut texts, mut values) = (0_u64, 0_u64);
        let counted = allocation_counter::measure(|| {
            for piece in rest {
                let count = |chunk: Chunk<'_>| match chunk {
                    Chunk::Text { .. } => texts += 1,
                    Chunk::Set { .. } | Chunk::Append { .. } => values += 1,
                };
                extractor.push(piece, count).unwrap();
            }
        });
        println!(
            r#"{{"document":"{}","pieces":{},"texts":{texts},"values":{values},"allocations":{}}}"#,
            document.name,
            rest.len(),
            counted.count_total,
        );
    }
}
