//! Properties of every dialect and every run.

use std::collections::BTreeMap;

use headwater_dialects::{DecodeOutput, Decoder, Dialect, EncodeOptions, Encoder, Reader, Support, lint};
use headwater_protocol::{
    AttemptRetracted, ErrorKind, Event, EventKind, Framing, Part, Record, RunState, ToolOutput,
};
use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

use crate::runs;

pub(crate) fn cases() -> ProptestConfig {
    let cases = std::env::var("HEADWATER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(96);
    ProptestConfig { cases, max_shrink_iters: 4_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Every dialect with every profile and framing.
fn speakers() -> impl Iterator<Item = (&'static dyn Dialect, EncodeOptions)> {
    let wanted = std::env::var("HEADWATER_DIALECT").ok();
    headwater_dialects::ALL
        .into_iter()
        .filter(move |dialect| wanted.as_deref().is_none_or(|wanted| wanted == dialect.name()))
        .flat_map(|dialect| {
            dialect.profiles().iter().flat_map(move |profile| {
                profile.framings.iter().map(move |&framing| {
                    let mut options = EncodeOptions::profile(profile);
                    options.framing = Some(framing);
                    (dialect, options)
                })
            })
        })
}

fn framing(options: &EncodeOptions) -> Framing {
    options.framing.unwrap_or(Framing::Sse)
}

fn reader(dialect: &dyn Dialect) -> &'static dyn Reader {
    headwater_dialects::reader(dialect.name()).unwrap()
}

fn encode(dialect: &dyn Dialect, options: &EncodeOptions, records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::new(dialect, options);
    records.iter().for_each(|record| encoder.record(record));
    if records.last().is_some_and(|record| record.event.kind().ends_run()) {
        encoder.finish();
    }
    encoder.take()
}

fn decode(dialect: &dyn Dialect, options: &EncodeOptions, bytes: &[u8]) -> DecodeOutput {
    let mut decoder = Decoder::new(reader(dialect), framing(options));
    let mut out = DecodeOutput::default();
    decoder.feed(bytes, &mut out);
    decoder.finish(&mut out);
    out
}

fn reduce(dialect: &dyn Dialect, records: &[Record]) -> RunState {
    let mut state = RunState::with_rules(reader(dialect).rules());
    for record in records {
        let _ = state.apply(record);
    }
    state
}

/// The state for comparison, without transient data.
fn view(state: &RunState) -> Value {
    let mut view = serde_json::to_value(state.view()).unwrap();
    for message in view["messages"].as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| part["transient"] != true);
    }
    view
}

