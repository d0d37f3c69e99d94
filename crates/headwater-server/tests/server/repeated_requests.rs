//! Requests that come again: a repeated edit or regenerate attaches to what it began, another one begins something.

use headwater_server::Limits;
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World},
    limits::{ANN, holding},
    talk::{after, path, says},
};

/// Those whose pages name their messages.
pub(crate) const NAMING: [&str; 4] = ["mui", "agents", "ai-sdk", "ag-ui"];
/// Those whose pages can ask for another answer.
const REGENERATING: [&str; 2] = ["mui", "ai-sdk"];

/// What a page sends when a person has written a message anew; `nth` is how often.
pub(crate) fn edits(dialect: &str, session: &str, message: &str, text: &str, nth: usize) -> Value {
    let mut body = says(dialect, session, message, text);
    match dialect {
        "ai-sdk" => body["messageId"] = json!(message),
        // Each request for a run has its own name of it.
        "ag-ui" => body["runId"] = json!(format!("{session}-{message}-{nth}")),
        _ => {}
    }
    body
}

/// What a page sends for another answer.
pub(crate) fn regenerates(dialect: &str, session: &str, message: &str, text: &str) -> Value {
    let mut body = says(dialect, session, message, text);
    match dialect {
        "ai-sdk" => body["trigger"] = json!("regenerate-message"),
        _ => body["messageId"] = json!("the-answer"),
    }
    body
}

pub(crate) async fn turns(world: &World, session: &str) -> Value {
    world.get_with(&format!("/v1/sessions/{session}"), &[ANN]).await.json()["turns"].clone()
}

/// Sends a body, and reads no more than the head of the answer.
async fn open(world: &World, dialect: &str, body: &Value, headers: &[(&str, &str)]) -> reqwest::Response {
    let mut request = world.http.post(format!("{}{}", world.base, path(dialect))).header(ANN.0, ANN.1);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap()
}

fn run_of(response: &reqwest::Response) -> String {
    assert_eq!(response.status(), 200);
    response.headers()["x-run-id"].to_str().unwrap().to_owned()
}

/// The session has no time for this now.
fn busy(said: &TestResponse, dialect: &str) {
    assert_eq!((said.status, said.json()["code"].clone()), (409, json!("session.busy")), "{dialect}");
}

/// The active run ends, and is one turn.
async fn ends_once(
    world: &World,
    gate: &tokio::sync::Semaphore,
    going: reqwest::Response,
    dialect: &str,
    turn: usize,
) {
    gate.add_permits(1);
    assert!(going.text().await.unwrap().contains("done"));
    assert_eq!(turns(world, dialect).await, turn, "{dialect}");
}

#[tokio::test]
async fn edited_message_is_edited_again_and_not_sent_again() {
    let world = World::new().await;
    for dialect in NAMING {
        let mut runs = Vec::new();
        for (nth, text) in ["hello", "goodbye", "adieu", "hello"].into_iter().enumerate() {
            let said = world.post(&path(dialect), &edits(dialect, dialect, "u1", text, nth)).await;
            assert_eq!(said.status, 200, "{dialect}: {}", said.body);
            assert_eq!(said.text(dialect), format!("You said: {text}, in turn 1."), "{dialect}");
            let run = said.header("x-run-id").to_owned();
            assert!(!runs.contains(&run), "{dialect}: {text}");
            runs.push(run);
        }
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
        let variants = world.get(&format!("/v1/sessions/{dialect}/checkpoints")).await.json();
        let checkpoint = variants["checkpoints"][0]["id"].as_str().unwrap().to_owned();
        let variants = format!("/v1/sessions/{dialect}/checkpoints/{checkpoint}/variants");
        assert_eq!(world.get(&variants).await.json()["variants"].as_array().unwrap().len(), 4, "{dialect}");
    }
}

#[tokio::test]
async fn same_edit_again_after_its_end_is_the_same_run() {
    let world = World::new().await;
    for dialect in NAMING {
        for turn in 1..=2 {
            let message = format!("u{turn}");
            let before = [("u1", "goodbye")];
            let page =
                |text, nth| after(dialect, &before[..turn - 1], edits(dialect, dialect, &message, text, nth));
            let first = world.post(&path(dialect), &page("hello", 0)).await;
            let body = page("goodbye", 1);
            let edited = world.post(&path(dialect), &body).await;
            assert_ne!(edited.header("x-run-id"), first.header("x-run-id"), "{dialect}");
            for _ in 0..2 {
                let again = world.post(&path(dialect), &body).await;
                assert_eq!(again.header("x-run-id"), edited.header("x-run-id"), "{dialect}, turn {turn}");
                assert_eq!(again.text(dialect), format!("You said: goodbye, in turn {turn}."));
            }
            assert_eq!(turns(&world, dialect).await, turn, "{dialect}");
        }
    }
}

