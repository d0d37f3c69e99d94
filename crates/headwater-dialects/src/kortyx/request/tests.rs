use serde_json::json;

use super::*;

fn parse_body(body: &Value) -> Result<ChatRequest, Error> {
    parse(&RawRequest::post("/chat", body.to_string().as_bytes()))
}

fn problem(body: &Value) -> String {
    let error = parse_body(body).expect_err("a bad body");
    assert_eq!(error.kind(), ErrorKind::Request);
    error.message().to_owned()
}

fn answer(resume: Value) -> ChatRequest {
    let message = json!({"role": "user", "content": "X", "metadata": {"resume": resume}});
    parse_body(&json!({"sessionId": "s1", "messages": [message]})).unwrap()
}

#[test]
fn chat_request_with_all_fields_is_parsed() {
    let request = parse_body(&json!({
        "sessionId": " s1 ",
        "workflowId": "  ",
        "stream": false,
        "context": {"tenant": "acme", "beta": true},
        "beta": "shadowed",
        "theme": "dark",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Hello", "id": "m1", "timestamp": 17},
            {"role": "user", "content": "Hi", "metadata": {"a": 1}},
        ],
    }))
    .unwrap();
    assert_eq!(request.action, Action::Chat);
    assert_eq!(request.session.unwrap(), "s1");
    assert_eq!(request.workflow, None, "a blank name counts as absent");
    assert!(!request.stream);
    let context = json!({"tenant": "acme", "beta": true, "body.beta": "shadowed", "theme": "dark"});
    assert_eq!(Value::Object(request.context), context);
    let messages: Vec<_> = request
        .messages
        .iter()
        .map(|message| (message.role, message.id.as_str(), message.plain_text()))
        .collect();
    assert_eq!(messages[0], (Role::System, "", "Be brief.".to_owned()));
    assert_eq!(messages[1], (Role::Assistant, "m1", "Hello".to_owned()));
    assert_eq!(request.messages[1].metadata, Some(json!({"timestamp": 17})));
    assert_eq!(request.messages[2].metadata, Some(json!({"a": 1})));
}

#[test]
fn streaming_is_the_default_and_messages_may_be_empty() {
    let request = parse_body(&json!({"messages": []})).unwrap();
    assert!(request.stream);
    assert!(request.session.is_none() && request.messages.is_empty());
}

#[test]
fn answer_is_parsed_in_each_form() {
    let cases = [
        (json!({"selected": "x"}), Some(json!("x"))),
        (json!({"selected": ["a text"]}), Some(json!(["a text"]))),
        (json!({"selected": [1, true, {"id": "y"}]}), Some(json!(["1", "true", "y"]))),
        (json!({"selected": {"id": "x"}}), Some(json!("x"))),
        (json!({"choice": {"id": "x", "label": "X"}}), Some(json!("x"))),
        (json!({"choices": [{"id": "x"}, {"id": "y"}]}), Some(json!(["x", "y"]))),
        (json!({"selected": []}), None),
        (json!({"selected": ""}), None),
        (json!({}), None),
    ];
    for (mut resume, expected) in cases {
        resume["token"] = json!("tok");
        resume["requestId"] = json!("human-1");
        let request = answer(resume);
        assert_eq!(request.action, Action::Answer);
        let [given] = &request.answers[..] else { panic!("{request:?}") };
        assert_eq!((given.request.as_str(), given.token.as_deref()), ("human-1", Some("tok")));
        assert_eq!(given.answer, expected);
        assert!(!given.cancelled);
    }
    assert!(answer(json!({"token": "t", "requestId": "r", "cancel": true})).answers[0].cancelled);
    assert_eq!(answer(json!({"token": "r", "requestId": "r"})).answers[0].token, None);
}

#[test]
fn only_the_last_message_can_answer() {
    let old =
        json!({"role": "user", "content": "X", "metadata": {"resume": {"token": "t", "requestId": "r"}}});
    let new = json!({"role": "user", "content": "and now?"});
    let request = parse_body(&json!({"messages": [old, new]})).unwrap();
    assert_eq!(request.action, Action::Chat);
    assert!(request.answers.is_empty());
}

