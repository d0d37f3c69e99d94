//! Streams of our encoders, judged by the vendors' own clients.
//!
//! `conformance/cases/<dialect>/<name>.sse` is compared with the encoder here and judged by the real client
//! in `conformance/vendors`; `<name>.expected.json` is what the client must show. `HEADWATER_BLESS=1`
//! regenerates them. Generated runs go to the folder `HEADWATER_GENERATED_CASES`, if set, and are judged in
//! the same way.

mod scenarios;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use headwater_dialects::{Dialect, EncodeOptions, Encoder};
use headwater_protocol::{
    BlockEnded, BlockStarted, Event, Part, Record, RunState, ToolInputAvailable, ToolInputError, ToolPart,
    ToolState,
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use scenarios::{Scenario, scenarios};
use serde_json::{Value, json};

use crate::runs;

fn reduce(dialect: &dyn Dialect, records: &[Record]) -> RunState {
    let mut state = RunState::with_rules(headwater_dialects::reader(dialect.name()).unwrap().rules());
    records.iter().for_each(|record| drop(state.apply(record)));
    state
}

fn encode(dialect: &dyn Dialect, options: &EncodeOptions, scenario: &Scenario) -> Vec<u8> {
    let mut encoder = Encoder::new(dialect, options);
    let (seen, rest) = scenario.records.split_at(scenario.comes_back_after.unwrap_or(0));
    if scenario.comes_back_after.is_some() {
        encoder.reentry(&reduce(dialect, seen));
    }
    rest.iter().for_each(|record| encoder.record(record));
    encoder.finish();
    encoder.take()
}

/// The records for the expectation. Most clients show the same whether they stayed or reconnected; a TanStack
/// page shows the streamed messages, and after a reconnect the outcome.
fn expected_records(dialect: &dyn Dialect, scenario: &Scenario) -> Vec<Record> {
    match scenario.comes_back_after {
        Some(cut) if dialect.name() == "tanstack" => {
            let (seen, rest) = scenario.records.split_at(cut);
            [reduce(dialect, seen).replay(), rest.to_vec()].concat()
        }
        _ => scenario.records.clone(),
    }
}

/// What the vendor's client must show of a run: its state without what that client cannot show.
fn visible(dialect: &str, retracts: bool, records: &[Record]) -> Value {
    let mut state = RunState::default();
    for record in records {
        // A client that cannot retract shows the failed attempt too.
        if retracts || !matches!(record.event, Event::AttemptRetracted(_)) {
            let _ = state.apply(record);
        }
    }
    let shows_parts = matches!(dialect, "ai-sdk" | "mui");
    let mut flat =
        json!({ "text": [], "reasoning": [], "tools": [], "sources": [], "files": [], "data": [] });
    let mut push = |list: &str, value: Value| flat[list].as_array_mut().unwrap().push(value);
    let messages = state.messages().iter();
    for (message, part) in messages.flat_map(|message| message.parts.iter().map(move |part| (message, part)))
    {
        match part {
            Part::Text(text) if !text.text.is_empty() => push("text", json!(text.text)),
            Part::Reasoning(text) if !text.text.is_empty() => push("reasoning", json!(text.text)),
            Part::Tool(tool) => push("tools", shown_tool(tool)),
            Part::Question(question) if shows_parts => push("tools", shown_tool(&question.to_tool())),
            Part::Structured(object) if shows_parts => {
                let data = state.structured().get(&object.stream).and_then(|state| state.data());
                push("data", json!({ "name": object.data_type, "id": object.stream, "data": data }));
            }
            Part::SourceUrl(source) | Part::SourceDocument(source) => push(
                "sources",
                present([
                    ("sourceId", Some(json!(source.source))),
                    ("url", source.url.clone().map(Value::from)),
                    ("title", source.title.clone().map(Value::from)),
                ]),
            ),
            Part::File(file) => push("files", json!({ "mediaType": file.media_type, "url": file.url })),
            // Its page shows an activity for an object, and nothing for other data.
            Part::Structured(part) if dialect == "ag-ui" => {
                let id = format!("{}-object-{}", message.id, part.stream);
                let data = state.structured().get(&part.stream).and_then(|state| state.data());
                if let Some(data) = data {
                    push("data", json!({ "name": part.data_type, "id": id, "data": data }));
                }
            }
            Part::Data(data) if dialect != "ag-ui" => push(
                "data",
                present([
                    ("name", Some(json!(data.name))),
                    ("id", data.id.clone().map(Value::from)),
                    ("data", Some(data.data.clone())),
                ]),
            ),
            _ => {}
        }
    }
    adapt(dialect, &mut flat);
    flat
}

fn shown_tool(tool: &ToolPart) -> Value {
    let mut value = json!({ "toolCallId": tool.call, "toolName": tool.name, "state": tool.state });
    if tool.state != ToolState::InputStreaming {
        value["input"] = json!(tool.input);
    }
    match tool.state {
        ToolState::OutputAvailable => value["output"] = json!(tool.output),
        ToolState::OutputError => value["errorText"] = json!(tool.error),
        _ => {}
    }
    value
}

fn present<'a>(fields: impl IntoIterator<Item = (&'a str, Option<Value>)>) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect())
}

