//! A page that edits, clears, asks again or continues after its stop button: the session follows it.

use headwater_runtime::WhenBusy;
use headwater_server::{Agents, ClientPolicy, Options, Server};
use serde_json::{Value, json};

use crate::{
    harness::{World, agent_named},
    limits::{ANN, holding_with},
    repeated_requests::{edits, turns},
    talk::{after, path, says},
};

/// The dialects whose clients send all that they show.
const COMPLETE: [&str; 4] = ["tanstack", "agents", "ai-sdk", "ag-ui"];
/// The dialects whose clients stop by closing the connection.
const LEAVING: [&str; 5] = ["kortyx", "tanstack", "agents", "ai-sdk", "ag-ui"];

#[tokio::test]
async fn cleared_page_is_answered_as_a_new_conversation() {
    let world = World::new().await;
    for dialect in COMPLETE {
        world.post(&path(dialect), &says(dialect, dialect, "u1", "a secret")).await;
        let cleared = world.post(&path(dialect), &says(dialect, dialect, "u2", "hello")).await;
        assert_eq!(cleared.text(dialect), "You said: hello, in turn 1.", "{dialect}");
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
        let kept = world.get(&format!("/v1/sessions/{dialect}/messages")).await;
        assert!(!kept.body.contains("a secret"), "{dialect}: {}", kept.body);
    }
}

#[tokio::test]
async fn page_that_left_out_a_turn_is_answered_without_it() {
    let world = World::new().await;
    for dialect in COMPLETE {
        let before = [("u1", "one"), ("u2", "two")];
        world.post(&path(dialect), &says(dialect, dialect, "u1", "one")).await;
        world.post(&path(dialect), &after(dialect, &before[..1], says(dialect, dialect, "u2", "two"))).await;
        let body = after(dialect, &before[1..], says(dialect, dialect, "u3", "three"));
        let said = world.post(&path(dialect), &body).await;
        assert_eq!(said.text(dialect), "You said: three, in turn 2.", "{dialect}");
    }
}

#[tokio::test]
async fn message_that_was_edited_under_another_name_takes_the_place_of_the_first() {
    let world = World::new().await;
    for dialect in COMPLETE {
        let before = [("u1", "one")];
        world.post(&path(dialect), &says(dialect, dialect, "u1", "one")).await;
        world.post(&path(dialect), &after(dialect, &before, says(dialect, dialect, "u2", "two"))).await;
        let body = after(dialect, &before, says(dialect, dialect, "u3", "zwei"));
        let said = world.post(&path(dialect), &body).await;
        assert_eq!(said.text(dialect), "You said: zwei, in turn 2.", "{dialect}");
        assert_eq!(turns(&world, dialect).await, 2, "{dialect}");
    }
}

#[tokio::test]
async fn another_name_of_the_run_for_the_same_message_is_another_answer() {
    let world = World::new().await;
    let first = world.post(&path("ag-ui"), &edits("ag-ui", "s", "u1", "hello", 0)).await;
    let repeated = world.post(&path("ag-ui"), &edits("ag-ui", "s", "u1", "hello", 0)).await;
    assert_eq!(repeated.header("x-run-id"), first.header("x-run-id"));
    let again = world.post(&path("ag-ui"), &edits("ag-ui", "s", "u1", "hello", 1)).await;
    assert_ne!(again.header("x-run-id"), first.header("x-run-id"));
    assert_eq!(turns(&world, "s").await, 1);
}

#[tokio::test]
async fn next_message_stops_the_active_run_where_stop_is_a_closed_connection() {
    for when in [None, Some(WhenBusy::Queue), Some(WhenBusy::Refuse)] {
        let (world, _gate) = holding_with(|options| options.when_busy = when).await;
        for dialect in LEAVING {
            let body = says(dialect, dialect, "u1", "hold");
            let request = world.http.post(format!("{}{}", world.base, path(dialect))).header(ANN.0, ANN.1);
            let request = request.header("content-type", "application/json").body(body.to_string());
            let stopped = request.send().await.unwrap();
            let run = stopped.headers()["x-run-id"].to_str().unwrap().to_owned();
            // The stop button of these clients.
            drop(stopped);
            while world.server.readers(&run.as_str().into()) > 0 {
                tokio::task::yield_now().await;
            }
            let next = after(dialect, &[("u1", "hold")], says(dialect, dialect, "u2", "next"));
            let next = world.post_with(&path(dialect), &next, &[ANN]).await;
            assert_eq!((next.status, next.text(dialect).as_str()), (200, "done"), "{dialect}, {when:?}");
            let stopped = world.get_with(&format!("/v1/runs/{run}"), &[ANN]).await.json();
            assert_eq!(stopped["run"]["status"], "cancelled", "{dialect}, {when:?}");
        }
    }
}

/// A client that stops by a request: its message, the route that stops, and the next message.
struct StopButton {
    dialect: &'static str,
    chat: &'static str,
    first: Value,
    next: Value,
    stop: fn(&str) -> String,
    body: Value,
}

