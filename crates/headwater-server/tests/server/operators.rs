//! An operator sees and controls what belongs to two principals, on every route, and each access is in the audit log.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use headwater_server::{ApiKeys, Options};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    harness::{TestResponse, World, is_of_dialect},
    principals::{ANN, Anns, BOB, SECRET, attempts},
    talk::{DIALECTS, says},
};

const OPS: (&str, &str) = ("authorization", "Bearer key-of-ops");
const FOR_ANN: (&str, &str) = ("x-headwater-owner", "ann");

/// The lines of the audit log of this thread.
#[derive(Clone, Default)]
struct AuditLog(Arc<Mutex<Vec<u8>>>);

impl Write for AuditLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for AuditLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl AuditLog {
    /// The audit lines since the last call.
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        text.lines().filter(|line| line.contains("headwater::audit")).map(str::to_owned).collect()
    }

    fn install(&self) -> tracing::subscriber::DefaultGuard {
        let log = tracing_subscriber::fmt().with_writer(self.clone()).with_ansi(false).finish();
        tracing::subscriber::set_default(log)
    }
}

async fn send(
    world: &World,
    method: &str,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> TestResponse {
    match method {
        "GET" => world.get_with(path, headers).await,
        "DELETE" => world.delete_with(path, headers).await,
        "PATCH" => world.patch_with(path, body, headers).await,
        _ => world.post_with(path, body, headers).await,
    }
}

/// The routes with what is Ann's in them, the ones that end things last.
fn native_routes(anns: &Anns) -> Vec<(&'static str, String, Value)> {
    let mut all = Vec::new();
    for (method, route) in anns.world.server.routes() {
        if is_of_dialect(&route) || !route.starts_with("/v1/") || route.contains("/queue/{run}") {
            continue;
        }
        let has = match route.as_str() {
            "/v1/runs/{run}/answer" | "/v1/interrupts/{request}" => &anns.waits,
            _ => &anns.done,
        };
        let path = route
            .replace("{session}", &has.session)
            .replace("{run}", &has.run)
            .replace("{request}", &anns.request)
            .replace("{checkpoint}", &anns.checkpoint);
        let body = match (method, route.as_str()) {
            ("POST", "/v1/runs") => json!({ "input": "hello" }),
            ("POST", "/v1/runs/{run}/answer" | "/v1/interrupts/{request}") => {
                json!({ "approved": true, "token": anns.token })
            }
            (_, route) if route.ends_with("/messages") || route.ends_with("/edit") => {
                json!({ "text": "hello" })
            }
            ("PATCH", _) => json!({ "label": "mine" }),
            _ => json!({}),
        };
        all.push((method, path, body));
    }
    // A stream of a session has no end, and a deleted session has no other routes. A turn that was run again can be edited
    // once it is selected anew.
    all.retain(|(_, path, _)| !path.ends_with("/events") || path.contains("/runs/"));
    all.sort_by_key(|(method, path, _)| (*method == "DELETE", path.ends_with("/edit")));
    all
}

#[tokio::test]
async fn operator_uses_every_native_route_in_the_name_of_an_owner() {
    let anns = Anns::new("ai-sdk").await;
    let world = &anns.world;
    let log = AuditLog::default();
    let _guard = log.install();
    for (method, path, body) in native_routes(&anns) {
        let bobs = send(world, method, &path, &body, &[BOB, FOR_ANN]).await;
        assert_eq!((bobs.status, bobs.code().as_deref()), (403, Some("operator.needed")), "{method} {path}");
        assert_eq!(log.take(), Vec::<String>::new(), "{method} {path}");
        let said = send(world, method, &path, &body, &[OPS, FOR_ANN]).await;
        // What another request of this test keeps busy is a conflict: the operator got so far.
        assert!(said.status < 300 || said.status == 409, "{method} {path}: {} {}", said.status, said.body);
        let lines = log.take();
        assert_eq!(lines.len(), 1, "{method} {path}: {lines:?}");
        for part in ["operator=\"ops\"", "owner=\"ann\"", &format!("method=\"{method}\"")] {
            assert!(lines[0].contains(part), "{method} {path}: {}", lines[0]);
        }
    }
    let gone = world.get_with("/v1/sessions/ann-done", &[ANN]).await;
    assert_eq!(gone.status, 404, "the operator has deleted it: {}", gone.body);
}

#[tokio::test]
async fn operator_lists_all_runs_and_others_only_their_own() {
    let anns = Anns::new("ai-sdk").await;
    let world = &anns.world;
    let bobs =
        world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "ann-done", "u1", "delete bob"), &[BOB]).await;
    assert_eq!(bobs.status, 200);
    let log = AuditLog::default();
    let _guard = log.install();
    for (path, list) in [("/v1/runs", "runs"), ("/v1/sessions", "sessions"), ("/v1/interrupts", "interrupts")]
    {
        let owners = |said: TestResponse| -> Vec<String> {
            let json = said.json();
            let mut owners: Vec<_> = json[list]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["owner"].as_str().unwrap().to_owned())
                .collect();
            owners.sort();
            owners
        };
        let (ann, bob) = (world.get_with(path, &[ANN]).await, world.get_with(path, &[BOB]).await);
        let (ann, bob) = (owners(ann), owners(bob));
        assert!(ann.iter().all(|owner| owner == "ann") && bob.iter().all(|owner| owner == "bob"), "{path}");
        assert_eq!(log.take(), Vec::<String>::new());
        let all = owners(world.get_with(path, &[OPS]).await);
        assert_eq!(all, [ann, bob.clone()].concat(), "{path}");
        assert!(log.take()[0].contains("owner=\"*\""), "{path}");
        assert_eq!(owners(world.get_with(path, &[OPS, ("x-headwater-owner", "bob")]).await), bob, "{path}");
        // A page at a time, each entry once.
        let (mut after, mut count) = (String::new(), 0);
        loop {
            let page = world.get_with(&format!("{path}?limit=1{after}"), &[OPS]).await.json();
            count += page[list].as_array().unwrap().len();
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(count, all.len(), "{path}");
        log.take();
    }
    let filtered = world.get_with("/v1/runs?status=waiting", &[OPS]).await.json();
    assert_eq!(filtered["runs"].as_array().unwrap().len(), 2, "{filtered}");
}