/// Where a vendor's client shows things differently, whatever we send.
fn adapt(dialect: &str, flat: &mut Value) {
    let shows_parts = matches!(dialect, "ai-sdk" | "mui");
    if !shows_parts {
        let hidden = ["sources", "files", "data"].into_iter();
        for list in hidden.filter(|list| dialect != "ag-ui" || *list != "data") {
            flat[list] = json!([]);
        }
    }
    if dialect == "ag-ui" {
        for tool in flat["tools"].as_array_mut().unwrap() {
            // There is no state for a failed or denied call: it is the output.
            if tool["state"] == "output-error" {
                tool["state"] = json!("output-available");
                tool["output"] = tool["errorText"].take();
                tool.as_object_mut().unwrap().remove("errorText");
            }
            if matches!(tool["state"].as_str(), Some("approval-requested" | "approval-responded")) {
                tool["state"] = json!("input-available");
            }
            if tool["state"] == "output-denied" {
                tool["state"] = json!("output-available");
                tool["output"] = json!("The call was denied.");
            }
        }
    }
}

fn judged() -> impl Iterator<Item = (&'static dyn Dialect, &'static str, bool)> {
    let judged = headwater_dialects::ALL
        .into_iter()
        .filter(|dialect| matches!(dialect.name(), "ai-sdk" | "tanstack" | "mui" | "ag-ui"));
    judged.flat_map(|dialect| {
        // TanStack's newest client is only judged with a server: it does not read a bare stream.
        let profiles = dialect.profiles().iter().filter(|profile| !profile.name.starts_with("tanstack"));
        profiles.map(move |profile| {
            let exact = profile.retraction == headwater_dialects::Retraction::Exact;
            (dialect, profile.name, exact)
        })
    })
}

/// The clients that can read a profile; `None` for all clients of the dialect.
fn clients(dialect: &str, profile: &str, records: &[Record]) -> Option<Value> {
    let asks = records.iter().any(|record| matches!(record.event, Event::ApprovalRequested(_)));
    match (dialect, profile) {
        ("ai-sdk", "ai-7") => Some(json!(["ai-7"])),
        ("ai-sdk", "ai-5.0") => Some(json!(["ai-5"])),
        // Version 5 has no approvals, and rejects unknown chunks.
        ("ai-sdk", _) if asks => Some(json!(["ai-6", "ai-7"])),
        ("ag-ui", "1.0") => Some(json!(["ag-ui"])),
        _ => None,
    }
}

pub(crate) fn write_case(
    folder: &Path,
    name: &str,
    body: &[u8],
    expected: &Value,
    bless: bool,
) -> Result<(), String> {
    let files = [
        (folder.join(format!("{name}.sse")), body.to_vec()),
        (folder.join(format!("{name}.expected.json")), format!("{expected:#}\n").into_bytes()),
    ];
    for (path, content) in files {
        if bless {
            fs::create_dir_all(folder).unwrap();
            fs::write(&path, &content).unwrap();
        }
        let held = fs::read(&path).unwrap_or_default();
        if held != content {
            let path = path.display();
            return Err(format!("{path} is not what the encoder writes; HEADWATER_BLESS=1 writes it anew"));
        }
    }
    Ok(())
}

/// A client without approvals shows the call, and a data part that asks about it.
fn ask_with_data(expected: &mut Value) {
    let mut asked = Vec::new();
    for tool in expected["tools"].as_array_mut().unwrap() {
        if tool["state"] == "approval-requested" {
            tool["state"] = json!("input-available");
            let id = format!("approval_{}", tool["toolCallId"].as_str().unwrap());
            asked.push(json!({ "name": "approval", "id": id, "data": "<any>" }));
        }
    }
    expected["data"].as_array_mut().unwrap().append(&mut asked);
}

