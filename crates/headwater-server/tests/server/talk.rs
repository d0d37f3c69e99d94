//! Each dialect's client talks to the server in its own words.

use std::sync::Arc;

use headwater_server::{Agents, Options, Server};
use headwater_store::{Memory, Store};
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World, agent_named},
    limits::ANN,
};

/// What a dialect's client sends to say something.
pub(crate) fn says(dialect: &str, session: &str, message: &str, text: &str) -> Value {
    let parts = json!([{ "id": message, "role": "user", "parts": [{ "type": "text", "text": text }] }]);
    match dialect {
        "ai-sdk" => json!({ "id": session, "trigger": "submit-message", "messages": parts }),
        "agents" => json!({ "sessionId": session, "messages": parts, "projectId": "p1" }),
        "kortyx" => json!({ "sessionId": session, "messages": [{ "role": "user", "content": text }] }),
        "tanstack" => json!({ "messages": [{ "role": "user", "content": text }],
            "data": { "conversationId": session } }),
        "mui" => json!({ "conversationId": session,
            "message": { "id": message, "role": "user", "parts": [{ "type": "text", "text": text }] } }),
        _ => json!({ "threadId": session, "runId": format!("client-{session}-{message}"), "state": {},
            "messages": [{ "id": message, "role": "user", "content": text }], "tools": [], "context": [],
            "forwardedProps": {} }),
    }
}

/// The same after the earlier messages, as a page sends all that it shows.
pub(crate) fn after(dialect: &str, before: &[(&str, &str)], mut body: Value) -> Value {
    if let Some(messages) = body["messages"].as_array_mut().filter(|_| dialect != "mui") {
        let before =
            before.iter().map(|(message, text)| says(dialect, "", message, text)["messages"][0].clone());
        messages.splice(0..0, before);
    }
    body
}

/// What a page sends to say something that shows all that its session has.
pub(crate) async fn says_next(
    world: &World,
    dialect: &str,
    session: &str,
    message: &str,
    text: &str,
) -> Value {
    let kept = world.get_with(&format!("/v1/sessions/{session}/messages"), &[ANN]).await.json();
    let users = kept["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user");
    let users: Vec<_> = users
        .map(|message| (message["id"].as_str().unwrap(), message["parts"][0]["text"].as_str().unwrap()))
        .collect();
    after(dialect, &users, says(dialect, session, message, text))
}

pub(crate) const DIALECTS: [&str; 6] = ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];

pub(crate) fn path(dialect: &str) -> String {
    format!("/v1/{dialect}/chat")
}

#[tokio::test]
async fn same_text_is_sent_in_every_dialect_and_the_session_continues() {
    let world = World::new().await;
    for dialect in DIALECTS {
        let said = world.post(&path(dialect), &says(dialect, dialect, "u1", "hello")).await;
        assert_eq!(said.status, 200, "{dialect}: {}", said.body);
        assert_eq!(said.header("content-type"), "text/event-stream");
        assert_eq!(said.header("x-accel-buffering"), "no");
        assert_eq!(said.header("x-session-id"), dialect);
        assert_eq!(said.text(dialect), "You said: hello, in turn 1.", "{dialect}: {}", said.body);
        let second = says_next(&world, dialect, dialect, "u2", "again").await;
        let second = world.post(&path(dialect), &second).await;
        assert_eq!(second.text(dialect), "You said: again, in turn 2.", "{dialect}: {}", second.body);
    }
}

/// A server with two agents, of which `demo` is the default.
async fn two_agents(second: &str, options: Options) -> World {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let first = agent_named("demo", store.clone());
    let agents = Agents::new().add("demo", first.clone()).add(second, agent_named(second, store));
    World::of(first, Server::new(agents, options)).await
}

