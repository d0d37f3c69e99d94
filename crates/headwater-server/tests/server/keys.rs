//! By what a request is known again, and what of it counts when a turn is done again.

use headwater_runtime::{Agent, RecordReader};
use headwater_server::{ApiError, Limits, Options};
use headwater_store::ReadLimit;
use serde_json::{Value, json};

use crate::{
    harness::World,
    limits::{ANN, BOB, holding},
    repeated_requests::{NAMING, edits, regenerates, turns},
    talk::{DIALECTS, path, says, says_next},
};

#[tokio::test]
async fn run_is_started_once_for_one_key() {
    let world = World::new().await;
    let key = [("idempotency-key", "k1")];
    for session in [None, Some("s")] {
        let body = json!({ "input": "hello", "session": session });
        let first = world.post_with("/v1/runs", &body, &key).await;
        assert_eq!(first.status, 201, "{}", first.body);
        let again = world.post_with("/v1/runs", &body, &key).await;
        assert_eq!(again.status, 201, "{}", again.body);
        let (first, again) = (first.json(), again.json());
        assert_eq!((&first["run"], &first["repeated"]), (&again["run"], &json!(false)), "{first}");
        assert_eq!(again["repeated"], true);
        let other = world.post_with("/v1/runs", &body, &[("idempotency-key", "k2")]).await.json();
        assert_ne!(other["run"], first["run"]);
        let without = world.post("/v1/runs", &body).await.json();
        assert_ne!(without["run"], world.post("/v1/runs", &body).await.json()["run"]);
    }
    assert_eq!(world.get("/v1/runs?limit=100").await.json()["runs"].as_array().unwrap().len(), 8);
}

#[tokio::test]
async fn key_of_one_principal_is_unknown_to_another() {
    let (world, gate) = holding(Limits::default()).await;
    let body = json!({ "input": "hold" });
    let anns = world.post_with("/v1/runs", &body, &[ANN, ("idempotency-key", "k")]).await.json();
    let bobs = world.post_with("/v1/runs", &body, &[BOB, ("idempotency-key", "k")]).await.json();
    assert_ne!(anns["run"], bobs["run"]);
    gate.add_permits(2);
}

#[tokio::test]
async fn run_started_behind_another_reports_that_it_is_queued() {
    let (world, gate) = holding(Limits::default()).await;
    let body = json!({ "input": "hold", "session": "s" });
    let first = world.post_with("/v1/runs", &body, &[ANN]).await.json();
    assert_eq!(first["queued"], false, "{first}");
    let events = format!("/v1/runs/{}", first["run"].as_str().unwrap());
    assert_eq!(world.get_with(&events, &[ANN]).await.status, 200);
    let second = world.post_with("/v1/runs", &body, &[ANN, ("idempotency-key", "k")]).await.json();
    assert_eq!(second["queued"], true, "{second}");
    let again = world.post_with("/v1/runs", &body, &[ANN, ("idempotency-key", "k")]).await.json();
    assert_eq!((&again["run"], &again["queued"]), (&second["run"], &json!(true)), "{again}");
    gate.add_permits(2);
}

