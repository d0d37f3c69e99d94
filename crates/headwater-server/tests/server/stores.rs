//! Agents on one store and on several, and a store that fails.

use std::{collections::BTreeSet, sync::Arc};

use headwater_server::{Agents, ApiKeys, Options, Server};
use headwater_store::{Expect, Memory, Store};
use serde_json::json;

use crate::harness::{World, agent_named};

const ANN: (&str, &str) = ("x-api-key", "key-of-ann");
const BOB: (&str, &str) = ("x-api-key", "key-of-bob");

/// Two agents, each on the store that it is given.
async fn world(one: Arc<dyn Store>, two: Arc<dyn Store>) -> World {
    let (one, two) = (agent_named("one", one), agent_named("two", two));
    let keys = ApiKeys::new().add("ann", "key-of-ann").add("bob", "key-of-bob");
    let agents = Agents::new().add("one", one.clone()).add("two", two);
    World::of(one, Server::new(agents, Options::default().authenticator(keys))).await
}

async fn start(world: &World, agent: &str, who: (&str, &str), input: &str) -> String {
    let started = world.post_with("/v1/runs", &json!({ "input": input, "agent": agent }), &[who]).await;
    assert_eq!(started.status, 201, "{}", started.body);
    let run = started.json()["run"].as_str().unwrap().to_owned();
    world.get_with(&format!("/v1/runs/{run}/events?until=wait"), &[who]).await;
    run
}

#[tokio::test]
async fn runs_of_several_stores_are_listed_page_by_page_and_none_is_left_out() {
    let world = world(Arc::new(Memory::new()), Arc::new(Memory::new())).await;
    let mut anns = Vec::new();
    for number in 0..12 {
        for agent in ["one", "two"] {
            // Of one agent she has few, so that the pages of the stores do not go as far.
            let ann = agent == "one" || number % 3 == 0;
            let run = start(&world, agent, if ann { ANN } else { BOB }, "hello").await;
            if ann {
                anns.push(run);
            }
        }
    }
    for limit in [1, 2, 5, 15, 16, 100] {
        let (mut listed, mut after) = (Vec::new(), String::new());
        loop {
            let page = world.get_with(&format!("/v1/runs?limit={limit}{after}"), &[ANN]).await.json();
            let runs = page["runs"].as_array().unwrap();
            assert!(runs.len() <= limit, "{page}");
            listed.extend(runs.iter().map(|run| run["id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        let (mut each, mut all) = (listed.clone(), anns.clone());
        each.sort();
        all.sort();
        assert_eq!(each, all, "by {limit}");
        let place = |run: &String| anns.iter().position(|known| known == run).unwrap();
        // Those that began in one millisecond are in no order.
        let newest: Vec<_> = listed.iter().map(place).collect();
        assert!(newest.first() > newest.last(), "the newest first: {newest:?}");
    }
}

#[tokio::test]
async fn questions_of_several_stores_are_listed_page_by_page_and_none_is_left_out() {
    let world = world(Arc::new(Memory::new()), Arc::new(Memory::new())).await;
    for agent in ["one", "two", "one", "two", "two"] {
        start(&world, agent, ANN, "delete it").await;
    }
    let mut listed = BTreeSet::new();
    let mut after = String::new();
    loop {
        let page = world.get_with(&format!("/v1/interrupts?limit=2{after}"), &[ANN]).await.json();
        let requests = page["interrupts"].as_array().unwrap();
        assert!(requests.len() <= 2, "{page}");
        listed.extend(requests.iter().map(|request| request["request"].to_string()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
        let foreign = world.get_with(&format!("/v1/interrupts?limit=2{after}"), &[BOB]).await;
        assert_eq!((foreign.status, foreign.json()["code"].as_str()), (422, Some("page.invalid")));
    }
    assert_eq!(listed.len(), 5);
    let request = listed.first().unwrap().trim_matches('"');
    let unsigned = world.get_with(&format!("/v1/interrupts?after={request}"), &[ANN]).await;
    assert_eq!((unsigned.status, unsigned.json()["code"].as_str()), (422, Some("page.invalid")));
}

#[tokio::test]
async fn run_is_answered_with_a_question_of_its_own_only() {
    let store = Arc::new(Memory::new());
    let world = world(store.clone(), store).await;
    let (one, two) =
        (start(&world, "one", ANN, "delete it").await, start(&world, "two", ANN, "delete it").await);
    let asked = |run: &str| {
        let (path, world) = (format!("/v1/runs/{run}"), &world);
        async move { world.get_with(&path, &[ANN]).await.json()["waitsFor"][0]["request"].clone() }
    };
    let request = asked(&two).await;
    let body = json!({ "request": request, "approved": true });
    let wrong = world.post_with(&format!("/v1/runs/{one}/answer"), &body, &[ANN]).await;
    assert_eq!(
        (wrong.status, wrong.json()["code"].clone()),
        (404, json!("request.unknown")),
        "{}",
        wrong.body
    );
    assert_eq!(asked(&two).await, request, "the question is open");
    let right = world.post_with(&format!("/v1/runs/{two}/answer"), &body, &[ANN]).await;
    assert_eq!(right.status, 202, "{}", right.body);
    let said = world.get_with(&format!("/v1/runs/{two}/events?until=end"), &[ANN]).await;
    assert_eq!(said.text("native"), "It is gone.");
}

#[tokio::test]
async fn unreadable_run_is_not_reported_as_missing() {
    let store = Arc::new(Memory::new());
    let world = world(store.clone(), Arc::new(Memory::new())).await;
    let broken = start(&world, "one", ANN, "hello").await;
    let whole = start(&world, "two", ANN, "hello").await;
    store.put(&format!("run/{broken}/"), "no JSON".into(), Expect::Any, None).await.unwrap();
    for path in [format!("/v1/runs/{broken}"), format!("/v1/ai-sdk/chat/{broken}/stream")] {
        let said = world.get_with(&path, &[ANN]).await;
        assert_eq!(
            (said.status, said.json()["code"].clone()),
            (500, json!("store")),
            "{path}: {}",
            said.body
        );
    }
    // What another store has is found.
    assert_eq!(world.get_with(&format!("/v1/runs/{whole}"), &[ANN]).await.status, 200);
}
