//! The `ag_ui` dialect against recordings of its real clients.

use base64::{Engine, engine::general_purpose::STANDARD};
use headwater_dialects::{Action, DecodeOutput, Decoder, RawRequest, RequestCursor, lint};
use headwater_protocol::{ErrorKind, Event, Frame, Framing, Message, Part, Record, Role, RunState};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::vectors::{Judge, read_folder, read_jsonl, read_lines, replace_lone_surrogates};

/// A client's state before and after a run.
struct Page {
    messages: Vec<Message>,
    state: Option<Value>,
}

impl Page {
    fn new(messages: &Value, state: &Value) -> Self {
        Self { messages: parse_messages(messages), state: Some(state.clone()) }
    }

    /// Adds a message; a tool message goes into the call that it answers.
    fn add(&mut self, message: Message) {
        if let [Part::Tool(answer)] = message.parts.as_slice() {
            for part in self.messages.iter_mut().flat_map(|message| &mut message.parts) {
                if let Part::Tool(tool) = part
                    && tool.call == answer.call
                {
                    tool.output.clone_from(&answer.output);
                    return;
                }
            }
        }
        self.messages.push(message);
    }

    /// Applies the events of one response.
    fn read<'a>(&mut self, events: impl Iterator<Item = &'a str>) -> DecodeOutput {
        let dialect = headwater_dialects::reader("ag-ui").unwrap();
        let mut state = RunState::with_rules(dialect.rules()).with_messages(self.messages.clone());
        if let Some(shared) = self.state.take() {
            let event = Event::StateSnapshot { state: shared };
            state.apply(&Record::new(0, event)).unwrap();
        }
        let mut decoder = Decoder::new(dialect, Framing::Ndjson).with_messages(&self.messages);
        let mut decoded = DecodeOutput::default();
        for (index, data) in events.enumerate() {
            let frame = Frame { event: None, id: None, data, offset: 0, index: index as u64 };
            decoder.frame(&frame, &mut decoded);
            if decoder.is_dead() {
                break;
            }
        }
        for record in &decoded.records {
            // A patch that does not apply changes nothing, in the client as here.
            let _ = state.apply(record);
        }
        self.messages = state.messages().to_vec();
        self.state = state.shared_state().cloned();
        decoded
    }
}

fn parse_messages(messages: &Value) -> Vec<Message> {
    let body = json!({ "threadId": "t", "runId": "r", "messages": messages }).to_string();
    let request = RawRequest::post("/agent", body.as_bytes());
    headwater_dialects::find("ag-ui").unwrap().parse_request(&request).unwrap().messages
}

/// The client's messages in the form for comparison: results are with their calls, the last one counts.
fn theirs(messages: &Value) -> Vec<Value> {
    let messages = messages.as_array().unwrap();
    let call_of = |message: &Value| message["toolCallId"].clone();
    let calls: Vec<Value> = messages
        .iter()
        .flat_map(|message| message["toolCalls"].as_array().cloned().unwrap_or_default())
        .map(|call| call["id"].clone())
        .collect();
    let mut out = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap();
        let mut value = json!({ "id": message["id"], "role": role });
        if role == "tool" {
            if !calls.contains(&call_of(message)) {
                value["result"] = message["content"].clone();
                out.push(value);
            }
            continue;
        }
        if role == "activity" {
            value["activity"] = json!([message["activityType"], message["content"]]);
        } else {
            value["text"] = json!(content(&message["content"]));
        }
        let tools: Vec<_> = message["toolCalls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| {
                let mut answers = messages.iter().filter(|other| other["role"] == "tool");
                let answer = answers.rfind(|other| call_of(other) == call["id"]);
                let result = answer.map_or(Value::Null, |answer| answer["content"].clone());
                json!([
                    call["id"],
                    call["function"]["name"],
                    args(call["function"]["arguments"].as_str().unwrap()),
                    result
                ])
            })
            .collect();
        value["tools"] = json!(tools);
        out.push(value);
    }
    out
}

