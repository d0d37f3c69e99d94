//! MUI X Chat: our decoder and reducer against recordings of its own client.

use headwater_dialects::{
    Decode as _, DecodeOutput, RawRequest, lint,
    mui::{MuiDecoder, UiMessage},
};
use headwater_protocol::{ErrorKind, Frame, FrameReader, Framing, Message, RunState};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    flat::{FlatState, reduce_bytes, reduce_chunks},
    vectors::{Judge, read_jsonl, read_lines},
};

const PROCESSOR: &str = "mui/processor.jsonl";
const PROVIDER: &str = "mui/provider.jsonl";

/// The raw chunks of a row, including halves of surrogate pairs.
#[derive(Deserialize)]
struct Chunks<'a> {
    #[serde(borrow)]
    chunks: Vec<&'a RawValue>,
}

#[test]
fn streams_build_the_same_messages_as_the_client() {
    let (Some(rows), Some(lines)) = (read_jsonl(PROCESSOR), read_lines(PROCESSOR)) else { return };
    let mut judge = Judge::new(PROCESSOR);
    for (row, line) in rows.iter().zip(&lines) {
        let name = row["name"].as_str().unwrap();
        if judge.is_out_of_scope(name) {
            continue;
        }
        let Chunks { chunks } = serde_json::from_str(line).unwrap();
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| wire(chunk.get())).collect();
        judge.row(name, |_| compare(row, &chunks));
    }
    judge.finish();
}

/// The recorder writes invalid JSON as an object of its own.
fn wire(chunk: &str) -> String {
    if chunk.starts_with(r#"{"$undefined""#) {
        return "null".to_owned();
    }
    // Bytes are an object without a type.
    if chunk.starts_with(r#"{"$bytes""#) { "{}".to_owned() } else { chunk.to_owned() }
}

fn compare(row: &Value, chunks: &[String]) -> Result<(), String> {
    let reduced = read(row, chunks);
    let reads_on = !row["end"].as_str().unwrap_or("close").starts_with("error");
    if row.get("thrown").is_some() && reads_on {
        // The trace has a line for each accepted chunk.
        let refused = row["trace"].as_array().map_or(0, Vec::len) as u64;
        if reduced.fatal_frame() != Some(refused) {
            return lint_names(refused, chunks);
        }
    }
    let expected = row["messages"].as_array().unwrap();
    let ours = reduced.state.messages();
    if ours.len() != expected.len() {
        return Err(format!("{} messages instead of {}", ours.len(), expected.len()));
    }
    let target = &row["result"]["messageId"];
    for (ours, expected) in ours.iter().zip(expected) {
        // A message that the stream left for another stays unfinished there; for us the run ends it.
        let is_target = target.is_null() || *target == expected["id"];
        let (ours, expected) = (of_ours(ours, is_target), of_theirs(expected, is_target));
        if ours != expected {
            return Err(format!("{ours}\ninstead of\n{expected}"));
        }
    }
    ends_alike(row, &reduced)
}

fn ends_alike(row: &Value, reduced: &FlatState) -> Result<(), String> {
    let Some(result) = row.get("result") else { return Ok(()) };
    let run = reduced.state.run();
    let reason = run.finish_reason.as_ref().map(|reason| reason.as_str().to_owned());
    let expected =
        result.get("finishReason").map(|reason| reason.as_str().map_or(reason.to_string(), str::to_owned));
    if reason != expected {
        return Err(format!("finish reason {reason:?} instead of {expected:?}"));
    }
    let cut = run.error.as_ref().is_some_and(|error| error.code.as_deref() == Some("cut"));
    let nothing_came = row["messages"].as_array().unwrap().is_empty() || result["status"] != "error";
    if cut != (result["isDisconnect"] == true) && !(cut && nothing_came) {
        return Err(format!("cut is {cut}"));
    }
    let gap = reduced.decoded.errors.iter().any(|error| error.kind() == ErrorKind::Cut);
    if gap && result["status"] == "sent" && !result["messageId"].is_string() {
        return Err("a gap in a stream that ended well".to_owned());
    }
    Ok(())
}

fn lint_names(refused: u64, chunks: &[String]) -> Result<(), String> {
    let stream = chunks.join("\n");
    let findings = lint(headwater_dialects::reader("mui").unwrap(), Framing::Ndjson, stream.as_bytes());
    if findings.iter().any(|finding| finding.frame == Some(refused)) {
        return Ok(());
    }
    Err(format!("frame {refused} is refused, and we say nothing: {findings:?}"))
}

fn read(row: &Value, chunks: &[String]) -> FlatState {
    let options = &row["options"];
    let rules = headwater_dialects::reader("mui").unwrap().rules();
    let state = RunState::with_rules(rules).with_messages(messages(&row["initialMessages"]));
    let Some(message) = options["messageId"].as_str() else {
        return reduce_chunks("mui", Some(state), chunks);
    };
    let seen = options["seenEventIds"].as_array().cloned().unwrap_or_default();
    let seen = seen.iter().filter_map(Value::as_str);
    let mut decoder =
        MuiDecoder::new().with_message(message).resume(options["reconnectFromSequence"].as_i64(), seen);
    follow(&mut decoder, state, chunks)
}

fn follow(decoder: &mut MuiDecoder, mut state: RunState, chunks: &[String]) -> FlatState {
    let mut decoded = DecodeOutput::default();
    for (index, data) in chunks.iter().enumerate() {
        if decoded.fatal().is_none() {
            let frame = Frame { event: None, id: None, data, offset: 0, index: index as u64 };
            decoder.frame(&frame, &mut decoded);
        }
    }
    if decoded.fatal().is_none() {
        decoder.end(&mut decoded);
    }
    decoded.records.iter().for_each(|record| drop(state.apply(record)));
    state.end_of_stream();
    FlatState { state, decoded }
}

fn streams(row: &Value, name: &str) -> Option<Vec<Vec<Value>>> {
    row["spec"][name].as_array()?.iter().map(|stream| stream.as_array().cloned()).collect()
}

#[test]
fn replies_build_the_same_messages_as_the_page() {
    let Some(rows) = read_jsonl(PROVIDER) else { return };
    let mut judge = Judge::new(PROVIDER);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        if judge.is_out_of_scope(name) {
            continue;
        }
        judge.row(name, |_| {
            let state = reply(row);
            let expected = row["messages"].as_array().unwrap().iter();
            let expected: Vec<_> = expected.filter(|message| message["role"] != "user").collect();
            if state.messages().len() != expected.len() {
                return Err(format!("{} messages instead of {}", state.messages().len(), expected.len()));
            }
            for (ours, expected) in state.messages().iter().zip(expected) {
                let minted = ["local-", "ai-sdk-msg-"]
                    .map(|prefix| expected["id"].as_str().unwrap().starts_with(prefix));
                let (mut ours, mut expected) = (of_ours(ours, true), of_theirs(expected, true));
                if minted.contains(&true) {
                    ours["id"] = Value::Null;
                    expected["id"] = Value::Null;
                }
                if ours != expected {
                    return Err(format!("{ours}\ninstead of\n{expected}"));
                }
            }
            Ok(())
        });
    }
    judge.finish();
}

