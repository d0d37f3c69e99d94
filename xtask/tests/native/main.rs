//! The schema and the TypeScript types of the native wire are those of the Rust types. `HEADWATER_BLESS=1` writes them anew.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod schema;
mod typescript;

use std::{collections::BTreeSet, fs, path::PathBuf};

use headwater_dialects::{DecodeOutput, Decoder, EncodeOptions, Encoder};
use headwater_protocol::{
    Event, EventKind, Framing, Interrupt, Message, MessageStatus, Part, Record, Role, StructuredOp,
    StructuredUpdate, TextPart,
};
use serde_json::{Value, json};

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name)
}

fn is_up_to_date(name: &str, text: &str) {
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), text).unwrap();
    }
    let committed = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(committed == text, "{name} is stale; run this test with HEADWATER_BLESS=1");
}

#[test]
fn committed_schema_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&schema::schema()).unwrap();
    is_up_to_date("docs/native.schema.json", &(text + "\n"));
}

#[test]
fn committed_typescript_is_that_of_the_schema() {
    is_up_to_date("web/client/src/native.ts", &typescript::write(&schema::schema()));
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema::schema()).unwrap()
}

fn assert_valid(validator: &jsonschema::Validator, record: &Value) {
    let errors: Vec<_> = validator.iter_errors(record).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{record}: {errors:?}");
}

/// The records on the wire, as lines of JSON.
fn written(records: &[Record]) -> Vec<Value> {
    let native = headwater_dialects::find("native").unwrap();
    let mut options = EncodeOptions::default();
    options.framing = Some(Framing::Ndjson);
    let mut encoder = Encoder::new(native, &options);
    records.iter().for_each(|record| encoder.record(record));
    let text = std::str::from_utf8(encoder.bytes()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn committed_native_streams_are_valid() {
    let validator = validator();
    let text = fs::read_to_string(path("examples/streams/native.ndjson")).unwrap()
        + &fs::read_to_string(path("examples/streams/native.sse")).unwrap();
    let records = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let records: Vec<Value> = records
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(records.len() > 30, "{}", records.len());
    records.iter().for_each(|record| assert_valid(&validator, record));
}

/// The streams that the vendors' clients judge, read and written as native ones.
#[test]
fn records_of_every_conformance_case_are_valid() {
    let validator = validator();
    let mut seen = BTreeSet::new();
    for dialect in fs::read_dir(path("conformance/cases")).unwrap() {
        let dialect = dialect.unwrap().path();
        let name = dialect.file_name().unwrap().to_str().unwrap().to_owned();
        for case in fs::read_dir(&dialect).unwrap() {
            let case = case.unwrap().path();
            if case.extension().is_none_or(|extension| extension != "sse") {
                continue;
            }
            let mut decoder = Decoder::new(headwater_dialects::reader(&name).unwrap(), Framing::Sse);
            let mut decoded = DecodeOutput::default();
            decoder.feed(&fs::read(&case).unwrap(), &mut decoded);
            decoder.finish(&mut decoded);
            seen.extend(decoded.records.iter().map(|record| record.event.kind()));
            written(&decoded.records).iter().for_each(|record| assert_valid(&validator, record));
        }
    }
    assert!(seen.len() >= 25, "{seen:?}");
}

/// One event of each kind, with as little in it as the type allows.
fn least() -> Vec<Event> {
    let mut message = Message::new("m1", Role::Assistant, MessageStatus::Sent);
    message.parts =
        vec![Part::Text(TextPart::open("t1")), Part::StepStart, Part::Other { value: json!([1]) }];
    vec![
        Event::RunStarted(Default::default()),
        Event::RunFinished(Default::default()),
        Event::RunFailed(Default::default()),
        Event::RunCancelled { reason: None },
        Event::RunWaiting(Default::default()),
        Event::AttemptStarted(Default::default()),
        Event::AttemptFinished { attempt: "a1".into() },
        Event::AttemptRetracted(Default::default()),
        Event::MessageStarted(Default::default()),
        Event::MessageFinished { message: "m1".into() },
        Event::MessageMetadata { metadata: json!({}) },
        Event::Message { content: String::new() },
        Event::StepStarted { name: None },
        Event::StepFinished { name: None },
        Event::BlockStarted(Default::default()),
        Event::BlockDelta(Default::default()),
        Event::BlockEnded(Default::default()),
        Event::ToolInputStart(Default::default()),
        Event::ToolInputDelta(Default::default()),
        Event::ToolInputAvailable(Default::default()),
        Event::ToolInputError(Default::default()),
        Event::ApprovalRequested(Default::default()),
        Event::ApprovalAnswered(Default::default()),
        Event::ToolOutput(Default::default()),
        Event::ToolOutputError(Default::default()),
        Event::ToolDenied(Default::default()),
        Event::SourceUrl(Default::default()),
        Event::SourceDocument(Default::default()),
        Event::File(Default::default()),
        Event::Data(Default::default()),
        Event::Structured(StructuredUpdate::new("s1", "email", StructuredOp::text("body", "Hi"))),
        Event::StructuredInvalidated(Default::default()),
        Event::StateSnapshot { state: Value::Null },
        Event::StateDelta { patch: Vec::new() },
        Event::MessagesSnapshot { messages: vec![message] },
        Event::InterruptRequested(Box::<Interrupt>::default()),
        Event::InterruptAnswered(Default::default()),
        Event::InterruptExpired { request: "q1".into() },
        Event::Status(Default::default()),
        Event::Transition(Default::default()),
        Event::Checkpoint(Default::default()),
        Event::Usage(Default::default()),
        Event::Warning(Default::default()),
        Event::Error(Default::default()),
        Event::Trace(Default::default()),
        Event::Unknown(Default::default()),
    ]
}

#[test]
fn least_event_of_every_kind_is_valid_and_one_without_its_type_is_not() {
    let validator = validator();
    let records: Vec<_> = least().into_iter().map(|event| Record::new(1, event)).collect();
    let kinds: Vec<_> = records.iter().map(|record| record.event.kind()).collect();
    assert_eq!(kinds, EventKind::ALL);
    for mut record in written(&records) {
        assert_valid(&validator, &record);
        record["event"].as_object_mut().unwrap().remove("type");
        assert!(!validator.is_valid(&record), "{record}");
    }
}

#[test]
fn schema_reports_missing_and_wrong_fields() {
    let validator = validator();
    let record = |event: Value| json!({ "seq": 1, "event": event });
    let delta = json!({ "type": "block-delta", "kind": "text", "id": "t1", "delta": "Hi" });
    assert_valid(&validator, &record(delta.clone()));
    for (field, wrong) in [("type", json!("block")), ("kind", json!("picture")), ("id", json!(1))] {
        let mut changed = delta.clone();
        changed[field] = wrong;
        assert!(!validator.is_valid(&record(changed)), "{field}");
    }
    for field in ["kind", "id", "delta"] {
        let mut changed = delta.clone();
        changed.as_object_mut().unwrap().remove(field);
        assert!(!validator.is_valid(&record(changed)), "{field}");
    }
    assert!(!validator.is_valid(&json!({ "event": delta })), "a record has a number");
}
