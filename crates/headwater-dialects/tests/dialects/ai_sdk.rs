//! The AI SDK dialect against recordings of the real client and server.

use base64::Engine as _;
use headwater_dialects::{
    Action, Dialect, EncodeOptions, Encoder, RawRequest, Reader, ai_sdk::AiSdk, lint, ui_message,
};
use headwater_protocol::{
    Error, ErrorKind, Framing, Message, Part, Role, RunState, SourcePart, SseReader, ToolPart, ToolState,
};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    flat::{FlatState, flat, reduce_bytes, reduce_chunks},
    runs,
    vectors::{Judge, read_jsonl, read_lines, replace_lone_surrogates},
};

const V7: &str = "aisdk/ui-stream.v7.jsonl";

fn name(row: &Value) -> &str {
    row["id"].as_str().unwrap_or_default()
}

/// A recorded row: its values, and its raw chunks, including halves of surrogate pairs.
struct Row {
    row: Value,
    chunks: Vec<String>,
}

impl Row {
    fn read(line: &str) -> Self {
        #[derive(Deserialize)]
        struct Chunks<'a> {
            #[serde(borrow)]
            chunks: Vec<&'a RawValue>,
        }
        let Chunks { chunks } = serde_json::from_str(line).unwrap();
        let chunks = chunks.into_iter().map(|chunk| chunk.get().to_owned()).collect();
        Self { row: serde_json::from_str(&replace_lone_surrogates(line)).unwrap(), chunks }
    }

    fn name(&self) -> &str {
        name(&self.row)
    }
}

fn rows(file: &str) -> Option<Vec<Row>> {
    Some(read_lines(file)?.iter().map(|line| Row::read(line)).collect())
}

fn reduce(Row { row, chunks }: &Row) -> FlatState {
    let prior = row.get("message").filter(|message| !message.is_null());
    let prior: Vec<Message> =
        prior.map(|message| ui_message::read(message, "message").unwrap()).into_iter().collect();
    let state = RunState::with_rules(Reader::rules(&AiSdk)).with_messages(prior);
    reduce_chunks("ai-sdk", Some(state), chunks)
}

/// The client's message in the form for comparison, and ours.
fn messages(row: &Value, ours: &FlatState) -> (Value, Value) {
    let wanted = match &row["wire"]["final"] {
        Value::Null => json!(null),
        message => compared(&ui_message::read(message, "final").unwrap(), row),
    };
    let ours = ours.state.current_message().map_or(json!(null), |message| compared(message, row));
    (wanted, ours)
}

fn compared(message: &Message, row: &Value) -> Value {
    let mut flat = flat(message);
    for tool in flat["tools"].as_array_mut().unwrap() {
        if ends_in_an_open_scalar(row, tool["id"].as_str().unwrap()) {
            tool.as_object_mut().unwrap().remove("input");
        }
    }
    flat["metadata"] = message.metadata.clone().unwrap_or_default();
    flat["steps"] = json!(message.parts.iter().map(kind).collect::<Vec<_>>());
    flat
}

/// The kinds of the parts in order; a trailing empty step is not in the recording.
fn kind(part: &headwater_protocol::Part) -> String {
    let part = serde_json::to_value(part).unwrap();
    part["type"].as_str().map_or_else(|| "other".to_owned(), str::to_owned)
}

/// The input's text ends within a number or literal: the client guesses its end (`t` is `true`, `1` is 1),
/// and we show the value before it.
fn ends_in_an_open_scalar(row: &Value, call: &str) -> bool {
    let inputs = row["chunks"].as_array().unwrap().iter().filter(|chunk| chunk["toolCallId"] == call);
    let text: String = inputs.filter_map(|chunk| chunk["inputTextDelta"].as_str()).collect();
    let within_a_string = text.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2 == 1;
    let last = text.trim_end().chars().last();
    !within_a_string && last.is_some_and(|last| last.is_ascii_alphanumeric() || "+-.".contains(last))
}

/// The client spreads non-object metadata into an object, key by key: `"abc"` becomes `{"0":"a",…}`.
fn spreads_metadata(row: &Value) -> bool {
    let said = row["chunks"].as_array().unwrap().iter().map(|chunk| &chunk["messageMetadata"]);
    said.into_iter().any(|metadata| !metadata.is_null() && !metadata.is_object())
}

/// The recording is of the last snapshot, which has no trailing step.
fn without_trailing_step(mut message: Value) -> Value {
    if let Some(steps) = message["steps"].as_array_mut() {
        while steps.last().is_some_and(|step| step == "step-start") {
            steps.pop();
        }
    }
    message
}

