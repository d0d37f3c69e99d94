//! Two servers on one store: each answers for the runs and sessions of the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use headwater_protocol::RunId;
use headwater_runtime::WhenBusy;
use headwater_server::{ApiKeys, Options, Recovery};
use headwater_store::{Class, Cursor, Expect, Memory, Store};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    harness::{TestResponse, World, state, text},
    limits::{ANN, BOB, holding_on},
    resume::cut,
    talk::{after, path, says},
};

/// Two servers with the usual agent.
async fn two() -> (World, World) {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let options = || Options::default().recovery(Recovery::Every(Duration::from_millis(20)));
    (World::on(store.clone(), options()).await, World::on(store, options()).await)
}

/// Two servers whose runs continue until they are let go, which know of each other.
async fn two_holding(change: impl Fn(&mut Options)) -> (World, World, Arc<Semaphore>) {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let gate = Arc::new(Semaphore::new(0));
    let first = holding_on(store.clone(), gate.clone(), &change).await;
    let second = holding_on(store, gate.clone(), &change).await;
    for world in [&first, &second, &first] {
        world.server.recover().await;
    }
    (first, second, gate)
}

fn slowly() -> String {
    "slowly but surely ".repeat(20)
}

/// The frames of a stream that was cut, as far as they are whole.
fn whole_frames(read: &str) -> String {
    read.split_inclusive("\n\n").filter(|frame| frame.ends_with("\n\n")).collect()
}

fn last_id(read: &str) -> &str {
    read.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap()
}

async fn status(world: &World, run: &str, key: (&str, &str)) -> String {
    let run = world.get_with(&format!("/v1/runs/{run}"), &[key]).await.json();
    run["run"]["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn reader_continues_at_another_server_where_it_was() {
    let (first, second) = two().await;
    for dialect in ["agents", "ag-ui"] {
        let (run, read) =
            cut(&first, dialect, dialect, "slow", |read| read.matches("surely").count() >= 3).await;
        let read = whole_frames(&read);
        let url = format!("/v1/runs/{run}/events?dialect={dialect}");
        let rest = second.get_with(&url, &[("last-event-id", last_id(&read))]).await;
        assert_eq!(rest.status, 200, "{dialect}: {}", rest.body);
        assert_eq!(text(&state(dialect, &(read + &rest.body))), slowly(), "{dialect}");
    }
}

#[tokio::test]
async fn page_that_is_loaded_again_at_another_server_gets_the_stream_of_its_session() {
    let (first, second) = two().await;
    cut(&first, "ai-sdk", "s", "slow", |read| read.contains("surely")).await;
    let again = second.get("/v1/ai-sdk/chat/s/stream").await;
    assert_eq!((again.status, again.text("ai-sdk")), (200, slowly()));
    let listed = second.get("/v1/sessions").await.json();
    assert_eq!(listed["sessions"][0]["id"], "s");
    let messages = second.get("/v1/sessions/s/messages").await;
    assert!(messages.body.contains("slowly but surely"), "{}", messages.body);
}

#[tokio::test]
async fn run_is_stopped_at_another_server() {
    let (first, second) = two().await;
    let (run, _) = cut(&first, "agents", "s", "slow", |read| read.contains("surely")).await;
    let stopped = second.post(&format!("/v1/runs/{run}/stop"), &json!({})).await;
    assert_eq!((stopped.status, stopped.json()["stopped"].clone()), (200, json!(true)), "{}", stopped.body);
    first.idle().await;
    let ended = first.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(ended["run"]["status"], "cancelled");
}

#[tokio::test]
async fn approval_that_one_server_asked_for_is_given_at_another() {
    let (first, second) = two().await;
    let asked = first.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "delete it")).await;
    let run = asked.header("x-run-id").to_owned();
    let open = second.get("/v1/interrupts").await.json();
    let request = open["interrupts"][0]["request"].as_str().unwrap();
    let given = second
        .post(&format!("/v1/runs/{run}/answer"), &json!({ "request": request, "approved": true }))
        .await;
    assert_eq!(given.status, 202, "{}", given.body);
    let said = first.get(&format!("/v1/runs/{run}/events?until=end")).await;
    assert_eq!(said.text("native"), "It is gone.");
    let again = first
        .post(&format!("/v1/runs/{run}/answer"), &json!({ "request": request, "approved": false }))
        .await;
    assert_eq!((again.status, again.code().as_deref()), (409, Some("request.answered")));
}

