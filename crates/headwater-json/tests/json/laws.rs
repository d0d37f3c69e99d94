//! Properties of every document, every set of fields and every way to split the text.
//!
//! `HEADWATER_DOCUMENTS=100000 cargo test --release -p headwater-json --test json laws` tries that many
//! documents.

use headwater_json::{Options, PartialValue};
use serde_json::Value;

use crate::generate::{Random, document, fields};
use crate::reduce::{apply, at, build, covers, extract, merged, wanted};

fn documents() -> u64 {
    std::env::var("HEADWATER_DOCUMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(600)
}

fn whole(text: &str) -> [&[u8]; 1] {
    [text.as_bytes()]
}

/// Every single split, one byte at a time, and some random pieces.
fn splits<'a>(text: &'a str, random: &mut Random) -> Vec<Vec<&'a [u8]>> {
    let bytes = text.as_bytes();
    let mut splits =
        vec![bytes.chunks(1).collect::<Vec<_>>(), bytes.chunks(16).collect(), bytes.chunks(3).collect()];
    // All split positions of short documents, some of long ones.
    let every = bytes.len() / 64 + 1;
    splits.extend((0..=bytes.len()).step_by(every).map(|cut| {
        let (first, second) = bytes.split_at(cut);
        vec![first, second]
    }));
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(9)).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    splits.push(pieces);
    splits
}

#[test]
fn splitting_changes_only_how_text_and_items_are_grouped() {
    for seed in 0..documents() {
        let random = &mut Random::new(seed);
        let text = document(random);
        let fields = fields(random);
        let built = build(&fields);
        let (chunks, verdict) = extract(&built, Options::default(), whole(&text));
        assert_eq!(verdict, Ok(()), "seed {seed}: {text}");
        for pieces in splits(&text, random) {
            let (cut, verdict) = extract(&built, Options::default(), pieces.iter().copied());
            assert_eq!(verdict, Ok(()), "seed {seed}: {text}");
            assert_eq!(merged(&cut), merged(&chunks), "seed {seed}: {fields:?} of {text} as {pieces:?}");
        }
    }
}

#[test]
fn reduced_chunks_are_the_declared_parts_of_the_document() {
    let mut chunks_in_all = 0;
    for seed in 0..documents() {
        let random = &mut Random::new(seed);
        let text = document(random);
        let fields = fields(random);
        let expected: Value = serde_json::from_str(&text).unwrap();
        let size = *random.pick(&[1, 5, 16, 1_000]);
        let (chunks, _) = extract(&build(&fields), Options::default(), text.as_bytes().chunks(size));
        chunks_in_all += chunks.len();
        let mut state = None;
        for chunk in &chunks {
            apply(&mut state, chunk).unwrap_or_else(|error| {
                panic!("seed {seed}: {error} in {chunks:?} for {fields:?} of {text}")
            });
        }
        for (path, value) in wanted(&expected, &fields) {
            let found = state.as_ref().and_then(|state| at(state, &path));
            assert_eq!(found, Some(&value), "seed {seed}: {path} of {text} with {fields:?} in {chunks:?}");
        }
        // The state holds nothing else but parent containers.
        if let Some(state) = &state {
            assert!(covers(&expected, state), "seed {seed}: {state} is more than {text} with {fields:?}");
        }
    }
    assert!(chunks_in_all > 0);
}

#[test]
fn partial_value_is_always_a_prefix_of_the_whole() {
    for seed in 0..documents() {
        let random = &mut Random::new(seed);
        let text = document(random);
        let expected: Value = serde_json::from_str(&text).unwrap();
        for size in [1, 2, 7, 1_000] {
            let mut value = PartialValue::new();
            let mut before: Option<Value> = None;
            for piece in text.as_bytes().chunks(size) {
                value.push_bytes(piece).unwrap();
                // The value is not read after every piece.
                if random.below(3) > 0 {
                    before = value.snapshot();
                }
            }
            assert_eq!(value.finish().into_result(), Ok(()), "seed {seed}: {text}");
            let ours = value.into_value().unwrap();
            assert_eq!(ours, expected, "seed {seed}: {text}");
            assert_eq!(ours.to_string(), expected.to_string(), "seed {seed}: the order of keys of {text}");
            drop(before);
        }
    }
}

/// Without repeated keys, nothing shown is ever removed.
#[test]
fn partial_value_only_grows() {
    let text = r#"{"a":"é\n😀","b":[1,-2.5e3,[],{"c":null,"d":[true,false]}],"e":{"f":{"g":"\ud83d\ude00"}},"h":12}"#;
    let mut value = PartialValue::new();
    let mut before: Option<Value> = None;
    for byte in text.as_bytes().chunks(1) {
        value.push_bytes(byte).unwrap();
        let now = value.snapshot();
        if let (Some(now), Some(before)) = (&now, &before) {
            assert!(covers(now, before), "{now} after {before}");
        }
        before = now.or(before);
    }
    assert_eq!(before, serde_json::from_str(text).ok());
}