fn judge_stream(recorded: &Row) -> Result<(), String> {
    let (row, ours) = (&recorded.row, reduce(recorded));
    let (wanted, found) = messages(row, &ours);
    let (mut wanted, mut found) = (without_trailing_step(wanted), without_trailing_step(found));
    if spreads_metadata(row) {
        wanted["metadata"] = Value::Null;
        found["metadata"] = Value::Null;
    }
    // The client shows no message before it has content.
    let nothing =
        |message: &Value| message.is_null() || message["steps"].as_array().is_some_and(Vec::is_empty);
    if wanted == found || nothing(&wanted) && nothing(&found) && wanted.is_null() != found.is_null() {
        Ok(())
    } else {
        Err(format!("\n  wanted {wanted}\n  found  {found}\n  {:?}", ours.decoded.errors))
    }
}

#[test]
fn streams_build_the_same_message_as_version_7() {
    for file in [V7, "aisdk/ui-stream.v7.lone-surrogate.jsonl"] {
        let Some(rows) = rows(file) else { return };
        let mut judge = Judge::new(file);
        for row in &rows {
            judge.row(row.name(), |_| judge_stream(row));
        }
        judge.finish();
    }
}

#[test]
fn streams_build_the_same_message_as_versions_5_and_6() {
    for file in [
        "aisdk/ui-stream.v6.jsonl",
        "aisdk/ui-stream.v6.lone-surrogate.jsonl",
        "aisdk/ui-stream.v5.jsonl",
        "aisdk/ui-stream.v5.lone-surrogate.jsonl",
    ] {
        let Some(rows) = rows(file) else { return };
        let mut judge = Judge::new(file);
        for row in &rows {
            if !judge.is_out_of_scope(row.name()) {
                judge.row(row.name(), |_| judge_stream(row));
            }
        }
        judge.finish();
    }
}

#[test]
fn lint_reports_chunks_rejected_by_strict_clients() {
    let file = "aisdk/ui-stream.strict-6.0.200.validation.jsonl";
    let Some(rows) = rows(file) else { return };
    let mut judge = Judge::new(file);
    for row in &rows {
        judge.row(row.name(), |_| {
            let body: String = row.chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            let findings = lint(&AiSdk, Framing::Sse, body.as_bytes());
            let schema = ["unknown-type", "field", "null-field", "json", "unknown-key-for-strict-clients"];
            let named = findings.iter().find(|finding| schema.contains(&finding.rule));
            let rejected = row.row["wire"]["errors"].as_array().unwrap();
            let rejected = rejected.iter().any(|error| error["name"] == "AI_TypeValidationError");
            if rejected == named.is_some() {
                Ok(())
            } else {
                Err(format!("rejected: {rejected}, findings: {findings:?}"))
            }
        });
    }
    judge.finish();
}

#[test]
fn bytes_are_split_into_chunks_like_in_the_client() {
    for file in ["aisdk/sse-framing.jsonl", "aisdk/sse-framing.lone-surrogate.jsonl"] {
        let Some(rows) = read_jsonl(file) else { return };
        let mut judge = Judge::new(file);
        for row in &rows {
            judge.row(name(row), |_| judge_bytes(row));
        }
        judge.finish();
    }
}

/// Feeds the bytes, and expects the same records as from the client's chunks.
fn judge_bytes(row: &Value) -> Result<(), String> {
    let decode =
        |piece: &Value| base64::engine::general_purpose::STANDARD.decode(piece.as_str().unwrap()).unwrap();
    let pieces: Vec<Vec<u8>> = row["segmentsBase64"].as_array().unwrap().iter().map(decode).collect();
    let ours = reduce_bytes("ai-sdk", Framing::Sse, &pieces);
    // A delta without its start is fatal to the reducer, but not to the framing.
    let unopened = |error: &Error| error.kind() == ErrorKind::Order;
    let failed = ours.decoded.fatal().is_some_and(|error| !unopened(error));
    if failed == row["error"].is_null() {
        return Err(format!("error: {}, ours: {:?}", row["error"], ours.decoded.errors));
    }
    let seen = frames(&pieces, ours.decoded.fatal().filter(|error| !unopened(error)));
    let wanted: Vec<Value> = row["chunks"].as_array().unwrap().iter().map(doubles).collect();
    if seen == wanted { Ok(()) } else { Err(format!("wanted {wanted:?}, found {seen:?}")) }
}