/// The agent that answered.
async fn agent_of(world: &World, said: &TestResponse) -> String {
    assert_eq!(said.status, 200, "{}", said.body);
    let run = world.get(&format!("/v1/runs/{}", said.header("x-run-id"))).await.json();
    run["run"]["agent"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn agent_has_a_url_of_its_own_in_every_dialect() {
    for second in ["other", "chat"] {
        let world = two_agents(second, Options::default()).await;
        for dialect in DIALECTS {
            let path = format!("/v1/{dialect}/{second}/chat");
            let said = world.post(&path, &says(dialect, &format!("{dialect}-1"), "u1", "hello")).await;
            assert_eq!(agent_of(&world, &said).await, second, "{dialect}");
            let path = format!("/v1/{dialect}/chat");
            let said = world.post(&path, &says(dialect, &format!("{dialect}-2"), "u1", "hello")).await;
            assert_eq!(agent_of(&world, &said).await, "demo", "{dialect}");
        }
        let back = world.get(&format!("/v1/ai-sdk/{second}/chat/ai-sdk-1/stream")).await;
        assert_eq!(agent_of(&world, &back).await, second);
    }
    let world = two_agents("other", Options::default()).await;
    let unknown = world.post("/v1/ai-sdk/nobody/chat", &says("ai-sdk", "c", "u1", "hello")).await;
    assert_eq!((unknown.status, unknown.json()["code"].as_str()), (404, Some("agent.unknown")));
}

#[tokio::test]
async fn further_paths_lead_to_their_agents() {
    let options =
        Options::default().path("agents", "/api/chat").path_to("agents", "/api/onboarding", "other");
    let world = two_agents("other", options).await;
    for (path, agent) in
        [("/api/chat", "demo"), ("/api/chat?agent=other", "other"), ("/api/onboarding", "other")]
    {
        let said = world.post(path, &says("agents", path, "u1", "hello")).await;
        assert_eq!(agent_of(&world, &said).await, agent, "{path}");
    }
}

#[tokio::test]
async fn same_request_again_is_the_same_run() {
    let world = World::new().await;
    for dialect in ["mui", "agents", "ai-sdk", "ag-ui"] {
        let body = says(dialect, dialect, "u1", "hello");
        let first = world.post(&path(dialect), &body).await;
        let second = world.post(&path(dialect), &body).await;
        assert_eq!(first.header("x-run-id"), second.header("x-run-id"), "{dialect}");
        assert_eq!(first.text(dialect), second.text(dialect));
    }
    for dialect in ["kortyx", "tanstack"] {
        let body = says(dialect, dialect, "u1", "hello");
        let first = world.post_with(&path(dialect), &body, &[("idempotency-key", "k1")]).await;
        let second = world.post_with(&path(dialect), &body, &[("idempotency-key", "k1")]).await;
        assert_eq!(first.header("x-run-id"), second.header("x-run-id"), "{dialect}");
        let third = world.post(&path(dialect), &body).await;
        assert_ne!(
            first.header("x-run-id"),
            third.header("x-run-id"),
            "{dialect}: without any id it is a new turn"
        );
    }
}

#[tokio::test]
async fn request_without_a_session_gets_one_of_its_own() {
    let world = World::new().await;
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    let first = world.post("/v1/kortyx/chat", &body).await;
    let second = world.post("/v1/kortyx/chat", &body).await;
    assert_ne!(first.header("x-session-id"), second.header("x-session-id"));
    assert_eq!(first.chunk("session")["sessionId"], first.header("x-session-id"));
    assert_eq!(second.text("kortyx"), "You said: hello, in turn 1.");
}

#[tokio::test]
async fn page_that_keeps_its_own_history_brings_it_along() {
    let world = World::new().await;
    let body = json!({ "messages": [
        { "role": "user", "content": "first" }, { "role": "assistant", "content": "yes?" },
        { "role": "user", "content": "second" },
    ] });
    let said = world.post("/v1/tanstack/chat", &body).await;
    assert_eq!(said.text("tanstack"), "You said: second, in turn 2.", "{}", said.body);
}

/// The body by which the AI SDK's page sends what a person decided, or what its tool gave.
pub(crate) fn ai_sdk_again(session: &str, text: &str, first: &TestResponse, part: Value) -> Value {
    let message = first.chunk("start")["messageId"].clone();
    let mut body = says("ai-sdk", session, "u1", text);
    body["messageId"] = message.clone();
    let answer = json!({ "id": message, "role": "assistant", "parts": [{ "type": "step-start" }, part] });
    body["messages"].as_array_mut().unwrap().push(answer);
    body
}

#[tokio::test]
async fn ai_sdk_decides_about_a_call_and_continues_with_its_message() {
    let world = World::new().await;
    for (approved, expected) in [(true, "It is gone."), (false, "It stays.")] {
        let chat = format!("chat-{approved}");
        let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", &chat, "u1", "delete it")).await;
        assert_eq!(first.chunk("finish")["finishReason"], "tool-calls");
        let asked = first.chunk("tool-approval-request");
        let part = json!({ "type": "tool-delete", "toolCallId": asked["toolCallId"], "state": "approval-responded",
            "input": { "city": "Rome" }, "approval": { "id": asked["approvalId"], "approved": approved } });
        let body = ai_sdk_again(&chat, "delete it", &first, part);
        let second = world.post("/v1/ai-sdk/chat", &body).await;
        assert_eq!(second.status, 200, "{}", second.body);
        assert_eq!(second.chunk("start")["messageId"], body["messageId"], "{}", second.body);
        assert_eq!(second.text("ai-sdk"), expected, "{}", second.body);
        assert_eq!(first.header("x-run-id"), second.header("x-run-id"));
        let third = world.post("/v1/ai-sdk/chat", &body).await;
        assert_eq!(third.body, second.body, "the same answer again is the same response");
    }
}

#[tokio::test]
async fn tampered_signature_is_refused_and_the_question_stays_open() {
    let world = World::new().await;
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "delete it")).await;
    let asked = first.chunk("tool-approval-request");
    let part = |signature: &str| {
        json!({ "type": "tool-delete", "toolCallId": asked["toolCallId"], "state": "approval-responded",
            "input": { "city": "Rome" },
            "approval": { "id": asked["approvalId"], "approved": true, "signature": signature } })
    };
    let forged = world.post("/v1/ai-sdk/chat", &ai_sdk_again("c", "delete it", &first, part("AAAA"))).await;
    assert_eq!((forged.status, forged.json()["code"].clone()), (403, json!("token.invalid")));
    let open = world.get("/v1/interrupts").await.json();
    let token = open["interrupts"][0]["token"].as_str().unwrap().to_owned();
    let signed = world.post("/v1/ai-sdk/chat", &ai_sdk_again("c", "delete it", &first, part(&token))).await;
    assert_eq!(signed.text("ai-sdk"), "It is gone.");
}

