//! `headwater reduce`: the final state of a stream.

use serde_json::{Value, json};

use crate::run::{DIALECTS, example, headwater, read_example};

fn reduce(name: &str) -> Value {
    let ran = headwater(&["reduce", &example(name)], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 1, "one object on one line");
    ran.json()
}

#[test]
fn kortyx() {
    assert_eq!(
        reduce("kortyx.sse"),
        json!({
            "messages": [{
                "id": "message-1", "role": "assistant", "status": "sent",
                "parts": [
                    {"type": "tool-search_issues", "toolName": "search_issues", "toolCallId": "call_1",
                     "state": "output-available", "input": {"query": "open payment bugs"},
                     "output": "[{\"title\":\"Payment failure\"}]",
                     "structuredContent": {"results": [{"title": "Payment failure"}]}},
                    {"type": "text", "state": "done",
                     "text": "There is one open payment bug. Here is a note to the team."},
                ],
            }],
            "structured": {"run_123": {
                "streamId": "run_123", "dataType": "email.compose", "status": "done", "node": "planner",
                "id": "compose-email", "schemaId": "email-compose", "schemaVersion": "1",
                "data": {"subject": "Beta access is open", "body": "Hi team,\n\nBeta access is open.",
                         "bullets": ["Faster setup", "Live streaming UI"]},
            }},
            "run": {"status": "finished", "sessionId": "session_42"},
        })
    );
}

#[test]
fn kortyx_that_waits_for_an_answer() {
    let state = reduce("kortyx-interrupt.sse");
    assert_eq!(state["run"]["status"], "waiting");
    assert_eq!(state["interrupts"][0]["request"], "req_1");
    assert_eq!(state["interrupts"][0]["question"], "Send this draft?");
    assert_eq!(state["structured"]["email_7"]["data"]["meta"], json!({"tone": "friendly"}));
    let states: Vec<_> = state["messages"][0]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["type"].as_str().unwrap(), part["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("text", "done"),
            ("tool-read_plan", "output-error"),
            ("tool-read_plan", "output-available"),
            ("text", "done"),
        ]
    );
}

#[test]
fn agents() {
    assert_eq!(
        reduce("agents.sse"),
        json!({
            "messages": [{
                "id": "msg_1", "role": "assistant", "status": "sent",
                "parts": [
                    {"type": "text", "text": "Got it. Let me check that.", "state": "done"},
                    {"type": "tool-webSearchBusiness", "toolName": "webSearchBusiness", "toolCallId": "tool_1",
                     "state": "output-available", "input": {"query": "Smith Masonry Denver"},
                     "output": {"results": [
                         {"name": "Smith Masonry", "city": "Denver", "url": "https://example.com"}]}},
                    {"type": "source-url", "sourceId": "src_1", "url": "https://example.com", "title": "Example"},
                    {"type": "text", "text": "Smith Masonry is in Denver.", "state": "done"},
                ],
            }],
            "structured": {},
            "run": {"status": "finished", "runId": "run_1", "sessionId": "session_1", "finishReason": "stop",
                    "usage": {"inputTokens": 1234, "outputTokens": 456}},
        })
    );
}

#[test]
fn tanstack() {
    let expected = json!({
        "messages": [{
            "id": "msg-chunk_1", "role": "assistant", "status": "sent",
            "parts": [
                {"type": "reasoning", "text": "The user asks for the weather.", "state": "done"},
                {"type": "text", "text": "Let me look.", "state": "done"},
                {"type": "tool-get_weather", "toolName": "get_weather", "toolCallId": "call_xyz789",
                 "state": "output-available", "input": {"location": "San Francisco"},
                 "output": "{\"temperature\": 72, \"condition\": \"sunny\"}"},
                {"type": "text", "text": "It is sunny and 72 °F.", "state": "done"},
            ],
        }],
        "structured": {},
        "run": {"status": "finished", "finishReason": "stop",
                "usage": {"inputTokens": 150, "outputTokens": 75, "totalTokens": 225}},
    });
    assert_eq!(reduce("tanstack.sse"), expected);
    assert_eq!(reduce("tanstack.ndjson"), expected);
}

#[test]
fn mui() {
    let expected = json!({
        "messages": [{
            "id": "msg_1", "role": "assistant", "status": "sent", "metadata": {"model": "gpt-5.1"},
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "A search will show.", "state": "done"},
                {"type": "tool-search", "toolName": "search", "toolCallId": "call_1", "state": "output-available",
                 "input": {"query": "streaming"},
                 "output": {"hits": [{"title": "Core streaming", "url": "https://example.com/streaming"}]}},
                {"type": "source-url", "sourceId": "src_1", "url": "https://example.com/streaming",
                 "title": "Core streaming"},
                {"type": "step-start"},
                {"type": "text", "state": "done",
                 "text": "Every stream begins with start and ends with finish or abort."},
                {"type": "data-citations", "id": "c1", "data": {"sources": ["src_1"]}},
            ],
        }],
        "structured": {},
        "run": {"status": "finished", "finishReason": "stop"},
    });
    assert_eq!(reduce("mui.sse"), expected);
    assert_eq!(reduce("mui.ndjson"), expected);
}

