//! Two principals: neither can read, resume, answer or stop runs of the other, on any route and in any dialect.

use headwater_server::{ApiKeys, Options};
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World, is_of_dialect},
    talk::{DIALECTS, says},
};

pub(crate) const ANN: (&str, &str) = ("authorization", "Bearer key-of-ann");
pub(crate) const BOB: (&str, &str) = ("authorization", "Bearer key-of-bob");
/// Ann says it in each of her sessions, and it is said back to her.
pub(crate) const SECRET: &str = "zanzibar";

/// What Ann has: a conversation that is done, and one that waits for a decision.
pub(crate) struct Anns {
    pub(crate) world: World,
    pub(crate) done: Has,
    pub(crate) waits: Has,
    pub(crate) request: String,
    pub(crate) token: String,
    pub(crate) call: String,
    pub(crate) checkpoint: String,
    pub(crate) cursor: String,
}

pub(crate) struct Has {
    pub(crate) session: String,
    pub(crate) run: String,
}

impl Anns {
    pub(crate) async fn new(dialect: &str) -> Self {
        let keys = ApiKeys::new().add("ann", "key-of-ann").add("bob", "key-of-bob");
        let keys = keys.add_operator("ops", "key-of-ops");
        let world = World::with(Options::default().authenticator(keys)).await;
        let path = format!("/v1/{dialect}/chat");
        let done = Has::new(&world, &path, &says(dialect, "ann-done", "u1", SECRET)).await;
        let waiting = says("agents", "ann-waits", "u1", &format!("delete {SECRET}"));
        let waits = Has::new(&world, "/v1/agents/chat", &waiting).await;
        let open = world.get_with("/v1/interrupts", &[ANN]).await.json()["interrupts"][0].clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let session = world.get_with("/v1/sessions/ann-done", &[ANN]).await.json();
        let events = world.get_with(&format!("/v1/runs/{}/events", done.run), &[ANN]).await;
        let cursor = events.ids()[0].to_owned();
        Self {
            request: text(&open["request"]),
            token: text(&open["token"]),
            call: text(&open["tool"]["call"]),
            checkpoint: text(&session["checkpoint"]),
            cursor,
            world,
            done,
            waits,
        }
    }

    /// All that Ann has, as she sees it.
    async fn all(&self) -> Vec<String> {
        let mut all = Vec::new();
        for path in [
            "/v1/runs".to_owned(),
            "/v1/sessions".to_owned(),
            "/v1/interrupts".to_owned(),
            format!("/v1/sessions/{}/messages", self.done.session),
            format!("/v1/sessions/{}/checkpoints", self.done.session),
            format!("/v1/runs/{}", self.waits.run),
            format!("/v1/runs/{}/events", self.waits.run),
        ] {
            let said = self.world.get_with(&path, &[ANN]).await;
            assert_eq!(said.status, 200, "{path}: {}", said.body);
            all.push(said.body);
        }
        all
    }

    fn assert_reveals_nothing(&self, what: &str, said: &TestResponse) {
        for secret in [SECRET, &self.token, "It is gone", "Rome"] {
            assert!(!said.body.contains(secret), "{what} revealed `{secret}`: {}", said.body);
        }
    }

    /// The same text with names of things that never were in the place of Ann's: others for each number.
    fn invented(&self, text: &str, number: usize) -> String {
        let ids = [
            (&self.done.session, "never-done"),
            (&self.waits.session, "never-waits"),
            (&self.done.run, "run_never-done"),
            (&self.waits.run, "run_never-waits"),
            (&self.request, "req_never"),
            (&self.call, "call-never"),
            (&self.checkpoint, "cp_never.never"),
        ];
        let replace = |text: String, (ann, never): (&String, &str)| {
            text.replace(ann.as_str(), &format!("{never}-{number}"))
        };
        ids.into_iter().fold(text.to_owned(), replace)
    }

    /// Bob gets the same errors for Ann's runs as for runs that never existed.
    fn same(&self, what: &str, said: &TestResponse, never: &TestResponse, number: usize) {
        let told = (said.status, self.invented(&said.body, number));
        assert_eq!(told, (never.status, never.body.clone()), "{what} reveals that it is there");
    }

