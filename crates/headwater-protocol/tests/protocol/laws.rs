//! What holds for every dialect and every run.

use std::collections::BTreeMap;

use headwater_protocol::{
    Decoded, Decoder, Dialect, EncodeOptions, Encoder, ErrorKind, Event, EventKind, Framing, Part, Record,
    RunState, Support, dialects, lint,
};
use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};
use serde_json::Value;

use crate::runs;

pub(crate) fn cases() -> ProptestConfig {
    let cases = std::env::var("HEADWATER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(96);
    ProptestConfig { cases, max_shrink_iters: 4_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Every dialect with every profile and framing.
fn speakers() -> impl Iterator<Item = (&'static dyn Dialect, EncodeOptions)> {
    let wanted = std::env::var("HEADWATER_DIALECT").ok();
    dialects::ALL
        .into_iter()
        .filter(move |dialect| wanted.as_deref().is_none_or(|wanted| wanted == dialect.name()))
        .flat_map(|dialect| {
            dialect.profiles().iter().flat_map(move |profile| {
                profile.framings.iter().map(move |&framing| {
                    let mut options = EncodeOptions::profile(profile.name);
                    options.framing = Some(framing);
                    (dialect, options)
                })
            })
        })
}

fn framing(options: &EncodeOptions) -> Framing {
    options.framing.unwrap_or(Framing::Sse)
}

fn encode(dialect: &dyn Dialect, options: &EncodeOptions, records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::new(dialect, options);
    records.iter().for_each(|record| encoder.record(record));
    if records.last().is_some_and(|record| record.event.kind().ends_run()) {
        encoder.finish();
    }
    encoder.take()
}

fn decode(dialect: &dyn Dialect, options: &EncodeOptions, bytes: &[u8]) -> Decoded {
    let mut decoder = Decoder::new(dialect, framing(options));
    let mut out = Decoded::default();
    decoder.feed(bytes, &mut out);
    decoder.finish(&mut out);
    out
}

fn reduce(dialect: &dyn Dialect, records: &[Record]) -> RunState {
    let mut state = RunState::with_rules(dialect.rules());
    for record in records {
        let _ = state.apply(record);
    }
    state
}

/// The state as people compare it: transient data is gone.
fn view(state: &RunState) -> Value {
    let mut view = serde_json::to_value(state.view()).unwrap();
    for message in view["messages"].as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| part["transient"] != true);
    }
    view
}

fn say(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_state_is_rebuilt_by_its_replay(records in runs::run()) {
        for rules in dialects::ALL.map(headwater_protocol::Dialect::rules) {
            let mut state = RunState::with_rules(rules);
            for record in &records {
                let _ = state.apply(record);
                let mut again = RunState::with_rules(rules);
                for record in state.replay() {
                    prop_assert!(again.apply(&record).is_ok());
                }
                prop_assert_eq!(view(&state), view(&again));
            }
            let stored: RunState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            prop_assert_eq!(&stored, &state);
        }
    }

    #[test]
    fn what_is_encoded_decodes_without_error_and_keeps_the_contract(records in runs::ended_run()) {
        for (dialect, options) in speakers() {
            let bytes = encode(dialect, &options, &records);
            let name = dialect.name();
            let decoded = decode(dialect, &options, &bytes);
            prop_assert!(decoded.errors.is_empty(), "{name} {options:?}: {:?}\n{}", decoded.errors, say(&bytes));
            let findings = lint(dialect, framing(&options), &bytes);
            prop_assert!(findings.is_empty(), "{name} {options:?}: {findings:?}\n{}", say(&bytes));
        }
    }

    #[test]
    fn what_is_exact_comes_back_as_it_was(records in runs::run()) {
        for (dialect, options) in speakers() {
            let profile = dialect.profile(options.profile.as_deref());
            let bytes = encode(dialect, &options, &records);
            let decoded = decode(dialect, &options, &bytes);
            let (said, heard) = (by_kind(&records), by_kind(&decoded.records));
            for kind in EventKind::ALL {
                if dialect.support(*kind, profile) == Support::Exact {
                    prop_assert_eq!(
                        said.get(kind), heard.get(kind), "{} {:?}: {}\n{}", dialect.name(), options, kind, say(&bytes)
                    );
                }
            }
        }
    }

    #[test]
    fn any_split_gives_the_same(records in runs::run(), cuts in vec(any::<proptest::sample::Index>(), 0..12)) {
        for (dialect, options) in speakers() {
            let bytes = encode(dialect, &options, &records);
            let whole = decode(dialect, &options, &bytes);
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let mut decoder = Decoder::new(dialect, framing(&options));
            let mut out = Decoded::default();
            let mut from = 0;
            for to in at.into_iter().chain([bytes.len()]) {
                decoder.feed(&bytes[from..to], &mut out);
                from = to;
            }
            decoder.finish(&mut out);
            prop_assert_eq!(&whole, &out, "{}", dialect.name());
        }
    }

    #[test]
    fn coming_back_is_as_good_as_having_stayed(records in runs::run()) {
        for (dialect, options) in speakers() {
            for cut in 0..=records.len() {
                comes_back(dialect, &options, &records, cut)?;
            }
        }
    }

    #[test]
    fn native_gives_back_every_record(records in runs::run()) {
        for framing in [Framing::Sse, Framing::Ndjson] {
            let mut options = EncodeOptions::default();
            options.framing = Some(framing);
            let bytes = encode(&dialects::native::Native, &options, &records);
            let decoded = decode(&dialects::native::Native, &options, &bytes);
            prop_assert_eq!(&decoded.records, &records);
        }
    }

    #[test]
    fn text_survives_a_conversion(records in runs::run()) {
        let speakers: Vec<_> = speakers().collect();
        for (a, a_options) in &speakers {
            let first = decode(*a, a_options, &encode(*a, a_options, &records));
            for (b, b_options) in &speakers {
                let there = decode(*b, b_options, &encode(*b, b_options, &first.records));
                let back = decode(*a, a_options, &encode(*a, a_options, &there.records));
                let (before, after) = (reduce(*a, &first.records), reduce(*a, &back.records));
                let (before, after) = (essence(&before), essence(&after));
                prop_assert_eq!(before, after, "{} to {} and back", a.name(), b.name());
            }
        }
    }
}

fn comes_back(
    dialect: &dyn Dialect,
    options: &EncodeOptions,
    records: &[Record],
    cut: usize,
) -> Result<(), TestCaseError> {
    let live = encode(dialect, options, records);
    let mut stayed = reduce(dialect, &decode(dialect, options, &live).records);

    let (seen, rest) = records.split_at(cut);
    let mut encoder = Encoder::new(dialect, options);
    encoder.reentry(&reduce(dialect, seen));
    rest.iter().for_each(|record| encoder.record(record));
    if records.last().is_some_and(|record| record.event.kind().ends_run()) {
        encoder.finish();
    }
    let bytes = encoder.take();
    let mut decoded = decode(dialect, options, &bytes);
    let name = dialect.name();
    // A stream of a run that goes on was cut, and may be told so.
    let ended = records.last().is_some_and(|record| record.event.kind().ends_run());
    decoded.errors.retain(|error| ended || error.kind() != ErrorKind::Cut);
    prop_assert!(decoded.errors.is_empty(), "{name}: {:?}\n{}", decoded.errors, say(&bytes));
    let mut came_back = reduce(dialect, &decoded.records);
    stayed.end_of_stream();
    came_back.end_of_stream();
    // A page that cannot retract shows the failed attempt to a reader that stayed.
    let retracted = records.iter().any(|record| matches!(record.event, Event::AttemptRetracted { .. }));
    if shows_parts_only(dialect) && retracted {
        return Ok(());
    }
    let view = |state| match shown(state) {
        _ if !shows_parts_only(dialect) => view(state),
        // What an object has grown by since it was sent is sent later.
        Value::Object(lists) if !ended => lists.into_iter().filter(|(list, _)| list != "data").collect(),
        shown => shown,
    };
    prop_assert_eq!(
        view(&stayed),
        view(&came_back),
        "{} {:?} cut at {}\nlive:\n{}\nback:\n{}",
        name,
        options.profile,
        cut,
        say(&live),
        say(&bytes)
    );
    Ok(())
}

/// Dialects whose pages have one message, without attempts, named steps and the run's own values.
fn shows_parts_only(dialect: &dyn Dialect) -> bool {
    matches!(dialect.name(), "ai-sdk" | "mui")
}

/// The parts that a page with one message shows.
fn shown(state: &RunState) -> Value {
    let kept = |message: &headwater_protocol::Message| {
        let mut message = message.clone();
        message.parts.retain(|part| !matches!(part, Part::Data(data) if data.transient));
        crate::flat::flat(&message)
    };
    state.messages().iter().map(kept).fold(serde_json::json!({}), |mut all, message| {
        for (list, parts) in message.as_object().unwrap() {
            let shown = all.as_object_mut().unwrap().entry(list).or_insert(serde_json::json!([]));
            shown.as_array_mut().unwrap().extend(parts.as_array().unwrap().clone());
        }
        all
    })
}

fn by_kind(records: &[Record]) -> BTreeMap<EventKind, Vec<&Event>> {
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in records {
        kinds.entry(record.event.kind()).or_default().push(&record.event);
    }
    kinds
}

/// What every page shows: the text of the answers, which may be one message.
fn essence(state: &RunState) -> String {
    state.messages().iter().map(headwater_protocol::Message::plain_text).collect()
}