#[test]
fn approval_answer_is_recognised() {
    for (selected, cancel, approved) in
        [("approve", false, true), ("deny", false, false), ("approve", true, false)]
    {
        let resume =
            json!({"token": "sig", "requestId": "approval:a1", "selected": [selected], "cancel": cancel});
        let request = answer(resume);
        assert!(request.answers.is_empty());
        let [given] = &request.approvals[..] else { panic!("{request:?}") };
        assert_eq!((given.approval.as_str(), given.approved), ("a1", approved));
        assert_eq!(given.signature.as_deref(), Some("sig"));
    }
}

#[test]
fn checkpoint_requests_are_parsed() {
    let action = |body: Value| match parse_body(&body).unwrap().action {
        Action::Checkpoint(action) => action,
        other => panic!("{other:?}"),
    };
    assert_eq!(action(json!({"action": "list", "sessionId": "s1"})), CheckpointAction::List);
    assert_eq!(action(json!({"action": "get", "checkpointId": "c"})), CheckpointAction::Get("c".into()));
    assert_eq!(
        action(json!({"action": "rollback", "checkpointId": "c"})),
        CheckpointAction::Rollback("c".into())
    );
    assert_eq!(
        action(json!({"action": "fork", "checkpointId": "c", "newSessionId": "s2"})),
        CheckpointAction::Fork { checkpoint: "c".into(), session: Some("s2".into()) }
    );
    let list = parse_body(&json!({"action": "list", "sessionId": "s1"})).unwrap();
    assert_eq!(list.session.unwrap(), "s1");
}

#[test]
fn invalid_body_is_reported_with_its_path() {
    let user = |fields: Value| json!({"messages": [{"role": "user", "content": "a"}, fields]});
    let resume =
        |fields: Value| user(json!({"role": "user", "content": "a", "metadata": {"resume": fields}}));
    for (body, expected) in [
        (json!([]), "JSON object"),
        (json!({}), "`messages` is missing"),
        (json!({"messages": {}}), "`messages` must be an array of messages, not an object"),
        (json!({"messages": [], "stream": "yes"}), "`stream` must be a boolean, not a string"),
        (json!({"messages": [], "context": []}), "`context` must be an object, not an array"),
        (json!({"messages": [], "sessionId": 7}), "`sessionId` must be a string, not a number"),
        (user(json!("hi")), "`messages[1]` must be an object"),
        (user(json!({"role": "tool", "content": ""})), "`messages[1].role` must be"),
        (user(json!({"role": "user"})), "`messages[1].content` must be a string"),
        (user(json!({"role": "user", "content": "", "parts": []})), "`messages[1].parts` is unknown"),
        (resume(json!("tok")), "`messages[1].metadata.resume` must be an object"),
        (resume(json!({"requestId": "r"})), "`messages[1].metadata.resume.token` must be"),
        (resume(json!({"token": "r"})), "`messages[1].metadata.resume.requestId` must be"),
        (json!({"action": "burn"}), "`action` must be"),
        (json!({"action": "get"}), "`checkpointId` is missing"),
        (json!({"action": "get", "checkpointId": "c", "force": true}), "`force` is unknown"),
    ] {
        let problem = problem(&body);
        assert!(problem.contains(expected), "{body}: {problem}");
    }
    assert!(parse(&RawRequest::post("/chat", b"{oops")).unwrap_err().message().contains("not JSON"));
}

#[test]
fn custom_page_can_reconnect() {
    let get = |target| RawRequest { method: "GET", target, headers: &[], body: b"" };
    let request = parse(&get("/v1/kortyx/chat/s%201/stream")).unwrap();
    assert_eq!((request.action, request.session.unwrap().as_str()), (Action::Resume, "s 1"));
    let request = parse(&get("/chat?runId=r1")).unwrap();
    assert_eq!(request.run.unwrap(), "r1");
    assert!(parse(&get("/chat")).is_err());
}