/// AG-UI's page splits a message into several, has a result in place of an error and an interrupt in place of
/// an approval, and its snapshots have no statuses.
fn separate_parts(options: &EncodeOptions, state: &RunState) -> Value {
    let view = view(state);
    let mut shown: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for part in
        view["messages"].as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap())
    {
        let (kind, value) = match part["type"].as_str().unwrap() {
            "tool-ask_user" => continue,
            // TanStack's client drops reasoning that a snapshot leaves out; AG-UI's client, which the decoder
            // follows, keeps it.
            "reasoning" if options.profile.map(|profile| profile.name) == Some("tanstack") => continue,
            kind @ ("text" | "reasoning") => (kind, part["text"].clone()),
            kind if kind.starts_with("tool-") => {
                let result = part.get("output").or(part.get("errorText")).cloned().unwrap_or_default();
                // Without a result, the arguments may be incomplete. Refused arguments are shown as far as
                // they were streamed, or whole.
                let input =
                    part.get("input").filter(|_| !result.is_null() && result != "not what the tool takes");
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

fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn replay_rebuilds_the_state(records in runs::run()) {
        for rules in headwater_dialects::READERS.map(Reader::rules) {
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
    fn encoded_run_decodes_without_errors_or_findings(records in runs::ended_run()) {
        for (dialect, options) in speakers() {
            let bytes = encode(dialect, &options, &records);
            let name = dialect.name();
            let decoded = decode(dialect, &options, &bytes);
            prop_assert!(decoded.errors.is_empty(), "{name} {options:?}: {:?}\n{}", decoded.errors, printable(&bytes));
            let findings = lint(reader(dialect), framing(&options), &bytes);
            prop_assert!(findings.is_empty(), "{name} {options:?}: {findings:?}\n{}", printable(&bytes));
        }
    }

    #[test]
    fn exact_events_round_trip(records in runs::run()) {
        for (dialect, options) in speakers() {
            let profile = options.profile.unwrap_or_else(|| dialect.default_profile());
            let bytes = encode(dialect, &options, &records);
            let decoded = decode(dialect, &options, &bytes);
            let (said, heard) = (by_kind(&records), by_kind(&decoded.records));
            for kind in EventKind::ALL {
                if dialect.support(*kind, profile) == Support::Exact {
                    prop_assert_eq!(
                        said.get(kind), heard.get(kind), "{} {:?}: {}\n{}", dialect.name(), options, kind, printable(&bytes)
                    );
                }
            }
        }
    }

    #[test]
    fn split_of_the_bytes_does_not_matter(records in runs::run(), cuts in vec(any::<proptest::sample::Index>(), 0..12)) {
        for (dialect, options) in speakers() {
            let bytes = encode(dialect, &options, &records);
            let whole = decode(dialect, &options, &bytes);
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let mut decoder = Decoder::new(reader(dialect), framing(&options));
            let mut out = DecodeOutput::default();
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
    fn reconnecting_shows_the_same_as_staying(records in runs::run()) {
        for (dialect, options) in speakers() {
            let records = shown(dialect, &options, &records);
            for cut in 0..=records.len() {
                resume_law(dialect, &options, &records, cut)?;
            }
        }
    }

    #[test]
    fn native_wire_round_trips_every_record(records in runs::run()) {
        for framing in [Framing::Sse, Framing::Ndjson] {
            let mut options = EncodeOptions::default();
            options.framing = Some(framing);
            let bytes = encode(&headwater_dialects::native::Native, &options, &records);
            let decoded = decode(&headwater_dialects::native::Native, &options, &bytes);
            prop_assert_eq!(&decoded.records, &records);
        }
    }

    #[test]
    fn text_survives_a_conversion(records in runs::run()) {
        // Of a failed attempt one page keeps what another removes.
        let records = alive(&records);
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

/// The run as a page can see it: without unsent events and failed attempts, of which a client that stayed may
/// keep what one that reconnected never sees.
fn shown(dialect: &dyn Dialect, options: &EncodeOptions, records: &[Record]) -> Vec<Record> {
    let profile = options.profile.unwrap_or_else(|| dialect.default_profile());
    if dialect.name() == "native" {
        return records.to_vec();
    }
    // An object that still grows is not sent with each of its updates.
    let grows =
        dialect.name() == "tanstack" && !records.last().is_some_and(|last| last.event.kind().ends_run());
    let hidden = |record: &Record| match &record.event {
        Event::Structured(_) if grows => true,
        // A snapshot shows an output that is not final yet, and the stream of an old client does not.
        Event::ToolOutput(ToolOutput { preliminary: true, .. }) => dialect.name() == "ag-ui",
        event => dialect.support(event.kind(), profile) == Support::Hidden,
    };
    alive(records).into_iter().filter(|record| !hidden(record)).collect()
}

/// The records without failed attempts.
fn alive(records: &[Record]) -> Vec<Record> {
    let dead: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => Some(attempt),
            _ => None,
        })
        .collect();
    let lives = |record: &&Record| {
        let retraction = matches!(record.event, Event::AttemptRetracted(_));
        !retraction && record.origin.attempt.as_ref().is_none_or(|attempt| !dead.contains(&attempt))
    };
    records.iter().filter(lives).cloned().collect()
}

/// What a page shows of a state, in the form in which the dialect's page can be compared.
fn page(dialect: &dyn Dialect, options: &EncodeOptions, state: &RunState, ended: bool) -> Value {
    match dialect.name() {
        "kortyx" | "tanstack" | "responses" => texts_and_calls(dialect, options, state),
        "ai-sdk" | "mui" => parts(state, ended),
        "agents" => complete_parts(state, ended),
        "ag-ui" => separate_parts(options, state),
        _ => view(state),
    }
}

/// The parts that a page with one message shows.
fn parts(state: &RunState, ended: bool) -> Value {
    let kept = |message: &headwater_protocol::Message| {
        let mut message = message.clone();
        message.parts.retain(|part| !matches!(part, Part::Data(data) if data.transient));
        let mut flat = crate::flat::flat(&message);
        // After a reconnect, an approval sent as data is next to its call.
        flat["data"].as_array_mut().unwrap().sort_by_key(|data| data["name"] != "approval");
        // An input that is still streamed is shown as far as its text goes.
        for tool in flat["tools"].as_array_mut().unwrap() {
            if tool["state"] == "input-streaming" {
                tool.as_object_mut().unwrap().remove("input");
            }
        }
        flat
    };
    state.messages().iter().map(kept).fold(json!({}), |mut all, message| {
        // The latest growth of an object is sent later.
        let lists = message.as_object().unwrap().iter().filter(|(list, _)| ended || *list != "data");
        for (list, parts) in lists {
            let shown = all.as_object_mut().unwrap().entry(list).or_insert(json!([]));
            shown.as_array_mut().unwrap().extend(parts.as_array().unwrap().clone());
        }
        all
    })
}

/// Texts, calls and objects.
fn texts_and_calls(dialect: &dyn Dialect, options: &EncodeOptions, state: &RunState) -> Value {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for part in state.messages().iter().flat_map(|message| &message.parts) {
        match part {
            Part::Text(text) if !text.text.is_empty() => texts.push(text.text.clone()),
            // An answered question is not asked again.
            Part::Tool(tool) if tool.name != "ask_user" => {
                // A refused input is shown as far as it was streamed, or whole.
                calls.push(json!([tool.call, tool.name, tool.output, tool.error]));
            }
            _ => {}
        }
    }
    // A TanStack page merges adjacent texts. In a response a text exists from its first letter on, so two
    // that are written at once may be in either order.
    if matches!(dialect.name(), "tanstack" | "responses") {
        texts = vec![letters(texts.into_iter())];
    }
    // In this profile a reconnecting page gets the finished calls at the end of the run.
    if options.profile.map(|profile| profile.name) == Some("client-tools") {
        calls.clear();
    }
    let objects = state.structured().iter().map(|object| json!([object.stream(), object.data()]));
    let mut objects: Vec<_> = objects.collect();
    for list in [&mut calls, &mut objects] {
        list.sort_by_key(Value::to_string);
    }
    json!({ "texts": texts, "calls": calls, "objects": objects })
}

fn resume_law(
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
    // The stream of an active run was cut, and may report that.
    let ended = records.last().is_some_and(|record| record.event.kind().ends_run());
    decoded.errors.retain(|error| ended || error.kind() != ErrorKind::Cut);
    prop_assert!(decoded.errors.is_empty(), "{name}: {:?}\n{}", decoded.errors, printable(&bytes));
    let mut came_back = reduce(dialect, &decoded.records);
    stayed.end_of_stream();
    came_back.end_of_stream();
    prop_assert_eq!(
        page(dialect, options, &stayed, ended),
        page(dialect, options, &came_back, ended),
        "{} {:?} cut at {}\nlive:\n{}\nback:\n{}",
        name,
        options.profile,
        cut,
        printable(&live),
        printable(&bytes)
    );
    Ok(())
}

/// Without empty texts and objects that still grow.
fn complete_parts(state: &RunState, ended: bool) -> Value {
    let mut view = view(state);
    for message in view["messages"].as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| {
            let is_data = part["type"].as_str().is_some_and(|kind| kind.starts_with("data-"));
            part["text"] != "" && (ended || !is_data)
        });
    }
    view
}

fn by_kind(records: &[Record]) -> BTreeMap<EventKind, Vec<&Event>> {
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in records {
        kinds.entry(record.event.kind()).or_default().push(&record.event);
    }
    kinds
}

/// What every page shows: the text of the answers. Not every dialect separates messages, or names the one among
/// two open blocks a text belongs, so the order of the letters may differ.
fn essence(state: &RunState) -> String {
    letters(state.messages().iter().map(headwater_protocol::Message::plain_text))
}

fn letters(texts: impl Iterator<Item = String>) -> String {
    let mut letters: Vec<char> = texts.flat_map(|text| text.chars().collect::<Vec<_>>()).collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}