fn content(content: &Value) -> String {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    // Half a surrogate pair: JavaScript keeps it, but it cannot be printed.
    text.replace('\u{fffd}', "")
}

fn args(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn ours(messages: &[Message]) -> Vec<Value> {
    // A question is an interrupt there, and has no message.
    let asks = |message: &&Message| {
        !message.parts.is_empty() && message.parts.iter().all(|part| matches!(part, Part::Question(_)))
    };
    messages
        .iter()
        .filter(|message| !asks(message))
        .map(|message| {
            let mut value = json!({ "id": message.id, "role": message.role });
            let (mut text, mut tools) = (String::new(), Vec::new());
            for part in &message.parts {
                match part {
                    Part::Text(part) | Part::Reasoning(part) => text.push_str(&part.text),
                    Part::Tool(tool) if message.role == Role::Tool => value["result"] = json!(tool.output),
                    Part::Tool(tool) => {
                        let input = tool.input.clone().unwrap_or_else(|| args(&tool.input_text));
                        tools.push(json!([tool.call, tool.name, input, tool.output]));
                    }
                    Part::Data(data) => value["activity"] = json!([data.name, data.data]),
                    _ => {}
                }
            }
            if !matches!(message.role, Role::Tool | Role::Activity) {
                value["text"] = json!(text.replace('\u{fffd}', ""));
            }
            if message.role != Role::Tool {
                value["tools"] = json!(tools);
            }
            value
        })
        .collect()
}

/// Generated ids are random there and counted here.
fn is_minted(messages: &Value) -> bool {
    messages.to_string().contains("<uuid-")
}

fn compare_messages(expected: &Value, page: &Page) -> Result<(), String> {
    let (mut theirs, mut ours) = (theirs(expected), ours(&page.messages));
    if is_minted(expected) {
        theirs.iter_mut().chain(&mut ours).for_each(|message| message["id"] = Value::Null);
    }
    if theirs == ours { Ok(()) } else { Err(format!("messages\n  theirs {theirs:?}\n  ours   {ours:?}")) }
}

/// Whether the client rejected the stream. It validates its input; the decoder reads on, so their final
/// states cannot be compared.
fn gave_up(row: &Value) -> bool {
    matches!(row["errorKind"].as_str(), Some("schema" | "verify" | "chunk" | "frame" | "json"))
}

fn compare_error(decoded: &DecodeOutput) -> Result<(), String> {
    decoded.fatal().map_or(Ok(()), |fatal| Err(format!("we give up, they do not: {fatal}")))
}

#[test]
fn runs_build_the_same_messages_as_the_client() {
    #[derive(Deserialize)]
    struct Raw<'a> {
        #[serde(borrow, default)]
        events: Vec<&'a RawValue>,
    }
    let Some(lines) = read_lines("agui/run.jsonl") else { return };
    let mut judge = Judge::new("agui/run.jsonl");
    for line in &lines {
        let row: Value = serde_json::from_str(&replace_lone_surrogates(line)).unwrap();
        let name = row["name"].as_str().unwrap();
        if judge.is_out_of_scope(name) {
            continue;
        }
        let raw: Raw<'_> = serde_json::from_str(line).unwrap();
        let events: Vec<_> = raw.events.iter().map(|event| event.get()).collect();
        judge.row(name, |_| {
            let mut page = Page::new(&row["input"]["messages"], &row["input"]["state"]);
            if let Some(runs) = row["runs"].as_array() {
                return runs.iter().try_for_each(|run| one_of_several(&mut page, run));
            }
            let decoded = page.read(events.iter().copied());
            if gave_up(&row) {
                return Ok(());
            }
            compare_error(&decoded)?;
            compare_messages(&row["messages"], &page)?;
            compare_state(&row["state"], &page)
        });
    }
    judge.finish();
}

fn compare_state(expected: &Value, page: &Page) -> Result<(), String> {
    let ours = page.state.clone().unwrap_or(Value::Null);
    if *expected == ours { Ok(()) } else { Err(format!("state: theirs {expected}, ours {ours}")) }
}

