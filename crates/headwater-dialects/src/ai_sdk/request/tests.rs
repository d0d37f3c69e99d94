use super::*;

fn post(body: &str) -> Result<ChatRequest, Error> {
    parse(&RawRequest::post("/api/chat", body.as_bytes()))
}

#[test]
fn invalid_body_is_reported_with_its_path() {
    let table = [
        ("{", "the body is not JSON"),
        ("[]", "must be a JSON object"),
        (r#"{"id":"c"}"#, "`messages` is missing"),
        (r#"{"messages":{}}"#, "`messages` must be an array"),
        (r#"{"messages":[1]}"#, "`messages[0]` must be an object"),
        (r#"{"messages":[{"parts":[]}]}"#, "`messages[0].role`"),
        (r#"{"messages":[{"role":"tool","parts":[]}]}"#, "`messages[0].role`"),
        (r#"{"messages":[{"role":"user","parts":[{"type":"text"}]}]}"#, "`messages[0].parts[0].text`"),
        (r#"{"messages":[],"id":7}"#, "`id` must be a string"),
        (r#"{"messages":[],"trigger":"poke"}"#, "`trigger` must be"),
    ];
    for (body, expected) in table {
        let error = post(body).expect_err(body);
        assert!(error.message().contains(expected), "{body}: {error}");
        assert_eq!(error.kind(), ErrorKind::Request);
    }
}

#[test]
fn answers_and_results_come_from_the_last_message() {
    let body = r#"{"id":"c","trigger":"submit-message","messageId":"a","tenant":"t1","messages":[
        {"id":"u","role":"user","parts":[{"type":"text","text":"go"}]},
        {"id":"a","role":"assistant","parts":[
            {"type":"tool-old","toolCallId":"c0","state":"output-available","input":{},"output":0},
            {"type":"step-start"},
            {"type":"tool-del","toolCallId":"c1","state":"approval-responded","input":{},
             "approval":{"id":"ap","approved":false,"reason":"no","signature":"sig"}},
            {"type":"tool-ask","toolCallId":"c2","state":"output-available","input":{},"output":{"a":1}},
            {"type":"tool-ask","toolCallId":"c3","state":"output-error","input":{},"errorText":"closed"},
            {"type":"tool-web","toolCallId":"c4","state":"output-available","input":{},"output":1,
             "providerExecuted":true}]}]}"#;
    let chat = post(body).unwrap();
    assert_eq!(chat.session.as_ref().unwrap().as_str(), "c");
    assert_eq!(chat.context.get("tenant").unwrap(), "t1");
    let [answer] = chat.approvals.as_slice() else { panic!("{:?}", chat.approvals) };
    assert_eq!((answer.approval.as_str(), answer.approved), ("ap", false));
    assert_eq!(answer.signature.as_deref(), Some("sig"));
    let calls: Vec<_> = chat.tool_results.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(calls, ["c2", "c3"]);
}

#[test]
fn resume_path_names_the_chat() {
    let get = |target| parse(&RawRequest { method: "GET", target, headers: &[], body: b"" });
    let chat = get("/v1/ai-sdk/chat/a%2Fb+c%3F%C3%A9/stream?x=1").unwrap();
    assert_eq!(chat.action, Action::Resume);
    assert_eq!(chat.session.unwrap().as_str(), "a/b+c?é");
    assert!(get("/v1/ai-sdk/chat").is_err());
    assert!(get("/stream").is_err());
}

#[test]
fn chat_id_after_the_query_is_found() {
    let get = |target| RawRequest { method: "GET", target, headers: &[], body: b"" };
    let request = get("/v1/ai-sdk/chat?profile=ai-7&agent=mail/c1/stream");
    assert_eq!(target(&request), "/v1/ai-sdk/chat/c1/stream?profile=ai-7&agent=mail");
    let chat = parse(&request).unwrap();
    assert_eq!((chat.action, chat.session.unwrap().as_str()), (Action::Resume, "c1"));
    let usual = get("/v1/ai-sdk/chat/c1/stream?agent=mail");
    assert_eq!(target(&usual), usual.target);
}
