//! Parsing of requests.

use headwater_protocol::Error;
use serde_json::{Value, json};

use crate::{Action, Dialect as _, RawRequest, RequestCursor, ag_ui::AgUi};

fn parse(
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<crate::ChatRequest, Error> {
    let body = body.to_string();
    AgUi.parse_request(&RawRequest { method, target, headers, body: body.as_bytes() })
}

#[test]
fn request_fields_are_parsed() {
    let tool = |content: &str| {
        json!({ "threadId": "t", "runId": "r", "messages": [
            { "id": "u", "role": "user", "content": "hi" },
            { "id": "m", "role": "assistant", "toolCalls": [
                { "id": "c", "type": "function", "function": { "name": "pick", "arguments": "{}" } }] },
            { "id": "x", "role": "tool", "toolCallId": "c", "content": content },
        ] })
    };
    let result = parse("POST", "/", &[], &tool("\"blue\"")).unwrap();
    assert_eq!(result.action, Action::Answer);
    assert_eq!(result.tool_results[0].output, Some(json!("blue")));
    assert_eq!(result.messages[1].tool("c").unwrap().output, Some(json!("\"blue\"")));

    let refused =
        parse("POST", "/", &[], &tool(r#"{"approved":false,"message":"User denied this action"}"#)).unwrap();
    assert!(refused.tool_results.is_empty() && !refused.approvals[0].approved);
    assert_eq!(refused.messages[1].tool("c").unwrap().output, None);

    let again = parse("POST", "/", &[("Last-Event-ID", "7")], &tool("x")).unwrap();
    assert_eq!((again.action, again.cursor), (Action::Resume, Some(RequestCursor::EventId("7".into()))));

    let resume = json!({ "threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], "mode": "fast",
        "resume": [{ "interruptId": "i", "status": "resolved", "payload": { "approved": true } }] });
    let resume = parse("POST", "/", &[], &resume).unwrap();
    assert_eq!((resume.answers[0].request.as_str(), resume.approvals[0].approved), ("i", true));
    assert_eq!((resume.profile, &resume.context["mode"]), (Some(super::V1), &json!("fast")));

    let join = parse("GET", "/?offset=now&runId=r", &[], &Value::Null).unwrap();
    assert_eq!((join.action, join.cursor), (Action::Resume, Some(RequestCursor::Now)));

    let table = [
        (json!([]), "the body must be a JSON object: a RunAgentInput"),
        (json!({ "threadId": 5 }), "`threadId` must be a string, not a number"),
        (json!({ "threadId": "t" }), "`messages` is missing: send the whole conversation, or an empty list"),
        (
            json!({ "messages": [{ "id": "u", "role": "user", "content": 5 }] }),
            "`messages/0/content` must be a string or a list of parts",
        ),
    ];
    for (body, message) in table {
        assert_eq!(parse("POST", "/", &[], &body).unwrap_err().to_string(), message);
    }
}

#[test]
fn snake_case_keys_are_accepted() {
    let body = json!({
        "thread_id": "t", "run_id": "r", "parent_run_id": "p", "forwarded_props": { "user_id": "u" },
        "messages": [
            { "id": "u", "role": "user", "content": [{ "type": "image", "source": {
                "type": "url", "value": "https://example.org/a", "mime_type": "image/png" } }] },
            { "id": "m", "role": "assistant", "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "pick", "arguments": "{}" } }] },
            { "id": "x", "role": "tool", "tool_call_id": "c", "content": "\"blue\"" },
        ],
        "resume": [{ "interrupt_id": "i", "status": "resolved", "payload": "yes" }],
    });
    let chat = parse("POST", "/", &[], &body).unwrap();
    assert_eq!(chat.session.unwrap().as_str(), "t");
    assert_eq!(chat.run.unwrap().as_str(), "r");
    assert_eq!(chat.parent_run.unwrap().as_str(), "p");
    assert_eq!(Value::Object(chat.context), json!({ "forwardedProps": { "user_id": "u" } }));
    assert_eq!(chat.tool_results[0].call.as_str(), "c");
    assert_eq!(chat.messages[1].tool("c").unwrap().output, Some(json!("\"blue\"")));
    assert_eq!(chat.answers[0].request.as_str(), "i");
    let headwater_protocol::Part::File(file) = &chat.messages[0].parts[0] else { panic!() };
    assert_eq!(file.media_type, "image/png");
}

#[test]
fn tanstack_page_parts_are_parsed() {
    let call = |state: &str, more: Value| {
        let mut part = json!({ "type": "tool-call", "id": "c", "name": "pay", "arguments": "{\"sum\":5}", "state": state });
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    };
    let body = |assistant: Value| {
        json!({ "data": { "conversationId": "chat-1", "tenant": "t" }, "messages": [
            { "id": "u", "role": "user", "parts": [{ "type": "text", "content": "Pay " }, { "type": "text", "content": "it" }] },
            { "id": "a", "role": "assistant", "parts": assistant },
        ] })
    };
    let decided = json!({ "approval": { "id": "approval_c", "needsApproval": true, "approved": false } });
    let chat = parse("POST", "/", &[], &body(json!([call("approval-responded", decided.clone())]))).unwrap();
    assert_eq!((chat.action, chat.session.unwrap().as_str()), (Action::Answer, "chat-1"));
    assert_eq!(Value::Object(chat.context), json!({ "data": { "tenant": "t" } }));
    assert_eq!(chat.messages[0].plain_text(), "Pay it");
    assert_eq!(chat.messages[1].tool("c").unwrap().input, Some(json!({ "sum": 5 })));
    assert_eq!((chat.approvals[0].approval.as_str(), chat.approvals[0].approved), ("approval_c", false));

    let done = body(json!([
        { "type": "thinking", "content": "hm" },
        call("input-complete", json!({ "output": { "paid": true } })),
        { "type": "tool-result", "toolCallId": "c", "content": "{\"paid\":true}", "state": "complete" },
    ]));
    let chat = parse("POST", "/", &[], &done).unwrap();
    assert_eq!(chat.tool_results.len(), 1);
    assert_eq!(chat.tool_results[0].output, Some(json!({ "paid": true })));

    // From 0.10 to 0.23 the parts are beside AG-UI's fields.
    let mut beside = body(json!([call("approval-responded", decided)]));
    beside["threadId"] = json!("t");
    beside["messages"][0]["content"] = json!("Pay it");
    beside["messages"][1]["toolCalls"] =
        json!([{ "id": "c", "type": "function", "function": { "name": "pay", "arguments": "{}" } }]);
    let chat = parse("POST", "/", &[], &beside).unwrap();
    assert_eq!((chat.action, chat.session.unwrap().as_str()), (Action::Answer, "t"));
    assert_eq!((chat.approvals.len(), chat.approvals[0].approved), (1, false));

    beside["messages"].as_array_mut().unwrap().push(json!({ "id": "u2", "role": "user", "content": "no" }));
    assert!(parse("POST", "/", &[], &beside).unwrap().approvals.is_empty());
}