#[tokio::test]
async fn operator_reads_stops_and_answers_runs_by_their_ids_alone() {
    let anns = Anns::new("ai-sdk").await;
    let world = &anns.world;
    let log = AuditLog::default();
    let _guard = log.install();
    let (run, waits) = (&anns.done.run, &anns.waits.run);
    let reads = [format!("/v1/runs/{run}"), format!("/v1/runs/{run}/events"), format!("/v1/runs/{waits}")];
    for path in &reads {
        let said = world.get_with(path, &[OPS]).await;
        assert_eq!(said.status, 200, "{path}: {}", said.body);
        assert!(log.take()[0].contains("owner=\"ann\""), "{path}");
    }
    let answer = json!({ "approved": false });
    let said = world.post_with(&format!("/v1/runs/{waits}/answer"), &answer, &[OPS]).await;
    assert_eq!(said.status, 202, "{}", said.body);
    let lines = log.take();
    assert!(lines[0].contains(&format!("run=\"{waits}\"")), "{lines:?}");
    assert!(lines[0].contains("route=\"/v1/runs/{run}/answer\""), "{lines:?}");
    let stop = world.post_with(&format!("/v1/runs/{waits}/stop"), &json!({}), &[OPS]).await;
    assert_eq!(stop.status, 200, "{}", stop.body);
    let own = world.get_with(&format!("/v1/runs/{waits}"), &[ANN]).await.json();
    assert_eq!(own["run"]["owner"], "ann", "{own}");
}