fn reply(row: &Value) -> RunState {
    let stream = streams(row, "send").unwrap().remove(0);
    let bytes: Vec<_> = stream
        .iter()
        .filter_map(|item| item["$bytes"].as_str())
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let reconnects = row["spec"].get("reconnect").is_some();
    if row["spec"]["aiSdkAdapter"] == true && !reconnects {
        return reduce_bytes("mui", Framing::Sse, &bytes).state;
    }
    let mut reader = FrameReader::new(Framing::Sse);
    let mut chunks = Vec::new();
    if row["spec"]["aiSdkAdapter"] == true {
        reader.push(&bytes.concat(), |frame| chunks.push(frame.unwrap().data.to_owned()));
    } else {
        chunks = items(&stream);
    }
    let rules = headwater_dialects::reader("mui").unwrap().rules();
    let mut decoder = MuiDecoder::new();
    let first = follow(&mut decoder, RunState::with_rules(rules), &chunks);
    if first.decoded.fatal().is_some() {
        return first.state;
    }
    let network_error =
        stream.iter().any(|item| item["$end"].as_str().is_some_and(|end| end.starts_with("error")));
    let cut = first.state.run().error.as_ref().is_some_and(|error| error.code.as_deref() == Some("cut"));
    // The page only reconnects if the stream ended cleanly, too early, and with some content.
    let message = first.state.messages().last().map_or("local-1".into(), |message| message.id.clone());
    if !reconnects || network_error || !cut || first.decoded.records.is_empty() {
        return first.state;
    }
    let seen: Vec<_> = decoder.seen_event_ids().collect();
    let mut decoder = MuiDecoder::new().with_message(message).resume(decoder.next_sequence(), seen);
    follow(&mut decoder, first.state, &items(&streams(row, "reconnect").unwrap().remove(0))).state
}

/// The chunks of a scripted stream, without script commands.
fn items(stream: &[Value]) -> Vec<String> {
    let is_control =
        |item: &&Value| ["$end", "$wait", "$sleep", "$throw"].iter().all(|key| item.get(key).is_none());
    stream.iter().filter(is_control).map(|item| wire(&item.to_string())).collect()
}

/// The messages that the page had before, parsed like a request of our adapter.
fn messages(list: &Value) -> Vec<Message> {
    if list.is_null() {
        return Vec::new();
    }
    let body = json!({ "messages": list }).to_string();
    let request = RawRequest::post("/chat", body.as_bytes());
    headwater_dialects::find("mui").unwrap().parse_request(&request).unwrap().messages
}

fn of_ours(message: &Message, is_target: bool) -> Value {
    let mut value = serde_json::to_value(UiMessage(message)).unwrap();
    for part in value["parts"].as_array_mut().unwrap() {
        if let Some(call) = part.get_mut("toolInvocation") {
            // A request without an id is answered by the id of its call.
            if call["approvalId"] == call["toolCallId"] {
                call.as_object_mut().unwrap().remove("approvalId");
            }
        }
    }
    normal(value, is_target)
}

fn of_theirs(message: &Value, is_target: bool) -> Value {
    let mut message = message.clone();
    for key in ["createdAt", "conversationId"] {
        message.as_object_mut().unwrap().remove(key);
    }
    normal(message, is_target)
}

/// Absent there is empty here.
fn normal(mut message: Value, is_target: bool) -> Value {
    if !is_target {
        message.as_object_mut().unwrap().remove("status");
    }
    for part in message["parts"].as_array_mut().unwrap() {
        let is_text = matches!(part["type"].as_str(), Some("text" | "reasoning"));
        if is_text && (part["state"] == "done" || !is_target) {
            part.as_object_mut().unwrap().remove("state");
        }
        let is_tool = part.get("toolInvocation").is_some();
        let fields = if is_tool { &mut part["toolInvocation"] } else { part };
        fields.as_object_mut().unwrap().retain(|key, value| match key.as_str() {
            "toolName" | "url" | "mediaType" | "sourceId" | "errorText" => *value != "",
            "preliminary" | "transient" => *value != false,
            "data" => !value.is_null(),
            _ => true,
        });
    }
    message
}
