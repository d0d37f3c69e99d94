use headwater_protocol::{MessageStatus, Role};
use serde_json::json;

use super::*;

fn post(target: &str, body: &Value) -> Result<ChatRequest, Error> {
    parse(&RawRequest::post(target, body.to_string().as_bytes()))
}

fn get(target: &str) -> ChatRequest {
    parse(&RawRequest { method: "GET", target, headers: &[], body: b"" }).unwrap()
}

#[test]
fn send_has_the_whole_thread_and_the_new_message_once() {
    let old = json!({ "id": "a0", "role": "assistant", "status": "sent", "parts": [
        { "type": "step-start" },
        { "type": "text", "text": "Hi", "state": "done" },
        { "type": "tool", "toolInvocation": {
            "toolCallId": "c1", "toolName": "mail", "state": "approval-responded", "input": { "to": "a" },
            "approvalId": "ap-1", "approval": { "approved": true, "reason": "fine" },
        } },
        { "type": "dynamic-tool", "toolInvocation": {
            "toolCallId": "c2", "toolName": "pick", "state": "output-available", "output": 3,
        } },
        { "type": "data-chart", "id": "k", "data": 1, "transient": true },
        { "type": "my-own", "x": 1 },
    ] });
    let new = json!({
        "id": "u1", "role": "user", "status": "sending", "createdAt": "2026-01-01T00:00:00Z",
        "author": { "id": "me" }, "metadata": { "tone": "dry" },
        "parts": [{ "type": "text", "text": "Hello" }, { "type": "file", "url": "https://x/y", "mediaType": "image/png" }],
    });
    let body = json!({
        "conversationId": "conv", "message": new, "messages": [old, new], "attachments": [{ "localId": "f1" }],
        "metadata": { "a": 1 }, "extra": true,
    });
    let request = post("/chat", &body).unwrap();
    assert_eq!(request.action, Action::Chat);
    assert_eq!(request.session.as_ref().map(headwater_protocol::SessionId::as_str), Some("conv"));
    assert_eq!(request.messages.len(), 2);
    assert_eq!((request.messages[1].role, request.messages[1].status), (Role::User, MessageStatus::Sent));
    assert_eq!(request.messages[1].plain_text(), "Hello");
    assert_eq!(request.messages[0].parts.len(), 6);
    assert_eq!(request.approvals.len(), 1);
    assert_eq!((request.approvals[0].approval.as_str(), request.approvals[0].approved), ("ap-1", true));
    assert_eq!(request.tool_results[0].output, Some(json!(3)));
    let context: Vec<_> = request.context.keys().map(String::as_str).collect();
    assert_eq!(context, ["attachments", "metadata", "extra"]);
}

#[test]
fn each_method_of_the_adapter_has_its_action() {
    let user = json!({ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": "x" }] });
    let table = [
        ("/chat", json!({ "message": user }), Action::Chat),
        ("/chat", json!({ "messageId": "a1", "message": user, "messages": [user] }), Action::Regenerate),
        ("/chat", json!({ "messageId": "a1", "after": 7 }), Action::Resume),
        ("/chat", json!({ "messageId": "a1" }), Action::Resume),
        ("/chat", json!({ "id": "ap-1", "approved": false, "reason": "no" }), Action::Answer),
        ("/chat", json!({ "requestId": "r1", "answer": "Oslo", "token": "t" }), Action::Answer),
        ("/chat/stop", json!({ "messageId": "a1" }), Action::Stop),
        ("/chat", json!({ "stop": true, "conversationId": "c" }), Action::Stop),
    ];
    for (target, body, action) in table {
        assert_eq!(post(target, &body).unwrap().action, action, "{body}");
    }
    let resumed = post("/chat", &json!({ "messageId": "a1", "after": 7 })).unwrap();
    assert_eq!(resumed.cursor, Some(RequestCursor::Sequence(7)));
    assert_eq!(get("/chat?conversationId=c%201").action, Action::Hydrate);
    assert_eq!(get("/chat?conversationId=c%201").session.unwrap().as_str(), "c 1");
    assert_eq!(get("/chat").action, Action::ListSessions);
    assert_eq!(get("/chat/r1/stream?after=3").cursor, Some(RequestCursor::Sequence(3)));
    let headers = [("Last-Event-ID", "m1:12")];
    let back = RawRequest { method: "GET", target: "/chat/x/stream", headers: &headers, body: b"" };
    assert_eq!(parse(&back).unwrap().cursor, Some(RequestCursor::Sequence(12)));
}

#[test]
fn invalid_body_is_reported_with_its_path() {
    let table = [
        (json!([]), "the body must be a JSON object"),
        (json!({}), "asks for nothing"),
        (json!({ "message": 3 }), "`message` cannot be read: a message must be an object"),
        (json!({ "message": { "id": "u1", "role": "robot" } }), "`message.role`"),
        (json!({ "messages": [{ "id": "u1", "role": "user", "parts": [3] }] }), "`messages[0].parts[0]`"),
        (
            json!({ "messages": [{ "id": "u1", "role": "user", "parts": [{ "type": "tool" }] }] }),
            "`messages[0].parts[0].toolInvocation`",
        ),
        (json!({ "messages": [{ "role": "user" }] }), "`messages[0].id`"),
        (json!({ "approved": "yes", "id": "a" }), "`approved`"),
        (json!({ "approved": true }), "`id`"),
        (json!({ "messageId": "a", "after": -1 }), "`after`"),
        (json!({ "conversationId": 4, "messageId": "a" }), "`conversationId`"),
    ];
    for (body, expected) in table {
        let error = post("/chat", &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Request);
        assert!(error.message().contains(expected), "{body}: {error}");
    }
    let error = parse(&RawRequest::post("/chat", b"{")).unwrap_err();
    assert!(error.message().starts_with("the body is not JSON"), "{error}");
}