#[tokio::test]
async fn ai_sdk_gives_the_output_of_a_tool_of_its_own() {
    let world = World::new().await;
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "where am I")).await;
    let call = first.chunk("tool-input-available");
    let part = json!({ "type": "tool-locate", "toolCallId": call["toolCallId"], "state": "output-available",
        "input": {}, "output": "Oslo" });
    let second = world.post("/v1/ai-sdk/chat", &ai_sdk_again("c", "where am I", &first, part)).await;
    assert_eq!(second.text("ai-sdk"), "So you are in Oslo.", "{}", second.body);
}

#[tokio::test]
async fn tanstack_decides_by_an_endpoint_of_its_own_and_then_continues() {
    let world = World::new().await;
    for (approved, expected) in [(true, "It is gone."), (false, "It stays.")] {
        let messages = json!({ "messages": [{ "role": "user", "content": "delete it" }] });
        let first = world.post("/v1/tanstack/chat", &messages).await;
        let asked = first.chunk("approval-requested");
        let decided = world
            .post(
                "/v1/tanstack/chat/answer",
                &json!({ "approvalId": asked["approval"]["id"], "approved": approved }),
            )
            .await;
        assert_eq!(decided.status, 202, "{}", decided.body);
        let on = json!({ "messages": [{ "role": "user", "content": "delete it" },
            { "role": "assistant", "content": null, "toolCalls": [{ "id": asked["toolCallId"], "type": "function",
              "function": { "name": "delete", "arguments": "{\"city\":\"Rome\"}" } }] }] });
        let second = world.post("/v1/tanstack/chat", &on).await;
        assert_eq!(second.status, 200, "{}", second.body);
        assert_eq!(second.text("tanstack"), expected, "{}", second.body);
        assert_eq!(first.header("x-run-id"), second.header("x-run-id"));
    }
}