#[tokio::test]
async fn same_edit_again_while_it_goes_is_the_same_run_and_another_is_refused() {
    let (world, gate) = holding(Limits::default()).await;
    for dialect in NAMING {
        for turn in 1..=2 {
            let message = format!("u{turn}");
            gate.add_permits(1);
            let before = [("u1", "hold on")];
            let page =
                |text, nth| after(dialect, &before[..turn - 1], edits(dialect, dialect, &message, text, nth));
            world.post_with(&path(dialect), &page("hold", 0), &[ANN]).await;
            let body = page("hold on", 1);
            let edited = open(&world, dialect, &body, &[]).await;
            let again = open(&world, dialect, &body, &[]).await;
            assert_eq!(run_of(&again), run_of(&edited), "{dialect}, turn {turn}");
            let other = page("hold still", 2);
            let other = world.post_with(&path(dialect), &other, &[ANN]).await;
            busy(&other, dialect);
            ends_once(&world, &gate, again, dialect, turn).await;
        }
    }
}

#[tokio::test]
async fn message_edited_while_it_is_answered_is_another_request() {
    let (world, gate) = holding(Limits::default()).await;
    for dialect in NAMING {
        let first = open(&world, dialect, &edits(dialect, dialect, "u1", "hold", 0), &[]).await;
        let other = edits(dialect, dialect, "u1", "hold still", 1);
        let other = world.post_with(&path(dialect), &other, &[ANN]).await;
        assert_eq!((other.status, other.json()["code"].clone()), (409, json!("session.busy")), "{dialect}");
        gate.add_permits(1);
        first.text().await.unwrap();
    }
}

#[tokio::test]
async fn edit_that_changes_a_file_is_an_edit() {
    let world = World::new().await;
    for dialect in ["mui", "agents", "ai-sdk"] {
        let body = |url: &str| {
            let mut body = says(dialect, dialect, "u1", "look");
            let file = json!({ "type": "file", "mediaType": "image/png", "url": url });
            let message = if dialect == "mui" { &mut body["message"] } else { &mut body["messages"][0] };
            message["parts"].as_array_mut().unwrap().push(file);
            body
        };
        let first = world.post(&path(dialect), &body("https://example.com/a.png")).await;
        let second = world.post(&path(dialect), &body("https://example.com/b.png")).await;
        assert_eq!(second.status, 200, "{dialect}: {}", second.body);
        assert_ne!(first.header("x-run-id"), second.header("x-run-id"), "{dialect}");
        let again = world.post(&path(dialect), &body("https://example.com/b.png")).await;
        assert_eq!(again.header("x-run-id"), second.header("x-run-id"), "{dialect}");
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
        let kept = world.get(&format!("/v1/sessions/{dialect}/messages")).await;
        assert!(kept.body.contains("b.png") && !kept.body.contains("a.png"), "{}", kept.body);
    }
}

#[tokio::test]
async fn repeated_older_message_begins_nothing_unless_edited() {
    let world = World::new().await;
    for dialect in NAMING {
        let first = world.post(&path(dialect), &edits(dialect, dialect, "u1", "one", 0)).await;
        let second = after(dialect, &[("u1", "one")], edits(dialect, dialect, "u2", "two", 0));
        world.post(&path(dialect), &second).await;
        let late = match dialect {
            // The same request has the same name of the run.
            "ag-ui" => edits(dialect, dialect, "u1", "one", 0),
            _ => says(dialect, dialect, "u1", "one"),
        };
        let late = world.post(&path(dialect), &late).await;
        assert_eq!(late.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        assert_eq!(turns(&world, dialect).await, 2, "{dialect}");
        let edited = world.post(&path(dialect), &edits(dialect, dialect, "u1", "uno", 1)).await;
        assert_eq!(edited.text(dialect), "You said: uno, in turn 1.", "{dialect}");
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
    }
}

#[tokio::test]
async fn ai_sdks_page_does_an_older_turn_again_without_changing_its_message() {
    let world = World::new().await;
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "one")).await;
    world.post("/v1/ai-sdk/chat", &after("ai-sdk", &[("u1", "one")], says("ai-sdk", "c", "u2", "two"))).await;
    let body = edits("ai-sdk", "c", "u1", "one", 1);
    let again = world.post("/v1/ai-sdk/chat", &body).await;
    assert_ne!(again.header("x-run-id"), first.header("x-run-id"));
    assert_eq!(turns(&world, "c").await, 1);
    let repeated = world.post("/v1/ai-sdk/chat", &body).await;
    assert_eq!(repeated.header("x-run-id"), again.header("x-run-id"));
}