#[tokio::test]
async fn operator_reads_runs_of_others_in_every_dialect() {
    for dialect in DIALECTS {
        let anns = Anns::new(dialect).await;
        let world = &anns.world;
        let log = AuditLog::default();
        let _guard = log.install();
        for (method, path, body) in attempts(dialect, &anns) {
            if method != "GET" {
                continue;
            }
            // Some streams stay open while a run waits.
            let path = path
                .replace(&anns.waits.run, &anns.done.run)
                .replace(&anns.waits.session, &anns.done.session);
            let own = send(world, method, &path, &body, &[ANN]).await;
            let said = send(world, method, &path, &body, &[OPS, FOR_ANN]).await;
            assert_eq!(said.status, own.status, "{path}: {}", said.body);
            assert_eq!(said.body.contains(SECRET), own.body.contains(SECRET), "{path}: {}", said.body);
            assert!(log.take()[0].contains("owner=\"ann\""), "{path}");
        }
        let told =
            world.get_with(&format!("/v1/runs/{}/events?dialect={dialect}", anns.done.run), &[OPS]).await;
        assert!(told.body.contains(SECRET), "{dialect}: {}", told.body);
    }
    // Where the path names a run, its owner is found.
    let anns = Anns::new("agents").await;
    let path = format!("/v1/agents/chat/{}/stream", anns.done.run);
    let said = anns.world.get_with(&path, &[OPS]).await;
    assert!(said.status == 200 && said.body.contains(SECRET), "{}", said.body);
}

#[tokio::test]
async fn runs_are_found_by_the_text_of_their_input_where_it_is_visible() {
    let keys = ApiKeys::new().add("ann", "key-of-ann").add_operator("ops", "key-of-ops");
    let world = World::with(Options::default().authenticator(keys)).await;
    for text in ["The Amber\n  room", "something else", &"amber ".repeat(100)] {
        let said = world.post_with("/v1/runs", &json!({ "input": text }), &[ANN]).await;
        assert_eq!(said.status, 201, "{}", said.body);
    }
    for headers in [[ANN], [OPS]] {
        let found = world.get_with("/v1/runs?q=AMBER", &headers).await.json();
        let inputs: Vec<_> =
            found["runs"].as_array().unwrap().iter().map(|run| run["input"].as_str().unwrap()).collect();
        assert_eq!(inputs.len(), 2, "{found}");
        assert!(inputs.contains(&"The Amber room"), "{found}");
        assert!(inputs.iter().any(|input| input.chars().count() == 200), "{found}");
        let none = world.get_with("/v1/runs?q=basalt", &headers).await.json();
        assert_eq!(none["runs"], json!([]));
    }
    world.post_with("/v1/runs", &json!({ "input": "Amber again" }), &[ANN]).await;
    let found = world.get_with("/v1/runs?q=amber%20again", &[OPS]).await.json();
    assert_eq!(
        found["runs"].as_array().unwrap().len(),
        1,
        "a run that began after the first search: {found}"
    );
}

#[tokio::test]
async fn models_are_listed_with_how_their_calls_went() {
    let keys = ApiKeys::new().add("ann", "key-of-ann").add_operator("ops", "key-of-ops");
    let world = World::with(Options::default().authenticator(keys)).await;
    let listed = world.get_with("/v1/models", &[ANN]).await.json()["models"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let model = &listed[0];
    assert_eq!((&model["agent"], &model["model"]), (&json!("demo"), &json!("scripted:script")), "{listed}");
    assert_eq!((&model["aliases"], &model["state"]), (&json!(["model"]), &json!("unknown")), "{listed}");
    assert_eq!(model["key"], "not-needed");
    world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "hello"), &[ANN]).await;
    let model = world.get_with("/v1/models", &[OPS]).await.json()["models"][0].clone();
    assert_eq!((&model["state"], &model["failures"]), (&json!("healthy"), &json!(0)), "{model}");
    assert!(model["lastSuccessAt"].is_string(), "{model}");
}
