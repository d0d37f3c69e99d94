//! Kortyx against recordings of its reader and its writer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use headwater_dialects::{EncodeOptions, Encoder, lint};
use headwater_protocol::{ErrorKind, Event, FrameWriter, Framing, Record};
use serde_json::{Value, value::RawValue};

use crate::{
    flat::{reduce_bytes, reduce_chunks},
    vectors::{Judge, read_jsonl},
};

const READER: &str = "kortyx/sse.jsonl";
const WRITER: &str = "kortyx/sse_encode.jsonl";

/// The parser of Kortyx deviates from the standard of Server-Sent Events in many ways, and then loses events.
/// In these cases we follow the standard, and the linter reports the position.
#[test]
fn streams_are_decoded_like_kortyx_or_the_standard() {
    let Some(rows) = read_jsonl(READER) else { return };
    let mut judge = Judge::new(READER);
    let mut by_the_standard = 0;
    for row in &rows {
        let name = row["name"].as_str().expect("a row has a name");
        let pieces = pieces(row);
        let bytes = pieces.concat();
        let ours = reduce_bytes("kortyx", Framing::Sse, &pieces).decoded;
        let recorded = strings(&row["chunks"], Value::to_string);
        let standard = standard(&bytes);
        let departs = departs_from_the_standard(&bytes);
        by_the_standard += usize::from(departs);
        judge.row(name, |_| {
            let expected = if departs { &standard } else { &recorded };
            let expected = reduce_chunks("kortyx", None, expected).decoded.records;
            same(&ours.records, &expected)?;
            let told = ours.errors.iter().filter(|error| error.kind() == ErrorKind::Json).count();
            let warned = row["warned_payloads"].as_array().expect("a row has warnings").len();
            if !departs && told != warned {
                return Err(format!("{told} frames are reported as invalid JSON, {warned} were recorded"));
            }
            if departs && !lint_names_the_bytes(&bytes) {
                return Err("no rule reports the hazard for the parser of Kortyx".to_owned());
            }
            Ok(())
        });
    }
    println!("vectors: {READER} {by_the_standard} of the rows go by the standard");
    judge.finish();
}

/// Whether Kortyx' parser and the standard see different blocks in these bytes.
fn departs_from_the_standard(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let has_data =
        |piece: &str| piece.split(['\r', '\n']).any(|line| line == "data" || line.starts_with("data:"));
    let (whole, tail) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let foreign = |piece: &str| match piece.strip_prefix("data: ") {
        // It treats a CR at the very end as white space.
        Some(payload) => payload.trim_end_matches('\r').contains(['\r', '\n']),
        None => has_data(piece),
    };
    whole.split("\n\n").any(foreign) || (has_data(tail) && tail.contains('\r'))
}

fn lint_names_the_bytes(bytes: &[u8]) -> bool {
    const ABOUT_BYTES: [&str; 3] = ["only-data-in-a-block", "block-begins-with-data", "lines-end-with-lf"];
    let findings = lint(headwater_dialects::reader("kortyx").unwrap(), Framing::Sse, bytes);
    findings.iter().any(|finding| ABOUT_BYTES.contains(&finding.rule))
}

/// The payloads by the rules of the standard, up to the end marker.
fn standard(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
    let mut payloads = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        if line.is_empty() && !data.is_empty() {
            let payload = data.join("\n");
            if payload.trim() == "[DONE]" {
                break;
            }
            payloads.push(payload);
            data.clear();
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        } else if line == "data" {
            data.push("");
        }
    }
    payloads
}

fn same(ours: &[Record], expected: &[Record]) -> Result<(), String> {
    let read = |records: &[Record]| -> Vec<Value> {
        let events = records.iter().map(|record| serde_json::to_value(&record.event).unwrap());
        events.map(as_javascript_reads).collect()
    };
    let (ours, expected) = (read(ours), read(expected));
    if ours == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {ours:?}")) }
}

/// JavaScript has no integers beyond 2^53; we keep every digit.
fn as_javascript_reads(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(items) => items.into_iter().map(as_javascript_reads).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, as_javascript_reads(value))).collect()
        }
        other => other,
    }
}