#[tokio::test]
async fn same_regenerate_again_after_its_end_is_the_same_run() {
    let world = World::new().await;
    for dialect in REGENERATING {
        for header in ["idempotency-key", "x-run-id"] {
            let session = format!("{dialect}-{header}");
            for turn in 1..=2 {
                let message = format!("u{turn}");
                let before = &[("u1", "hello")][..turn - 1];
                let first = after(dialect, before, says(dialect, &session, &message, "hello"));
                let first = world.post(&path(dialect), &first).await;
                let body = after(dialect, before, regenerates(dialect, &session, &message, "hello"));
                let key = format!("again-{turn}");
                let second = world.post_with(&path(dialect), &body, &[(header, &key)]).await;
                assert_eq!(second.status, 200, "{}", second.body);
                assert_ne!(second.header("x-run-id"), first.header("x-run-id"), "{session}");
                let third = world.post_with(&path(dialect), &body, &[(header, &key)]).await;
                assert_eq!(third.header("x-run-id"), second.header("x-run-id"), "{session}, turn {turn}");
                assert_eq!(third.text(dialect), format!("You said: hello, in turn {turn}."));
                let other = world.post_with(&path(dialect), &body, &[(header, "other")]).await;
                assert_ne!(other.header("x-run-id"), second.header("x-run-id"), "{session}");
                let without = world.post(&path(dialect), &body).await;
                assert_ne!(without.header("x-run-id"), other.header("x-run-id"), "{session}");
                assert_eq!(turns(&world, &session).await, turn, "{session}");
            }
        }
    }
}

#[tokio::test]
async fn same_regenerate_again_while_it_goes_is_the_same_run() {
    let (world, gate) = holding(Limits::default()).await;
    for dialect in REGENERATING {
        for turn in 1..=2 {
            let message = format!("u{turn}");
            gate.add_permits(1);
            let before = &[("u1", "hold")][..turn - 1];
            let first = after(dialect, before, says(dialect, dialect, &message, "hold"));
            world.post_with(&path(dialect), &first, &[ANN]).await;
            let body = after(dialect, before, regenerates(dialect, dialect, &message, "hold"));
            let key = format!("again-{turn}");
            let held = open(&world, dialect, &body, &[("idempotency-key", &key)]).await;
            let going = run_of(&held);
            let again = open(&world, dialect, &body, &[("idempotency-key", &key)]).await;
            assert_eq!(run_of(&again), going, "{dialect}, turn {turn}");
            let without = open(&world, dialect, &body, &[]).await;
            assert_eq!(run_of(&without), going, "{dialect}: it is being answered anew already");
            let older = regenerates(dialect, dialect, "u0", "hold");
            let older = world.post_with(&path(dialect), &older, &[ANN]).await;
            busy(&older, dialect);
            ends_once(&world, &gate, again, dialect, turn).await;
        }
    }
}

#[tokio::test]
async fn checkpoint_is_done_again_once_for_one_key() {
    let world = World::new().await;
    world.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "one")).await;
    for (action, body) in [("regenerate", json!({})), ("edit", json!({ "text": "uno" }))] {
        let at = world.get("/v1/sessions/s").await.json()["checkpoint"].as_str().unwrap().to_owned();
        let route = format!("/v1/sessions/s/checkpoints/{at}/{action}");
        let first = world.post_with(&route, &body, &[("idempotency-key", action)]).await.json();
        let again = world.post_with(&route, &body, &[("idempotency-key", action)]).await.json();
        assert_eq!(
            (&first["repeated"], &again["repeated"]),
            (&json!(false), &json!(true)),
            "{action}: {again}"
        );
        assert_eq!(first["run"], again["run"]);
        world.agent.session("s", Some("local")).settled().await.unwrap();
        let late = world.post_with(&route, &body, &[("idempotency-key", action)]).await.json();
        assert_eq!((&late["run"], &late["checkpoint"]), (&first["run"], &first["checkpoint"]));
    }
}

#[tokio::test]
async fn answer_that_is_given_again_is_given_once_for_one_key() {
    let world = World::new().await;
    world.post("/v1/kortyx/chat", &says("kortyx", "s", "", "let me choose")).await;
    let open = world.get("/v1/interrupts").await.json();
    let request = open["interrupts"][0]["request"].as_str().unwrap().to_owned();
    world.post(&format!("/v1/interrupts/{request}"), &json!({ "answer": "a" })).await;
    let session = world.agent.session("s", Some("local"));
    session.settled().await.unwrap();
    let at = session.info().await.unwrap().checkpoint.unwrap();
    let route = format!("/v1/sessions/s/checkpoints/{at}/regenerate");
    let first = world.post_with(&route, &json!({}), &[("idempotency-key", "k")]).await.json();
    let again = world.post_with(&route, &json!({}), &[("idempotency-key", "k")]).await.json();
    assert_eq!((&first["run"], &again["repeated"]), (&again["run"], &json!(true)), "{again}");
    session.settled().await.unwrap();
    let late = world.post_with(&route, &json!({}), &[("idempotency-key", "k")]).await.json();
    assert_eq!((&first["run"], &late["repeated"]), (&late["run"], &json!(true)), "{late}");
}
