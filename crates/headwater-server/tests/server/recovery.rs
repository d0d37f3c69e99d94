//! Runs of a dead process continue by themselves, and the runtime context of a run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_protocol::RunId;
use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Start, Workflow};
use headwater_server::{Agents, ApiKeys, Options, Recovery, Server, router};
use headwater_store::{Embedded, Memory, Store};
use serde_json::{Value, json};

use crate::harness::World;

/// What there is outside of a process.
#[derive(Debug, Clone, Default)]
struct Outside {
    /// Whether the node may come to its end.
    open: Arc<AtomicBool>,
    paid: Arc<AtomicU32>,
}

fn agent(store: Arc<dyn Store>, outside: &Outside) -> Agent {
    let outside = outside.clone();
    let node = move |cx: Cx, (): ()| {
        let outside = outside.clone();
        async move {
            cx.step("pay", || async { Ok(outside.paid.fetch_add(1, Ordering::SeqCst)) }).await?;
            if !outside.open.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            Ok(Next::message("done"))
        }
    };
    let workflow =
        Workflow::new("w").node("node", node).edge(START, "node").edge("node", END).build().unwrap();
    Agent::builder().workflow(workflow).store(store).build().unwrap()
}

/// A process that begins a run through a router and dies in the middle of it.
fn dies(folder: &std::path::Path, outside: &Outside) -> RunId {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = runtime.block_on(async {
        let agent = agent(Arc::new(Embedded::open(folder).unwrap()), outside);
        let _router = router(Agents::new().add("w", agent.clone()));
        let run = agent.start(Start::new("")).await.unwrap();
        while outside.paid.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        agent.store().flush().await.unwrap();
        run.id().clone()
    });
    // All tasks end where they are.
    drop(runtime);
    run
}

async fn ends(agent: &Agent, run: &RunId) {
    while agent.run(run.clone()).summary().await.unwrap().ended.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn run_of_a_dead_process_ends_without_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::default();
    let run = dies(folder.path(), &outside);
    outside.open.store(true, Ordering::SeqCst);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let agent = agent(Arc::new(Embedded::open(folder.path()).unwrap()), &outside);
        let _router = router(Agents::new().add("w", agent.clone()));
        ends(&agent, &run).await;
        assert_eq!(outside.paid.load(Ordering::SeqCst), 1, "what was done is not done again");
    });
}

#[test]
fn recovery_can_be_switched_off_and_done_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let outside = Outside::default();
    let run = dies(folder.path(), &outside);
    outside.open.store(true, Ordering::SeqCst);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let agent = agent(Arc::new(Embedded::open(folder.path()).unwrap()), &outside);
        let options = Options::default().recovery(Recovery::Off);
        let server = Server::new(Agents::new().add("w", agent.clone()), options);
        let _router = server.router();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(agent.driving(), 0);
        server.recover().await;
        ends(&agent, &run).await;
    });
}

#[tokio::test]
async fn recovery_ends_with_the_routes() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let options = Options::default().recovery(Recovery::Every(Duration::from_millis(1)));
    let server = Server::new(Agents::new().add("w", agent(store.clone(), &Outside::default())), options);
    let router = server.router();
    drop(server);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(Arc::strong_count(&store) > 1, "the routes hold the store");
    drop(router);
    while Arc::strong_count(&store) > 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn agent_has_the_same_name_in_every_document() {
    let outside = Outside::default();
    outside.open.store(true, Ordering::SeqCst);
    let agent = agent(Arc::new(Memory::new()), &outside);
    let server = Server::new(Agents::new().add("served", agent.clone()), Options::default());
    let world = World::of(agent, server).await;
    let started = world.post("/v1/runs", &json!({ "input": "x" })).await.json();
    let run = started["run"].as_str().unwrap();
    assert_eq!(started["agent"], "served");
    let one = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(one["run"]["agent"], "served");
    assert_eq!(world.get("/v1/runs").await.json()["runs"][0]["agent"], "served");
    let created = world.post("/v1/sessions", &json!({ "id": "s" })).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(world.get("/v1/sessions").await.json()["agent"], "served");
    assert_eq!(world.get("/v1/sessions/s/export").await.json()["agent"], "served");
    let inner = format!("\"agent\":\"{}\"", world.agent.name());
    let named = |document: &Value| document.to_string().contains(&inner);
    for path in ["/v1/runs", "/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/export", "/v1/interrupts"] {
        let document = world.get(path).await.json();
        assert!(!named(&document), "{path}: {document}");
    }
}

#[tokio::test]
async fn runtime_context_is_the_caller_whatever_the_client_sends() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let context: Value = cx.runtime_context()?;
        Ok(Next::go().with_result(&json!({ "context": context, "client": cx.client_context() }))?)
    }
    let workflow =
        Workflow::new("w").node("node", node).edge(START, "node").edge("node", END).build().unwrap();
    let agent = Agent::builder().workflow(workflow).store(Arc::new(Memory::new())).build().unwrap();
    let options = Options::default().authenticator(ApiKeys::new().add("ann", "key-of-ann"));
    let world = World::of(agent.clone(), Server::new(Agents::new().add("w", agent), options)).await;
    let claims = json!({ "principal": "eve", "claims": { "admin": true }, "language": "no" });
    let body = json!({ "input": "x", "context": claims });
    let key = ("x-api-key", "key-of-ann");
    let started = world.post_with("/v1/runs", &body, &[key]).await.json();
    let run = RunId::from(started["run"].as_str().unwrap());
    let outcome = world.agent.run(run).outcome().await.unwrap();
    let data = outcome.state.run().data.clone().unwrap();
    assert_eq!(data["context"], json!({ "principal": "ann", "claims": null }));
    assert_eq!(data["client"], claims);
}