    fn refused(&self, what: &str, said: &TestResponse) {
        assert!(matches!(said.status, 403 | 404), "{what} gave {}: {}", said.status, said.body);
        self.assert_reveals_nothing(what, said);
        let foreign = said.json()["code"].as_str().unwrap().contains("foreign");
        assert!(!foreign, "{what} reveals that it is another's: {}", said.body);
    }
}

impl Has {
    async fn new(world: &World, path: &str, body: &Value) -> Self {
        let said = world.post_with(path, body, &[ANN]).await;
        assert_eq!(said.status, 200, "{}", said.body);
        Self { session: said.header("x-session-id").to_owned(), run: said.header("x-run-id").to_owned() }
    }
}

/// Bob asks.
async fn bob(world: &World, method: &str, path: &str, body: &Value) -> TestResponse {
    match method {
        "GET" => world.get_with(path, &[BOB]).await,
        "DELETE" => world.delete_with(path, &[BOB]).await,
        "PATCH" => world.patch_with(path, body, &[BOB]).await,
        _ => world.post_with(path, body, &[BOB]).await,
    }
}

#[tokio::test]
async fn every_route_refuses_the_ids_of_another() {
    let anns = Anns::new("ai-sdk").await;
    let world = &anns.world;
    let before = anns.all().await;
    let mut tried = 0;
    for (method, route) in world.server.routes() {
        let path = |session: &str, run: &str| {
            route
                .replace("{session}", session)
                .replace("{run}", run)
                .replace("{request}", &anns.request)
                .replace("{checkpoint}", &anns.checkpoint)
        };
        let what = format!("{method} {route}");
        let answer = json!({ "approved": true, "token": anns.token });
        let mut answers = answer.clone();
        answers["request"] = json!(anns.request);
        match (method, route.as_str()) {
            (_, route) if is_of_dialect(route) || !route.starts_with("/v1/") => continue,
            ("GET", "/v1/agents" | "/v1/models" | "/v1/runs" | "/v1/sessions" | "/v1/interrupts") => {
                let said = world.get_with(&route, &[BOB]).await;
                anns.assert_reveals_nothing(&what, &said);
                for id in [&anns.done.run, &anns.waits.run, &anns.done.session, &anns.request] {
                    assert!(!said.body.contains(id.as_str()), "{what} lists {id}: {}", said.body);
                }
            }
            // A name is its owner's: Bob begins a session of his own.
            ("POST", "/v1/runs" | "/v1/sessions") => {
                let mut body = json!({ "id": anns.done.session });
                if route == "/v1/runs" {
                    body = json!({ "input": "hello", "session": anns.done.session });
                }
                let said = world.post_with(&route, &body, &[BOB]).await;
                assert_eq!(said.status, 201, "{what}: {}", said.body);
                anns.assert_reveals_nothing(&what, &said);
                let own = format!("/v1/sessions/{}", anns.done.session);
                assert_eq!(world.delete_with(&own, &[BOB]).await.status, 204);
            }
            ("POST", "/v1/runs/{run}/answer" | "/v1/interrupts/{request}") => {
                let target = path(&anns.waits.session, &anns.waits.run);
                let body = if target.starts_with("/v1/runs/") { &answers } else { &answer };
                for (target, body) in [(&target, body), (&target, &json!({}))] {
                    let said = world.post_with(target, body, &[BOB]).await;
                    anns.refused(&what, &said);
                    let never = world.post_with(&anns.invented(target, 0), body, &[BOB]).await;
                    anns.same(&what, &said, &never, 0);
                }
            }
            (method, _) => {
                for has in [&anns.done, &anns.waits] {
                    let target = path(&has.session, &has.run);
                    let body = json!({ "text": "hello" });
                    let said = bob(world, method, &target, &body).await;
                    anns.refused(&what, &said);
                    let never = bob(world, method, &anns.invented(&target, 0), &body).await;
                    anns.same(&what, &said, &never, 0);
                }
            }
        }
        tried += 1;
    }
    // The dialects' routes have a test of their own.
    let native = |path: &str| path.starts_with("/v1/") && !is_of_dialect(path);
    assert_eq!(tried, world.server.routes().iter().filter(|(_, path)| native(path)).count());
    for after in [
        format!("{}/events?after={}", anns.done.run, anns.cursor),
        format!("{}/events?after=now", anns.done.run),
    ] {
        for dialect in DIALECTS {
            let target = format!("/v1/runs/{after}&dialect={dialect}");
            anns.refused(&target, &world.get_with(&target, &[BOB]).await);
        }
    }
    assert_eq!(anns.all().await, before, "nothing of Ann's has changed");
}

