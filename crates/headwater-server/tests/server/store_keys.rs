//! Keys and answers that come again, lists, and sessions that cannot be read.

use std::sync::Arc;

use headwater_server::Options;
use headwater_store::{Expect, Memory, Store as _};
use serde_json::{Value, json};

use crate::{
    harness::World,
    talk::{DIALECTS, path, says, says_next},
};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn idempotency_key_names_every_turn_and_one_body() {
    let world = World::new().await;
    let send = async |text: &str, key: &str| {
        let body = json!({ "input": text, "session": "s" });
        world.post_with("/v1/runs", &body, &[("idempotency-key", key)]).await
    };
    let mut runs = Vec::new();
    for number in 0..4 {
        let said = send(&format!("turn {number}"), &format!("k{number}")).await;
        assert_eq!(said.status, 201, "{}", said.body);
        runs.push(text(&said.json()["run"]));
        world.get(&format!("/v1/runs/{}/events?until=end", runs[number])).await;
    }
    for (number, run) in runs.iter().enumerate() {
        let again = send(&format!("turn {number}"), &format!("k{number}")).await;
        assert_eq!((again.status, text(&again.json()["run"])), (201, run.clone()), "{}", again.body);
        assert_eq!(again.json()["repeated"], true);
        let other = send("another", &format!("k{number}")).await;
        assert_eq!((other.status, text(&other.json()["code"])), (422, "idempotency.mismatch".to_owned()));
    }
    assert_eq!(world.get("/v1/sessions/s").await.json()["turns"], 4);
    let alone = |body: Value| async {
        let body = body;
        world.post_with("/v1/runs", &body, &[("idempotency-key", "alone")]).await
    };
    let first = alone(json!({ "input": "one" })).await.json();
    assert_eq!(alone(json!({ "input": "one" })).await.json()["run"], first["run"]);
    assert_eq!(alone(json!({ "input": "two" })).await.status, 422);
    for dialect in DIALECTS {
        let send = async |message: &str, words: &str, key: &str| {
            let body = says(dialect, "keyed", message, words);
            world.post_with(&path(dialect), &body, &[("idempotency-key", key)]).await
        };
        let first = send("m1", "one", &format!("{dialect}-1")).await;
        assert_eq!(first.status, 200, "{dialect}: {}", first.body);
        send("m2", "two", &format!("{dialect}-2")).await;
        let again = send("m1", "one", &format!("{dialect}-1")).await;
        assert_eq!(again.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        let other = send("m3", "three", &format!("{dialect}-1")).await;
        assert_eq!(other.status, 422, "{dialect}: {}", other.body);
        world.delete_with("/v1/sessions/keyed", &[]).await;
    }
}

#[tokio::test]
async fn answer_that_is_sent_again_gets_the_same_202() {
    let world = World::new().await;
    let run = text(&world.post("/v1/runs", &json!({ "input": "choose" })).await.json()["run"]);
    world.get(&format!("/v1/runs/{run}/events?until=wait")).await;
    let waiting = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(waiting["run"]["status"], "waiting");
    let request = text(&waiting["waitsFor"][0]["request"]);
    let answer = format!("/v1/runs/{run}/answer");
    let by_name = format!("/v1/interrupts/{request}");
    let first = world.post(&answer, &json!({ "answer": "a", "request": request })).await;
    assert_eq!(first.status, 202, "{}", first.body);
    for _ in 0..5 {
        for (path, body) in [
            (&answer, json!({ "answer": "a", "request": request })),
            (&answer, json!({ "answer": "a" })),
            (&by_name, json!({ "answer": "a" })),
        ] {
            let again = world.post(path, &body).await;
            assert_eq!((again.status, again.json()), (202, first.json()), "{path} {body}");
        }
        for path in [&answer, &by_name] {
            let mut body = json!({ "answer": "b" });
            if path == &answer {
                body["request"] = json!(request);
            }
            let other = world.post(path, &body).await;
            assert_eq!((other.status, text(&other.json()["code"])), (409, "request.answered".to_owned()));
        }
        let now = world.get(&format!("/v1/runs/{run}")).await.json();
        assert_eq!(now["waitsFor"], json!([]));
        assert_ne!(now["run"]["status"], "waiting");
        assert_eq!(world.get("/v1/interrupts").await.json()["interrupts"], json!([]));
        world.idle().await;
    }
    assert_eq!(world.get(&format!("/v1/runs/{run}/events?until=end")).await.text("native"), "You chose a.");
}

#[tokio::test]
async fn runs_and_questions_that_cannot_be_read_are_named_in_lists() {
    let store = Arc::new(Memory::new());
    let world = World::on(store.clone(), Options::default()).await;
    let mut runs = Vec::new();
    for message in ["u1", "u2"] {
        let said = world.post(&path("ai-sdk"), &says("ai-sdk", message, message, "choose")).await;
        runs.push(said.header("x-run-id").to_owned());
    }
    let open = world.get("/v1/interrupts").await.json()["interrupts"].clone();
    assert_eq!(open.as_array().unwrap().len(), 2, "{open}");
    assert_eq!(world.get("/v1/runs").await.json()["unreadable"], json!([]));
    let of_first = open.as_array().unwrap().iter().find(|question| question["run"] == *runs[0]).unwrap();
    let request = text(&of_first["request"]);
    for (prefix, name) in [("run/", &runs[0]), ("question/", &request)] {
        let found: Vec<_> = store.list(prefix, None, 100).await.unwrap();
        let keys: Vec<_> =
            found.iter().map(|(key, _)| key).filter(|key| key.contains(name.as_str())).collect();
        assert_eq!(keys.len(), 1, "{prefix}: {found:?}");
        store.put(keys[0], "{}".into(), Expect::Any, None).await.unwrap();
    }
    let listed = world.get("/v1/runs").await.json();
    assert_eq!((&listed["unreadable"], &listed["runs"][0]["id"]), (&json!([runs[0]]), &json!(runs[1])));
    let listed = world.get("/v1/interrupts").await.json();
    assert_eq!(listed["unreadable"], json!([request]), "{listed}");
    assert_eq!(listed["interrupts"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn session_that_cannot_be_read_is_named_and_deleted() {
    let store = Arc::new(Memory::new());
    let world = World::on(store.clone(), Options::default()).await;
    for session in ["bad", "good"] {
        world.post(&path("ai-sdk"), &says("ai-sdk", session, "u1", "hello")).await;
    }
    for (key, _) in store.list("session/", None, 10).await.unwrap() {
        if key.ends_with("/bad/") {
            store.put(&key, r#"{"id":"bad","id":"x"}"#.into(), Expect::Any, None).await.unwrap();
        }
    }
    let listed = world.get("/v1/sessions").await;
    assert_eq!((listed.status, &listed.json()["unreadable"]), (200, &json!(["bad"])), "{}", listed.body);
    assert_eq!(listed.json()["sessions"][0]["id"], "good");
    assert_eq!(world.get("/v1/mui/chat").await.status, 200);
    for path in ["/v1/sessions/bad", "/v1/sessions/bad/messages", "/v1/sessions/bad/export"] {
        let said = world.get(path).await;
        assert_eq!(
            (said.status, text(&said.json()["code"])),
            (500, "session.unreadable".to_owned()),
            "{path}"
        );
    }
    assert_eq!(world.delete_with("/v1/sessions/bad", &[]).await.status, 204);
    assert_eq!(world.get("/v1/sessions/bad").await.status, 404);
    assert_eq!(world.get("/v1/sessions").await.json()["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn message_with_an_unknown_part_leaves_the_session_whole() {
    let world = World::new().await;
    for dialect in ["ai-sdk", "agents", "mui"] {
        let mut body = says(dialect, dialect, "u1", "hello");
        let parts = match dialect {
            "mui" => &mut body["message"]["parts"],
            _ => &mut body["messages"][0]["parts"],
        };
        parts
            .as_array_mut()
            .unwrap()
            .push(json!({ "type": "my-widget", "role": 1, "data": { "type": null } }));
        let said = world.post(&path(dialect), &body).await;
        assert_eq!(said.status, 200, "{dialect}: {}", said.body);
        let messages = world.get(&format!("/v1/sessions/{dialect}/messages?dialect={dialect}")).await;
        assert_eq!(messages.status, 200, "{dialect}: {}", messages.body);
        assert!(messages.body.contains(r#""type":"my-widget""#), "{dialect}: {}", messages.body);
        let next = says_next(&world, dialect, dialect, "u2", "more").await;
        let next = world.post(&path(dialect), &next).await;
        assert_eq!(next.text(dialect), "You said: more, in turn 2.");
    }
    assert_eq!(world.get("/v1/sessions").await.json()["sessions"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn session_names_that_cannot_be_one_are_refused() {
    let world = World::new().await;
    for name in ["", "a\nb", "\u{1b}[31m", &"x".repeat(300)] {
        let said = world.post("/v1/sessions", &json!({ "id": name })).await;
        assert_eq!(
            (said.status, text(&said.json()["code"])),
            (400, "session.invalid".to_owned()),
            "{name:?}"
        );
        let said = world.post("/v1/runs", &json!({ "input": "x", "session": name })).await;
        assert_eq!(
            (said.status, text(&said.json()["code"])),
            (400, "session.invalid".to_owned()),
            "{name:?}"
        );
        if !name.is_empty() {
            let said = world.post(&path("ai-sdk"), &says("ai-sdk", name, "u1", "hello")).await;
            assert_eq!(said.status, 400, "{name:?}: {}", said.body);
        }
    }
}
