//! The stream of a session.

use std::time::Duration;

use headwater_server::{ApiKeys, Limits, Options};
use serde_json::{Value, json};

use crate::{
    harness::World,
    limits::{ANN, BOB},
};

/// A stream of a session that is read frame by frame.
struct SessionReader {
    response: reqwest::Response,
    buffer: String,
}

impl SessionReader {
    async fn open(world: &World, session: &str) -> Self {
        let response = world.http.get(format!("{}/v1/sessions/{session}/events", world.base)).send().await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new() }
    }

    /// The next block; nothing at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.buffer = rest;
                return Some(block);
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next state of the session; nothing at the end of the stream.
    async fn state(&mut self) -> Option<Value> {
        loop {
            let block = self.block().await?;
            if let Some(data) = block.strip_prefix("event: session\ndata: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
            assert!(block.starts_with(':'), "{block}");
        }
    }

    /// Reads until a state is as it should be.
    async fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let state = self.state().await.expect("the stream continues");
            if is(&state) {
                return state;
            }
        }
    }
}

#[tokio::test]
async fn session_stream_begins_with_the_state_and_sends_each_change() {
    let world = World::new().await;
    world.post("/v1/sessions", &json!({ "id": "s" })).await;
    let mut first = SessionReader::open(&world, "s").await;
    let begun = first.state().await.unwrap();
    assert_eq!(begun, world.get("/v1/sessions/s").await.json());
    assert_eq!((&begun["turns"], &begun["lastRun"]), (&json!(0), &Value::Null));

    let sent = world.post("/v1/sessions/s/messages", &json!({ "text": "slow" })).await.json();
    let active = first.until(|state| state["activeRun"] == sent["run"]).await;
    assert_eq!(active["lastRun"], sent["run"]);
    // A reader that comes now begins here: it has missed nothing that still matters.
    let mut second = SessionReader::open(&world, "s").await;
    assert_eq!(second.state().await.unwrap()["lastRun"], sent["run"]);
    for reader in [&mut first, &mut second] {
        let ended = reader.until(|state| state["activeRun"].is_null()).await;
        assert_eq!((&ended["turns"], &ended["checkpoint"]), (&json!(1), &sent["checkpoint"]));
    }

    world.post("/v1/sessions/s/undo", &json!({})).await;
    first.until(|state| state["turns"] == 0 && state["checkpoint"].is_null()).await;
    world.delete_with("/v1/sessions/s", &[]).await;
    while first.state().await.is_some() {}
}

#[tokio::test]
async fn session_stream_reports_that_a_run_waits_and_continues() {
    let world = World::new().await;
    let begun = world.post("/v1/runs", &json!({ "input": "let me choose", "session": "s" })).await.json();
    let mut reader = SessionReader::open(&world, "s").await;
    reader.until(|state| state["waitingRun"] == begun["run"]).await;
    let answer = format!("/v1/runs/{}/answer", begun["run"].as_str().unwrap());
    assert_eq!(world.post(&answer, &json!({ "answer": "a" })).await.status, 202);
    reader.until(|state| state["waitingRun"].is_null() && state["activeRun"].is_null()).await;
}

#[tokio::test]
async fn silent_session_stream_has_heartbeats() {
    let world = World::with(Options::default().heartbeat(Duration::from_millis(5))).await;
    world.post("/v1/sessions", &json!({ "id": "s" })).await;
    let mut reader = SessionReader::open(&world, "s").await;
    reader.state().await.unwrap();
    assert!(reader.block().await.unwrap().starts_with(':'));
}

#[tokio::test]
async fn session_stream_counts_as_a_stream_and_belongs_to_its_owner() {
    let mut limits = Limits::default();
    limits.streams = 1;
    let keys = ApiKeys::new().add("ann", ANN.1).add("bob", BOB.1);
    let world = World::with(Options::default().limits(limits).authenticator(keys)).await;
    world.post_with("/v1/sessions", &json!({ "id": "s" }), &[ANN]).await;
    let events = "/v1/sessions/s/events";
    let foreign = world.get_with(events, &[BOB]).await;
    assert_eq!((foreign.status, foreign.code().as_deref()), (404, Some("session.unknown")));
    let open = world.http.get(format!("{}{events}", world.base)).header(ANN.0, ANN.1).send().await.unwrap();
    assert_eq!(open.status(), 200);
    let second = world.get_with(events, &[ANN]).await;
    assert_eq!((second.status, second.code().as_deref()), (429, Some("streams.too-many")));
}