/// What TanStack's page of 0.2 sends: its messages, and the conversation.
fn tanstack_again(
    conversation: &str,
    mut messages: Vec<Value>,
    answers: &[(&Value, &str, Option<&str>)],
) -> Value {
    for (call, name, _) in answers {
        let function = json!({ "name": name, "arguments": "{}" });
        messages.push(json!({ "role": "assistant", "content": null,
            "toolCalls": [{ "id": call, "type": "function", "function": function }] }));
    }
    for (call, _, output) in answers {
        messages
            .extend(output.map(|output| json!({ "role": "tool", "toolCallId": call, "content": output })));
    }
    json!({ "messages": messages, "data": { "conversationId": conversation } })
}

#[tokio::test]
async fn tanstack_gets_through_a_step_with_calls_of_every_kind() {
    let world = World::new().await;
    let said = vec![json!({ "role": "user", "content": "mix it" })];
    let first = world.post("/v1/tanstack/chat", &tanstack_again("mix", said.clone(), &[])).await;
    let locate = first.chunk("tool-input-available")["toolCallId"].clone();
    assert!(!first.body.contains(r#""name":"weather","arguments""#), "the page would wait: {}", first.body);
    // A page that was cut has not seen that a person is asked, and continues with the output of its own tool.
    let given = tanstack_again("mix", said.clone(), &[(&locate, "locate", Some("Oslo"))]);
    let second = world.post("/v1/tanstack/chat", &given).await;
    let asked = second.chunk("approval-requested");
    let decision =
        json!({ "conversationId": "mix", "approvalId": asked["approval"]["id"], "approved": true });
    assert_eq!(world.post("/v1/tanstack/chat", &decision).await.status, 202);
    let delete = &asked["toolCallId"];
    let on = [(&locate, "locate", Some("Oslo")), (delete, "delete", None)];
    let third = world.post("/v1/tanstack/chat", &tanstack_again("mix", said, &on)).await;
    assert_eq!(third.text("tanstack"), "It is sunny.", "{}", third.body);
    assert!(
        third.body.contains(r#""content":"sunny in Paris""#),
        "the server's tool call is shown: {}",
        third.body
    );
    assert_eq!(third.header("x-run-id"), first.header("x-run-id"));
}

#[tokio::test]
async fn call_of_the_same_id_in_another_conversation_is_another_call() {
    let world = World::new().await;
    let said = vec![json!({ "role": "user", "content": "where am I" })];
    let first = world.post("/v1/tanstack/chat", &tanstack_again("one", said.clone(), &[])).await;
    let call = first.chunk("tool-input-available")["toolCallId"].clone();
    let given = [(&call, "locate", Some("Oslo"))];
    let one = world.post("/v1/tanstack/chat", &tanstack_again("one", said.clone(), &given)).await;
    assert_eq!(one.text("tanstack"), "So you are in Oslo.", "{}", one.body);
    let two = world.post("/v1/tanstack/chat", &tanstack_again("two", said, &given)).await;
    assert_ne!(two.header("x-run-id"), one.header("x-run-id"), "{}", two.body);
}

#[tokio::test]
async fn ag_ui_resumes_an_interrupt_and_a_client_tool() {
    let world = World::new().await;
    for profile in [None, Some("1.0")] {
        let session = format!("t-{}", profile.unwrap_or("legacy"));
        let mut body = says("ag-ui", &session, "u1", "delete it");
        if let Some(version) = profile {
            body["protocolVersion"] = json!(version);
        }
        let first = world.post("/v1/ag-ui/chat", &body).await;
        let outcome = &first.chunk("RUN_FINISHED")["outcome"];
        assert_eq!(outcome["type"], "interrupt", "{}", first.body);
        body["runId"] = json!("second");
        body["resume"] = json!([{ "interruptId": outcome["interrupts"][0]["id"], "status": "resolved",
            "payload": { "approved": true } }]);
        body["messages"].as_array_mut().unwrap().push(
            json!({ "id": "m1", "role": "assistant", "toolCalls": [
            { "id": first.chunk("TOOL_CALL_START")["toolCallId"], "type": "function",
              "function": { "name": "delete", "arguments": "{}" } }] }),
        );
        let second = world.post("/v1/ag-ui/chat", &body).await;
        assert_eq!(second.status, 200, "{}", second.body);
        assert_eq!(second.chunk("RUN_STARTED")["runId"], "second");
        assert_eq!(second.text("ag-ui"), "It is gone.", "{}", second.body);
    }
    let mut body = says("ag-ui", "tool", "u1", "where am I");
    let first = world.post("/v1/ag-ui/chat", &body).await;
    let call = first.chunk("TOOL_CALL_START")["toolCallId"].clone();
    body["runId"] = json!("third");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "id": "m1", "role": "assistant", "toolCalls": [
        { "id": call, "type": "function", "function": { "name": "locate", "arguments": "{}" } }] }));
    messages.push(json!({ "id": "t1", "role": "tool", "toolCallId": call, "content": "\"Oslo\"" }));
    let second = world.post("/v1/ag-ui/chat", &body).await;
    assert_eq!(second.text("ag-ui"), "So you are in Oslo.", "{}", second.body);
}

