//! A dialect whose answers have names: each is read again by its name, resumed after a number, stopped, and continued.

use std::time::Duration;

use headwater_server::{ApiKeys, Options};
use serde_json::{Value, json};

use crate::harness::{TestResponse, World};

const CREATE: &str = "/v1/responses";
const ANN: (&str, &str) = ("authorization", "Bearer key-of-ann");
const BOB: (&str, &str) = ("authorization", "Bearer key-of-bob");

fn of(response: &Value) -> String {
    format!("{CREATE}/{}", response["id"].as_str().unwrap())
}

/// The frames of a stream.
fn frames(said: &TestResponse) -> Vec<&str> {
    assert_eq!(said.status, 200, "{}", said.body);
    said.body.split_inclusive("\n\n").collect()
}

fn output(response: &Value, kind: &str) -> Value {
    let items = response["output"].as_array().unwrap_or_else(|| panic!("{response}"));
    items.iter().find(|item| item["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {response}")).clone()
}

fn text(response: &Value) -> String {
    output(response, "message")["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn create(world: &World, body: Value) -> Value {
    let said = world.post(CREATE, &body).await;
    assert_eq!(said.status, 200, "{}", said.body);
    said.json()
}

#[tokio::test]
async fn resume_after_any_number_repeats_nothing_and_misses_nothing() {
    let world = World::new().await;
    for input in ["hello", "what is the weather", "let me choose", "fail"] {
        let whole = world.post(CREATE, &json!({ "model": "demo", "input": input, "stream": true })).await;
        let frames = frames(&whole);
        let response = whole.chunk("response.created")["response"].clone();
        let path = format!("{}?stream=true", of(&response));
        assert_eq!(world.get(&path).await.body, whole.body, "{input}");
        // All but `[DONE]` are numbered.
        for after in 0..frames.len() - 1 {
            let rest = world.get(&format!("{path}&starting_after={after}")).await;
            assert_eq!(rest.body, frames[after + 1..].concat(), "{input} after {after}");
        }
        let beyond = world.get(&format!("{path}&starting_after={}", frames.len())).await;
        assert_eq!((beyond.status, beyond.code().as_deref()), (409, Some("cursor.future")));
        let last: Value = serde_json::from_str(
            frames[frames.len() - 2].lines().find_map(|line| line.strip_prefix("data: ")).unwrap(),
        )
        .unwrap();
        assert_eq!(world.get(&of(&response)).await.json(), last["response"], "{input}");
    }
}

#[tokio::test]
async fn answer_begins_another_response_and_leaves_the_first_as_it_was() {
    let world = World::new().await;
    let stream = world.post(CREATE, &json!({ "model": "demo", "input": "mix", "stream": true })).await;
    let first = stream.chunk("response.completed")["response"].clone();
    let (call, approval) = (output(&first, "function_call"), output(&first, "mcp_approval_request"));
    assert_eq!((&call["name"], &approval["name"]), (&json!("locate"), &json!("delete")));
    assert_eq!(output(&first, "mcp_call")["name"], "weather");

    let given = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "Oslo" });
    let answers = json!({ "previous_response_id": first["id"], "input": [given] });
    let second = create(&world, answers.clone()).await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(output(&second, "mcp_approval_request")["id"], approval["id"], "it still waits for this");
    assert_eq!(create(&world, answers).await, second, "the same answer again is the same response");

    let decided =
        json!({ "type": "mcp_approval_response", "approval_request_id": approval["id"], "approve": true });
    let body = json!({ "previous_response_id": second["id"], "input": [decided], "stream": true });
    let third = world.post(CREATE, &body).await;
    let last = third.chunk("response.completed")["response"].clone();
    let deleted = output(&last, "mcp_call");
    assert_eq!((&deleted["name"], &deleted["output"]), (&json!("delete"), &json!("deleted Rome")));
    assert_eq!(deleted["approval_request_id"], approval["id"]);
    assert_eq!(third.chunk("response.created")["sequence_number"], 0);

    let again = |response: &Value| format!("{}?stream=true", of(response));
    assert_eq!(world.get(&again(&first)).await.body, stream.body);
    assert_eq!(world.get(&again(&last)).await.body, third.body);
    let tail = world.get(&format!("{}&starting_after=2", again(&last))).await;
    assert_eq!(tail.body, frames(&third)[3..].concat());
    for response in [&first, &second, &last] {
        assert_eq!(&world.get(&of(response)).await.json(), response);
    }
}

