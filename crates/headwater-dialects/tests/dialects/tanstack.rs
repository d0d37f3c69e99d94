//! The `tanstack` dialect against recordings of its real clients.

use base64::{Engine, prelude::BASE64_STANDARD};
use headwater_dialects::{Action, DecodeOutput, Decoder, RawRequest, lint};
use headwater_protocol::{
    ApprovalAnswered, Event, Frame, FrameReader, Framing, MessageStarted, Record, Role, RunState, Tail,
    ToolOutput, ToolOutputError,
};
use serde_json::{Value, json};

use crate::{
    flat::flat,
    vectors::{Judge, read_jsonl, read_lines, replace_lone_surrogates},
};

/// A page: one conversation, and the response that is being read.
struct Page {
    state: RunState,
    decoder: Option<Decoder>,
    decoded: DecodeOutput,
    /// The frame at which the client would have failed.
    died_at: Option<u64>,
}

impl Page {
    fn new() -> Self {
        let dialect = headwater_dialects::reader("tanstack").unwrap();
        Self {
            state: RunState::with_rules(dialect.rules()),
            decoder: None,
            decoded: DecodeOutput::default(),
            died_at: None,
        }
    }

    fn start(&mut self, framing: Framing) {
        self.decoder = Some(Decoder::new(headwater_dialects::reader("tanstack").unwrap(), framing));
    }

    fn apply(&mut self, event: Event) {
        self.state.apply(&Record::new(0, event)).unwrap();
    }

    fn take(&mut self) {
        for record in self.decoded.records.drain(..) {
            self.state.apply(&record).unwrap();
        }
        if let Some(error) = self.decoded.errors.drain(..).find(headwater_protocol::Error::is_fatal) {
            self.died_at = error.place().map(|place| place.frame);
        }
    }

    fn chunk(&mut self, index: u64, data: &str) {
        let frame = Frame { event: None, id: None, data, offset: 0, index };
        self.decoder.as_mut().unwrap().frame(&frame, &mut self.decoded);
        self.take();
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.decoder.as_mut().unwrap().feed(bytes, &mut self.decoded);
        self.take();
    }

    fn finish(&mut self) {
        if let Some(mut decoder) = self.decoder.take() {
            decoder.finish(&mut self.decoded);
            self.take();
        }
    }

    fn user(&mut self, number: usize, text: &str) {
        let message = format!("user-{number}");
        self.apply(Event::MessageStarted(MessageStarted {
            message: message.as_str().into(),
            role: Role::User,
            ..Default::default()
        }));
        self.apply(Event::Message { content: text.to_owned() });
        self.apply(Event::MessageFinished { message: message.into() });
    }

    fn knows(&self, call: &str) -> bool {
        self.state.messages().iter().any(|message| message.tool(call).is_some())
    }

    fn answers(&self) -> Vec<Value> {
        let answers = self.state.messages().iter().filter(|message| message.role == Role::Assistant);
        answers.map(flat).map(without_open_inputs).filter(|answer| !is_empty(answer)).collect()
    }
}

/// The client shows an incomplete input as text, without a value.
fn without_open_inputs(mut answer: Value) -> Value {
    for tool in answer["tools"].as_array_mut().unwrap() {
        if tool["state"] == "input-streaming" {
            tool.as_object_mut().unwrap().remove("input");
        }
    }
    answer
}

fn is_empty(answer: &Value) -> bool {
    answer.as_object().unwrap().values().all(|list| list.as_array().unwrap().is_empty())
}

/// The client's messages in the form for comparison. Its tool-result parts are outputs of their calls.
fn vendor(messages: &Value) -> Vec<Value> {
    let mut answers: Vec<Value> = Vec::new();
    for message in messages.as_array().unwrap().iter().filter(|message| message["role"] == "assistant") {
        let mut answer =
            json!({ "text": [], "reasoning": [], "tools": [], "sources": [], "files": [], "data": [] });
        for part in message["parts"].as_array().unwrap() {
            match part["type"].as_str().unwrap() {
                "text" => answer["text"].as_array_mut().unwrap().push(part["content"].clone()),
                "thinking" => answer["reasoning"].as_array_mut().unwrap().push(part["content"].clone()),
                "tool-call" => {
                    let tools = answer["tools"].as_array_mut().unwrap();
                    match tools.iter_mut().find(|tool| tool["id"] == part["id"]) {
                        // Its output came first.
                        Some(early) => {
                            let (state, output) = (early["state"].take(), early["output"].take());
                            *early = tool(part);
                            early["state"] = state;
                            early["output"] = output;
                        }
                        None => tools.push(tool(part)),
                    }
                }
                "tool-result" => {
                    let id = part.get("toolCallId").cloned().unwrap_or(json!(""));
                    let earlier =
                        answers.iter_mut().flat_map(|answer| answer["tools"].as_array_mut().unwrap());
                    let known = answer["tools"].as_array_mut().unwrap().iter_mut().chain(earlier);
                    match known.into_iter().find(|tool| tool["id"] == id) {
                        Some(tool) => result(tool, part),
                        None => {
                            let mut tool = json!({ "id": id, "name": "" });
                            result(&mut tool, part);
                            answer["tools"].as_array_mut().unwrap().push(tool);
                        }
                    }
                }
                other => panic!("{other}"),
            }
        }
        answers.push(answer);
    }
    answers.retain(|answer| !is_empty(answer));
    answers
}

