use headwater_protocol::{Part, Role};
use serde_json::{Value, json};

use super::*;

fn post(body: &Value) -> Result<ChatRequest, Error> {
    parse(&RawRequest::post("/v1/responses", body.to_string().as_bytes()))
}

fn get(target: &str) -> Result<ChatRequest, Error> {
    parse(&RawRequest { method: "GET", target, headers: &[], body: b"" })
}

#[test]
fn text_is_a_message_of_the_user() {
    let chat = post(&json!({ "model": "mail", "input": "hello", "metadata": { "a": "b" } })).unwrap();
    assert_eq!((chat.action, chat.agent.as_deref()), (Action::Chat, Some("mail")));
    assert_eq!((chat.stream, chat.wait, chat.complete), (false, true, false));
    assert_eq!(chat.messages[0].plain_text(), "hello");
    assert_eq!(chat.context, json!({ "metadata": { "a": "b" } }).as_object().unwrap().clone());
}

#[test]
fn items_are_messages_with_their_calls() {
    let chat = post(&json!({ "model": "a", "stream": true, "instructions": "Be brief.", "input": [
        { "role": "user", "content": "where am I?" },
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }] },
        { "type": "function_call", "call_id": "c1", "name": "locate", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c1", "output": "{\"city\":\"Oslo\"}" },
    ] }))
    .unwrap();
    let roles: Vec<_> = chat.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant]);
    assert!(matches!(&chat.messages[2].parts[1], Part::Tool(tool) if tool.name == "locate"));
    assert_eq!((chat.action, chat.complete, chat.stream), (Action::Chat, true, true));
    assert_eq!(chat.tool_results[0].output, Some(json!({ "city": "Oslo" })));
}

#[test]
fn outputs_before_the_newest_message_are_history() {
    let chat = post(&json!({ "model": "a", "input": [
        { "type": "function_call", "call_id": "c1", "name": "locate", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c1", "output": "Oslo" },
        { "role": "user", "content": [{ "type": "input_text", "text": "and now?" },
            { "type": "input_image", "image_url": "data:image/png;base64,AA==" }] },
    ] }))
    .unwrap();
    assert!(chat.tool_results.is_empty());
    assert!(
        matches!(&chat.messages[1].parts[1], Part::File(file) if file.media_type == "image/png"),
        "{:?}",
        chat.messages
    );
}

#[test]
fn answers_to_a_response_are_a_separate_action() {
    let chat = post(&json!({ "previous_response_id": "resp_run_1.0", "input": [
        { "type": "mcp_approval_response", "approval_request_id": "req_1", "approve": false, "reason": "no" },
        { "type": "function_call_output", "call_id": "c1", "output": [{ "type": "input_text", "text": "42" }] },
    ] }))
    .unwrap();
    assert_eq!(chat.action, Action::Answer);
    assert_eq!(chat.previous, Some(AnswerRef { run: "run_1".into(), since: 0 }));
    assert_eq!((chat.approvals[0].approved, chat.approvals[0].reason.as_deref()), (false, Some("no")));
    assert_eq!(chat.tool_results[0].output, Some(json!("42")));
}

#[test]
fn response_is_read_resumed_and_cancelled_by_its_id() {
    let read = get("/v1/responses/resp_run_1.7").unwrap();
    assert_eq!((read.action, read.stream, read.wait), (Action::Resume, false, false));
    assert_eq!(read.answer, Some(AnswerRef { run: "run_1".into(), since: 7 }));
    let resumed = get("/elsewhere/resp_run_1.7?stream=true&starting_after=12").unwrap();
    assert_eq!((resumed.cursor, resumed.stream), (Some(RequestCursor::Sequence(12)), true));
    let stop = parse(&RawRequest::post("/v1/responses/resp_run_1.7/cancel", b"")).unwrap();
    assert_eq!((stop.action, stop.answer), (Action::Stop, read.answer));
}

#[test]
fn other_paths_are_refused() {
    for path in
        ["/v1/responses/compact", "/v1/responses/x", "/v1/responses/resp_run_1.0/input_items", "/api/compact"]
    {
        let error = parse(&RawRequest::post(path, b"{\"input\":\"x\"}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Path, "{path}");
    }
    assert!(parse(&RawRequest::post("/api/answers", b"{\"model\":\"a\",\"input\":\"x\"}")).is_ok());
}

#[test]
fn tools_of_the_client_are_functions() {
    let tool =
        json!({ "type": "function", "name": "locate", "parameters": { "type": "object" }, "strict": true });
    let chat =
        post(&json!({ "model": "a", "input": "x", "tools": [tool], "tool_choice": "required" })).unwrap();
    assert_eq!(chat.tools[0].name, "locate");
    assert_eq!(chat.tool_choice, Some(json!("required")));
}

#[test]
fn invalid_request_is_reported() {
    for (body, names) in [
        (json!([]), "JSON object"),
        (json!({ "model": "a" }), "`input`"),
        (json!({ "input": "x" }), "`model`"),
        (json!({ "model": "a", "input": 1 }), "`input`"),
        (json!({ "model": "a", "input": [] }), "`input`"),
        (json!({ "model": "a", "input": [{ "role": "assistant", "content": "x" }] }), "`input`"),
        (json!({ "model": "a", "input": [{ "role": "tool", "content": "x" }] }), "`input[0].role`"),
        (
            json!({ "model": "a", "input": [{ "role": "user", "content": [{ "type": "input_video" }] }] }),
            "input_video",
        ),
        (
            json!({ "model": "a", "input": [{ "role": "user", "content": [{ "type": "input_image", "file_id": "f" }] }] }),
            "image_url",
        ),
        (json!({ "model": "a", "input": [{ "type": "shell_call" }] }), "shell_call"),
        (
            json!({ "model": "a", "input": [{ "type": "function_call_output", "output": "x" }] }),
            "`input[0].call_id`",
        ),
        (json!({ "input": "x", "model": 1 }), "`model`"),
        (json!({ "model": "a", "input": "x", "stream": "yes" }), "`stream`"),
        (json!({ "model": "a", "input": "x", "tools": [{ "type": "web_search" }] }), "web_search"),
        (
            json!({ "model": "a", "input": "x", "text": { "format": { "type": "json_schema" } } }),
            "`text.format.schema`",
        ),
        (json!({ "model": "a", "input": "x", "prompt": { "id": "p" } }), "`prompt`"),
        (json!({ "model": "a", "input": "x", "previous_response_id": "resp_68" }), "`previous_response_id`"),
        (
            json!({ "model": "a", "input": "x", "previous_response_id": "resp_r.0", "conversation": "c" }),
            "not both",
        ),
        (
            json!({ "previous_response_id": "resp_r.0", "input": [
                { "type": "function_call_output", "call_id": "c", "output": "x" },
                { "role": "user", "content": "and" },
            ] }),
            "send the answers alone",
        ),
    ] {
        let error = post(&body).expect_err(&body.to_string());
        assert!(error.message().contains(names), "{body}: {error}");
    }
    assert!(get("/v1/responses/resp_run_1.0?stream=true&starting_after=x").is_err());
    assert!(get("/v1/responses").is_err());
}