#[tokio::test]
async fn question_is_answered_as_a_call_of_ask_user() {
    let world = World::new().await;
    let asked = create(&world, json!({ "model": "demo", "input": "let me choose" })).await;
    let call = output(&asked, "function_call");
    assert_eq!(call["name"], "ask_user");
    let input: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(input["question"], "Which one?");
    let given = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "b" });
    // A client that keeps nothing sends all items.
    let items = json!([{ "role": "user", "content": "let me choose" }, call, given]);
    let answered = create(&world, json!({ "model": "demo", "input": items })).await;
    assert_eq!(text(&answered), "You chose b.");
    let late = world.post(CREATE, &json!({ "previous_response_id": answered["id"], "input": [given] })).await;
    assert_eq!((late.status, late.json()["id"].clone()), (200, answered["id"].clone()), "{}", late.body);
}

#[tokio::test]
async fn conversation_branches_at_any_response() {
    let world = World::new().await;
    let goes_on =
        |previous: &Value, input: &str| json!({ "previous_response_id": previous["id"], "input": input });
    let first = create(&world, json!({ "model": "demo", "input": "one" })).await;
    assert_eq!(text(&first), "You said: one, in turn 1.");
    let second = create(&world, goes_on(&first, "two")).await;
    assert_eq!(text(&second), "You said: two, in turn 2.");
    assert_eq!(second["conversation"], first["conversation"]);
    let other = create(&world, goes_on(&first, "other")).await;
    assert_eq!(text(&other), "You said: other, in turn 2.");
    assert_ne!(other["conversation"], first["conversation"]);
    for branch in [&second, &other] {
        assert_eq!(text(&create(&world, goes_on(branch, "three")).await), "You said: three, in turn 3.");
    }
    // At once: none comes after another.
    let bodies = ["a", "b", "c"].map(|input| goes_on(&first, input));
    let all = futures_util::future::join_all(bodies.iter().map(|body| create(&world, body.clone()))).await;
    for (branch, input) in all.iter().zip(["a", "b", "c"]) {
        assert_eq!(text(branch), format!("You said: {input}, in turn 2."));
    }
    // The same request again begins nothing.
    let key = [("idempotency-key", "k1")];
    let body = goes_on(&first, "again");
    let once = world.post_with(CREATE, &body, &key).await.json();
    assert_eq!(text(&once), "You said: again, in turn 2.");
    assert_eq!(world.post_with(CREATE, &body, &key).await.json(), once);
}

#[tokio::test]
async fn response_in_the_background_is_polled_resumed_and_cancelled() {
    let world = World::new().await;
    let begun = create(&world, json!({ "model": "demo", "input": "slow", "background": true })).await;
    assert!(matches!(begun["status"].as_str(), Some("queued" | "in_progress")), "{begun}");
    let queued = json!({ "previous_response_id": begun["id"], "input": "next", "background": true });
    let next = create(&world, queued).await;
    assert_eq!((&next["status"], &next["output"]), (&json!("queued"), &json!([])));
    while world.get(&of(&begun)).await.json()["output"].as_array().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let cancelled = world.post(&format!("{}/cancel", of(&begun)), &json!({})).await.json();
    assert_eq!((&cancelled["id"], &cancelled["status"]), (&begun["id"], &json!("cancelled")));
    let stream = world.get(&format!("{}?stream=true", of(&begun))).await;
    assert_eq!(stream.chunk("response.incomplete")["response"], cancelled);
    let next = loop {
        let now = world.get(&of(&next)).await.json();
        match now["status"].as_str().unwrap() {
            "completed" => break now,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_eq!(text(&next), "You said: next, in turn 2.");
    let whole = world.post(&format!("{}/cancel", of(&next)), &json!({})).await.json();
    assert_eq!(whole, next, "what is complete stays as it is");
}

#[tokio::test]
async fn cancel_of_a_response_that_waits_leaves_its_run_to_the_next_one() {
    let world = World::new().await;
    let asked = create(&world, json!({ "model": "demo", "input": "let me choose" })).await;
    let kept = world.post(&format!("{}/cancel", of(&asked)), &json!({})).await.json();
    assert_eq!(kept, asked);
    let call = output(&asked, "function_call");
    let given = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "a" });
    let answered = create(&world, json!({ "previous_response_id": asked["id"], "input": [given] })).await;
    assert_eq!(text(&answered), "You chose a.");
}

