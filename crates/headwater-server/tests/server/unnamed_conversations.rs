//! Pages that have no name for their conversation: what two visitors say never meets.

use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World},
    talk::{DIALECTS, path, says},
};

/// Ids that React, Vue, Solid, a placeholder or nothing makes up, the same for every visitor.
const POSITIONAL: [&str; 16] = [
    ":r0:", ":r1a:", ":R2l6:", "«r0»", "_r_1_", "_R_1_", "_R_1H1_", ":appr0:", "_appr_0_", "v-0", "v-0-1",
    "cl-0", "000a10", "0-0-1", "default", "",
];

async fn send_text(world: &World, dialect: &str, session: &str, message: &str, text: &str) -> TestResponse {
    let said = world.post(&path(dialect), &says(dialect, session, message, text)).await;
    assert_eq!(said.status, 200, "{dialect} {session:?}: {}", said.body);
    said
}

#[tokio::test]
async fn visitors_with_the_same_positional_id_never_meet() {
    for dialect in DIALECTS {
        let world = World::new().await;
        for (number, id) in POSITIONAL.into_iter().enumerate() {
            let ann = send_text(&world, dialect, id, &format!("a{number}"), "my secret").await;
            let bob = send_text(&world, dialect, id, &format!("b{number}"), "hello").await;
            let sessions = (ann.header("x-session-id"), bob.header("x-session-id"));
            assert_ne!(sessions.0, sessions.1, "{dialect} {id:?}");
            assert!(sessions.0 != id && !sessions.0.is_empty(), "{dialect} {id:?}");
            assert_eq!(bob.text(dialect), "You said: hello, in turn 1.", "{dialect} {id:?}");
        }
    }
}

#[tokio::test]
async fn resume_by_a_positional_id_finds_nothing() {
    let world = World::new().await;
    for id in [":r0:", "default"] {
        send_text(&world, "ai-sdk", id, "u1", "my secret").await;
        let id = id.replace(':', "%3A");
        for path in [
            format!("/v1/ai-sdk/chat/{id}/stream"),
            format!("/v1/mui/chat?conversationId={id}"),
            format!("/v1/ag-ui/chat?threadId={id}"),
            format!("/v1/kortyx/chat?sessionId={id}"),
            format!("/v1/tanstack/chat?conversationId={id}"),
        ] {
            let said = world.get(&path).await;
            assert!(said.status < 500 && !said.body.contains("my secret"), "{path}: {}", said.body);
        }
    }
}

/// What TanStack's client sends: the whole conversation, without ids.
fn page(messages: &[Value]) -> Value {
    json!({ "messages": messages, "data": { "conversationId": ":r0:" } })
}

#[tokio::test]
async fn page_without_a_name_continues_with_the_conversation_that_it_sends() {
    let world = World::new().await;
    let user = |text: &str| json!({ "role": "user", "content": text });
    let answer = |said: &TestResponse| json!({ "role": "assistant", "content": said.text("tanstack") });
    let first = world.post("/v1/tanstack/chat", &page(&[user("one")])).await;
    assert_eq!(first.text("tanstack"), "You said: one, in turn 1.");
    let second = world.post("/v1/tanstack/chat", &page(&[user("one"), answer(&first), user("two")])).await;
    assert_eq!(second.text("tanstack"), "You said: two, in turn 2.", "{}", second.body);
    let other = world.post("/v1/tanstack/chat", &page(&[user("one"), answer(&first), user("uno")])).await;
    assert_eq!(other.text("tanstack"), "You said: uno, in turn 2.");
}

#[tokio::test]
async fn tool_outputs_of_two_visitors_go_to_their_own_runs() {
    let world = World::new().await;
    let mut calls = Vec::new();
    for who in ["ann: where am I", "bob: where am I"] {
        let said = world.post("/v1/tanstack/chat", &page(&[json!({ "role": "user", "content": who })])).await;
        assert_eq!(said.status, 200, "{}", said.body);
        let state = said.state("tanstack");
        let message = state.messages().last().unwrap();
        let call = message.parts.iter().find_map(|part| match part {
            headwater_protocol::Part::Tool(tool) => Some(tool.call.to_string()),
            _ => None,
        });
        calls.push((who, call.unwrap()));
    }
    // In the other order: the newest question is not the one that is answered first.
    for ((who, call), place) in calls.iter().zip(["Oslo", "Rome"]) {
        let call_part = json!({ "id": call, "type": "function",
            "function": { "name": "locate", "arguments": "{}" } });
        let messages = [
            json!({ "role": "user", "content": who }),
            json!({ "role": "assistant", "content": null, "toolCalls": [call_part] }),
            json!({ "role": "tool", "toolCallId": call, "content": json!(place).to_string() }),
        ];
        let said = world.post("/v1/tanstack/chat", &page(&messages)).await;
        assert!(said.text("tanstack").contains(place), "{who} {place}: {}", said.body);
    }
}

#[tokio::test]
async fn approval_of_a_page_without_a_name_reaches_its_run() {
    let world = World::new().await;
    let user = json!({ "role": "user", "content": "delete it" });
    let asked = world.post("/v1/tanstack/chat", &page(std::slice::from_ref(&user))).await;
    let request = asked.chunk("approval-requested");
    let body = json!({ "conversationId": ":r0:", "approvalId": request["approval"]["id"], "approved": true });
    let answered = world.post("/v1/tanstack/chat/answer", &body).await;
    assert!(answered.status < 300, "{}", answered.body);
    let call_part = json!({ "id": request["toolCallId"], "type": "function",
        "function": { "name": "delete", "arguments": "{\"city\":\"Rome\"}" } });
    let again = page(&[user, json!({ "role": "assistant", "content": null, "toolCalls": [call_part] })]);
    let said = world.post("/v1/tanstack/chat", &again).await;
    assert!(said.text("tanstack").contains("It is gone."), "{}", said.body);
}