fn expected(dialect: &dyn Dialect, profile: &str, exact: bool, records: &[Record]) -> Value {
    let mut expected = match dialect.name() {
        "tanstack" => crate::tanstack_page::shows(profile, records),
        name => visible(name, exact, records),
    };
    if profile == "ai-5.0" {
        ask_with_data(&mut expected);
    }
    if let Some(clients) = clients(dialect.name(), profile, records) {
        expected["vendors"] = clients;
    }
    let error = match (dialect.name(), records.last().map(|record| &record.event)) {
        (_, Some(Event::RunFailed(error))) => Some(error.message.as_str()),
        // Older clients only know success as an outcome, as does CopilotKit's page.
        ("ag-ui", Some(Event::RunCancelled { .. })) if !matches!(profile, "1.0" | "copilotkit") => {
            Some("cancelled")
        }
        _ => None,
    };
    if let Some(error) = error {
        expected["error"] = json!(error);
    }
    expected
}

#[test]
fn committed_cases_equal_the_encoder_output() {
    let bless = std::env::var_os("HEADWATER_BLESS").is_some();
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/cases"));
    let mut known = BTreeSet::new();
    let mut complaints = Vec::new();
    for (dialect, profile, exact) in judged() {
        let folder = root.join(dialect.name());
        for scenario in scenarios() {
            let body = encode(dialect, &EncodeOptions::profile(dialect.profile(profile).unwrap()), &scenario);
            let expected = expected(dialect, profile, exact, &expected_records(dialect, &scenario));
            let name = format!("{}.{profile}", scenario.name);
            known.insert(folder.join(format!("{name}.sse")));
            complaints.extend(write_case(&folder, &name, &body, &expected, bless).err());
        }
        let held = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let held: Vec<_> =
            held.filter(|path| path.extension().is_some_and(|ending| ending == "sse")).collect();
        for path in held.iter().filter(|path| path.to_string_lossy().ends_with(&format!(".{profile}.sse"))) {
            if !known.contains(path) {
                complaints.push(format!("{} belongs to no scenario", path.display()));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Runs that a client shows in a way that its messages do not reveal.
fn shows_otherwise(dialect: &str, records: &[Record]) -> bool {
    let mut state = RunState::default();
    records.iter().for_each(|record| drop(state.apply(record)));
    let mut tools =
        state.messages().iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Tool(tool) => Some(tool),
            _ => None,
        });
    match dialect {
        // Arguments that happen to be JSON look complete, and only the last output is shown.
        "ag-ui" => tools.any(|tool| tool.state == ToolState::InputStreaming || tool.preliminary),
        // It keeps no refused input.
        "mui" => records.iter().any(|record| matches!(record.event, Event::ToolInputError(_))),
        // Its older clients close open parts at the end of a step, and continue in a new part.
        "ai-sdk" => crosses_a_step(records),
        _ => false,
    }
}

/// Whether a block or a call's input is open when a step, an attempt or a message begins or ends.
fn crosses_a_step(records: &[Record]) -> bool {
    let mut open = BTreeSet::new();
    records.iter().any(|record| {
        match &record.event {
            Event::BlockStarted(BlockStarted { id, .. }) => open.insert(id.to_string()),
            Event::BlockEnded(BlockEnded { id, .. }) => open.remove(id.as_str()),
            Event::ToolInputStart(tool) => open.insert(tool.call.to_string()),
            Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
            | Event::ToolInputError(ToolInputError { tool, .. }) => open.remove(tool.call.as_str()),
            _ => false,
        };
        let boundary = matches!(
            record.event,
            Event::StepStarted { .. }
                | Event::StepFinished { .. }
                | Event::AttemptStarted(_)
                | Event::AttemptFinished { .. }
                | Event::AttemptRetracted(_)
                | Event::MessageStarted(_)
        );
        boundary && !open.is_empty()
    })
}

#[test]
fn generated_runs_are_written_for_the_judges() {
    let Some(root) = std::env::var_os("HEADWATER_GENERATED_CASES").map(PathBuf::from) else {
        return;
    };
    let count = std::env::var("HEADWATER_GENERATED").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
    let mut runner = TestRunner::deterministic();
    let strategy = runs::ended_run();
    for number in 0..count {
        let records = strategy.new_tree(&mut runner).unwrap().current();
        let cut = number % (records.len() + 1);
        let comes_back_after = (number % 2 == 1).then_some(cut);
        let scenario = Scenario { name: "generated", records, comes_back_after };
        for (dialect, profile, exact) in judged() {
            // A client that stayed shows a failed attempt, one that reconnected later does not: both are
            // right.
            let retracts =
                scenario.records.iter().any(|record| matches!(record.event, Event::AttemptRetracted(_)));
            if retracts && !exact || shows_otherwise(dialect.name(), &scenario.records) {
                continue;
            }
            let body = encode(dialect, &EncodeOptions::profile(dialect.profile(profile).unwrap()), &scenario);
            let expected = expected(dialect, profile, exact, &expected_records(dialect, &scenario));
            write_case(&root.join(dialect.name()), &format!("{number:04}.{profile}"), &body, &expected, true)
                .unwrap();
        }
    }
}