/// The requests by which a dialect's clients resume, answer and stop, with Ann's ids.
pub(crate) fn attempts(dialect: &str, anns: &Anns) -> Vec<(&'static str, String, Value)> {
    let (session, run) = (&anns.waits.session, &anns.waits.run);
    let (request, token, call) = (&anns.request, &anns.token, &anns.call);
    let chat = format!("/v1/{dialect}/chat");
    let mut all = vec![("POST", chat.clone(), says(dialect, session, "u9", "hello"))];
    let get = |rest: String| ("GET", format!("{chat}{rest}"), Value::Null);
    match dialect {
        "ai-sdk" => {
            all.push(get(format!("/{session}/stream")));
            all.push(get(format!("/{run}/stream")));
            let mut body = says(dialect, session, "u1", "delete");
            let part = json!({ "type": "tool-delete", "toolCallId": call, "state": "approval-responded",
                "input": {}, "approval": { "id": request, "approved": true, "signature": token } });
            let answer = json!({ "id": "m1", "role": "assistant", "parts": [part] });
            body["messages"].as_array_mut().unwrap().push(answer);
            all.push(("POST", chat.clone(), body));
        }
        "kortyx" => {
            all.push(get(format!("?sessionId={session}")));
            all.push(get(format!("?runId={run}")));
            let resume = json!({ "token": token, "requestId": request, "selected": "approve" });
            let message = json!({ "role": "user", "content": "yes", "metadata": { "resume": resume } });
            all.push(("POST", chat.clone(), json!({ "sessionId": session, "messages": [message] })));
            let checkpoint = &anns.checkpoint;
            for action in [
                json!({ "action": "list", "sessionId": session }),
                json!({ "action": "get", "checkpointId": checkpoint }),
                json!({ "action": "rollback", "checkpointId": checkpoint }),
                json!({ "action": "fork", "checkpointId": checkpoint }),
            ] {
                all.push(("POST", format!("/v1/{dialect}/checkpoints"), action));
            }
        }
        "tanstack" => {
            all.push(("POST", format!("{chat}/answer"), json!({ "approvalId": request, "approved": true })));
        }
        "mui" => {
            all.push(get(format!("?conversationId={session}")));
            all.push(get(format!("?conversationId={session}&after=0")));
            all.push(get(format!("/stream?runId={run}")));
            all.push(("POST", chat.clone(), json!({ "id": request, "approved": true })));
            all.push((
                "POST",
                chat.clone(),
                json!({ "requestId": request, "answer": "yes", "token": token }),
            ));
            all.push(("POST", format!("{chat}/stop"), json!({ "runId": run })));
            all.push(("POST", format!("{chat}/stop"), json!({ "conversationId": session })));
        }
        "agents" => {
            all.push(get(format!("/{run}/stream")));
            all.push(("POST", format!("{chat}/{run}/stop"), json!({})));
        }
        _ => {
            all.push(get(format!("?threadId={session}")));
            all.push(get(format!("?offset=-1&runId={run}")));
            let mut body = says(dialect, session, "u1", "delete");
            body["resume"] =
                json!([{ "interruptId": request, "status": "resolved", "payload": { "approved": true } }]);
            all.push(("POST", chat.clone(), body.clone()));
            body["runId"] = json!(run);
            all.push(("POST", chat.clone(), body));
            // As CopilotKit's page does it.
            let agent = "/v1/ag-ui/agent/demo";
            all.push(("POST", format!("{agent}/connect"), json!({ "threadId": session })));
            all.push(("POST", format!("{agent}/stop/{session}"), json!({})));
            all.push(("POST", format!("{agent}/stop/{session}"), json!({ "runId": run })));
            let thread = format!("/v1/ag-ui/threads/{session}");
            all.push(("PATCH", thread.clone(), json!({ "name": "mine" })));
            all.push(("POST", format!("{thread}/archive"), json!({})));
            all.push(("DELETE", thread, json!({})));
        }
    }
    all
}