fn tool(part: &Value) -> Value {
    let state = match part["state"].as_str().unwrap() {
        "awaiting-input" | "input-streaming" => "input-streaming",
        "input-complete" => "input-available",
        other => other,
    };
    let mut tool = json!({ "id": part["id"], "name": part["name"], "state": state });
    let input = serde_json::from_str::<Value>(part["arguments"].as_str().unwrap()).ok();
    if let Some(input) = input.filter(|_| state != "input-streaming") {
        tool["input"] = input;
    }
    if let Some(output) = part.get("output") {
        tool["state"] = json!("output-available");
        tool["output"] = output.clone();
    }
    tool
}

fn result(tool: &mut Value, part: &Value) {
    if part["state"] == "error" {
        tool["state"] = json!("output-error");
        tool["error"] = part["error"].clone();
        tool.as_object_mut().unwrap().remove("output");
    } else {
        tool["state"] = json!("output-available");
        if tool.get("output").is_none() {
            tool["output"] = part.get("content").cloned().unwrap_or(Value::Null);
        }
    }
}

fn equal(ours: &[Value], theirs: &[Value]) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("\n  ours   {}\n  theirs {}", json!(ours), json!(theirs)))
}

/// The chunks for which the client prints `undefined` or `null`. We use their `content`, as documented by the
/// protocol, and the linter reports them.
fn prints_undefined(chunks: &[Value]) -> Vec<u64> {
    let indexes = chunks.iter().enumerate();
    let bad = indexes.filter(|(_, chunk)| chunk["type"] == "content" && chunk["delta"].is_null());
    bad.map(|(index, _)| index as u64).collect()
}

fn run_program(row: &Value, chunks: &[String]) -> Result<(), String> {
    let mut page = Page::new();
    let mut next = 0;
    for (number, op) in row["ops"].as_array().unwrap().iter().enumerate() {
        match op["op"].as_str().unwrap() {
            "user" => page.user(number, op["text"].as_str().unwrap()),
            "start" => page.start(Framing::Ndjson),
            "chunk" => {
                page.chunk(next, &chunks[usize::try_from(next).unwrap()]);
                next += 1;
            }
            "finalize" => page.finish(),
            "approval" => page.apply(Event::ApprovalAnswered(ApprovalAnswered {
                approval: op["id"].as_str().unwrap().into(),
                approved: op["approved"].as_bool().unwrap(),
                ..Default::default()
            })),
            "toolResult" if page.knows(op["id"].as_str().unwrap()) => {
                let call = op["id"].as_str().unwrap().into();
                page.apply(match op["error"].as_str() {
                    Some(error) => Event::ToolOutputError(ToolOutputError {
                        call,
                        error: error.to_owned(),
                        ..Default::default()
                    }),
                    None => Event::ToolOutput(ToolOutput::new(call, op["output"].clone())),
                });
            }
            "toolResult" => {}
            other => panic!("{other}"),
        }
        if page.died_at.is_some() {
            break;
        }
    }
    let ops = row["ops"].as_array().unwrap();
    let died_at = row["thrown"]["at"].as_u64().map(|at| {
        let before = ops.iter().take(usize::try_from(at).unwrap());
        before.filter(|op| op["op"] == "chunk").count() as u64
    });
    if page.died_at != died_at {
        return Err(format!("ours dies at {:?}, theirs at {died_at:?}", page.died_at));
    }
    equal(&page.answers(), &vendor(&row["messages"]))
}

