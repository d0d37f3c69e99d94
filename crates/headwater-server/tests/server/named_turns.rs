//! Turns that are named by their messages, as pages know them.

use serde_json::{Value, json};

use crate::harness::World;

async fn settled(world: &World) {
    world.agent.session("s", Some("local")).settled().await.unwrap();
}

async fn messages(world: &World) -> Vec<Value> {
    world.get("/v1/sessions/s/messages").await.json()["messages"].as_array().unwrap().clone()
}

fn id(message: &Value) -> String {
    message["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn turn_is_named_by_its_messages_also_after_it_was_regenerated() {
    let world = World::new().await;
    world.post("/v1/sessions", &json!({ "id": "s" })).await;
    for text in ["hello", "more"] {
        world.post("/v1/sessions/s/messages", &json!({ "text": text })).await;
        settled(&world).await;
    }
    let before = messages(&world).await;
    let turn = |name: &str, action: &str| format!("/v1/sessions/s/checkpoints/{name}/{action}");
    let again = world.post(&turn("latest", "regenerate"), &json!({})).await;
    assert_eq!(again.status, 202, "{}", again.body);
    settled(&world).await;
    let after = messages(&world).await;
    assert_eq!(id(&after[2]), id(&before[2]), "what the person wrote is the same message");
    assert_ne!(id(&after[3]), id(&before[3]));

    for name in [id(&after[2]), id(&after[3])] {
        let variants = world.get(&turn(&name, "variants")).await.json();
        assert_eq!(variants["variants"].as_array().unwrap().len(), 2, "{name}");
    }
    let edited = world.post(&turn(&id(&after[2]), "edit"), &json!({ "text": "less" })).await;
    assert_eq!(edited.status, 202, "{}", edited.body);
    settled(&world).await;
    let now = messages(&world).await;
    assert_eq!(now[2]["parts"][0]["text"], "less");
    assert_eq!(now.len(), 4);

    let back = world.post(&turn(&id(&now[1]), "rollback"), &json!({})).await;
    assert_eq!(back.status, 200, "{}", back.body);
    assert_eq!(messages(&world).await.len(), 2);
    let gone = world.post(&turn(&id(&now[3]), "rollback"), &json!({})).await;
    assert_eq!((gone.status, gone.code().as_deref()), (404, Some("checkpoint.unknown")));
}

#[tokio::test]
async fn run_that_was_answered_is_edited_at_its_message_and_rolled_back_to_its_end() {
    let world = World::new().await;
    let begun = world.post("/v1/runs", &json!({ "input": "let me choose", "session": "s" })).await.json();
    settled(&world).await;
    let answer = format!("/v1/runs/{}/answer", begun["run"].as_str().unwrap());
    assert_eq!(world.post(&answer, &json!({ "answer": "a" })).await.status, 202);
    settled(&world).await;
    let end = world.get("/v1/sessions/s").await.json()["checkpoint"].clone();
    let said = messages(&world).await;
    let name = id(said.last().unwrap());
    let found = world.get(&format!("/v1/sessions/s/checkpoints/{name}")).await.json();
    assert_eq!(found["checkpoint"]["id"], end, "a page goes back to the end of the run");
    let edited =
        world.post(&format!("/v1/sessions/s/checkpoints/{name}/edit"), &json!({ "text": "hi" })).await;
    assert_eq!(edited.status, 202, "{}", edited.body);
    settled(&world).await;
    assert_eq!(messages(&world).await[0]["parts"][0]["text"], "hi");
}