#[test]
fn ai_sdk() {
    assert_eq!(
        reduce("ai-sdk.sse"),
        json!({
            "messages": [{
                "id": "msg_1", "role": "assistant", "status": "sent",
                "parts": [
                    {"type": "step-start"},
                    {"type": "reasoning", "text": "Weather needs a call.", "state": "done"},
                    {"type": "tool-getWeather", "toolName": "getWeather", "toolCallId": "call_1",
                     "state": "output-available", "input": {"city": "Zürich"},
                     "output": {"celsius": 21, "sky": "clear"}},
                    {"type": "step-start"},
                    {"type": "text", "text": "It is 21 °C and clear in Zürich. ☀️", "state": "done"},
                    {"type": "source-url", "sourceId": "src_1", "url": "https://example.com/weather",
                     "title": "Weather"},
                    {"type": "data-chart", "id": "chart_1", "data": {"series": [19, 20, 21]}},
                ],
            }],
            "structured": {},
            "run": {"status": "finished", "finishReason": "stop"},
        })
    );
}

#[test]
fn ag_ui() {
    assert_eq!(
        reduce("ag-ui.sse"),
        json!({
            "messages": [
                {"id": "reason_1", "role": "reasoning", "status": "sent",
                 "parts": [{"type": "reasoning", "text": "Two steps will do.", "state": "done"}]},
                {"id": "msg_1", "role": "assistant", "status": "sent",
                 "parts": [{"type": "tool-add_todo", "toolName": "add_todo", "toolCallId": "call_1",
                            "state": "output-available", "input": {"title": "Book a room"},
                            "output": "{\"id\":1}"}]},
                {"id": "msg_2", "role": "assistant", "status": "sent",
                 "parts": [{"type": "text", "text": "I added “Book a room” to your list.", "state": "done"}]},
            ],
            "structured": {},
            "run": {"status": "finished", "runId": "run_1", "sessionId": "thread_1",
                    "usage": {"inputTokens": 310, "outputTokens": 42}},
            "state": {"todos": [{"id": 1, "title": "Book a room"}]},
        })
    );
}

#[test]
fn lines_and_arrays_of_chunks_give_the_same_state_as_events() {
    for dialect in DIALECTS {
        let stream = String::from_utf8(read_example(&format!("{dialect}.sse"))).unwrap();
        let chunks: Vec<String> = stream.split("\n\n").filter_map(bare).collect();
        let expected = headwater(&["reduce", "--dialect", dialect], stream).json();
        let lines = chunks.join("\n");
        let array = format!("[{}]", chunks.join(","));
        let values: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
        let pretty = serde_json::to_string_pretty(&values).unwrap();
        for input in [lines, array, pretty] {
            let ran = headwater(&["reduce", "--dialect", dialect], input.as_str());
            assert_eq!(ran.json(), expected, "{dialect}: {input}");
        }
    }
}

/// The chunk of an SSE event; its event name becomes the chunk's type, unless it has one.
fn bare(block: &str) -> Option<String> {
    let data = block.lines().find_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]")?;
    let name = block.lines().find_map(|line| line.strip_prefix("event: "));
    Some(match name.filter(|_| !data.starts_with("{\"type\":")) {
        Some(name) => data.replacen('{', &format!("{{\"type\":\"{name}\","), 1),
        None => data.to_owned(),
    })
}

#[test]
fn every_dialect_is_recognised() {
    for dialect in DIALECTS {
        let ran = headwater(&["reduce", &example(&format!("{dialect}.sse"))], "");
        assert_eq!(ran.stderr, format!("note: recognised {dialect} over sse\n"));
    }
    for dialect in ["tanstack", "mui"] {
        let ran = headwater(&["reduce", "-"], read_example(&format!("{dialect}.ndjson")));
        assert_eq!(ran.stderr, format!("note: recognised {dialect} over ndjson\n"));
    }
    let ran = headwater(&["reduce"], read_example("kortyx.json"));
    assert_eq!(ran.stderr, "note: recognised kortyx over ndjson\n");
    assert_eq!(ran.json(), reduce("kortyx.sse"));
}

#[test]
fn stream_rejected_by_its_client_has_failed() {
    let ran = headwater(&["reduce", "--dialect", "ai-sdk", &example("broken/ai-sdk.sse")], "");
    assert_eq!(ran.code, Some(1));
    let run = &ran.json()["run"];
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("order")));
    assert!(run["error"]["message"].as_str().unwrap().starts_with("frame 2 at byte "), "{run}");
}

#[test]
fn pretty_output_has_the_same_content() {
    let ran = headwater(&["reduce", "--pretty", &example("kortyx.sse")], "");
    assert!(ran.stdout.starts_with("{\n  \"messages\": [\n"), "{}", ran.stdout);
    assert_eq!(ran.json(), reduce("kortyx.sse"));
}
