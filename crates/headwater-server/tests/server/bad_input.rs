//! Invalid requests get a status, a code and a message; the server continues.

use std::time::Duration;

use headwater_server::{Limits, Options};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    harness::{TestResponse, World},
    talk::{DIALECTS, says},
};

fn assert_error(what: &str, said: &TestResponse, status: u16, code: &str) {
    assert_eq!((said.status, said.json()["code"].as_str()), (status, Some(code)), "{what}: {}", said.body);
    assert!(said.json()["error"].as_str().is_some_and(|error| !error.is_empty()), "{what}: {}", said.body);
    assert!(!said.header("x-request-id").is_empty(), "{what}");
}

/// Sends a body that may be no JSON.
async fn send(world: &World, path: &str, body: impl Into<reqwest::Body>) -> TestResponse {
    let request = world.http.post(format!("{}{path}", world.base)).header("content-type", "application/json");
    TestResponse::of(request.body(body).send().await.unwrap()).await
}

#[tokio::test]
async fn malformed_json_and_wrong_types_are_rejected_in_every_dialect() {
    let world = World::new().await;
    for dialect in DIALECTS {
        let path = format!("/v1/{dialect}/chat");
        for body in
            ["", "{", "[]", "null", "7", "\"text\"", "{\"messages\": 7}", "{\"messages\": [7]}", "\u{0}"]
        {
            assert_error(
                &format!("{dialect} {body:?}"),
                &send(&world, &path, body).await,
                400,
                "request.invalid",
            );
        }
        let bytes: &[u8] = b"{\"messages\": [\"\xff\xfe\"]}";
        assert_error(dialect, &send(&world, &path, bytes).await, 400, "request.invalid");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_error(dialect, &send(&world, &path, deep).await, 400, "body.too-deep");
    }
    for path in ["/v1/runs", "/v1/sessions"] {
        for body in ["{", "[]", "7", "{\"input\": 7}", "{\"id\": 7}", "{\"unknown\": 1}"] {
            assert_error(&format!("{path} {body}"), &send(&world, path, body).await, 400, "body.invalid");
        }
    }
    let run = world.post("/v1/runs", &json!({ "input": "let me choose" })).await.json()["run"].clone();
    let answer = format!("/v1/runs/{}/answer", run.as_str().unwrap());
    world.get(&format!("/v1/runs/{}/events", run.as_str().unwrap())).await;
    for body in [json!({}), json!({ "answer": 1, "approved": true }), json!({ "declined": false })] {
        assert_error(&body.to_string(), &world.post(&answer, &body).await, 400, "answer.unclear");
    }
    assert_error(
        "no request",
        &world.post(&answer, &json!({ "request": "x", "answer": 1 })).await,
        404,
        "request.unknown",
    );
    assert_eq!(world.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn oversized_input_is_refused() {
    let mut limits = Limits::default();
    (limits.body, limits.messages) = (10_000, 5);
    let world = World::with(Options::default().limits(limits)).await;
    for dialect in DIALECTS {
        let path = format!("/v1/{dialect}/chat");
        let giant = says(dialect, "c", "u1", &"x".repeat(20_000));
        assert_error(dialect, &world.post(&path, &giant).await, 413, "body.too-large");
    }
    // Without a length it is found out while it arrives.
    let pieces = futures_util::stream::iter((0..100).map(|_| Ok::<_, std::io::Error>("x".repeat(1_000))));
    let chunked = send(&world, "/v1/ai-sdk/chat", reqwest::Body::wrap_stream(pieces)).await;
    assert_error("chunked", &chunked, 413, "body.too-large");
    assert_error(
        "native",
        &world.post("/v1/runs", &json!({ "input": "x".repeat(20_000) })).await,
        413,
        "body.too-large",
    );
    let mut many = says("ai-sdk", "c", "u1", "hello");
    let message = many["messages"][0].clone();
    many["messages"] = Value::Array(vec![message; 6]);
    assert_error("messages", &world.post("/v1/ai-sdk/chat", &many).await, 413, "messages.too-many");
}

#[tokio::test]
async fn body_that_is_too_large_is_refused_to_a_client_that_reads_late() {
    let world = World::new().await;
    let size = 4 << 20;
    let mut stream = TcpStream::connect(world.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; size]).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body.too-large"), "{answer}");
}

#[tokio::test]
async fn too_large_body_is_refused_before_100_continue() {
    let world = World::new().await;
    let mut stream = TcpStream::connect(world.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 9000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let world = World::new().await;
    let agent = says("ai-sdk", "c", "u1", "hello");
    for (path, code) in [
        ("/v1/runs/none", "run.unknown"),
        ("/v1/runs/none/events", "run.unknown"),
        ("/v1/sessions/none", "session.unknown"),
        ("/v1/klingon/chat", "dialect.unknown"),
        ("/v1/nothing", "route.unknown"),
        ("/v1/runs/none/nothing", "route.unknown"),
        ("/v1/agents/chat/none/stream", "run.unknown"),
    ] {
        assert_error(path, &world.get(path).await, 404, code);
    }
    for (path, code) in [
        ("/v1/klingon/chat", "dialect.unknown"),
        ("/v1/ai-sdk/chat?agent=nobody", "agent.unknown"),
        ("/v1/runs/none/stop", "run.unknown"),
    ] {
        assert_error(path, &world.post(path, &agent).await, 404, code);
    }
    let answer = world.post("/v1/interrupts/none", &json!({ "answer": 1 })).await;
    assert_error("answer", &answer, 404, "request.unknown");
    assert_error("method", &world.delete_with("/v1/runs", &[]).await, 405, "method.unsupported");
    assert_error("query", &world.get("/v1/runs?limit=many").await, 400, "query.invalid");
    assert_error("path", &world.get("/v1/runs/%ff").await, 400, "path.invalid");
    let workflow = world.post("/v1/runs", &json!({ "input": "x", "workflow": "none" })).await;
    assert_error("workflow", &workflow, 404, "workflow.unknown");
}

#[tokio::test]
async fn cursor_that_is_not_of_this_run_or_not_ours_is_refused() {
    let world = World::new().await;
    let first = world.post("/v1/agents/chat", &says("agents", "a", "u1", "hello")).await;
    let second = world.post("/v1/agents/chat", &says("agents", "b", "u1", "hello")).await;
    let events = format!("/v1/runs/{}/events", first.header("x-run-id"));
    let foreign = second.ids()[0].to_owned();
    assert_error(
        "foreign",
        &world.get_with(&events, &[("last-event-id", &foreign)]).await,
        409,
        "cursor.foreign",
    );
    let own = first.ids()[0].to_owned();
    assert_eq!(world.get_with(&events, &[("last-event-id", &own)]).await.status, 200);
    let mut refused = 0;
    for at in 0..own.len() {
        let mut bytes = own.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        let said = world.get_with(&events, &[("last-event-id", &tampered)]).await;
        assert_eq!(said.status, 409, "{tampered}: {}", said.body);
        let code = said.json()["code"].as_str().unwrap().to_owned();
        assert!(["cursor.forged", "cursor.malformed"].contains(&code.as_str()), "{tampered}: {code}");
        refused += 1;
    }
    assert_eq!(refused, own.len());
    assert_error("no cursor", &world.get(&format!("{events}?after=nonsense")).await, 409, "cursor.malformed");
    let future = world.get(&format!("{events}?dialect=mui&after=1000000")).await;
    assert_error("future", &future, 409, "cursor.future");
    for dialect in DIALECTS.iter().filter(|dialect| **dialect != "mui") {
        let number = world.get(&format!("{events}?dialect={dialect}&after=3")).await;
        assert_error(&format!("{dialect} counts nothing"), &number, 409, "cursor.malformed");
    }
    assert_error("until", &world.get(&format!("{events}?until=never")).await, 400, "until.unknown");
    assert_error("framing", &world.get(&format!("{events}?framing=xml")).await, 400, "framing.unknown");
    let ndjson = world.get(&format!("{events}?dialect=kortyx&framing=ndjson")).await;
    assert_error("kortyx has no ndjson", &ndjson, 406, "framing.unsupported");
}

#[tokio::test]
async fn route_of_another_dialect_is_unknown() {
    let world = World::new().await;
    for dialect in DIALECTS {
        for (path, owner) in [("checkpoints", "kortyx"), ("onboarding", "agents")] {
            let found = world.get(&format!("/v1/{dialect}/{path}")).await;
            if dialect == owner {
                assert!(!found.body.contains("route.unknown"), "{dialect}/{path}: {}", found.body);
            } else {
                assert_error(dialect, &found, 404, "route.unknown");
            }
        }
        assert_error(
            dialect,
            &world.get(&format!("/v1/{dialect}/demo/onboarding")).await,
            404,
            "route.unknown",
        );
    }
}

#[tokio::test]
async fn unknown_profile_is_reported() {
    let world = World::new().await;
    let run = world.post("/v1/ai-sdk/chat?profile=ai-7", &says("ai-sdk", "c", "u1", "hello")).await;
    assert_eq!(run.status, 200, "{}", run.body);
    let events = format!("/v1/runs/{}/events", run.header("x-run-id"));
    for dialect in DIALECTS {
        let said = says(dialect, "p", "u1", "hello");
        let chat = world.post(&format!("/v1/{dialect}/chat?profile=ai-77"), &said).await;
        assert_error(dialect, &chat, 400, "profile.unknown");
        let followed = world.get(&format!("{events}?dialect={dialect}&profile=ai-77")).await;
        assert_error(dialect, &followed, 400, "profile.unknown");
    }
    assert_eq!(world.get("/v1/sessions/p").await.status, 404, "nothing was begun");
    let known = world.get(&format!("{events}?dialect=ai-sdk&profile=ai-7")).await;
    assert_eq!(known.status, 200, "{}", known.body);
}

#[tokio::test]
async fn tampered_token_answers_nothing() {
    let world = World::new().await;
    let run = world.post("/v1/agents/chat", &says("agents", "a", "u1", "delete it")).await;
    let run = run.header("x-run-id").to_owned();
    let open = world.get("/v1/interrupts").await.json()["interrupts"][0].clone();
    let token = open["token"].as_str().unwrap().to_owned();
    let answer = format!("/v1/interrupts/{}", open["request"].as_str().unwrap());
    for at in [0, token.len() / 2, token.len() - 2] {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        let said = world.post(&answer, &json!({ "approved": true, "token": tampered })).await;
        assert_error("tampered", &said, 403, "token.invalid");
    }
    assert_eq!(world.get(&format!("/v1/runs/{run}")).await.json()["run"]["status"], "waiting");
    assert_eq!(world.post(&answer, &json!({ "approved": true, "token": token })).await.status, 202);
}

#[tokio::test]
async fn client_that_sends_a_byte_now_and_then_is_given_up() {
    let mut limits = Limits::default();
    limits.body_time = Duration::from_millis(200);
    let world = World::with(Options::default().limits(limits)).await;
    let address = world.base.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/ai-sdk/chat HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut read, mut write) = socket.into_split();
    let dripping = tokio::spawn(async move {
        while write.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    while !String::from_utf8_lossy(&answer).contains("body.slow") {
        let count = read.read(&mut buffer).await.unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..count]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
    dripping.abort();
    assert_eq!(world.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn id_that_is_too_long_empty_or_unprintable_begins_nothing() {
    let world = World::new().await;
    let long = "x".repeat(5_000);
    let body = says("ai-sdk", "c", "u1", "hello");
    for header in ["x-run-id", "idempotency-key"] {
        let said = world.post_with("/v1/ai-sdk/chat", &body, &[(header, &long)]).await;
        assert_error(header, &said, 400, "id.invalid");
        let said = world.post_with("/v1/runs", &json!({ "input": "hello" }), &[(header, &long)]).await;
        assert_error(header, &said, 400, "id.invalid");
    }
    for dialect in DIALECTS {
        for id in [&*long, "a\nb", "\u{0}", "\u{1b}[2J"] {
            let said = world.post(&format!("/v1/{dialect}/chat"), &says(dialect, id, "u1", "hello")).await;
            assert_error(&format!("{dialect} {id:?}"), &said, 400, "id.invalid");
        }
    }
    for dialect in ["ai-sdk", "agents", "mui", "ag-ui"] {
        let said = world.post(&format!("/v1/{dialect}/chat"), &says(dialect, "c", &long, "hello")).await;
        assert_error(&format!("{dialect} message"), &said, 400, "id.invalid");
    }
    for id in ["", "\n", &*long] {
        assert_error(
            "create",
            &world.post("/v1/sessions", &json!({ "id": id })).await,
            400,
            "session.invalid",
        );
        let said = world.post("/v1/runs", &json!({ "input": "hello", "session": id })).await;
        assert_error("session", &said, 400, "session.invalid");
        for field in ["agent", "workflow"] {
            let said = world.post("/v1/runs", &json!({ "input": "hello", field: id })).await;
            assert_error(field, &said, 400, "id.invalid");
        }
    }
    for route in ["/v1/sessions/", "/v1/runs/", "/v1/sessions/s/checkpoints/"] {
        assert_error(route, &world.get(&format!("{route}{long}")).await, 400, "id.invalid");
        assert_error(route, &world.get(&format!("{route}a%00b")).await, 400, "id.invalid");
    }
    assert_error("dialect", &world.get(&format!("/v1/{long}/chat")).await, 400, "id.invalid");
    assert_error("rest", &world.get(&format!("/v1/ai-sdk/chat/{long}/stream")).await, 400, "id.invalid");
    assert_error("utf-8", &world.get("/v1/runs/%ff").await, 400, "path.invalid");
    assert!(world.get("/v1/runs").await.json()["runs"].as_array().unwrap().is_empty(), "nothing was begun");
    assert!(world.get("/v1/sessions").await.json()["sessions"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn run_without_a_body_is_refused() {
    let world = World::new().await;
    let empty = world.http.post(format!("{}/v1/runs", world.base)).send().await.unwrap();
    assert_error("no body", &TestResponse::of(empty).await, 400, "body.missing");
    assert_error("empty", &send(&world, "/v1/runs", "").await, 400, "body.missing");
    // A session needs nothing to begin.
    assert_eq!(send(&world, "/v1/sessions", "").await.status, 201);
}

#[tokio::test]
async fn body_with_too_many_values_or_too_long_a_key_is_refused() {
    let world = World::new().await;
    let values = format!("{{\"input\":\"x\",\"context\":{{\"a\":[{}0]}}}}", "0,".repeat(50_000));
    assert_error("values", &send(&world, "/v1/runs", values).await, 413, "body.too-many-values");
    let key = json!({ "input": "x", "context": { "k".repeat(5_000): 1 } });
    assert_error("key", &world.post("/v1/runs", &key).await, 400, "body.key-too-long");
    let hidden = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let hidden =
        format!(r#"{{"input":"x","context":{{"a":{{"$serde_json::private::RawValue":"{hidden}"}}}}}}"#);
    assert_error("hidden", &send(&world, "/v1/runs", hidden).await, 400, "body.reserved-key");
    for body in [json!({ "input": "x", "context": 7 }), json!({ "input": "x", "data": [] })] {
        assert_error("object", &world.post("/v1/runs", &body).await, 400, "body.invalid");
    }
    assert!(world.get("/v1/runs").await.json()["runs"].as_array().unwrap().is_empty(), "nothing was begun");
}