#[tokio::test]
async fn every_dialect_refuses_the_ids_of_another() {
    for dialect in DIALECTS {
        let anns = Anns::new(dialect).await;
        let world = &anns.world;
        let before = anns.all().await;
        for (number, (method, path, body)) in attempts(dialect, &anns).into_iter().enumerate() {
            let what = format!("{method} {path} {body}");
            let said = bob(world, method, &path, &body).await;
            let invented: Value = anns.invented(&body.to_string(), number).parse().unwrap();
            let never = bob(world, method, &anns.invented(&path, number), &invented).await;
            // A name is its owner's: what begins a session under this name begins one of Bob's own.
            if method == "POST" && never.status == 200 {
                assert_eq!(said.status, 200, "{what}: {}", said.body);
                assert!(!said.body.contains(&anns.done.run), "{what}: {}", said.body);
                for session in [&anns.done.session, &anns.waits.session] {
                    world.delete_with(&format!("/v1/sessions/{session}"), &[BOB]).await;
                }
            } else {
                anns.assert_reveals_nothing(&what, &said);
                anns.same(&what, &said, &never, number);
            }
        }
        assert_eq!(anns.all().await, before, "{dialect}: something of Ann's has changed");
    }
}

#[tokio::test]
async fn requests_of_one_dialect_reveal_nothing_of_another() {
    for dialect in DIALECTS {
        let anns = Anns::new(dialect).await;
        let world = &anns.world;
        let before = anns.all().await;
        let mut paths = Vec::new();
        for id in [&anns.done.session, &anns.done.run, &anns.waits.run, &anns.request] {
            for end in ["", "/stream", "/stop", "/answer"] {
                paths.push(format!("/v1/{dialect}/chat/{id}{end}"));
                paths.push(format!("/v1/{dialect}/demo/chat/{id}{end}"));
            }
            for name in ["threadId", "conversationId", "sessionId", "runId", "id", "after", "checkpointId"] {
                for end in ["chat", "checkpoints", "onboarding"] {
                    paths.push(format!("/v1/{dialect}/{end}?{name}={id}"));
                    paths.push(format!("/v1/{dialect}/{end}?{name}={id}&offset=-1"));
                }
            }
        }
        let cursor = ("last-event-id", anns.cursor.as_str());
        for path in paths {
            for headers in [vec![BOB], vec![BOB, cursor], vec![BOB, ("x-run-id", anns.done.run.as_str())]] {
                let said = world.get_with(&path, &headers).await;
                anns.assert_reveals_nothing(&path, &said);
                assert!(said.status < 500, "{path}: {}", said.body);
                // A cursor is signed, so clients cannot invent one.
                if headers.iter().all(|(name, _)| *name != "last-event-id") {
                    let named: Vec<_> =
                        headers.iter().map(|(name, value)| (*name, anns.invented(value, 0))).collect();
                    let named: Vec<_> = named.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    let never = world.get_with(&anns.invented(&path, 0), &named).await;
                    anns.same(&path, &said, &never, 0);
                }
            }
        }
        assert_eq!(anns.all().await, before, "{dialect}: something of Ann's has changed");
    }
}

#[tokio::test]
async fn foreign_resources_are_unknown() {
    let anns = Anns::new("agents").await;
    let world = &anns.world;
    let own = world.post_with("/v1/agents/chat", &says("agents", "bobs", "u1", "delete it"), &[BOB]).await;
    let mut tried = vec![(
        "POST",
        format!("/v1/runs/{}/answer", own.header("x-run-id")),
        json!({ "request": anns.request, "approved": true, "token": anns.token }),
    )];
    for (method, route) in world.server.routes() {
        if route.contains("{checkpoint}") {
            let path = route.replace("{session}", "bobs").replace("{checkpoint}", &anns.checkpoint);
            tried.push((method, path, json!({ "text": "hello" })));
        }
    }
    assert!(tried.len() > 5);
    for (method, path, body) in tried {
        let said = bob(world, method, &path, &body).await;
        let invented: Value = anns.invented(&body.to_string(), 0).parse().unwrap();
        let never = bob(world, method, &anns.invented(&path, 0), &invented).await;
        anns.same(&path, &said, &never, 0);
        assert!((400..500).contains(&said.status), "{path}: {}", said.body);
    }
    let open = world.get_with("/v1/interrupts", &[ANN]).await.json();
    assert_eq!(open["interrupts"][0]["request"], anns.request, "Ann's question is open");
}
