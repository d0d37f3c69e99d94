//! A full store in memory: ended runs make room, and requests without room get an error.

use std::sync::Arc;

use bytes::Bytes;
use headwater_server::Options;
use headwater_store::{Class, Memory, MemoryOptions, Store};
use serde_json::json;

use crate::harness::World;

const MAX: u64 = 2 << 20;

async fn world() -> (World, Arc<Memory>) {
    let store = Arc::new(Memory::with(MemoryOptions { max_bytes: MAX, ..MemoryOptions::default() }));
    (World::on(store.clone(), Options::default()).await, store)
}

/// Takes all room but so many bytes, with a journal that has a driver and therefore cannot be dropped.
async fn fill(store: &Memory, but: usize) {
    let lease = store.claim(&"held".into(), "a test", std::time::Duration::from_secs(3_600)).await.unwrap();
    let size = 16 << 10;
    let body = Bytes::from(vec![0; size]);
    let mut taken = 0;
    while store.append(&lease, Class::Delta, std::slice::from_ref(&body)).is_ok() {
        taken += 1;
    }
    let freed = (but / size) as u64;
    assert!(taken > freed, "the store had room for {taken} records");
    store.trim(&lease, freed + 1).await.unwrap();
}

#[tokio::test]
async fn ended_runs_make_room_for_new_ones() {
    let (world, _store) = world().await;
    for number in 0..20 {
        let message = json!({ "id": format!("m{number}"), "role": "user", "parts": [{ "type": "text", "text": "long" }] });
        let body = json!({ "id": format!("chat {number}"), "messages": [message] });
        let said = world.post("/v1/ai-sdk/chat", &body).await;
        // Sessions are kept: in the end they fill the store. Runs alone must not.
        if said.status == 503 {
            assert!(number > 2, "chat {number}: {}", said.body);
            assert_eq!(said.code().as_deref(), Some("store.full"));
            return;
        }
        assert_eq!(said.status, 200, "{}", said.body);
    }
    for _ in 0..20 {
        let started = world.post("/v1/runs", &json!({ "input": "long" })).await;
        assert_eq!(started.status, 201, "{}", started.body);
        let run = started.json()["run"].as_str().unwrap().to_owned();
        let events = world.get(&format!("/v1/runs/{run}/events?until=wait")).await;
        assert!(
            events.body.contains("run-finished"),
            "{}",
            events.body.chars().rev().take(500).collect::<String>()
        );
    }
}

#[tokio::test]
async fn full_store_is_not_ready_and_refuses_new_runs() {
    let (world, store) = world().await;
    assert_eq!(world.get("/readyz").await.status, 200);
    fill(&store, 0).await;
    let ready = world.get("/readyz").await;
    assert_eq!((ready.status, ready.code().as_deref()), (503, Some("store.full")), "{}", ready.body);
    assert!(ready.body.contains("the memory store is full"), "the reason is given: {}", ready.body);
    let refused = world.post("/v1/runs", &json!({ "input": "hello" })).await;
    assert_eq!((refused.status, refused.code().as_deref()), (503, Some("store.full")), "{}", refused.body);
    store.delete(&"held".into()).await.unwrap_err();
}

#[tokio::test]
async fn stream_of_a_run_that_finds_no_room_ends_with_an_error() {
    let (world, store) = world().await;
    fill(&store, 128 << 10).await;
    let body = json!({ "id": "chat", "messages": [{ "id": "m", "role": "user", "parts": [{ "type": "text", "text": "long" }] }] });
    let said = world.post("/v1/ai-sdk/chat", &body).await;
    assert_eq!(said.status, 200, "{}", said.body);
    assert!(said.text("ai-sdk").starts_with("so-long"), "the earlier messages are there");
    let chunks = said.chunks();
    assert!(chunks.iter().any(|chunk| chunk["type"] == "error"), "{:?}", chunks.last());
    world.idle().await;
    let runs = world.get("/v1/runs").await.json();
    assert_eq!(runs["runs"][0]["status"], "failed", "{runs}");
    assert_eq!(runs["runs"][0]["error"], "journal.full", "{runs}");
}