fn stop_buttons() -> [StopButton; 3] {
    let response =
        |input: &str| json!({ "model": "hold", "input": input, "conversation": "c", "stream": true });
    [
        StopButton {
            dialect: "mui",
            chat: "/v1/mui/chat",
            first: says("mui", "m", "u1", "hold"),
            next: says("mui", "m", "u2", "next"),
            stop: |_| "/v1/mui/chat/stop".to_owned(),
            body: json!({ "conversationId": "m" }),
        },
        // CopilotKit's page, whose runtime the server is.
        StopButton {
            dialect: "ag-ui",
            chat: "/v1/ag-ui/agent/hold/run",
            first: says("ag-ui", "t", "u1", "hold"),
            next: after("ag-ui", &[("u1", "hold")], says("ag-ui", "t", "u2", "next")),
            stop: |_| "/v1/ag-ui/agent/hold/stop/t".to_owned(),
            body: json!({}),
        },
        StopButton {
            dialect: "responses",
            chat: "/v1/responses",
            first: response("hold"),
            next: response("next"),
            stop: |run| format!("/v1/responses/resp_{run}.0/cancel"),
            body: json!({}),
        },
    ]
}

#[tokio::test]
async fn next_message_is_answered_after_a_stop_request_though_the_run_would_have_held_on() {
    for when in [None, Some(WhenBusy::Queue), Some(WhenBusy::Refuse)] {
        // The gate is never opened: only the stop ends the first run.
        let (world, _gate) = holding_with(|options| options.when_busy = when).await;
        for StopButton { dialect, chat, first, next, stop, body } in stop_buttons() {
            let request = world.http.post(format!("{}{chat}", world.base)).header(ANN.0, ANN.1);
            let request = request.header("content-type", "application/json").body(first.to_string());
            let reading = request.send().await.unwrap();
            let run = reading.headers()["x-run-id"].to_str().unwrap().to_owned();
            let stopped = world.post_with(&stop(&run), &body, &[ANN]).await;
            assert_eq!(stopped.status, 200, "{dialect}: {}", stopped.body);
            let next = world.post_with(chat, &next, &[ANN]).await;
            assert_eq!((next.status, next.text(dialect).as_str()), (200, "done"), "{dialect}, {when:?}");
            let stopped = world.get_with(&format!("/v1/runs/{run}"), &[ANN]).await.json();
            assert_eq!(stopped["run"]["status"], "cancelled", "{dialect}, {when:?}");
            // The first stream ends too.
            reading.bytes().await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_dialect_has_a_test_of_its_stop_button() {
    let tested: Vec<_> =
        LEAVING.into_iter().chain(stop_buttons().iter().map(|button| button.dialect)).collect();
    for dialect in headwater_dialects::CHAT {
        assert!(tested.contains(&dialect.name()), "{}", dialect.name());
    }
}

#[tokio::test]
async fn agent_that_owns_its_history_refuses_a_page_that_shows_another() {
    let policy = ClientPolicy { seed: false, ..ClientPolicy::default() };
    let agent = agent_named("demo", std::sync::Arc::new(headwater_store::Memory::new()));
    let agents = Agents::new().add("demo", agent.clone()).trusting("demo", policy);
    let world = World::of(agent, Server::new(agents, Options::default())).await;
    world.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "one")).await;
    let alone = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u2", "two")).await;
    assert_eq!(alone.text("ai-sdk"), "You said: two, in turn 2.", "the newest message alone continues");
    let other = after("ai-sdk", &[("x", "never said")], says("ai-sdk", "s", "u3", "three"));
    let other = world.post("/v1/ai-sdk/chat", &other).await;
    assert_eq!(
        (other.status, other.json()["code"].clone()),
        (409, json!("history.differs")),
        "{}",
        other.body
    );
    let back = after("ai-sdk", &[("u1", "one")], says("ai-sdk", "s", "u4", "zwei"));
    let back = world.post("/v1/ai-sdk/chat", &back).await;
    assert_eq!(back.text("ai-sdk"), "You said: zwei, in turn 2.", "its own turns can be gone back to");
}

#[tokio::test]
async fn conversation_of_another_agent_is_explained() {
    let store: std::sync::Arc<dyn headwater_store::Store> =
        std::sync::Arc::new(headwater_store::Memory::new());
    let first = agent_named("first", store.clone());
    let agents = Agents::new().add("first", first.clone()).add("second", agent_named("second", store));
    let world = World::of(first, Server::new(agents, Options::default())).await;
    world.post("/v1/ai-sdk/first/chat", &says("ai-sdk", "s", "u1", "one")).await;
    let other = world.post("/v1/ai-sdk/second/chat", &says("ai-sdk", "s", "u2", "two")).await;
    assert_eq!(
        (other.status, other.json()["code"].clone()),
        (409, json!("session.other-agent")),
        "{}",
        other.body
    );
}
