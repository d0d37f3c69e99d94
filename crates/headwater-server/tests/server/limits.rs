//! How much one principal may have at once.

use std::{sync::Arc, time::Duration};

use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, Choice, Cx, END, Next, START, WhenBusy, Workflow};
use headwater_server::{Agents, ApiKeys, Limits, Options, Server};
use headwater_store::{Memory, Store};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::Semaphore};

use crate::{
    harness::{TestResponse, World},
    talk::says,
};

pub(crate) const ANN: (&str, &str) = ("x-api-key", "key-of-ann");
pub(crate) const BOB: (&str, &str) = ("x-api-key", "key-of-bob");

/// How much the run of the never-reading client says.
const PIECES: usize = 256;
const PIECE: usize = 64 << 10;

/// An agent whose runs continue until they are let go.
pub(crate) async fn holding(limits: Limits) -> (World, Arc<Semaphore>) {
    holding_with(|options| {
        options.limits = limits;
        options.when_busy = Some(WhenBusy::Queue);
    })
    .await
}

/// The same, with other options.
pub(crate) async fn holding_with(change: impl FnOnce(&mut Options)) -> (World, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    (holding_on(Arc::new(Memory::new()), gate.clone(), change).await, gate)
}

/// The same, on a store that other servers use too.
pub(crate) async fn holding_on(
    store: Arc<dyn Store>,
    held: Arc<Semaphore>,
    change: impl FnOnce(&mut Options),
) -> World {
    let hold = move |cx: Cx, input: String| {
        let held = held.clone();
        async move {
            if input.contains("choose") {
                cx.interrupt(Choice::new("Which one?").option("a", "The first")).id("which").await?;
            }
            if input.contains("much") {
                for _ in 0..PIECES {
                    cx.emit().data("piece", Some("only"), json!("x".repeat(PIECE)))?;
                    tokio::task::yield_now().await;
                }
            } else if input.contains("hold") {
                let cancelled = cx.cancelled();
                tokio::select! {
                    permit = held.acquire() => permit?.forget(),
                    () = cancelled.cancelled() => {}
                }
            }
            Ok(Next::message("done"))
        }
    };
    let workflow =
        Workflow::new("hold").node("hold", hold).edge(START, "hold").edge("hold", END).build().unwrap();
    let agent = Agent::builder().name("hold").workflow(workflow).store(store).build().unwrap();
    let keys = ApiKeys::new().add("ann", "key-of-ann").add("bob", "key-of-bob");
    let mut options = Options::default().authenticator(keys);
    change(&mut options);
    let server = Server::new(Agents::new().add("hold", agent.clone()), options);
    World::of(agent, server).await
}

fn too_many(said: &TestResponse, code: &str) {
    assert_eq!((said.status, said.json()["code"].as_str()), (429, Some(code)), "{}", said.body);
    assert!(said.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[tokio::test]
async fn too_many_runs_at_once_are_refused_until_one_has_ended() {
    let mut limits = Limits::default();
    limits.runs = 2;
    let (world, gate) = holding(limits).await;
    let held = json_input("hold");
    let start = |who| world.post_with("/v1/runs", &held, std::slice::from_ref(who));
    let first = start(&ANN).await;
    assert_eq!((first.status, start(&ANN).await.status), (201, 201));
    too_many(&start(&ANN).await, "runs.too-many");
    let chat = world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "hold"), &[ANN]).await;
    too_many(&chat, "runs.too-many");
    assert_eq!(start(&BOB).await.status, 201, "what Ann has is nothing to Bob");
    gate.add_permits(3);
    let run = first.json()["run"].as_str().unwrap().to_owned();
    world.agent.run(run).outcome().await.unwrap();
    assert_eq!(start(&ANN).await.status, 201);
}

#[tokio::test]
async fn run_without_a_free_stream_is_not_started() {
    let mut limits = Limits::default();
    limits.streams = 0;
    let (world, gate) = holding(limits).await;
    gate.add_permits(1);
    let chat = world.post_with("/v1/tanstack/chat", &says("tanstack", "c", "u1", "hold"), &[ANN]).await;
    too_many(&chat, "streams.too-many");
    let runs = world.get_with("/v1/runs", &[ANN]).await;
    assert_eq!(runs.json()["runs"], json!([]), "a retry starts a first run, not a second");
}

#[tokio::test]
async fn queued_message_has_a_live_stream() {
    let (world, gate) = holding(Limits::default()).await;
    let ask = |id| {
        let body = says("ai-sdk", "c", id, "hold").to_string();
        let request = world.http.post(format!("{}/v1/ai-sdk/chat", world.base)).header(ANN.0, ANN.1);
        request.header("content-type", "application/json").body(body).send()
    };
    let first = ask("u1").await.unwrap();
    let second = ask("u2").await.unwrap();
    assert_eq!(second.status(), 200);
    assert!(second.headers().contains_key("x-run-id"));
    gate.add_permits(2);
    for said in [first, second] {
        assert!(said.text().await.unwrap().contains("done"));
    }
}

fn json_input(input: &str) -> serde_json::Value {
    json!({ "input": input })
}