#[tokio::test]
async fn pages_name_of_a_run_counts_in_every_dialect() {
    let world = World::new().await;
    for dialect in DIALECTS {
        let mut body = says(dialect, dialect, "", "hello");
        if let Some(body) = body.as_object_mut() {
            body.remove("runId");
        }
        let first = world.post_with(&path(dialect), &body, &[("x-run-id", "mine-1")]).await;
        let again = world.post_with(&path(dialect), &body, &[("x-run-id", "mine-1")]).await;
        assert_eq!(first.status, 200, "{dialect}: {}", first.body);
        assert_eq!(again.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        let other = world.post_with(&path(dialect), &body, &[("x-run-id", "mine-2")]).await;
        assert_ne!(other.header("x-run-id"), first.header("x-run-id"), "{dialect}");
    }
}

#[tokio::test]
async fn id_that_looks_made_up_counts_and_no_id_counts_for_nothing() {
    let world = World::new().await;
    for dialect in NAMING {
        let body = edits(dialect, dialect, "message-1", "hello", 0);
        let first = world.post(&path(dialect), &body).await;
        let again = world.post(&path(dialect), &body).await;
        assert_eq!(again.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        let edited = world.post(&path(dialect), &edits(dialect, dialect, "message-1", "bye", 1)).await;
        assert_eq!(edited.text(dialect), "You said: bye, in turn 1.", "{dialect}");
    }
    for dialect in ["agents", "ai-sdk", "ag-ui", "kortyx", "tanstack"] {
        let nameless = |nth: usize| {
            let mut body = edits(dialect, &format!("{dialect}-nameless"), "", "hello", nth);
            if let Some(message) = body["messages"][0].as_object_mut() {
                message.remove("id");
            }
            body
        };
        let first = world.post(&path(dialect), &nameless(1)).await;
        assert_eq!(first.status, 200, "{dialect}: {}", first.body);
        let second = world.post(&path(dialect), &nameless(2)).await;
        assert_ne!(first.header("x-run-id"), second.header("x-run-id"), "{dialect}");
        // A page that sends all that it shows has asked for the first turn once more.
        let turn = if dialect == "kortyx" { 2 } else { 1 };
        assert_eq!(
            second.text(dialect),
            format!("You said: hello, in turn {turn}."),
            "{dialect}: {}",
            second.body
        );
        let kept = world.get(&format!("/v1/sessions/{dialect}-nameless/messages")).await.json();
        assert_eq!(kept["messages"].as_array().unwrap().len(), 2 * turn, "{dialect}: {kept}");
    }
}

#[tokio::test]
async fn request_id_is_not_a_key() {
    let world = World::new().await;
    let headers = [("x-request-id", "gateway-1")];
    for (message, text) in [("u1", "one"), ("u2", "two")] {
        let body = says_next(&world, "agents", "s", message, text).await;
        let said = world.post_with("/v1/agents/chat", &body, &headers).await;
        assert!(said.text("agents").contains(text), "{}", said.body);
    }
    assert_eq!(turns(&world, "s").await, 2);
}

#[tokio::test]
async fn invalid_tool_choice_is_refused_before_a_run_starts() {
    let world = World::new().await;
    let mut body = says("agents", "s", "u1", "hello");
    body["toolChoice"] = json!("somehow");
    let refused = world.post("/v1/agents/chat", &body).await;
    assert_eq!((refused.status, refused.json()["code"].clone()), (422, json!("tool-choice.invalid")));
    assert_eq!(world.get("/v1/sessions/s").await.status, 404, "no session was begun");
    world.post("/v1/agents/chat", &says("agents", "s", "u1", "hello")).await;
    for (message, text) in [("u1", "edited"), ("u2", "new")] {
        let mut body = says("agents", "s", message, text);
        body["toolChoice"] = json!({ "type": "tool" });
        let refused = world.post("/v1/agents/chat", &body).await;
        assert_eq!(
            (refused.status, refused.json()["code"].clone()),
            (422, json!("tool-choice.invalid")),
            "{text}"
        );
    }
    assert_eq!(world.get("/v1/runs").await.json()["runs"].as_array().unwrap().len(), 1);
    assert_eq!(turns(&world, "s").await, 1);
}

#[tokio::test]
async fn person_who_stops_a_session_is_named_as_the_reason() {
    let (world, _gate) = holding(Limits::default()).await;
    let run = world.post_with("/v1/runs", &json!({ "input": "hold", "session": "s" }), &[ANN]).await.json();
    let stopped = world.post_with("/v1/sessions/s/stop", &json!({}), &[ANN]).await.json();
    assert_eq!(stopped["stopped"], run["run"]);
    let events = format!("/v1/runs/{}/events", run["run"].as_str().unwrap());
    let told = world.get_with(&events, &[ANN]).await;
    assert!(told.body.contains("a person asked for it"), "{}", told.body);
    assert!(!told.body.contains("another message came"), "{}", told.body);
}

/// What a run was begun with.
async fn begun(agent: &Agent, run: &str) -> Value {
    let page = agent.store().read(&run.into(), 0, ReadLimit::default()).await.unwrap();
    RecordReader::default().effect(&page.records[0]).unwrap().unwrap()["begun"].clone()
}

/// A router that approves of what the header says, and refuses who is banned.
fn approving() -> Options {
    Options::default().context(|_, request, _| async move {
        let role = request.headers.get("x-role").and_then(|role| role.to_str().ok()).unwrap_or("none");
        if role == "banned" {
            return Err(ApiError::new(axum::http::StatusCode::FORBIDDEN, "role.banned", "not you"));
        }
        Ok(json!({ "role": role }))
    })
}

#[tokio::test]
async fn repeated_turn_needs_its_approvals_again() {
    let world = World::with(approving()).await;
    let says_as = |role: &'static str, body: Value| {
        let world = &world;
        async move { world.post_with("/v1/ai-sdk/chat", &body, &[("x-role", role)]).await }
    };
    says_as("admin", says("ai-sdk", "s", "u1", "hello")).await;
    let again = [regenerates("ai-sdk", "s", "u1", "hello"), edits("ai-sdk", "s", "u1", "bye", 1)];
    for body in again {
        let refused = says_as("banned", body.clone()).await;
        assert_eq!((refused.status, refused.json()["code"].clone()), (403, json!("role.banned")));
        let done = says_as("guest", body).await;
        let begun = begun(&world.agent, done.header("x-run-id")).await;
        assert_eq!(begun["runtimeContext"], json!({ "role": "guest" }), "{begun}");
    }
    for (action, body) in [("regenerate", json!({})), ("edit", json!({ "text": "uno" }))] {
        let at = world.get("/v1/sessions/s").await.json()["checkpoint"].as_str().unwrap().to_owned();
        let route = format!("/v1/sessions/s/checkpoints/{at}/{action}");
        let refused = world.post_with(&route, &body, &[("x-role", "banned")]).await;
        assert_eq!(refused.status, 403, "{action}: {}", refused.body);
        let done = world.post_with(&route, &body, &[("x-role", "clerk")]).await.json();
        world.agent.session("s", Some("local")).settled().await.unwrap();
        let begun = begun(&world.agent, done["run"].as_str().unwrap()).await;
        assert_eq!(begun["runtimeContext"], json!({ "role": "clerk" }), "{action}: {begun}");
    }
}

#[tokio::test]
async fn repeated_turn_has_the_current_tools_of_the_page() {
    let world = World::new().await;
    let mut first = edits("ag-ui", "s", "u1", "hello", 0);
    first["tools"] = json!([{ "name": "old", "description": "", "parameters": { "type": "object" } }]);
    first["context"] = json!([{ "description": "page", "value": "old" }]);
    world.post("/v1/ag-ui/chat", &first).await;
    let mut edited = edits("ag-ui", "s", "u1", "bye", 1);
    edited["tools"] = json!([{ "name": "new", "description": "", "parameters": { "type": "object" } }]);
    edited["context"] = json!([{ "description": "page", "value": "new" }]);
    let done = world.post("/v1/ag-ui/chat", &edited).await;
    let begun_with = begun(&world.agent, done.header("x-run-id")).await;
    assert_eq!(begun_with["clientTools"][0]["name"], "new", "{begun_with}");
    assert!(!begun_with["clientContext"].to_string().contains("old"), "{begun_with}");
    let mut chosen = says("agents", "t", "u1", "hello");
    chosen["toolChoice"] = json!("auto");
    world.post("/v1/agents/chat", &chosen).await;
    let mut edited = says("agents", "t", "u1", "bye");
    edited["toolChoice"] = json!("none");
    let done = world.post("/v1/agents/chat", &edited).await;
    assert_eq!(begun(&world.agent, done.header("x-run-id")).await["toolChoice"], "none");
    let mut first = says("ai-sdk", "u", "u1", "hello");
    first["language"] = json!("de");
    world.post("/v1/ai-sdk/chat", &first).await;
    let mut again = regenerates("ai-sdk", "u", "u1", "hello");
    again["language"] = json!("fr");
    let done = world.post("/v1/ai-sdk/chat", &again).await;
    assert_eq!(begun(&world.agent, done.header("x-run-id")).await["clientContext"]["language"], "fr");
}