#[test]
fn chunks_equal_those_of_kortyx() {
    let Some(rows) = read_jsonl(WRITER) else { return };
    let mut judge = Judge::new(WRITER);
    for row in &rows {
        let name = row["name"].as_str().expect("a row has a name");
        let mut chunks = strings(&row["chunks"], Value::to_string);
        if let Some(message) = row.get("throws").and_then(Value::as_str) {
            chunks.push(serde_json::json!({ "type": "error", "message": message }).to_string());
        }
        let mut writer = FrameWriter::new(Framing::Sse);
        for chunk in &chunks {
            writer.frame(None, &RawValue::from_string(chunk.clone()).unwrap()).unwrap();
        }
        writer.raw("[DONE]");
        let ours = String::from_utf8(writer.take()).unwrap();
        let recorded = row["body"].as_str().expect("a row has a body");
        judge.row(name, |_| {
            if ours == recorded { Ok(()) } else { Err(format!("expected {recorded:?}, got {ours:?}")) }
        });
    }
    judge.finish();
}

/// A stream of a Kortyx server passes through our decoder and encoder, except a type that its page does not
/// know.
#[test]
fn kortyx_stream_round_trips() {
    let chunks = [
        r#"{"type":"session","sessionId":"s1"}"#,
        r#"{"type":"trace","traceId":"t","spanId":"s","runId":"run-1","rootSpanName":"kortyx.run"}"#,
        r#"{"type":"text-start","node":"plan","opId":"op","segmentId":"seg"}"#,
        r#"{"type":"text-delta","node":"plan","opId":"op","segmentId":"seg","delta":"Hello"}"#,
        r#"{"type":"text-end","node":"plan","opId":"op","segmentId":"seg"}"#,
        r#"{"type":"tool-call-start","node":"plan","opId":"op","tool":"search","toolCallId":"c","input":{"q":1}}"#,
        r#"{"type":"tool-call-result","node":"plan","opId":"op","tool":"search","toolCallId":"c","content":"[]","structuredContent":[]}"#,
        r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"append","path":"a","items":[1]}"#,
        r#"{"type":"message","node":"plan","content":"Whole"}"#,
        r#"{"type":"transition","transitionTo":"other","payload":null}"#,
        r#"{"type":"weather","of":"tomorrow"}"#,
        r#"{"type":"interrupt","requestId":"human-1","resumeToken":"tok","workflow":"w","node":"ask","id":"i","input":{"kind":"choice","multiple":false,"question":"Which?","id":"i","options":[{"id":"x","label":"X"}]}}"#,
        r#"{"type":"checkpoint","id":"cp-1","sessionId":"s1","turnIndex":1}"#,
        r#"{"type":"done"}"#,
    ];
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let decoded = reduce_bytes("kortyx", Framing::Sse, &[body.into_bytes()]).decoded;
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    assert!(matches!(decoded.records.last().unwrap().event, Event::RunWaiting(_)));
    let mut encoder = Encoder::new(headwater_dialects::find("kortyx").unwrap(), &EncodeOptions::default());
    decoded.records.iter().for_each(|record| encoder.record(record));
    let written = String::from_utf8(encoder.take()).unwrap();
    let read = |chunk: &str| serde_json::from_str::<Value>(chunk).unwrap();
    let written: Vec<_> =
        written.split("\n\n").filter_map(|block| block.strip_prefix("data: ")).map(read).collect();
    let known: Vec<_> = chunks.into_iter().map(read).filter(|chunk| chunk["type"] != "weather").collect();
    assert_eq!(written, known);
}

fn pieces(row: &Value) -> Vec<Vec<u8>> {
    let decode = |piece: &Value| BASE64.decode(piece.as_str().unwrap()).expect("a piece is base64");
    row["pieces_b64"].as_array().expect("a row has pieces").iter().map(decode).collect()
}

fn strings(list: &Value, text: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array().expect("a list").iter().map(text).collect()
}