#[tokio::test]
async fn run_that_waits_counts_no_longer() {
    let mut limits = Limits::default();
    limits.runs = 1;
    let (world, gate) = holding(limits).await;
    let waits = world.post_with("/v1/runs", &json_input("choose"), &[ANN]).await.json()["run"].clone();
    let run = world.agent.run(waits.as_str().unwrap());
    assert_eq!(run.outcome().await.unwrap().status(), RunStatus::Waiting);
    assert_eq!(world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await.status, 201);
    // A decision is accepted, however many runs are active.
    let answer = format!("/v1/runs/{}/answer", waits.as_str().unwrap());
    assert_eq!(world.post_with(&answer, &json!({ "answer": "a" }), &[ANN]).await.status, 202);
    too_many(&world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await, "runs.too-many");
    gate.add_permits(2);
}

#[tokio::test]
async fn same_request_again_attaches_although_no_more_may_begin() {
    let mut limits = Limits::default();
    limits.runs = 1;
    let (world, gate) = holding(limits).await;
    let body = says("ai-sdk", "c", "u1", "hold");
    let request = || {
        let request = world.http.post(format!("{}/v1/ai-sdk/chat", world.base)).header(ANN.0, ANN.1);
        request.header("content-type", "application/json").body(body.to_string()).send()
    };
    let first = request().await.unwrap();
    let run = first.headers()["x-run-id"].clone();
    drop(first);
    let again = request().await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(again.headers()["x-run-id"], run);
    gate.add_permits(1);
    assert!(again.text().await.unwrap().contains("done"));
}

#[tokio::test]
async fn too_many_streams_at_once_are_refused_until_one_is_closed() {
    let mut limits = Limits::default();
    limits.streams = 1;
    let (world, gate) = holding(limits).await;
    let run = world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await.json()["run"].clone();
    let events = format!("/v1/runs/{}/events", run.as_str().unwrap());
    let open = world.http.get(format!("{}{events}", world.base)).header(ANN.0, ANN.1).send().await.unwrap();
    assert_eq!(open.status(), 200);
    too_many(&world.get_with(&events, &[ANN]).await, "streams.too-many");
    drop(open);
    gate.add_permits(1);
    world.agent.run(run.as_str().unwrap()).outcome().await.unwrap();
    // The server finds out that the reader has left when its connection is closed.
    loop {
        let said = world.get_with(&events, &[ANN]).await;
        if said.status == 200 {
            assert!(said.body.contains("done"));
            return;
        }
        too_many(&said, "streams.too-many");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn run_over_its_time_limit_is_stopped_without_readers() {
    let mut limits = Limits::default();
    limits.run_time = Some(Duration::from_millis(50));
    let (world, _gate) = holding(limits).await;
    let run = world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await.json()["run"].clone();
    let outcome = world.agent.run(run.as_str().unwrap()).outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Cancelled);
    let told = world.get_with(&format!("/v1/runs/{}/events", run.as_str().unwrap()), &[ANN]).await;
    assert!(told.body.contains("took longer than 50ms"), "{}", told.body);
}

#[tokio::test]
async fn reader_that_never_reads_costs_little_memory() {
    let (world, gate) = holding(Limits::default()).await;
    let run = world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await.json()["run"].clone();
    let address = world.base.strip_prefix("http://").unwrap().to_owned();
    let never_reads = |run: String| {
        let address = address.clone();
        async move {
            let mut socket = TcpStream::connect(&address).await.unwrap();
            let head = format!(
                "GET /v1/runs/{run}/events HTTP/1.1\r\nhost: {address}\r\nx-api-key: key-of-ann\r\n\r\n"
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            socket
        }
    };
    let much = world.post_with("/v1/runs", &json_input("much"), &[ANN]).await.json()["run"].clone();
    let much = much.as_str().unwrap().to_owned();
    let sockets = [
        never_reads(much.clone()).await,
        never_reads(much.clone()).await,
        never_reads(run.as_str().unwrap().to_owned()).await,
    ];
    let outcome = world.agent.run(much.as_str()).outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Finished);
    let said = PIECES * PIECE;
    let held = world.server.bytes_held();
    assert!(held <= said / 8, "{held} bytes are held of {said} that were said");
    // A reader that keeps reading gets everything.
    let whole = world.get_with(&format!("/v1/runs/{much}/events"), &[ANN]).await;
    assert!(whole.body.len() > said, "{} of {said}", whole.body.len());
    gate.add_permits(1);
    drop(sockets);
}

#[tokio::test]
async fn doing_a_turn_again_counts_as_a_run() {
    let mut limits = Limits::default();
    limits.runs = 1;
    let (world, gate) = holding(limits).await;
    gate.add_permits(1);
    world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "done", "u1", "hold"), &[ANN]).await;
    world.idle().await;
    let at = world.get_with("/v1/sessions/done", &[ANN]).await.json()["checkpoint"].clone();
    assert_eq!(world.post_with("/v1/runs", &json_input("hold"), &[ANN]).await.status, 201);
    let mut regenerated = says("ai-sdk", "done", "u1", "hold");
    regenerated["trigger"] = json!("regenerate-message");
    let edited = says("ai-sdk", "done", "u1", "hold on");
    for body in [&regenerated, &edited] {
        too_many(&world.post_with("/v1/ai-sdk/chat", body, &[ANN]).await, "runs.too-many");
    }
    for (action, body) in [("regenerate", json!({})), ("edit", json!({ "text": "hold on" }))] {
        let route = format!("/v1/sessions/done/checkpoints/{}/{action}", at.as_str().unwrap());
        too_many(&world.post_with(&route, &body, &[ANN]).await, "runs.too-many");
    }
    // A repeated request starts nothing and is answered.
    let again = world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "done", "u1", "hold"), &[ANN]).await;
    assert_eq!(again.status, 200, "{}", again.body);
    gate.add_permits(1);
    world.idle().await;
    gate.add_permits(1);
    let key = ("idempotency-key", "k");
    let first = world.post_with("/v1/ai-sdk/chat", &regenerated, &[ANN, key]).await;
    assert_eq!(first.status, 200, "{}", first.body);
    world.idle().await;
    let started = world.post_with("/v1/runs", &json_input("hold"), &[ANN, key]).await;
    let attached = world.post_with("/v1/ai-sdk/chat", &regenerated, &[ANN, key]).await;
    assert_eq!(attached.header("x-run-id"), first.header("x-run-id"), "{}", attached.body);
    let route = format!("/v1/sessions/done/checkpoints/{}/regenerate", at.as_str().unwrap());
    let attached = world.post_with(&route, &json!({}), &[ANN, key]).await;
    assert_eq!(
        (attached.status, attached.json()["repeated"].clone()),
        (202, json!(true)),
        "{}",
        attached.body
    );
    let again = world.post_with("/v1/runs", &json_input("hold"), &[ANN, key]).await;
    assert_eq!((again.status, again.json()["run"].clone()), (201, started.json()["run"].clone()));
    gate.add_permits(1);
}

