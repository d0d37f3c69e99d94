//! JSON of every depth in every place where a client may put any JSON: it is refused, or it can be read back.

use std::sync::Arc;

use headwater_server::Options;
use headwater_store::Memory;
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World},
    talk::{DIALECTS, path, says},
};

/// Stands for the nested value in a body.
const HERE: &str = "@here";
const DEEPEST: usize = 200;

/// A value so many levels deep, in arrays and objects by turns.
fn nested(depth: usize) -> String {
    let (mut open, mut close) = (String::new(), String::new());
    for level in 0..depth {
        let (begin, end) = if level % 2 == 0 { ("{\"a\":", "}") } else { ("[", "]") };
        open.push_str(begin);
        close.insert_str(0, end);
    }
    format!("{open}0{close}")
}

/// A route, and a body with a place for any JSON.
struct Place {
    name: String,
    path: String,
    body: Value,
    /// Whether the place is within a text, as JSON.
    in_text: bool,
}

impl Place {
    fn new(name: &str, path: &str, body: Value) -> Self {
        Self { name: name.to_owned(), path: path.to_owned(), body, in_text: false }
    }

    fn body(&self, depth: usize, message: &str) -> String {
        let value = nested(depth);
        let text = self.body.to_string().replace("@message", message);
        if self.in_text {
            let quoted = Value::from(value).to_string();
            text.replace(HERE, quoted.trim_matches('"'))
        } else {
            text.replace(&format!("\"{HERE}\""), &value)
        }
    }
}

/// A place in what a dialect's client sends, in a session of its own.
fn place(dialect: &str, field: &str, change: impl Fn(&mut Value)) -> Place {
    let name = format!("{dialect}-{field}");
    let mut body = says(dialect, "@session", "@message", "hello");
    change(&mut body);
    Place::new(&name, &path(dialect), body)
}

/// What came before the newest message.
fn before(body: &mut Value, prior: impl IntoIterator<Item = Value>) {
    let messages = body["messages"].as_array_mut().unwrap();
    messages.splice(0..0, prior);
}

fn places() -> Vec<Place> {
    let mut places = Vec::new();
    for dialect in DIALECTS {
        places.push(place(dialect, "unknown-field", |body| body["anything"] = json!(HERE)));
        places.push(place(dialect, "tool-choice", |body| body["toolChoice"] = json!(HERE)));
        places.push(place(dialect, "tools", |body| {
            body["tools"] =
                json!([{ "name": "t", "description": "d", "parameters": HERE, "inputSchema": HERE }]);
        }));
        places.push(place(dialect, "message-metadata", |body| {
            let one = body["message"].is_object();
            let message = if one { &mut body["message"] } else { &mut body["messages"][0] };
            message["metadata"] = json!(HERE);
        }));
    }
    for dialect in ["ai-sdk", "tanstack"] {
        places.push(place(dialect, "data", |body| body["data"]["deep"] = json!(HERE)));
    }
    for dialect in ["kortyx", "mui"] {
        places.push(place(dialect, "context", |body| body["context"] = json!({ "deep": HERE })));
    }
    for dialect in ["ai-sdk", "agents"] {
        places.push(place(dialect, "tool-output", |body| {
            let tool = json!({ "type": "tool-x", "toolCallId": "c1", "state": "output-available",
                "input": HERE, "output": HERE });
            before(body, [json!({ "id": "a-@message", "role": "assistant", "parts": [tool] })]);
        }));
        places.push(place(dialect, "data-part", |body| {
            let part = json!({ "type": "data-thing", "data": HERE });
            body["messages"][0]["parts"].as_array_mut().unwrap().push(part);
        }));
    }
    places.push(place("ag-ui", "state", |body| body["state"] = json!(HERE)));
    places.push(place("ag-ui", "forwarded-props", |body| body["forwardedProps"] = json!(HERE)));
    for dialect in ["ag-ui", "tanstack"] {
        let mut place = place(dialect, "tool-arguments", |body| {
            let call =
                json!({ "id": "c1", "type": "function", "function": { "name": "t", "arguments": HERE } });
            before(
                body,
                [
                    json!({ "id": "q", "role": "user", "content": "before" }),
                    json!({ "id": "a", "role": "assistant", "content": "", "toolCalls": [call] }),
                    json!({ "id": "r", "role": "tool", "toolCallId": "c1", "content": HERE }),
                ],
            );
        });
        place.in_text = true;
        places.push(place);
    }
    let run = |field: &str, body: Value| Place::new(&format!("runs-{field}"), "/v1/runs", body);
    places.push(run("context", json!({ "input": "hello", "context": { "a": HERE } })));
    places.push(run("data", json!({ "input": "hello", "data": { "a": HERE } })));
    places.push(run(
        "session-context",
        json!({ "input": "hello", "session": "@session", "context": { "a": HERE } }),
    ));
    places
        .push(run("session-data", json!({ "input": "hello", "session": "@session", "data": { "a": HERE } })));
    places
}

async fn send(world: &World, path: &str, body: String) -> TestResponse {
    let request = world.http.post(format!("{}{path}", world.base)).header("content-type", "application/json");
    TestResponse::of(request.body(body).send().await.unwrap()).await
}

