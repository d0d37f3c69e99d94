//! Random input never panics, and `serde_json` agrees on which input is valid.
//!
//! `HEADWATER_GARBAGE=1000000 cargo test --release -p headwater-json --test json garbage` tries that many
//! inputs, and so does `cargo xtask garbage`.

use headwater_json::{Completion, ErrorKind, Options, PartialValue};
use serde_json::Value;

use crate::generate::{Random, document, fields};
use crate::reduce::{build, extract, merged};

fn inputs() -> u64 {
    std::env::var("HEADWATER_GARBAGE").ok().and_then(|count| count.parse().ok()).unwrap_or(5_000)
}

/// Noise, or a valid document with a few bytes changed, which reaches deeper code.
fn garbage(random: &mut Random) -> Vec<u8> {
    const ALPHABET: &[u8] = b"{}[]\",:\\u0123456789abcdefntrlse.-+E \n\xF0\x9F\x98\x80\xFF\x00`";
    if random.below(3) == 0 {
        return (0..random.below(40)).map(|_| *random.pick(ALPHABET)).collect();
    }
    let mut bytes = document(random).into_bytes();
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() + 1);
        let byte = *random.pick(ALPHABET);
        match random.below(4) {
            0 => bytes.insert(at, byte),
            1 => bytes.truncate(at),
            _ if at == bytes.len() => bytes.push(byte),
            2 => bytes[at] = byte,
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

fn read(bytes: &[u8], size: usize) -> (Option<Value>, Completion) {
    let mut value = PartialValue::new();
    for piece in bytes.chunks(size) {
        if value.push_bytes(piece).is_err() {
            break;
        }
    }
    let completion = value.finish();
    (value.snapshot(), completion)
}

#[test]
fn random_input_never_panics_and_serde_json_agrees() {
    let (mut accepted, mut refused) = (0_u64, 0_u64);
    for seed in 0..inputs() {
        let random = &mut Random::new(seed ^ 0xABCD);
        let bytes = garbage(random);
        let shown = String::from_utf8_lossy(&bytes);
        let (value, completion) = read(&bytes, usize::MAX);
        match (serde_json::from_slice::<Value>(&bytes), completion) {
            (Ok(expected), Completion::Complete) => {
                accepted += 1;
                assert_eq!(value, Some(expected), "seed {seed}: {shown}");
            }
            (Err(error), Completion::Truncated(_)) => {
                refused += 1;
                // serde_json stops at a high surrogate and at a number out of range, where this parser waits
                // for more.
                assert!(
                    error.is_eof() || shown.contains("\\u") || error.to_string().contains("out of range"),
                    "seed {seed}: {shown}: {error}"
                );
            }
            (Err(_), Completion::Invalid(_)) => refused += 1,
            (theirs, ours) => panic!("seed {seed}: {shown}: {ours:?} but serde_json says {theirs:?}"),
        }
        for size in [1, 1 + random.below(7)] {
            assert_eq!(read(&bytes, size), (value.clone(), completion), "seed {seed}: {shown} by {size}");
        }
        let built = build(&fields(random));
        for options in [Options::default(), Options::lenient()] {
            let (chunks, verdict) = extract(&built, options, [&*bytes]);
            let (cut, cut_verdict) = extract(&built, options, bytes.chunks(1));
            assert_eq!(merged(&cut), merged(&chunks), "seed {seed}: {shown}");
            assert_eq!(cut_verdict, verdict, "seed {seed}: {shown}");
            if let (Err(error), false) = (verdict, options == Options::lenient()) {
                assert_eq!(Err(error), completion.into_result(), "seed {seed}: {shown}");
                assert_ne!(error.kind(), ErrorKind::TooDeep);
            }
        }
    }
    println!("garbage: {accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
}
