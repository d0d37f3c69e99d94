//! A page with a list of conversations: it renames, archives and deletes them, as CopilotKit's `useThreads` does.

use headwater_server::Options;
use serde_json::{Value, json};

use crate::{
    harness::World,
    talk::{path, says},
};

const THREADS: &str = "/v1/ag-ui/threads";

/// The ids, names and states of the threads that a page lists.
async fn listed(world: &World, query: &str) -> Vec<(String, Value, bool)> {
    let list = world.get(&format!("{THREADS}?agentId=demo{query}")).await.json();
    let threads = list["threads"].as_array().unwrap_or_else(|| panic!("{list}"));
    let entry = |thread: &Value| {
        let id = thread["id"].as_str().unwrap().to_owned();
        (id, thread["name"].clone(), thread["archived"].as_bool().unwrap())
    };
    threads.iter().map(entry).collect()
}

async fn send_text(world: &World, session: &str, message: &str, text: &str) {
    let said = world.post(&path("ag-ui"), &says("ag-ui", session, message, text)).await;
    assert_eq!(said.status, 200, "{}", said.body);
}

#[tokio::test]
async fn thread_is_renamed_archived_restored_and_deleted() {
    let world = World::new().await;
    send_text(&world, "boats", "u1", "hello").await;
    let thread = format!("{THREADS}/boats");
    let change = async |body: Value| world.patch_with(&thread, &body, &[]).await;
    assert_eq!(listed(&world, "").await, [("boats".to_owned(), json!("hello"), false)]);

    assert_eq!(change(json!({ "agentId": "demo", "name": "Boats" })).await.status, 204);
    assert_eq!(listed(&world, "").await, [("boats".to_owned(), json!("Boats"), false)]);
    // Neither going back to the beginning nor a first turn after it takes the name away, and a fork has it too.
    assert_eq!(world.post("/v1/sessions/boats/undo", &json!({})).await.status, 200);
    assert_eq!(world.get("/v1/sessions/boats").await.json()["label"], "Boats");
    send_text(&world, "boats", "u2", "again").await;
    let session = world.get("/v1/sessions/boats").await.json();
    assert_eq!(session["label"], "Boats", "{session}");
    let fork = format!("/v1/sessions/boats/checkpoints/{}/fork", session["checkpoint"].as_str().unwrap());
    assert_eq!(world.post(&fork, &json!({ "id": "ships" })).await.json()["label"], "Boats");
    assert_eq!(world.get("/v1/sessions/boats/export").await.json()["label"], "Boats");
    assert_eq!(world.delete_with("/v1/sessions/ships", &[]).await.status, 204);

    assert_eq!(world.post(&format!("{thread}/archive"), &json!({ "agentId": "demo" })).await.status, 204);
    assert_eq!(listed(&world, "").await, []);
    assert_eq!(listed(&world, "&includeArchived=true").await, [("boats".to_owned(), json!("Boats"), true)]);
    assert_eq!(world.get("/v1/sessions").await.json()["sessions"], json!([]));
    assert_eq!(world.get("/v1/sessions?archived=true").await.json()["sessions"][0]["archived"], true);
    // It works as before.
    send_text(&world, "boats", "u3", "still there").await;

    assert_eq!(change(json!({ "agentId": "demo", "archived": false })).await.status, 204);
    assert_eq!(listed(&world, "").await.len(), 1);
    assert_eq!(world.delete_with(&thread, &[]).await.status, 204);
    assert_eq!(listed(&world, "&includeArchived=true").await, []);
    for gone in [change(json!({ "name": "x" })).await, world.delete_with(&thread, &[]).await] {
        assert_eq!((gone.status, gone.code().as_deref()), (404, Some("session.unknown")), "{}", gone.body);
    }
}

#[tokio::test]
async fn threads_are_listed_in_pages_without_the_archived_ones() {
    let world = World::new().await;
    for name in ["a", "b", "c", "d"] {
        send_text(&world, name, "u1", "hello").await;
    }
    assert_eq!(world.post(&format!("{THREADS}/c/archive"), &json!({})).await.status, 204);
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("{THREADS}?agentId=demo&limit=1{cursor}")).await.json();
        found.extend(page["threads"].as_array().unwrap().iter().map(|thread| thread["id"].clone()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    found.sort_by_key(Value::to_string);
    assert_eq!(found, [json!("a"), json!("b"), json!("d")]);
}

#[tokio::test]
async fn thread_is_changed_through_the_single_route_of_the_runtime() {
    let world = World::new().await;
    send_text(&world, "boats", "u1", "hello").await;
    let ask = |path: &str, method: &str, body: Value| {
        let params = json!({ "path": path, "httpMethod": method });
        json!({ "method": "resource/request", "params": params, "body": body })
    };
    let renamed = ask("/threads/boats", "PATCH", json!({ "agentId": "demo", "name": "Boats" }));
    assert_eq!(world.post("/v1/ag-ui", &renamed).await.status, 204);
    let list = world.post("/v1/ag-ui", &ask("/threads?agentId=demo", "GET", Value::Null)).await.json();
    assert_eq!(
        (&list["threads"][0]["name"], &list["threads"][0]["agentId"]),
        (&json!("Boats"), &json!("demo"))
    );
    let info = world.post("/v1/ag-ui", &json!({ "method": "info" })).await.json();
    let expected = json!({ "list": true, "inspect": false, "mutations": true });
    assert_eq!((&info["threadEndpoints"], &info["singleRoute"]["threadEndpoints"]), (&expected, &expected));
}

#[tokio::test]
async fn thread_is_changed_and_deleted_below_a_path_of_its_own() {
    let world = World::with(Options::default().path("ag-ui", "/api/copilotkit")).await;
    send_text(&world, "boats", "u1", "hello").await;
    let thread = "/api/copilotkit/threads/boats";
    assert_eq!(world.patch_with(thread, &json!({ "name": "Boats" }), &[]).await.status, 204);
    let list = world.get("/api/copilotkit/threads?agentId=demo").await.json();
    assert_eq!(list["threads"][0]["name"], "Boats", "{list}");
    assert_eq!(world.post(&format!("{thread}/archive"), &json!({})).await.status, 204);
    assert_eq!(world.delete_with(thread, &[]).await.status, 204);
    assert_eq!(listed(&world, "&includeArchived=true").await, []);
}

#[tokio::test]
async fn empty_or_invalid_change_is_refused() {
    let world = World::new().await;
    send_text(&world, "boats", "u1", "hello").await;
    let thread = format!("{THREADS}/boats");
    for (body, code) in [
        (json!({}), "request.invalid"),
        (json!({ "name": 7 }), "request.invalid"),
        (json!({ "archived": "yes" }), "request.invalid"),
        (json!({ "name": "  " }), "label.invalid"),
    ] {
        let said = world.patch_with(&thread, &body, &[]).await;
        assert_eq!((said.status, said.code().as_deref()), (400, Some(code)), "{body}: {}", said.body);
    }
    let long = "long ".repeat(100);
    assert_eq!(world.patch_with(&thread, &json!({ "name": long }), &[]).await.status, 204);
    let label = world.get("/v1/sessions/boats").await.json()["label"].as_str().unwrap().to_owned();
    assert_eq!(label.chars().count(), 80);
}
