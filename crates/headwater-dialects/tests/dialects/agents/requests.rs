//! The requests of the contract's two endpoints, and errors of invalid ones.

use headwater_dialects::{Action, ChatRequest, RawRequest};
use headwater_protocol::{Error, Part, Role, ToolState};
use serde_json::{Value, json};

fn parse(target: &str, headers: &[(&str, &str)], body: &Value) -> Result<ChatRequest, Error> {
    let body = body.to_string();
    let request = RawRequest { method: "POST", target, headers, body: body.as_bytes() };
    headwater_dialects::find("agents").unwrap().parse_request(&request)
}

#[test]
fn chat_request_with_all_fields_is_parsed() {
    let body = json!({
        "messages": [
            { "id": "u1", "role": "user", "parts": [{ "type": "text", "text": "Find them" }] },
            {
                "id": "a1", "role": "assistant", "metadata": { "k": 1 },
                "parts": [
                    { "type": "step-start" },
                    { "type": "text", "text": "Here", "state": "done" },
                    { "type": "tool-search", "toolCallId": "c1", "state": "output-available",
                      "input": { "q": "x" }, "output": [1] },
                    { "type": "tool-pay", "toolCallId": "c2", "state": "approval-responded", "input": {},
                      "approval": { "id": "ap1", "approved": true, "reason": "fine" } },
                    { "type": "source-url", "sourceId": "s1", "url": "https://example.com", "title": "E" },
                    { "type": "chart", "points": [1, 2] },
                ],
            },
        ],
        "projectId": "p1", "sessionId": "s1", "toolChoice": "auto", "conversationId": "k1",
    });
    let chat =
        parse("/api/chat", &[("Idempotency-Key", "req_1"), ("X-Request-Id", "gateway_1")], &body).unwrap();
    assert_eq!(chat.action, Action::Chat);
    assert_eq!(chat.session.unwrap().as_str(), "s1");
    assert_eq!(chat.tool_choice, Some(json!("auto")));
    assert_eq!(chat.idempotency_key.as_deref(), Some("req_1"));
    assert_eq!(Value::Object(chat.context), json!({ "projectId": "p1", "conversationId": "k1" }));
    assert_eq!(chat.messages[0].role, Role::User);
    assert_eq!(chat.messages[0].plain_text(), "Find them");
    let answer = &chat.messages[1];
    assert_eq!(answer.metadata, Some(json!({ "k": 1 })));
    assert_eq!(answer.tool("c1").unwrap().state, ToolState::OutputAvailable);
    assert_eq!(answer.parts[5], Part::Other { value: json!({ "type": "chart", "points": [1, 2] }) });
    assert_eq!(chat.tool_results[0].output, Some(json!([1])));
    assert_eq!(chat.approvals[0].approval.as_str(), "ap1");
    assert!(chat.approvals[0].approved);
}

#[test]
fn onboarding_brings_its_business_as_context() {
    let body = json!({
        "messages": [{ "id": "u1", "role": "user", "content": "Hello" }],
        "selectedBusiness": { "name": "Smith Masonry" },
    });
    let chat = parse("/api/onboarding", &[], &body).unwrap();
    assert_eq!(chat.messages[0].plain_text(), "Hello");
    assert_eq!(Value::Object(chat.context), json!({ "selectedBusiness": { "name": "Smith Masonry" } }));
}

#[test]
fn answers_without_messages_answer_and_a_cursor_resumes() {
    let answers = json!({
        "runId": "run_1",
        "answers": [{ "request": "q1", "token": "t", "answer": "Denver" }],
        "approvals": [{ "approval": "ap1", "approved": false }],
    });
    let chat = parse("/api/chat", &[], &answers).unwrap();
    assert_eq!(chat.action, Action::Answer);
    assert_eq!(chat.answers[0].answer, Some(json!("Denver")));
    assert!(!chat.approvals[0].approved);

    let again = json!({ "messages": [{ "id": "u1", "role": "user", "parts": [] }] });
    let chat = parse("/api/chat", &[("last-event-id", "7")], &again).unwrap();
    assert_eq!(chat.action, Action::Resume);
}

#[test]
fn invalid_request_is_reported_with_its_path() {
    let with = |message: Value| json!({ "messages": [message] });
    let table = [
        (json!({}), "`messages` is missing or empty: send the conversation, the newest message last"),
        (json!([]), "`body` must be a JSON object, not an array"),
        (json!({ "messages": "hi" }), "`messages` must be an array of UI messages, not a string"),
        (with(json!(1)), "`messages[0]` must be an object, as in a UIMessage of the AI SDK"),
        (
            with(json!({ "role": "robot" })),
            "`messages[0].role` must be one of `system`, `user` and `assistant`, as in a UIMessage of the AI SDK",
        ),
        (
            with(json!({ "role": "user" })),
            "`messages[0].parts` must be an array, as in a UIMessage of the AI SDK",
        ),
        (
            with(json!({ "role": "user", "parts": [{ "type": "text", "text": 1 }] })),
            "`messages[0].parts[0].text` must be a string, as in a UIMessage of the AI SDK",
        ),
        (
            with(
                json!({ "role": "user", "parts": [{ "type": "tool-x", "toolCallId": "c", "state": "odd" }] }),
            ),
            "`messages[0].parts[0].state` must be a tool's state, as in a UIMessage of the AI SDK",
        ),
        (json!({ "messages": [], "sessionId": 7 }), "`sessionId` must be a string, not a number"),
    ];
    for (body, message) in table {
        assert_eq!(parse("/api/chat", &[], &body).unwrap_err().to_string(), message);
    }
    let broken = RawRequest::post("/api/chat", b"{");
    let error = headwater_dialects::find("agents").unwrap().parse_request(&broken).unwrap_err().to_string();
    assert!(error.starts_with("the body is not JSON"), "{error}");
}