#[test]
fn streams_build_the_same_messages_as_the_processor() {
    const FILE: &str = "tanstack/seed-processor.jsonl";
    let (Some(rows), Some(lines)) = (read_jsonl(FILE), read_lines(FILE)) else { return };
    let mut judge = Judge::new(FILE);
    for (row, line) in rows.iter().zip(lines) {
        // The raw chunks, including halves of surrogate pairs.
        #[derive(serde::Deserialize)]
        struct Row {
            chunks: Vec<Box<serde_json::value::RawValue>>,
        }
        let raw: Row = serde_json::from_str(&line).unwrap();
        let chunks: Vec<String> = raw.chunks.iter().map(|chunk| chunk.get().to_owned()).collect();
        let name = row["name"].as_str().unwrap();
        if judge.is_out_of_scope(name) {
            continue;
        }
        let by_lint = judge.is_named_by_lint(name);
        judge.row(name, |_| {
            if !by_lint {
                return run_program(row, &chunks);
            }
            let bad = prints_undefined(row["chunks"].as_array().unwrap());
            let stream = replace_lone_surrogates(&chunks.join("\n"));
            let found =
                lint(headwater_dialects::reader("tanstack").unwrap(), Framing::Ndjson, stream.as_bytes());
            let named = |frame: &u64| {
                found.iter().any(|finding| finding.rule == "delta" && finding.frame == Some(*frame))
            };
            if !bad.is_empty() && bad.iter().all(named) {
                Ok(())
            } else {
                Err(format!("the lint names {found:?}"))
            }
        });
    }
    judge.finish();
}

fn read_chunks(framing: Framing, row: &Value) -> (Vec<Value>, usize) {
    let mut reader = FrameReader::new(framing).with_tail(Tail::Deliver);
    let (mut chunks, mut skipped) = (Vec::new(), 0);
    let mut take = |frame: Result<Frame<'_>, headwater_protocol::FramingError>| {
        for line in frame.unwrap().data.split('\n').filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                _ if line == "[DONE]" => {}
                Ok(chunk) => chunks.push(chunk),
                Err(_) => skipped += 1,
            }
        }
    };
    for segment in row["segments_b64"].as_array().unwrap() {
        reader.push(&BASE64_STANDARD.decode(segment.as_str().unwrap()).unwrap(), &mut take);
    }
    reader.finish(&mut take);
    (chunks, skipped)
}

#[test]
fn bytes_are_split_into_chunks_like_in_the_client() {
    const FILE: &str = "tanstack/wire-decode.jsonl";
    let Some(rows) = read_jsonl(FILE) else { return };
    let mut judge = Judge::new(FILE);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        let framing = if row["kind"] == "sse" { Framing::Sse } else { Framing::Ndjson };
        let theirs = &row["seed_0_2_2"];
        let warned = !theirs["warnings"].as_array().unwrap().is_empty();
        let stream: Vec<u8> = row["segments_b64"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|segment| BASE64_STANDARD.decode(segment.as_str().unwrap()).unwrap())
            .collect();
        let found = lint(headwater_dialects::reader("tanstack").unwrap(), framing, &stream);
        let trips = found.iter().any(|finding| !matches!(finding.rule, "terminal" | "base-fields"));
        // The client splits at LF and expects `data: `; ours parses Server-Sent Events.
        let by_lines = judge.is_named_by_lint(name);
        judge.row(name, |_| {
            let (chunks, _) = read_chunks(framing, row);
            if warned && !trips {
                return Err(format!("the client warns and the lint does not: {found:?}"));
            }
            match by_lines {
                true if trips => Ok(()),
                true => Err("the lint names nothing".to_owned()),
                false => equal(&chunks, theirs["chunks"].as_array().unwrap()),
            }
        });
    }
    judge.finish();
}

fn run_scenario(row: &Value) -> Result<(), String> {
    let framing =
        if row["name"].as_str().unwrap().starts_with("sse/") { Framing::Sse } else { Framing::Ndjson };
    let mut page = Page::new();
    let mut length = 0;
    for request in row["requests"].as_array().unwrap() {
        let body = request["rawBody"].as_str().unwrap();
        check_request(request, body)?;
        let messages = request["body"]["messages"].as_array().map_or(0, Vec::len);
        if messages <= length {
            // The page removed its last answer and asks again.
            page = Page::new();
        }
        length = messages;
        for (number, message) in request["body"]["messages"].as_array().into_iter().flatten().enumerate() {
            // Outputs and approvals of the page are in the messages that it sends next.
            let call = message["toolCallId"].as_str().filter(|call| page.knows(call));
            if let Some(call) = call.filter(|_| message["role"] == "tool" && number > 0) {
                let content = message["content"].as_str().unwrap();
                page.apply(Event::ToolOutput(ToolOutput::new(call, json!(content))));
            }
        }
        page.start(framing);
        page.feed(request["response"]["text"].as_str().unwrap().as_bytes());
        page.finish();
    }
    let already = row["requests"][0]["body"]["messages"].as_array().into_iter().flatten();
    let already = already.filter(|message| message["role"] == "assistant").count();
    let mut theirs = vendor(&row["messages"]).split_off(already);
    let mut ours = page.answers();
    for (ours, theirs) in ours.iter_mut().zip(&mut theirs) {
        let pairs =
            ours["tools"].as_array_mut().unwrap().iter_mut().zip(theirs["tools"].as_array_mut().unwrap());
        pairs.for_each(|(ours, theirs)| leave_out_what_the_page_keeps(ours, theirs));
    }
    equal(&ours, &theirs)
}