#[tokio::test]
async fn responses_of_another_are_unknown() {
    let keys = ApiKeys::new().add("ann", "key-of-ann").add("bob", "key-of-bob");
    let world = World::with(Options::default().authenticator(keys)).await;
    let anns =
        world.post_with(CREATE, &json!({ "model": "demo", "input": "let me choose" }), &[ANN]).await.json();
    let never = json!({ "id": "resp_run_never.0" });
    for response in [&anns, &never] {
        let call = json!({ "type": "function_call_output", "call_id": "x", "output": "a" });
        let told = [
            world.get_with(&of(response), &[BOB]).await,
            world.get_with(&format!("{}?stream=true", of(response)), &[BOB]).await,
            world.get_with(&format!("{}?stream=true&starting_after=0", of(response)), &[BOB]).await,
            world.post_with(&format!("{}/cancel", of(response)), &json!({}), &[BOB]).await,
        ];
        for said in told {
            assert_eq!((said.status, said.code().as_deref()), (404, Some("run.unknown")), "{}", said.body);
        }
        for input in [json!("hello"), json!([call])] {
            for model in [json!("demo"), Value::Null] {
                let body = json!({ "previous_response_id": response["id"], "input": input, "model": model });
                let said = world.post_with(CREATE, &body, &[BOB]).await;
                let refused = (said.status, said.code());
                assert_eq!(refused, (404, Some("previous.unknown".to_owned())), "{}", said.body);
            }
        }
    }
    assert_eq!(world.get_with(&of(&anns), &[ANN]).await.json(), anns);
}

#[tokio::test]
async fn errors_have_the_form_of_the_dialect() {
    let keys = ApiKeys::new().add("ann", "key-of-ann");
    let world = World::with(Options::default().authenticator(keys)).await;
    let form = json!({ "type": "json_schema", "name": "x", "schema": { "type": "no such type" } });
    for (body, status, code, kind, param) in [
        (json!({ "model": "nobody", "input": "x" }), 404, "agent.unknown", "not_found_error", "model"),
        (json!({ "model": "demo", "input": [] }), 400, "request.invalid", "invalid_request_error", ""),
        (json!({ "input": "x" }), 400, "request.invalid", "invalid_request_error", ""),
        (
            json!({ "model": "demo", "input": "x", "text": { "format": form } }),
            422,
            "answer-format.invalid",
            "invalid_request_error",
            "",
        ),
    ] {
        let said = world.post_with(CREATE, &body, &[ANN]).await;
        let error = said.json()["error"].clone();
        assert_eq!(said.status, status, "{}", said.body);
        assert_eq!(
            (&error["code"], &error["type"], &error["param"]),
            (&json!(code), &json!(kind), &json!(param))
        );
    }
    // What a guard refuses, and what is no route, as well.
    let unknown = world.post(CREATE, &json!({ "model": "demo", "input": "x" })).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["type"]), (401, &json!("authentication_error")));
    let method = world.get_with(CREATE, &[ANN]).await;
    assert_eq!((method.status, &method.json()["error"]["code"]), (405, &json!("method.unsupported")));
    // The server's own routes keep theirs.
    assert_eq!(world.get("/v1/runs").await.json()["code"], "auth.missing");
}