/// Announces a body of so many bytes, and sends none of them. The body counts while this lives.
async fn announce(world: &World, key: (&str, &str), bytes: usize) -> TcpStream {
    let address = world.base.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: {address}\r\n{}: {}\r\ncontent-type: application/json\r\n\
         content-length: {bytes}\r\n\r\n",
        key.0, key.1
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// Sends a small body until the answer has a status.
async fn until_status(world: &World, key: (&str, &str), status: u16) -> TestResponse {
    let body = json!({ "input": "choose", "context": { "a": "x".repeat(600) } });
    loop {
        let said = world.post_with("/v1/runs", &body, &[key]).await;
        if said.status == status {
            return said;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bytes_of_bodies_are_limited_for_each_principal_and_in_all() {
    let mut limits = Limits::default();
    (limits.body, limits.bodies, limits.bodies_total) = (1_000, 1_500, 2_500);
    let keys = ApiKeys::new().add("ann", ANN.1).add("bob", BOB.1);
    let world = World::with(Options::default().authenticator(keys).limits(limits)).await;
    let held = announce(&world, ANN, 1_000).await;
    let refused = until_status(&world, ANN, 429).await;
    assert_eq!(refused.json()["code"], "bodies.too-many", "{}", refused.body);
    assert!(!refused.header("retry-after").is_empty());
    until_status(&world, BOB, 201).await;
    let other = announce(&world, BOB, 1_000).await;
    let refused = until_status(&world, BOB, 503).await;
    assert_eq!(refused.json()["code"], "server.busy", "{}", refused.body);
    assert!(!refused.header("retry-after").is_empty());
    // Closed connections no longer count.
    drop((held, other));
    until_status(&world, ANN, 201).await;
    until_status(&world, BOB, 201).await;
}

#[tokio::test]
async fn parsed_values_of_bodies_count_as_well_as_their_bytes() {
    let mut limits = Limits::default();
    (limits.body, limits.bodies) = (10_000, 100_000);
    let keys = ApiKeys::new().add("ann", ANN.1).add("bob", BOB.1);
    let world = World::with(Options::default().authenticator(keys).limits(limits)).await;
    let chat = |message: &str, values: usize| {
        let mut body = says("ai-sdk", "c", message, "hello");
        body["data"] = json!(vec![0; values]);
        body
    };
    let path = "/v1/ai-sdk/chat";
    // Alone, a body is let through whatever it takes.
    assert_eq!(world.post_with(path, &chat("u1", 1_000), &[ANN]).await.status, 200);
    let held = announce(&world, ANN, 10_000).await;
    while world.post_with(path, &chat("u1", 1_000), &[ANN]).await.status != 429 {
        tokio::task::yield_now().await;
    }
    let refused = world.post_with(path, &chat("u2", 1_000), &[ANN]).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (429, Some("bodies.too-many")));
    assert_eq!(world.post_with(path, &chat("u3", 10), &[ANN]).await.status, 200);
    assert_eq!(world.post_with(path, &chat("u4", 1_000), &[BOB]).await.status, 200);
    // What is let through is given back in whole.
    drop(held);
    while world.post_with(path, &chat("u5", 1_000), &[ANN]).await.status != 200 {
        tokio::task::yield_now().await;
    }
}
