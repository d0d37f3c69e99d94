//! Other crates on the same documents.

use std::hint::black_box;

use actson::feeder::PushJsonFeeder;
use actson::{JsonEvent, JsonParser};
use jiter::{JsonValue, PartialMode};

/// The name of a crate, and a function that reads a text or its pieces.
type Named<T> = (&'static str, fn(&T));
type Push = fn(&[&str]);

/// Push parsers.
pub(crate) const PUSH: &[(&str, Push)] = &[("actson", actson)];
/// Parsers of whole documents.
pub(crate) const WHOLE: &[Named<str>] = &[("jiter", jiter)];
/// Parsers that read the whole text again at each piece.
pub(crate) const AGAIN: &[Named<str>] = &[("jiter partial, again", jiter_partial)];

/// Reports complete keys and values; builds nothing.
fn actson(pieces: &[&str]) {
    let mut parser = JsonParser::new(PushJsonFeeder::new());
    let mut events = 0_u64;
    let mut drain = |parser: &mut JsonParser<PushJsonFeeder>| {
        while let Some(event) = parser.next_event().unwrap() {
            if event == JsonEvent::NeedMoreInput {
                return;
            }
            if event == JsonEvent::ValueString {
                black_box(parser.current_str().unwrap());
            }
            events += 1;
        }
    };
    for piece in pieces {
        let mut rest = piece.as_bytes();
        while !rest.is_empty() {
            let taken = parser.feeder.push_bytes(rest);
            rest = rest.get(taken..).unwrap_or_default();
            drain(&mut parser);
        }
    }
    parser.feeder.done();
    drain(&mut parser);
    black_box(events);
}

fn jiter(text: &str) {
    black_box(JsonValue::parse(text.as_bytes(), false).unwrap());
}

fn jiter_partial(text: &str) {
    // A text that ends within the first key has no value yet.
    let _ = black_box(JsonValue::parse_with_config(text.as_bytes(), false, PartialMode::TrailingStrings));
}
