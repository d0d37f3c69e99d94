//! Every native route answers as `/openapi.json` says: real responses, judged by the schemas of the document.

use std::collections::BTreeSet;

use headwater_server::{Metrics, Options};
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World, is_of_dialect},
    talk::says,
};

/// The document of a server, and which of its operations were judged.
struct Judge {
    document: Value,
    judged: BTreeSet<(String, String)>,
}

impl Judge {
    /// Holds a response to what the document says about its route and status.
    fn check(&mut self, method: &str, route: &str, said: &TestResponse) {
        let operation = &self.document["paths"][route][method];
        let response = &operation["responses"][said.status.to_string()];
        assert!(response.is_object(), "{method} {route} gave {}, not documented: {}", said.status, said.body);
        if said.status < 400 {
            self.judged.insert((method.to_owned(), route.to_owned()));
        }
        let kind = said.header("content-type").split(';').next().unwrap();
        let Some(content) = response.get("content") else {
            assert_eq!(said.body, "", "{method} {route}");
            return;
        };
        assert!(content.get(kind).is_some(), "{method} {route} gave `{kind}`: {content}");
        if kind != "application/json" {
            return;
        }
        let mut schema = content[kind]["schema"].clone();
        schema["components"] = self.document["components"].clone();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let body = said.json();
        let wrong: Vec<_> = schema.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{method} {route}: {wrong:?}\n{}", said.body);
        if said.status >= 400 {
            let code = format!("`{}`", body["code"].as_str().unwrap());
            let told = response["description"].as_str().unwrap();
            assert!(told.contains(&code), "{method} {route} does not document {code}: {told}");
        }
    }

    /// The native operations that were never judged by a response that succeeded.
    fn missed(&self) -> Vec<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap();
        let native = paths.iter().filter(|(path, _)| !is_of_dialect(path));
        let each = native.flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
        });
        each.filter(|operation| !self.judged.contains(operation)).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

#[tokio::test]
async fn native_routes_answer_as_documented() {
    let world = World::with(Options::default().metrics(Metrics::install().unwrap())).await;
    let document = world.get("/openapi.json").await;
    let mut judge = Judge { document: document.json(), judged: BTreeSet::new() };
    assert_eq!(judge.document["openapi"], "3.1.0");
    judge.check("get", "/openapi.json", &document);
    for open in ["/healthz", "/readyz", "/metrics"] {
        judge.check("get", open, &world.get(open).await);
    }
    for list in ["/v1/agents", "/v1/models"] {
        judge.check("get", list, &world.get(list).await);
    }
    runs(&world, &mut judge).await;
    sessions(&world, &mut judge).await;
    queue(&world, &mut judge).await;
    judge.check("post", "/v1/{dialect}/chat", &world.post("/v1/ai-sdk/chat", &json!({})).await);
    let info = world.post("/v1/ag-ui", &json!({ "method": "info" })).await;
    assert_eq!(info.json()["agents"]["demo"]["name"], "demo", "{}", info.body);
    judge.check("post", "/v1/ag-ui", &info);
    assert_eq!(judge.missed(), []);
}

async fn runs(world: &World, judge: &mut Judge) {
    let begun = world.post("/v1/runs", &json!({ "input": "let me choose" })).await;
    judge.check("post", "/v1/runs", &begun);
    let run = text(&begun.json()["run"]);
    let of = |end: &str| format!("/v1/runs/{run}{end}");
    judge.check("get", "/v1/runs/{run}/events", &world.get(&of("/events?until=wait")).await);
    judge.check("get", "/v1/runs/{run}/events", &world.get(&of("/events?after=nonsense")).await);
    world.post("/v1/agents/chat", &says("agents", "s", "u1", "delete it")).await;
    world.post("/v1/agents/chat", &says("agents", "t", "u1", "where am I")).await;
    world.post("/v1/agents/chat", &says("agents", "u", "u1", "fail")).await;
    world.post("/v1/agents/chat", &says("agents", "v", "u1", "hello")).await;
    judge.check("get", "/v1/runs", &world.get("/v1/runs").await);
    judge.check("get", "/v1/runs", &world.get("/v1/runs?status=gone").await);
    judge.check("get", "/v1/runs", &world.get("/v1/runs?color=red").await);
    judge.check("get", "/v1/runs", &world.get("/v1/runs?agent=nobody").await);
    judge.check("get", "/v1/runs/{run}", &world.get(&of("")).await);
    judge.check("get", "/v1/runs/{run}", &world.get("/v1/runs/none").await);
    judge.check("get", "/v1/runs/{run}/trace", &world.get(&of("/trace")).await);
    judge.check("get", "/v1/runs/{run}/trace", &world.get("/v1/runs/none/trace").await);
    let open = world.get("/v1/interrupts").await;
    judge.check("get", "/v1/interrupts", &open);
    assert_eq!(open.json()["interrupts"].as_array().unwrap().len(), 3, "one of each kind: {}", open.body);
    let answer = of("/answer");
    judge.check("post", "/v1/runs/{run}/answer", &world.post(&answer, &json!({ "answer": "z" })).await);
    judge.check("post", "/v1/runs/{run}/answer", &world.post(&answer, &json!({ "answer": "a" })).await);
    judge.check("post", "/v1/runs/{run}/stop", &world.post(&of("/stop"), &json!({})).await);
    let open = world.get("/v1/interrupts").await.json()["interrupts"].clone();
    let approval = open.as_array().unwrap().iter().find(|open| open["kind"] == "approval").unwrap();
    let request = format!("/v1/interrupts/{}", text(&approval["request"]));
    let route = "/v1/interrupts/{request}";
    judge.check("post", route, &world.post("/v1/interrupts/x", &json!({ "answer": 1 })).await);
    judge.check("post", route, &world.post(&request, &json!({ "approved": false })).await);
}