/// The chunks up to the refused one.
fn frames(pieces: &[Vec<u8>], refused: Option<&Error>) -> Vec<Value> {
    let end = refused.and_then(Error::place).map_or(u64::MAX, |place| place.frame);
    let mut reader = SseReader::new();
    let mut chunks = Vec::new();
    for piece in pieces {
        reader.push(piece, |frame| {
            let frame = frame.unwrap();
            let mended = replace_lone_surrogates(frame.data);
            if frame.index < end && mended != "[DONE]" {
                // JavaScript writes a number beyond the range of a double as `null`.
                chunks.push(doubles(&serde_json::from_str(&mended.replace("1e400", "null")).unwrap()));
            }
        });
    }
    chunks
}

/// JavaScript only has doubles.
fn doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(doubles).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), doubles(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn client_requests_are_parsed() {
    for file in
        ["aisdk/http-requests.v7.jsonl", "aisdk/http-requests.v6.jsonl", "aisdk/http-requests.v5.jsonl"]
    {
        let Some(rows) = read_jsonl(file) else { return };
        let mut judge = Judge::new(file);
        for row in &rows {
            judge.row(row["scenario"].as_str().unwrap(), |_| {
                let requests = row["requests"].as_array().unwrap();
                requests.iter().try_for_each(judge_request)
            });
        }
        judge.finish();
    }
}

fn judge_request(request: &Value) -> Result<(), String> {
    let body = if request["body"].is_null() { String::new() } else { request["body"].to_string() };
    let target = request["path"].as_str().unwrap();
    let method = request["method"].as_str().unwrap();
    let raw = RawRequest { method, target, headers: &[], body: body.as_bytes() };
    let chat = AiSdk.parse_request(&raw).map_err(|error| error.to_string())?;
    let sent = &request["body"];
    let expected = match (method, sent["trigger"].as_str()) {
        ("GET", _) => Action::Resume,
        (_, Some("regenerate-message")) => Action::Regenerate,
        _ => Action::Chat,
    };
    let mut problems = Vec::new();
    let mut expect = |what: &str, ours: Value, wanted: Value| {
        if ours != wanted {
            problems.push(format!("{what}: {ours} instead of {wanted}"));
        }
    };
    expect("action", json!(format!("{:?}", chat.action)), json!(format!("{expected:?}")));
    if method == "POST" {
        expect("session", json!(chat.session), sent["id"].clone());
        expect("message", json!(chat.message), sent["messageId"].clone());
        let messages = sent["messages"].as_array().cloned().unwrap_or_else(|| vec![sent["message"].clone()]);
        let ours: Vec<Value> = chat.messages.iter().map(ui_message::write).collect();
        expect(
            "messages",
            json!(ours.iter().map(essence).collect::<Vec<_>>()),
            messages.iter().map(essence).collect(),
        );
        let reserved = ["id", "messages", "message", "messageId", "trigger"];
        for (key, value) in
            sent.as_object().unwrap().iter().filter(|(key, _)| !reserved.contains(&key.as_str()))
        {
            expect(key, chat.context.get(key).cloned().unwrap_or_default(), value.clone());
        }
        let last = messages.last().filter(|last| last["role"] == "assistant");
        let parts = last.and_then(|last| last["parts"].as_array()).cloned().unwrap_or_default();
        let answered: Vec<Value> = parts
            .iter()
            .filter(|part| part["state"] == "approval-responded")
            .map(|part| {
                let (approval, call) = (&part["approval"], &part["toolCallId"]);
                json!([approval["id"], call, approval["approved"], approval["reason"], approval["signature"]])
            })
            .collect();
        let ours: Vec<Value> = chat
            .approvals
            .iter()
            .map(|given| json!([given.approval, given.call, given.approved, given.reason, given.signature]))
            .collect();
        expect("approvals", json!(ours), json!(answered));
        let given: Vec<Value> = parts
            .iter()
            .filter(|part| part["state"] == "output-available" || part["state"] == "output-error")
            .map(|part| json!([part["toolCallId"], part["output"], part["errorText"]]))
            .collect();
        let ours: Vec<Value> =
            chat.tool_results.iter().map(|given| json!([given.call, given.output, given.error])).collect();
        expect("tool results", json!(ours), json!(given));
    } else {
        let id = target.trim_start_matches("/api/chat/").trim_end_matches("/stream");
        let id = id.replace("%2F", "/").replace("%20", " ").replace("%3F", "?").replace("%C3%A9", "é");
        expect("session", json!(chat.session), json!(id));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// A message without the optional fields of text parts.
fn essence(message: &Value) -> Value {
    let mut message = message.clone();
    for part in message["parts"].as_array_mut().into_iter().flatten() {
        if let Some(part) = part.as_object_mut().filter(|part| part["type"] == "text") {
            part.remove("state");
        }
    }
    message
}

#[test]
fn server_streams_round_trip() {
    let file = "aisdk/server-emission.v7.jsonl";
    let Some(rows) = read_jsonl(file) else { return };
    let mut judge = Judge::new(file);
    for row in &rows {
        judge.row(row["scenario"].as_str().unwrap(), |_| {
            let body = row["sse"].as_str().unwrap().as_bytes();
            let ours = reduce_bytes("ai-sdk", Framing::Sse, &[body.to_vec()]);
            if let Some(error) = ours.decoded.fatal() {
                return Err(error.to_string());
            }
            // The model's stream was cut, and the server's with it, or its text was left open.
            let cut =
                matches!(row["scenario"].as_str(), Some("model-stream-breaks" | "model-ends-without-finish"));
            let findings = lint(&AiSdk, Framing::Sse, body);
            if cut == findings.is_empty() {
                return Err(format!("findings: {findings:?}"));
            }
            for profile in ["ai-7", "strict"] {
                let mut encoder =
                    Encoder::new(&AiSdk, &EncodeOptions::profile(AiSdk.profile(profile).unwrap()));
                ours.decoded.records.iter().for_each(|record| encoder.record(record));
                encoder.finish();
                let bytes = encoder.take();
                let findings = lint(&AiSdk, Framing::Sse, &bytes);
                if !findings.is_empty() {
                    return Err(format!("{profile}: {findings:?} in {}", String::from_utf8_lossy(&bytes)));
                }
                let again = reduce_bytes("ai-sdk", Framing::Sse, std::slice::from_ref(&bytes));
                // Chunks of version 7 are not sent to other clients.
                let list = if profile == "ai-7" { None } else { Some("text") };
                let (wanted, found) = (shown(&ours.state, list), shown(&again.state, list));
                if wanted != found {
                    let bytes = String::from_utf8_lossy(&bytes);
                    return Err(format!("{profile}:\n  wanted {wanted}\n  found  {found}\n{bytes}"));
                }
            }
            Ok(())
        });
    }
    judge.finish();
}

/// What a page shows of a state, or one list of it.
fn shown(state: &RunState, list: Option<&str>) -> Value {
    let shown = state.messages().iter().map(flat);
    shown.map(|message| list.map_or(message.clone(), |list| message[list].clone())).collect()
}

proptest! {
    #![proptest_config(crate::laws::cases())]

    /// For any order of events, the client accepts the stream.
    #[test]
    fn any_order_of_events_makes_a_valid_stream(records in runs::run().prop_map(Just).prop_flat_map(Strategy::prop_shuffle)) {
        let end = records.iter().position(|record| record.event.kind().ends_run());
        let records = &records[..end.map_or(records.len(), |end| end + 1)];
        for profile in ["strict", "ai-7"] {
            let mut encoder = Encoder::new(&AiSdk, &EncodeOptions::profile(AiSdk.profile(profile).unwrap()));
            records.iter().for_each(|record| encoder.record(record));
            encoder.finish();
            let bytes = encoder.take();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let findings = lint(&AiSdk, Framing::Sse, &bytes);
            prop_assert!(findings.is_empty(), "{profile}: {findings:?}\n{text}");
            let again = reduce_bytes("ai-sdk", Framing::Sse, &[bytes]);
            prop_assert!(again.decoded.errors.is_empty(), "{profile}: {:?}\n{text}", again.decoded.errors);
        }
    }
}

#[test]
fn history_passes_the_validator() {
    let mut message = Message::text("m1", Role::Assistant, "See there.");
    message.parts.push(Part::SourceDocument(SourcePart { source: "s1".into(), ..SourcePart::default() }));
    let named = SourcePart {
        source: "s2".into(),
        filename: Some("a.pdf".into()),
        media_type: Some("application/pdf".into()),
        ..SourcePart::default()
    };
    message.parts.push(Part::SourceDocument(named));
    let mut call = ToolPart::new("c1", "search");
    call.state = ToolState::OutputAvailable;
    message.parts.push(Part::Tool(Box::new(call)));
    let written = ui_message::write(&message);
    let call = written["parts"][3].as_object().unwrap();
    assert!(call.contains_key("input") && call.contains_key("output"), "{call:?}");
    assert_eq!(
        (&written["parts"][1]["mediaType"], &written["parts"][1]["title"]),
        (&json!("text/plain"), &json!("s1"))
    );
    let named = &written["parts"][2];
    assert_eq!((&named["mediaType"], &named["title"]), (&json!("application/pdf"), &json!("a.pdf")));
}