/// One of several calls of `runAgent`. Calls that the client refuses before sending are skipped.
fn one_of_several(page: &mut Page, run: &Value) -> Result<(), String> {
    if let Some(more) = run.get("addMessages") {
        for message in parse_messages(more) {
            page.add(message);
        }
    }
    if run["request"].is_null() {
        return Ok(());
    }
    let events: Vec<_> = run["events"].as_array().unwrap().iter().map(Value::to_string).collect();
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let decoded = page.read(events.iter().copied());
    if gave_up(run) {
        return Ok(());
    }
    compare_error(&decoded)?;
    compare_messages(&run["messages"], page)?;
    compare_state(&run["state"], page)?;
    let waits = |event: &Event| matches!(event, Event::RunWaiting(_));
    let pending = run["pendingInterrupts"].as_array().is_some_and(|pending| !pending.is_empty());
    let asked = events.iter().any(|event| event.contains("\"interrupt\""));
    if pending && asked && !decoded.records.iter().any(|record| waits(&record.event)) {
        return Err("they wait for an answer, we do not".to_owned());
    }
    Ok(())
}

#[test]
fn events_accepted_by_the_client_are_decoded() {
    let Some(rows) = read_jsonl("agui/schema.jsonl") else { return };
    let mut judge = Judge::new("agui/schema.jsonl");
    let dialect = headwater_dialects::reader("ag-ui").unwrap();
    // Events that the client rejects are not compared: our decoder reads as much as it can.
    for row in rows {
        judge.row(row["name"].as_str().unwrap(), |_| {
            let mut decoder = Decoder::new(dialect, Framing::Sse);
            let mut decoded = DecodeOutput::default();
            decoder.feed(format!("data: {}\n\n", row["event"]).as_bytes(), &mut decoded);
            let unread =
                |kind: ErrorKind| matches!(kind, ErrorKind::Field | ErrorKind::Json | ErrorKind::UnknownType);
            match decoded.errors.iter().find(|error| unread(error.kind())) {
                Some(error) if row["accepted"] == true => Err(format!("we refuse it: {error}")),
                _ => Ok(()),
            }
        });
    }
    judge.finish();
}

#[test]
fn bytes_are_split_into_events_like_in_the_client() {
    let Some(rows) = read_jsonl("agui/sse.jsonl") else { return };
    let mut judge = Judge::new("agui/sse.jsonl");
    let dialect = headwater_dialects::reader("ag-ui").unwrap();
    for row in rows {
        judge.row(row["name"].as_str().unwrap(), |_| {
            let pieces = row["pieces"].as_array().unwrap().iter();
            let pieces: Vec<_> =
                pieces.map(|piece| STANDARD.decode(piece.as_str().unwrap()).unwrap()).collect();
            let mut decoder = Decoder::new(dialect, Framing::Sse);
            let mut decoded = DecodeOutput::default();
            pieces.iter().for_each(|piece| decoder.feed(piece, &mut decoded));
            decoder.finish(&mut decoded);
            let delivered = row["run"]["delivered"].as_array().unwrap().len();
            match row["run"]["error"].as_str() {
                None if decoded.fatal().is_some() => Err(format!("we give up: {:?}", decoded.errors)),
                None if decoded.records.len() != delivered => {
                    Err(format!("they deliver {delivered} events, we {:?}", decoded.records))
                }
                None => Ok(()),
                Some(_) if decoded.fatal().is_some() => Ok(()),
                Some(error) => {
                    let found = lint(dialect, Framing::Sse, &pieces.concat());
                    let named = found.iter().any(|finding| finding.rule != "terminal");
                    if named { Ok(()) } else { Err(format!("they give up, we say nothing: {error}")) }
                }
            }
        });
    }
    judge.finish();
}

