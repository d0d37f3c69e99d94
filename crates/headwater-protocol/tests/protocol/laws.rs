//! What holds for every dialect and every run.

use std::collections::BTreeMap;

use headwater_protocol::{
    Decoded, Decoder, Dialect, EncodeOptions, Encoder, ErrorKind, Event, EventKind, Framing, Record,
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

/// The state as the page of a dialect shows it. AG-UI's splits a message into several, has a result in the place of an error
/// and an interrupt in the place of an approval, and its snapshots tell no statuses.
fn shown(dialect: &dyn Dialect, options: &EncodeOptions, state: &RunState) -> Value {
    let view = view(state);
    if dialect.name() != "ag-ui" {
        return view;
    }
    let mut shown: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for part in
        view["messages"].as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap())
    {
        let (kind, value) = match part["type"].as_str().unwrap() {
            "tool-ask_user" => continue,
            // TanStack's client drops a thought that a snapshot leaves out; AG-UI's, which the decoder follows, keeps it.
            "reasoning" if options.profile.as_deref() == Some("tanstack") => continue,
            kind @ ("text" | "reasoning") => (kind, part["text"].clone()),
            kind if kind.starts_with("tool-") => {
                let result = part.get("output").or(part.get("errorText")).cloned().unwrap_or_default();
                // Without a result, the arguments may be half of what they will be.
                let input = part.get("input").filter(|_| !result.is_null());
                (kind, serde_json::json!([part["toolCallId"], input, result]))
            }
            // An object is sent now and then while it grows, and at the end of the run.
            _ if view["run"]["error"]["code"] == "cut" => continue,
            kind => (kind, part["data"].clone()),
        };
        if value != "" && value != serde_json::json!({}) {
            shown.entry(kind.to_owned()).or_default().push(value);
        }
    }
    serde_json::json!([shown, view["run"]["status"], view["run"]["error"], view["state"]])
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
        // How an attempt is retracted differs: by its name, by a snapshot, or not at all.
        let mut records = records;
        records.retain(|record| record.event.kind() != EventKind::AttemptRetracted);
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
    prop_assert_eq!(
        shown(dialect, options, &stayed),
        shown(dialect, options, &came_back),
        "{} {:?} cut at {}\nlive:\n{}\nback:\n{}",
        name,
        options.profile,
        cut,
        say(&live),
        say(&bytes)
    );
    Ok(())
}

fn by_kind(records: &[Record]) -> BTreeMap<EventKind, Vec<&Event>> {
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in records {
        kinds.entry(record.event.kind()).or_default().push(&record.event);
    }
    kinds
}

/// What every page shows: the text of the answers.
fn essence(state: &RunState) -> String {
    state.messages().iter().map(headwater_protocol::Message::plain_text).collect()
}