#[tokio::test]
async fn request_with_one_key_begins_one_run_whichever_servers_it_reaches() {
    let (first, second) = two().await;
    let body = says("ai-sdk", "s", "u1", "hello");
    let key = [("idempotency-key", "k1")];
    let (one, other) = tokio::join!(
        first.post_with("/v1/ai-sdk/chat", &body, &key),
        second.post_with("/v1/ai-sdk/chat", &body, &key)
    );
    assert_eq!(one.header("x-run-id"), other.header("x-run-id"));
    assert_eq!(one.text("ai-sdk"), other.text("ai-sdk"));
    let changed = second.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u2", "other"), &key).await;
    assert_eq!((changed.status, changed.code().as_deref()), (422, Some("idempotency.mismatch")));
    let runs = json!({ "input": "hello" });
    let (one, other) =
        tokio::join!(first.post_with("/v1/runs", &runs, &key), second.post_with("/v1/runs", &runs, &key));
    assert_eq!(one.json()["run"], other.json()["run"]);
}

/// What a server leaves behind that dies before the beginning of a run is durable: the summary of a run that has no journal.
async fn forget_beginning(world: &World, run: &str) {
    let store = world.agent.store();
    let key = headwater_store::key::join("run", &[run]);
    let summary = store.get(&key).await.unwrap().unwrap();
    let mut summary: serde_json::Value = serde_json::from_slice(&summary.bytes).unwrap();
    summary["status"] = json!("running");
    summary.as_object_mut().unwrap().remove("ended");
    store.put(&key, summary.to_string().into(), Expect::Any, None).await.unwrap();
    store.delete(&run.into()).await.unwrap();
}

#[tokio::test]
async fn run_that_a_dead_server_never_began_is_begun_by_the_same_request() {
    let (first, second) = two().await;
    let (key, body) = ([("idempotency-key", "k1")], json!({ "input": "hello" }));
    let begun = first.post_with("/v1/runs", &body, &key).await.json();
    let run = begun["run"].as_str().unwrap();
    first.idle().await;
    forget_beginning(&first, run).await;
    let again = second.post_with("/v1/runs", &body, &key).await;
    assert_eq!((again.status, again.json()["run"].as_str()), (201, Some(run)), "{}", again.body);
    // The run that is named can be followed at any server.
    for world in [&second, &first] {
        let said = world.get(&format!("/v1/runs/{run}/events?until=end")).await;
        assert_eq!((said.status, said.text("native").as_str()), (200, "You said: hello, in turn 1."));
    }
}

#[tokio::test]
async fn run_that_another_server_is_beginning_is_named_when_it_can_be_followed() {
    let (first, second) = two().await;
    let (key, body) = ([("idempotency-key", "k1")], json!({ "input": "hello" }));
    let begun = first.post_with("/v1/runs", &body, &key).await.json();
    let run = begun["run"].as_str().unwrap();
    first.idle().await;
    forget_beginning(&first, run).await;
    // Another server has claimed its journal, and its first record is not durable yet.
    let store = first.agent.store();
    let lease = store.claim(&run.into(), "another", Duration::from_secs(60)).await.unwrap();
    let written = AtomicBool::new(false);
    let repeat = async {
        let again = second.post_with("/v1/runs", &body, &key).await;
        assert!(written.load(Ordering::SeqCst), "it is named before it can be followed");
        again
    };
    let write = async {
        // Time for the request to look at the journal.
        tokio::time::sleep(Duration::from_millis(100)).await;
        written.store(true, Ordering::SeqCst);
        store.append(&lease, Class::Fact, &["x".into()]).unwrap().await.unwrap();
    };
    let (again, ()) = tokio::join!(repeat, write);
    assert_eq!(again.json(), json!({ "run": run, "agent": "demo", "queued": false, "repeated": true }));
}

#[tokio::test]
async fn next_message_at_another_server_stops_the_answer_whose_reader_left() {
    for when in [None, Some(WhenBusy::Queue), Some(WhenBusy::Refuse)] {
        let (first, second, _gate) = two_holding(|options| options.when_busy = when).await;
        let begin = says("ai-sdk", "s", "u1", "hold");
        let request = first.http.post(format!("{}{}", first.base, path("ai-sdk"))).header(ANN.0, ANN.1);
        let request = request.header("content-type", "application/json").body(begin.to_string());
        let stopped = request.send().await.unwrap();
        let run = stopped.headers()["x-run-id"].to_str().unwrap().to_owned();
        let noted = || async { second.agent.store().get(&format!("reader/{run}/")).await.unwrap() };
        if when.is_some() {
            while noted().await.is_none() {
                tokio::task::yield_now().await;
            }
        }
        // The stop button of this client.
        drop(stopped);
        if when.is_some() {
            while noted().await.unwrap().bytes != "left" {
                tokio::task::yield_now().await;
            }
        }
        let next = after("ai-sdk", &[("u1", "hold")], says("ai-sdk", "s", "u2", "next"));
        let next = second.post_with(&path("ai-sdk"), &next, &[ANN]).await;
        assert_eq!((next.status, next.text("ai-sdk").as_str()), (200, "done"), "{when:?}: {}", next.body);
        assert_eq!(status(&second, &run, ANN).await, "cancelled", "{when:?}");
    }
}