/// A recorded request and the expected result of parsing.
fn compare_request(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<(), String> {
    let request = RawRequest { method, target, headers, body };
    let read = headwater_dialects::find("ag-ui").unwrap().parse_request(&request);
    let invalid = String::from_utf8_lossy(body).contains(r#""content":5"#);
    if method == "GET" && !target.contains('?') || invalid {
        // A redirect that lost its body, and a message that its client does not check.
        return read.err().map(drop).ok_or_else(|| "it should be refused".to_owned());
    }
    let chat = read.map_err(|error| error.to_string())?;
    let must = |what: &str, holds: bool| if holds { Ok(()) } else { Err(format!("{what}: {chat:?}")) };
    if method == "GET" {
        let joins = target.contains("offset=-1");
        must(
            "joins",
            !joins || (chat.action == Action::Resume && chat.cursor == Some(RequestCursor::Start)),
        )?;
        return must(
            "asks",
            joins || (chat.action == Action::Hydrate && chat.session.is_some() && !chat.stream),
        );
    }
    let body: Value = serde_json::from_slice(body).unwrap();
    let text = |key: &str| body[key].as_str();
    must("session", chat.session.as_ref().map(headwater_protocol::SessionId::as_str) == text("threadId"))?;
    must("run", chat.run.as_ref().map(headwater_protocol::RunId::as_str) == text("runId"))?;
    must("parent", chat.parent_run.as_ref().map(headwater_protocol::RunId::as_str) == text("parentRunId"))?;
    let tanstack = request.header("x-run-id").map(|_| "tanstack");
    must("profile", chat.profile.map(|profile| profile.name) == text("protocolVersion").or(tanstack))?;
    must("state", chat.state.as_ref() == body.get("state").filter(|state| !state.is_null()))?;
    must("tools", chat.tools.len() == body["tools"].as_array().map_or(0, Vec::len))?;
    let cursor = request.header("last-event-id").map(|id| RequestCursor::EventId(id.to_owned()));
    must("cursor", chat.cursor == cursor && (cursor.is_none() || chat.action == Action::Resume))?;
    let empty = Vec::new();
    let resume = body["resume"].as_array().unwrap_or(&empty);
    must(
        "answers",
        chat.answers.len() == resume.len() && (resume.is_empty() || chat.action == Action::Answer),
    )?;
    for (answer, entry) in chat.answers.iter().zip(resume) {
        let payload = entry.get("payload").filter(|payload| !payload.is_null());
        must(
            "answer",
            answer.request == *entry["interruptId"].as_str().unwrap() && answer.answer.as_ref() == payload,
        )?;
        must("cancelled", answer.cancelled == (entry["status"] == "cancelled"))?;
    }
    let messages = body["messages"].as_array().unwrap();
    let owed = messages.iter().rev().take_while(|message| message["role"] == "tool").count();
    must("owed", chat.tool_results.len() + chat.approvals.len() >= owed)?;
    let decided = body["messages"].to_string().contains("pendingExecution");
    must(
        "decided",
        !decided || chat.approvals.iter().any(|answer| answer.approved && answer.call.is_some()),
    )?;
    // The texts of decisions are not outputs.
    let mut theirs = theirs(&body["messages"]);
    if !chat.approvals.is_empty() {
        theirs.iter_mut().flat_map(|message| message["tools"].as_array_mut().into_iter().flatten()).for_each(
            |tool| {
                if tool[3].to_string().contains("approved") {
                    tool[3] = Value::Null;
                }
            },
        );
    }
    // An old part of a message is parsed as a file.
    let ours = ours(&chat.messages);
    must(&format!("messages {theirs:?}"), theirs == ours)
}

#[test]
fn http_agent_requests_are_parsed() {
    let Some(rows) = read_jsonl("agui/http.jsonl") else { return };
    let mut judge = Judge::new("agui/http.jsonl");
    for row in rows {
        let name = format!("{} {}", row["name"].as_str().unwrap(), row["version"].as_str().unwrap());
        judge.row(&name, |_| {
            row["requests"].as_array().unwrap().iter().try_for_each(|request| {
                let headers = request["headers"].as_array().unwrap().iter();
                let headers: Vec<_> =
                    headers.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect();
                let body = match &request["body"] {
                    Value::String(text) => text.clone(),
                    json => json.to_string(),
                };
                let target = request["path"].as_str().unwrap();
                compare_request(request["method"].as_str().unwrap(), target, &headers, body.as_bytes())
            })
        });
    }
    judge.finish();
}

#[test]
fn current_tanstack_requests_are_parsed() {
    let Some(rows) = read_jsonl("tanstack/newest-http.jsonl") else { return };
    let mut judge = Judge::new("tanstack/newest-http.jsonl");
    for row in rows {
        judge.row(row["name"].as_str().unwrap(), |_| {
            row["requests"].as_array().unwrap().iter().try_for_each(|request| {
                let headers: Vec<_> = request["rawHeaders"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|text| text.as_str().unwrap())
                    .collect();
                let headers: Vec<_> = headers.chunks(2).map(|pair| (pair[0], pair[1])).collect();
                let body = request["rawBody"].as_str().unwrap_or_default();
                let target = request["url"].as_str().unwrap();
                compare_request(request["method"].as_str().unwrap(), target, &headers, body.as_bytes())
            })
        });
    }
    judge.finish();
}

/// The requirements of the specification's own corpus: messages, state, and whether the client accepts the
/// stream.
fn compare_fixture(fixture: &Value) -> Result<(), String> {
    let expect = &fixture["expect"];
    let events: Vec<_> = fixture["stream"].as_array().unwrap().iter().map(Value::to_string).collect();
    let refused = expect["outcome"] == "failed";
    if refused || fixture["source"].as_str().is_some_and(|source| source.contains("draft")) {
        // Ownership of subagent events and consistency of chunks are left to the client.
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let found = lint(headwater_dialects::reader("ag-ui").unwrap(), Framing::Sse, body.as_bytes());
        let left = found.is_empty() && !body.contains("subagent") && !body.contains("_CHUNK");
        return if left { Err("the linter finds nothing".to_owned()) } else { Ok(()) };
    }
    let empty = json!([]);
    let input = fixture.get("input").and_then(|input| input.get("messages")).unwrap_or(&empty);
    let mut page = Page::new(input, &json!({}));
    let decoded = page.read(events.iter().map(String::as_str));
    compare_error(&decoded)?;
    if let Some(expected) = expect.get("state") {
        compare_state(expected, &page)?;
    }
    let Some(expected) = expect.get("messages") else { return Ok(()) };
    let (mut theirs, ours) = (theirs(expected), ours(&page.messages));
    // A result is with its call, even if the corpus does not repeat the call.
    theirs.retain(|message| {
        let held = ours.iter().any(|ours| ours["id"] == message["id"]);
        let results = || ours.iter().flat_map(|ours| ours["tools"].as_array().into_iter().flatten());
        held || message["role"] != "tool" || !results().any(|tool| tool[3] == message["result"])
    });
    for (theirs, ours) in theirs.iter().zip(&ours) {
        for (key, value) in theirs.as_object().unwrap() {
            if *value != Value::Null && *value != json!([]) && *value != json!("") && ours[key] != *value {
                return Err(format!("{key}: expected {value}, not {}", ours[key]));
            }
        }
    }
    if theirs.len() == ours.len() { Ok(()) } else { Err(format!("expected {theirs:?}, not {ours:?}")) }
}

#[test]
fn specification_streams_are_decoded_as_specified() {
    let mut complaints = String::new();
    for folder in ["streams", "extra"] {
        let Some(files) = read_folder(&format!("ag-ui-conformance/{folder}")) else { return };
        println!("fixtures: ag-ui-conformance/{folder} {} files", files.len());
        for (name, fixture) in files {
            if let Err(problem) = compare_fixture(&fixture) {
                complaints.push_str(&format!("{folder}/{name}: {problem}\n"));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}