#[tokio::test]
async fn kortyx_answers_a_question_in_its_message() {
    let world = World::new().await;
    let first = world.post("/v1/kortyx/chat", &says("kortyx", "k", "u1", "let me choose")).await;
    let asked = first.chunk("interrupt");
    let answer = json!({ "sessionId": "k", "messages": [{ "role": "user", "content": "The second", "metadata": {
        "resume": { "token": asked["resumeToken"], "requestId": asked["requestId"], "selected": "b" } } }] });
    let second = world.post("/v1/kortyx/chat", &answer).await;
    assert_eq!(second.text("kortyx"), "You chose b.", "{}", second.body);
    let late = world.post("/v1/kortyx/chat", &json!({ "sessionId": "k", "messages": [{ "role": "user",
        "content": "x", "metadata": { "resume": { "token": "t", "requestId": "never-asked", "selected": "b" } } }] })).await;
    assert_eq!((late.status, late.json()["code"].clone()), (409, json!("request.not-open")), "{}", late.body);
}

#[tokio::test]
async fn kortyx_gets_one_document_instead_of_a_stream() {
    let world = World::new().await;
    let mut body = says("kortyx", "k", "u1", "hello");
    body["stream"] = json!(false);
    let said = world.post("/v1/kortyx/chat", &body).await;
    assert_eq!(said.header("content-type"), "application/json");
    assert_eq!(said.json()["text"], "You said: hello, in turn 1.");
}