#[tokio::test]
async fn next_message_at_another_server_is_refused_while_the_answer_is_read() {
    let (first, second, gate) = two_holding(|options| options.when_busy = Some(WhenBusy::Refuse)).await;
    let begin = says("ai-sdk", "s", "u1", "hold");
    let request = first.http.post(format!("{}{}", first.base, path("ai-sdk"))).header(ANN.0, ANN.1);
    let request = request.header("content-type", "application/json").body(begin.to_string());
    let reading = request.send().await.unwrap();
    let next = after("ai-sdk", &[("u1", "hold")], says("ai-sdk", "s", "u2", "next"));
    let next = second.post_with(&path("ai-sdk"), &next, &[ANN]).await;
    assert_eq!((next.status, next.code().as_deref()), (409, Some("session.busy")), "{}", next.body);
    gate.add_permits(1);
    assert_eq!(TestResponse::of(reading).await.text("ai-sdk"), "done");
}

#[tokio::test]
async fn runs_of_a_principal_are_limited_at_all_servers_together() {
    let (first, second, gate) = two_holding(|options| options.limits.runs = 3).await;
    let held = json!({ "input": "hold" });
    let start = |world: &World, who: (&'static str, &'static str)| {
        let (http, url, held) = (world.http.clone(), format!("{}/v1/runs", world.base), held.clone());
        async move {
            TestResponse::of(http.post(url).header(who.0, who.1).json(&held).send().await.unwrap()).await
        }
    };
    let begun = start(&first, ANN).await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    assert_eq!(start(&second, ANN).await.status, 201);
    assert_eq!(start(&second, ANN).await.status, 201);
    for world in [&first, &second] {
        let refused = start(world, ANN).await;
        assert_eq!(
            (refused.status, refused.code().as_deref()),
            (429, Some("runs.too-many")),
            "{}",
            refused.body
        );
        assert_eq!(start(world, BOB).await.status, 201, "what Ann has is nothing to Bob");
    }
    gate.add_permits(1);
    while second.agent.active_runs("ann", 10).await.unwrap()
        + second.agent.active_runs("bob", 10).await.unwrap()
        > 4
    {
        tokio::task::yield_now().await;
    }
    gate.add_permits(10);
    first.idle().await;
    second.idle().await;
    assert_eq!(start(&first, ANN).await.status, 201);
}

#[tokio::test]
async fn server_has_no_more_active_runs_than_it_may_have() {
    let (first, second, gate) = two_holding(|options| options.limits.active_runs = 2).await;
    for who in [ANN, BOB] {
        assert_eq!(first.post_with("/v1/runs", &json!({ "input": "hold" }), &[who]).await.status, 201);
    }
    let refused = first.post_with("/v1/runs", &json!({ "input": "hold" }), &[ANN]).await;
    assert_eq!((refused.status, refused.code().as_deref()), (503, Some("server.busy")), "{}", refused.body);
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(second.post_with("/v1/runs", &json!({ "input": "hold" }), &[ANN]).await.status, 201);
    gate.add_permits(3);
    first.idle().await;
    second.idle().await;
}