/// Reads everything that is there, in all ways in which it can be read.
async fn read_all(world: &World) -> usize {
    let mut reads = 0;
    let mut after = String::new();
    loop {
        let page = world.get(&format!("/v1/sessions?limit=500{after}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let page = page.json();
        for session in page["sessions"].as_array().unwrap() {
            let session = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
            for what in ["", "/messages", "/messages?dialect=ai-sdk", "/export", "/checkpoints"] {
                let said = world.get(&format!("{session}{what}")).await;
                assert_eq!(said.status, 200, "{session}{what}: {}", said.body);
                reads += 1;
            }
            if let Some(newest) = world.get(&session).await.json()["checkpoint"].as_str() {
                let said = world.get(&format!("{session}/checkpoints/{newest}")).await;
                assert_eq!(said.status, 200, "{session}: {}", said.body);
            }
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let mut after = String::new();
    loop {
        let page = world.get(&format!("/v1/runs?limit=500{after}")).await.json();
        for run in page["runs"].as_array().unwrap() {
            let run = run["id"].as_str().unwrap();
            let said = world.get(&format!("/v1/runs/{run}")).await;
            assert_eq!(said.status, 200, "{run}: {}", said.body);
            let said = world.get(&format!("/v1/runs/{run}/events?until=wait")).await;
            assert_eq!(said.status, 200, "{run}: {}", said.body);
            reads += 2;
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return reads,
        }
    }
}

#[tokio::test]
async fn nested_json_is_refused_or_reads_back_at_every_depth() {
    let world = World::on(Arc::new(Memory::new()), Options::default()).await;
    let (mut taken, mut refused) = (0, 0);
    for place in places() {
        let (mut deepest, mut shallowest) = (0, DEEPEST + 1);
        // Far below the limit one depth is like the next, and each that is taken is a whole run.
        for depth in (1..=48).step_by(12).chain(49..=DEEPEST) {
            let body = place.body(depth, "m1").replace("@session", &format!("{}-{depth}", place.name));
            let said = send(&world, &place.path, body).await;
            match said.status {
                200..300 => (taken, deepest) = (taken + 1, depth),
                400..500 => (refused, shallowest) = (refused + 1, shallowest.min(depth)),
                status => panic!("{} at depth {depth}: {status} {}", place.name, said.body),
            }
        }
        assert!(place.in_text || deepest <= 64, "{}: {deepest} levels were taken", place.name);
        assert!(place.in_text || shallowest > deepest, "{}: {shallowest} and {deepest}", place.name);
    }
    assert!(taken > 400 && refused > 4_000, "{taken} taken, {refused} refused");
    world.idle().await;
    // Another process on the same store recovers, and sweeps to the end.
    let restarted = World::of_agent(world.restarted()).await;
    restarted.agent.recover().await.unwrap();
    assert!(read_all(&restarted).await > taken);
    println!("depth: {taken} taken and read back, {refused} refused");
}

#[tokio::test]
async fn nested_answer_is_refused_or_the_run_continues() {
    let world = World::new().await;
    let mut taken = 0;
    for depth in (1..=48).step_by(12).chain(60..=70).chain([100, 124, 126, DEEPEST]) {
        let run = world.post("/v1/runs", &json!({ "input": "where am I" })).await.json()["run"].clone();
        let run = run.as_str().unwrap().to_owned();
        world.get(&format!("/v1/runs/{run}/events?until=wait")).await;
        let body = format!("{{\"output\":{}}}", nested(depth));
        let said = send(&world, &format!("/v1/runs/{run}/answer"), body).await;
        assert_eq!(said.status, if depth <= 63 { 202 } else { 400 }, "{depth}: {}", said.body);
        taken += usize::from(said.status == 202);
        let state = world.get(&format!("/v1/runs/{run}")).await;
        assert_eq!(state.status, 200, "{depth}: {}", state.body);
    }
    assert_eq!(taken, 8);
    world.idle().await;
    read_all(&world).await;
}

#[tokio::test]
async fn session_with_values_of_the_greatest_depth_is_exported_and_imported() {
    let world = World::new().await;
    let deepest = (1..=64).rev().map(|depth| (depth, places()));
    let mut tried = 0;
    for (depth, places) in deepest.take(8) {
        for place in places.iter().filter(|place| place.name.starts_with("ai-sdk")) {
            let session = format!("{}-{depth}", place.name);
            let said = send(&world, &place.path, place.body(depth, "m1").replace("@session", &session)).await;
            if said.status != 200 {
                continue;
            }
            let export = world.get(&format!("/v1/sessions/{session}/export")).await;
            assert_eq!(export.status, 200, "{}: {}", place.name, export.body);
            let id = format!("{}-{depth}-copy", place.name);
            let body = format!("{{\"id\":\"{id}\",\"import\":{}}}", export.body);
            let imported = send(&world, "/v1/sessions", body).await;
            assert_eq!(imported.status, 201, "{} at {depth}: {}", place.name, imported.body);
            tried += 1;
        }
    }
    assert!(tried > 8, "only {tried} were small enough");
    read_all(&world).await;
    let deep = send(&world, "/v1/sessions", format!("{{\"import\":{}}}", nested(90))).await;
    assert_eq!((deep.status, deep.json()["code"].as_str()), (400, Some("body.too-deep")));
}