async fn sessions(world: &World, judge: &mut Judge) {
    judge.check("post", "/v1/sessions", &world.post("/v1/sessions", &json!({ "id": "a" })).await);
    let said = world.post("/v1/sessions/a/messages", &json!({ "text": "hello" })).await;
    judge.check("post", "/v1/sessions/{session}/messages", &said);
    let session = world.agent.session("a", Some("local"));
    session.settled().await.unwrap();
    judge.check("get", "/v1/sessions", &world.get("/v1/sessions").await);
    let got = world.get("/v1/sessions/a").await;
    judge.check("get", "/v1/sessions/{session}", &got);
    judge.check("get", "/v1/sessions/{session}", &world.get("/v1/sessions/none").await);
    let watched = world.http.get(format!("{}/v1/sessions/a/events", world.base)).send().await.unwrap();
    let (status, headers) = (watched.status().as_u16(), watched.headers().clone());
    // Its body ends with the session.
    judge.check(
        "get",
        "/v1/sessions/{session}/events",
        &TestResponse { status, headers, body: String::new() },
    );
    for change in
        [json!({ "label": "Boats", "archived": false }), json!({ "label": " " }), json!({ "name": 1 })]
    {
        let changed = world.patch_with("/v1/sessions/a", &change, &[]).await;
        judge.check("patch", "/v1/sessions/{session}", &changed);
    }
    for list in ["messages", "checkpoints", "export"] {
        let route = format!("/v1/sessions/{{session}}/{list}");
        judge.check("get", &route, &world.get(&format!("/v1/sessions/a/{list}")).await);
    }
    let checkpoint = text(&got.json()["checkpoint"]);
    let of = |end: &str| format!("/v1/sessions/a/checkpoints/{checkpoint}{end}");
    let route = |end: &str| format!("/v1/sessions/{{session}}/checkpoints/{{checkpoint}}{end}");
    judge.check("get", &route(""), &world.get(&of("")).await);
    judge.check("get", &route("/variants"), &world.get(&of("/variants")).await);
    judge.check("post", &route("/fork"), &world.post(&of("/fork"), &json!({ "id": "b" })).await);
    judge.check("get", "/v1/sessions/{session}", &world.get("/v1/sessions/b").await);
    judge.check("post", &route("/rollback"), &world.post(&of("/rollback"), &json!({})).await);
    judge.check("post", &route("/select"), &world.post(&of("/select"), &json!({})).await);
    judge.check("post", &route("/regenerate"), &world.post(&of("/regenerate"), &json!({})).await);
    session.settled().await.unwrap();
    let newest = text(&world.get("/v1/sessions/a").await.json()["checkpoint"]);
    let edit = format!("/v1/sessions/a/checkpoints/{newest}/edit");
    judge.check("post", &route("/edit"), &world.post(&edit, &json!({ "text": "bye" })).await);
    session.settled().await.unwrap();
    judge.check("post", "/v1/sessions/{session}/undo", &world.post("/v1/sessions/a/undo", &json!({})).await);
    judge.check("post", "/v1/sessions/{session}/stop", &world.post("/v1/sessions/a/stop", &json!({})).await);
    judge.check("delete", "/v1/sessions/{session}", &world.delete_with("/v1/sessions/b", &[]).await);
}

async fn queue(world: &World, judge: &mut Judge) {
    world.post("/v1/sessions", &json!({ "id": "q" })).await;
    let mut runs = Vec::new();
    for message in ["slow", "two", "three", "four"] {
        let said = world.post("/v1/sessions/q/messages", &json!({ "text": message })).await;
        judge.check("post", "/v1/sessions/{session}/messages", &said);
        runs.push(text(&said.json()["run"]));
    }
    judge.check("get", "/v1/sessions/{session}/queue", &world.get("/v1/sessions/q/queue").await);
    let of = |run: &str, end: &str| format!("/v1/sessions/q/queue/{run}{end}");
    let route = "/v1/sessions/{session}/queue/{run}";
    let edited = json!({ "text": "drei" });
    judge.check("post", &format!("{route}/edit"), &world.post(&of(&runs[2], "/edit"), &edited).await);
    judge.check("post", &format!("{route}/edit"), &world.post(&of("none", "/edit"), &edited).await);
    judge.check("delete", route, &world.delete_with(&of(&runs[1], ""), &[]).await);
    judge.check("post", &format!("{route}/send"), &world.post(&of(&runs[3], "/send"), &json!({})).await);
    world.agent.session("q", Some("local")).settled().await.unwrap();
    judge.check("post", &format!("{route}/send"), &world.post(&of(&runs[2], "/send"), &json!({})).await);
}