#[tokio::test]
async fn server_that_leaves_begins_nothing_and_lets_its_readers_read_to_the_end() {
    let (first, second, gate) = two_holding(|_| {}).await;
    let begin = says("ai-sdk", "s", "u1", "hold");
    let request = first.http.post(format!("{}{}", first.base, path("ai-sdk"))).header(ANN.0, ANN.1);
    let request = request.header("content-type", "application/json").body(begin.to_string());
    let reading = request.send().await.unwrap();
    first.server.drain();
    let ready = first.get("/readyz").await;
    assert_eq!((ready.status, ready.code().as_deref()), (503, Some("server.stopping")));
    assert_eq!(first.get("/healthz").await.status, 200, "it is still alive");
    for (route, body) in
        [("/v1/runs", json!({ "input": "x" })), ("/v1/ai-sdk/chat", says("ai-sdk", "t", "u1", "x"))]
    {
        let refused = first.post_with(route, &body, &[ANN]).await;
        assert_eq!((refused.status, refused.code().as_deref()), (503, Some("server.stopping")), "{route}");
        assert!(!refused.header("retry-after").is_empty(), "{route}");
        assert!(second.post_with(route, &body, &[ANN]).await.status < 300, "{route}: another server does it");
    }
    gate.add_permits(1);
    assert_eq!(TestResponse::of(reading).await.text("ai-sdk"), "done");
    first.server.idle().await;
    assert_eq!(first.server.hand_over().await, 0);
}

#[tokio::test]
async fn readers_and_runs_of_a_server_that_leaves_continue_at_another() {
    let (first, second) = two().await;
    let (run, read) = {
        let response = first
            .http
            .post(format!("{}/v1/agents/chat", first.base))
            .header("content-type", "application/json")
            .body(says("agents", "s", "u1", "slow").to_string())
            .send()
            .await
            .unwrap();
        let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
        let leaving = async {
            let run = RunId::from(run.as_str());
            while first.agent.local_runs().iter().all(|driven| driven.run != run) {
                tokio::task::yield_now().await;
            }
            first.server.drain();
            first.server.hand_over().await
        };
        let (read, left) = tokio::join!(TestResponse::of(response), leaving);
        assert_eq!(left, 1);
        (run, whole_frames(&read.body))
    };
    assert!(!read.contains("event: done"), "a stream that ends because the server leaves looks cut");
    // The lease of 30 s is not waited for.
    let url = format!("/v1/runs/{run}/events?dialect=agents");
    let rest = match read.contains("id: ") {
        true => second.get_with(&url, &[("last-event-id", last_id(&read))]).await,
        false => second.get(&url).await,
    };
    assert_eq!(text(&state("agents", &(read + &rest.body))), slowly(), "{}", rest.body);
    assert_eq!(first.agent.driving(), 0);
}

#[tokio::test]
async fn cursor_to_a_record_that_another_server_has_not_written_yet_is_waited_for() {
    let (first, second, gate) = two_holding(|_| {}).await;
    let started = first.post_with("/v1/runs", &json!({ "input": "hold" }), &[ANN]).await.json();
    let run = started["run"].as_str().unwrap().to_owned();
    let journal = run.as_str().into();
    // Until it is held, it writes.
    let mut info = first.agent.store().info(&journal).await.unwrap().unwrap();
    while info.tail.last < 3 {
        tokio::task::yield_now().await;
        info = first.agent.store().info(&journal).await.unwrap().unwrap();
    }
    let cursor = Cursor { journal, epoch: info.epochs[0].epoch, seq: info.tail.last + 1, frame: 0, count: 0 };
    let id = cursor.seal(first.agent.secret().await.unwrap());
    let url = format!("/v1/runs/{run}/events");
    let headers = [ANN, ("last-event-id", id.as_str())];
    let reading = second.get_with(&url, &headers);
    let (rest, ()) = tokio::join!(reading, async { gate.add_permits(1) });
    assert_eq!(rest.status, 200, "{}", rest.body);
    assert!(rest.body.contains("run-finished"), "{}", rest.body);
    let late = second.get_with(&url, &[ANN, ("last-event-id", ahead(&cursor, &first).await.as_str())]).await;
    assert_eq!(
        (late.status, late.code().as_deref()),
        (409, Some("cursor.future")),
        "a run that has ended writes no more"
    );
}

async fn ahead(cursor: &Cursor, world: &World) -> String {
    Cursor { seq: cursor.seq + 1_000, ..cursor.clone() }.seal(world.agent.secret().await.unwrap())
}

#[tokio::test]
async fn principals_of_two_servers_are_kept_apart() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let keys = || ApiKeys::new().add("ann", "key-of-ann").add("bob", "key-of-bob");
    let first = World::on(store.clone(), Options::default().authenticator(keys())).await;
    let second = World::on(store, Options::default().authenticator(keys())).await;
    let started = first.post_with("/v1/runs", &json!({ "input": "hello" }), &[ANN]).await.json();
    let url = format!("/v1/runs/{}", started["run"].as_str().unwrap());
    assert_eq!(second.get_with(&url, &[ANN]).await.status, 200);
    assert_eq!(second.get_with(&url, &[BOB]).await.status, 404);
}
