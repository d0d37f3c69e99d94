use headwater_protocol::{Part, Role, ToolState};
use serde_json::{Value, json};

use super::*;

fn post(body: &Value) -> Result<ChatRequest, Error> {
    parse(&RawRequest::post("/chat", body.to_string().as_bytes()))
}

#[test]
fn conversation_is_parsed_with_calls_and_outputs() {
    let chat = post(&json!({
        "messages": [
            { "role": "user", "content": "weather?" },
            { "role": "assistant", "content": "Let me see.", "toolCalls": [
                { "id": "c1", "type": "function", "function": { "name": "weather", "arguments": "{\"city\":\"Oslo\"}" } },
            ] },
            { "role": "tool", "content": "{\"celsius\":4}", "toolCallId": "c1" },
            { "role": "user", "content": [
                { "type": "text", "content": "And this?" },
                { "type": "image", "source": { "type": "data", "value": "AAAA" }, "metadata": { "media_type": "image/png" } },
            ] },
        ],
        "data": { "conversationId": "chat_1", "tenant": "a" },
        "model": "large",
    }))
    .unwrap();
    assert_eq!(chat.session.unwrap(), "chat_1");
    assert_eq!(Value::Object(chat.context), json!({ "tenant": "a", "model": "large" }));
    let roles: Vec<_> = chat.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    let tool = chat.messages[1].tool("c1").unwrap();
    assert_eq!((tool.state, &tool.input), (ToolState::OutputAvailable, &Some(json!({ "city": "Oslo" }))));
    assert_eq!(tool.output, Some(json!({ "celsius": 4 })));
    let Part::File(file) = &chat.messages[2].parts[1] else { panic!("a file") };
    assert_eq!(file.url, "data:image/png;base64,AAAA");
    assert!(chat.tool_results.is_empty(), "that output belongs to an earlier turn");
}

#[test]
fn outputs_at_the_end_are_new_results_or_answers() {
    let call = |id: &str, name: &str, arguments: &Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
    let chat = post(&json!({ "messages": [
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": null, "toolCalls": [
            call("c1", "pick", &json!({})), call("q1", "ask_user", &json!({ "question": "Where?" })),
        ] },
        { "role": "tool", "content": "red", "toolCallId": "c1" },
        { "role": "tool", "content": "{\"city\":\"Oslo\"}", "toolCallId": "q1" },
    ] }))
    .unwrap();
    assert_eq!(chat.action, Action::Chat);
    let results: Vec<_> =
        chat.tool_results.iter().map(|result| (result.call.as_str(), &result.output)).collect();
    assert_eq!(results, [("c1", &Some(json!("red"))), ("q1", &Some(json!({ "city": "Oslo" })))]);
}

#[test]
fn decision_is_parsed_alone_or_with_messages() {
    let alone =
        post(&json!({ "approvalId": "a1", "approved": false, "reason": "no", "runId": "run_1" })).unwrap();
    assert_eq!((alone.action, alone.run.unwrap().as_str()), (Action::Answer, "run_1"));
    assert!(!alone.approvals[0].approved);
    assert_eq!(alone.approvals[0].reason.as_deref(), Some("no"));

    let beside = post(&json!({ "messages": [], "approvals": [{ "id": "a1", "approved": true }] })).unwrap();
    assert_eq!(beside.action, Action::Chat);
    assert!(beside.approvals[0].approved && beside.context.is_empty());

    let answer = post(&json!({ "requestId": "q1", "token": "t", "answer": "Oslo" })).unwrap();
    assert_eq!(answer.answers[0].answer, Some(json!("Oslo")));
}

#[test]
fn overridden_fields_are_kept() {
    let chat = post(&json!({ "messages": [], "data": { "user": "a" }, "user": "b" })).unwrap();
    assert_eq!(Value::Object(chat.context), json!({ "user": "b", "data": { "user": "a" } }));
}

#[test]
fn invalid_request_is_reported_with_its_path() {
    let table = [
        (json!([]), "the body must be an object, not an array"),
        (json!({}), "`messages` is missing"),
        (json!({ "messages": "all" }), "`messages` must be a list, not a string"),
        (json!({ "messages": [1] }), "`messages[0]` must be an object, not a number"),
        (json!({ "messages": [{ "role": "robot", "content": "" }] }), "`messages[0].role` must be"),
        (json!({ "messages": [{ "role": "user", "content": 4 }] }), "`messages[0].content` must be a string"),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "smell" }] }] }),
            "`messages[0].content[0].type` must be",
        ),
        (json!({ "messages": [{ "role": "tool", "content": "" }] }), "`messages[0].toolCallId` is missing"),
        (
            json!({ "messages": [{ "role": "assistant", "toolCalls": [{}] }] }),
            "`messages[0].toolCalls[0]` must have",
        ),
        (json!({ "messages": [{ "role": "user", "parts": [] }] }), "use the ag-ui dialect"),
        (json!({ "threadId": "t", "forwardedProps": {}, "messages": [] }), "use the ag-ui dialect"),
        (json!({ "approved": true }), "`approvalId` must be"),
        (json!({ "approvalId": "a", "approved": "yes" }), "`approved` must be true or false"),
    ];
    for (body, problem) in table {
        let error = post(&body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Request);
        assert!(error.message().contains(problem), "{body}: {error}");
    }
    let error = parse(&RawRequest::post("/chat", b"{")).unwrap_err();
    assert!(error.message().starts_with("the body must be JSON"), "{error}");
}