#[tokio::test]
async fn muis_stream_stays_open_while_a_person_decides() {
    let world = World::new().await;
    let asking = async {
        loop {
            let open = world.get("/v1/interrupts").await.json();
            if let Some(question) = open["interrupts"].get(0) {
                let decided = json!({ "id": question["request"], "approved": true });
                let said = world.post("/v1/mui/chat", &decided).await;
                assert_eq!(said.status, 202, "{}", said.body);
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let body = says("mui", "m", "u1", "delete it");
    let chat = world.post("/v1/mui/chat", &body);
    let (said, ()) = tokio::join!(chat, asking);
    assert_eq!(said.text("mui"), "It is gone.", "{}", said.body);
}

#[tokio::test]
async fn agents_contract_gets_request_and_endpoint() {
    let world = World::new().await;
    let body = says("agents", "s", "u1", "hello");
    let said = world.post_with("/v1/agents/onboarding", &body, &[("x-request-id", "r-17")]).await;
    let meta = said.chunks().remove(0);
    assert_eq!(meta["requestId"], "r-17");
    assert_eq!(meta["conversationId"], "s");
    assert_eq!(meta["endpoint"], "/v1/agents/onboarding");
    assert_eq!(meta["model"], "scripted:script", "the model that is asked is named from the start");
    assert_eq!(said.header("x-request-id"), "r-17");
}

#[tokio::test]
async fn turn_is_regenerated_and_edited() {
    let world = World::new().await;
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "hello")).await;
    let mut again = says("ai-sdk", "c", "u1", "hello");
    again["trigger"] = json!("regenerate-message");
    let second = world.post("/v1/ai-sdk/chat", &again).await;
    assert_ne!(first.header("x-run-id"), second.header("x-run-id"));
    assert_eq!(second.text("ai-sdk"), "You said: hello, in turn 1.");
    let mut edited = says("ai-sdk", "c", "u1", "goodbye");
    edited["messageId"] = json!("u1");
    let third = world.post("/v1/ai-sdk/chat", &edited).await;
    assert_eq!(third.text("ai-sdk"), "You said: goodbye, in turn 1.", "{}", third.body);
}

#[tokio::test]
async fn run_is_started_followed_answered_and_stopped_by_its_name() {
    let world = World::new().await;
    let begun = world.post("/v1/runs", &json!({ "input": "let me choose" })).await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    let waits = world.get(&format!("/v1/runs/{run}/events")).await;
    assert!(waits.body.contains("event: run-waiting"), "{}", waits.body);
    let known = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(known["waitsFor"][0]["interrupt"]["question"], "Which one?", "{known}");
    let wrong = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "answer": "c" })).await;
    assert_eq!((wrong.status, wrong.json()["code"].clone()), (422, json!("answer.invalid")));
    let answered = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "answer": "a" })).await;
    assert_eq!(answered.status, 202, "{}", answered.body);
    for dialect in DIALECTS.into_iter().chain(["native"]) {
        let all = world.get(&format!("/v1/runs/{run}/events?dialect={dialect}&until=end")).await;
        assert_eq!(all.text(dialect), "You chose a.", "{dialect}: {}", all.body);
    }
    let late = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "answer": "b" })).await;
    assert_eq!(late.status, 409);
    assert_eq!(world.post(&format!("/v1/runs/{run}/stop"), &json!({})).await.json()["stopped"], false);
    let slow =
        world.post("/v1/runs", &json!({ "input": "slow" })).await.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(world.post(&format!("/v1/runs/{slow}/stop"), &json!({})).await.json()["stopped"], true);
    let stopped = world.get(&format!("/v1/runs/{slow}/events")).await;
    assert!(stopped.body.contains("event: run-cancelled"), "{}", stopped.body);
    let listed = world.get("/v1/runs").await.json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn ag_ui_is_sent_as_ndjson_to_those_who_accept_it() {
    let world = World::new().await;
    let body = says("ag-ui", "s", "u1", "hello");
    let lines = [("accept", "application/x-ndjson")];
    let answer = world.post_with("/v1/ag-ui/chat", &body, &lines).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"));
    let events: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.first().unwrap()["type"], "RUN_STARTED");
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn ai_sdk_client_that_puts_the_chat_behind_the_query_resumes() {
    let world = World::named("mail", Options::default()).await;
    world.post("/v1/ai-sdk/chat?agent=mail", &says("ai-sdk", "s", "u1", "let me choose")).await;
    let back = world.get("/v1/ai-sdk/chat?agent=mail/s/stream").await;
    assert_eq!(back.status, 200, "{}", back.body);
    let proper = world.get("/v1/ai-sdk/chat/s/stream?agent=mail").await;
    assert_eq!(back.body, proper.body);
    let nobody = world.get("/v1/ai-sdk/chat?agent=nobody/s/stream").await;
    assert_eq!(nobody.status, 404, "{}", nobody.body);
}