/// Decisions and errors of client tools are not sent, and outputs are sent as text.
fn leave_out_what_the_page_keeps(ours: &mut Value, theirs: &mut Value) {
    if theirs["state"] == "approval-responded" && ours["state"] == "approval-requested" {
        theirs["state"] = json!("approval-requested");
    }
    if theirs["state"] == "output-error" && ours["output"] == "null" {
        *theirs = ours.clone();
    }
    for tool in [ours, theirs] {
        let parsed = tool["output"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(output) = parsed {
            tool["output"] = output;
        }
    }
}

fn check_request(request: &Value, body: &str) -> Result<(), String> {
    let headers: Vec<&str> =
        request["rawHeaders"].as_array().unwrap().iter().map(|header| header.as_str().unwrap()).collect();
    let headers: Vec<(&str, &str)> = headers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let raw = RawRequest {
        method: request["method"].as_str().unwrap(),
        target: request["url"].as_str().unwrap(),
        headers: &headers,
        body: body.as_bytes(),
    };
    let sent = &request["body"];
    let read = match headwater_dialects::find("tanstack").unwrap().parse_request(&raw) {
        Ok(read) => read,
        Err(_) if !sent["messages"].is_array() => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let messages = sent["messages"].as_array().unwrap();
    let mut problems = Vec::new();
    let mut check = |what: &str, holds: bool| {
        if !holds {
            problems.push(what.to_owned());
        }
    };
    check("action", read.action == Action::Chat);
    check(
        "session",
        read.session.as_ref().map(headwater_protocol::SessionId::as_str)
            == sent["data"]["conversationId"].as_str(),
    );
    let spoken = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
    let heard = |role: Role| read.messages.iter().filter(|message| message.role == role).count();
    check("users", spoken("user") == heard(Role::User));
    check("assistants", spoken("assistant") == heard(Role::Assistant));
    let texts = messages.iter().filter(|message| message["role"] != "tool");
    let texts: Vec<_> = texts.map(|message| message["content"].as_str().unwrap_or_default()).collect();
    check("texts", read.messages.iter().map(headwater_protocol::Message::plain_text).eq(texts));
    let at_the_end = messages.iter().rev().take_while(|message| message["role"] == "tool");
    let mut at_the_end: Vec<_> = at_the_end.map(|message| message["toolCallId"].as_str().unwrap()).collect();
    at_the_end.reverse();
    check("results", read.tool_results.iter().map(|result| result.call.as_str()).eq(at_the_end));
    let calls: usize =
        messages.iter().map(|message| message["toolCalls"].as_array().map_or(0, Vec::len)).sum();
    let parts = read.messages.iter().flat_map(|message| &message.parts);
    let tools = parts.filter(|part| matches!(part, headwater_protocol::Part::Tool(_))).count();
    check("calls", calls == tools);
    for (key, value) in
        sent.as_object().unwrap().iter().filter(|(key, _)| !matches!(key.as_str(), "messages" | "data"))
    {
        check(key, read.context.get(key) == Some(value));
    }
    for (key, value) in
        sent["data"].as_object().into_iter().flatten().filter(|(key, _)| *key != "conversationId")
    {
        check(key, read.context.get(key) == Some(value));
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{body}: {problems:?} of {read:?}")) }
}

#[test]
fn conversations_are_decoded_like_in_the_client() {
    const FILE: &str = "tanstack/seed-http.jsonl";
    let Some(rows) = read_jsonl(FILE) else { return };
    let mut judge = Judge::new(FILE);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        if judge.is_out_of_scope(name) {
            // The request is checked anyway.
            for request in row["requests"].as_array().unwrap() {
                check_request(request, request["rawBody"].as_str().unwrap()).unwrap();
            }
            continue;
        }
        judge.row(name, |_| run_scenario(row));
    }
    judge.finish();
}
