//! Sessions, their checkpoints, and the documents that pages ask for when they are opened again.

use serde_json::{Value, json};

use crate::{
    harness::World,
    resume::cut,
    talk::{DIALECTS, says, says_next},
};

async fn send_text(world: &World, session: &str, message: &str, text: &str) {
    let body = says_next(world, "ai-sdk", session, message, text).await;
    let said = world.post("/v1/ai-sdk/chat", &body).await;
    assert_eq!(said.status, 200, "{}", said.body);
}

fn texts(messages: &Value) -> Vec<String> {
    let parts = |message: &Value| {
        let parts = message["parts"].as_array().cloned().unwrap_or_default();
        let text = |part: &Value| {
            (part["type"] == "text")
                .then(|| part["text"].as_str().or(part["content"].as_str()).unwrap_or("").to_owned())
        };
        let said: String = parts.iter().filter_map(text).collect();
        message["content"].as_str().map_or(said, str::to_owned)
    };
    messages.as_array().unwrap().iter().map(parts).collect()
}

#[tokio::test]
async fn page_that_is_opened_again_finds_its_conversation_in_its_own_form() {
    let world = World::new().await;
    send_text(&world, "c", "u1", "weather please").await;
    let targets = [
        ("ai-sdk", "/v1/sessions/c/messages?dialect=ai-sdk".to_owned()),
        ("mui", "/v1/mui/chat?conversationId=c".to_owned()),
        ("ag-ui", "/v1/ag-ui/chat?threadId=c".to_owned()),
        ("tanstack", "/v1/sessions/c/messages?dialect=tanstack".to_owned()),
        ("kortyx", "/v1/sessions/c/messages?dialect=kortyx".to_owned()),
    ];
    for (dialect, target) in targets {
        let document = world.get(&target).await;
        assert_eq!(document.status, 200, "{}", document.body);
        assert_eq!(
            texts(&document.json()["messages"]),
            ["weather please", "It is sunny."],
            "{dialect}: {}",
            document.body
        );
    }
    let listed = world.get("/v1/mui/chat").await.json();
    assert_eq!(listed["conversations"][0]["id"], "c");
    assert_eq!(listed["conversations"][0]["title"], "weather please");
    assert_eq!(world.get("/v1/ag-ui/chat?threadId=nobody").await.json()["messages"], json!([]));
    assert_eq!(DIALECTS.len(), 6);
}

#[tokio::test]
async fn message_that_is_being_answered_is_in_the_conversation() {
    let world = World::new().await;
    for dialect in ["ai-sdk", "mui", "kortyx", "native"] {
        let session = format!("s-{dialect}");
        cut(&world, "ai-sdk", &session, "slow", |read| read.contains("surely")).await;
        let target = format!("/v1/sessions/{session}/messages?dialect={dialect}");
        let document = world.get(&target).await;
        assert_eq!(texts(&document.json()["messages"])[0], "slow", "{dialect}: {}", document.body);
    }
}

#[tokio::test]
async fn waiting_conversation_names_its_questions() {
    let world = World::new().await;
    // It is TanStack's page that reads this document.
    let first = world.post("/v1/ag-ui/chat?profile=tanstack", &says("ag-ui", "t", "u1", "delete it")).await;
    let document = world.get("/v1/ag-ui/chat?threadId=t").await.json();
    assert_eq!(document["activeRun"]["runId"], first.header("x-run-id"));
    let mut asked = document["interrupts"]["pending"][0].clone();
    // The document names the run as the server does, the stream as the client does.
    let run = asked["metadata"]["tanstack:interruptBinding"]["interruptedRunId"].take();
    assert_eq!(run, document["interrupts"]["runId"]);
    let mut told = first.chunk("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    told["metadata"]["tanstack:interruptBinding"]["interruptedRunId"].take();
    assert_eq!(asked, told, "{document}");
}

#[tokio::test]
async fn session_goes_back_branches_and_is_done_again() {
    let world = World::new().await;
    for (message, text) in [("u1", "one"), ("u2", "two"), ("u3", "three")] {
        send_text(&world, "s", message, text).await;
    }
    let info = world.get("/v1/sessions/s").await.json();
    assert_eq!((info["turns"].clone(), info["label"].clone()), (json!(3), json!("one")), "{info}");
    let points = world.get("/v1/sessions/s/checkpoints").await.json();
    let id = |at: usize| points["checkpoints"][at]["id"].as_str().unwrap().to_owned();
    let forked =
        world.post(&format!("/v1/sessions/s/checkpoints/{}/fork", id(1)), &json!({ "id": "f" })).await;
    assert_eq!(forked.status, 201, "{}", forked.body);
    assert_eq!(forked.json()["turns"], 2);
    let taken =
        world.post(&format!("/v1/sessions/s/checkpoints/{}/fork", id(1)), &json!({ "id": "s" })).await;
    assert_eq!((taken.status, taken.json()["code"].clone()), (409, json!("session.exists")));
    let back = world.post(&format!("/v1/sessions/s/checkpoints/{}/rollback", id(2)), &json!({})).await;
    assert_eq!(back.status, 200, "{}", back.body);
    let messages = world.get("/v1/sessions/s/messages?dialect=kortyx").await.json();
    assert_eq!(texts(&messages["messages"]), ["one", "You said: one, in turn 1."]);
    let again =
        world.post(&format!("/v1/sessions/s/checkpoints/{}/regenerate", id(2)), &json!({})).await.json();
    let run = again["run"].as_str().unwrap();
    let said = world.get(&format!("/v1/runs/{run}/events?dialect=kortyx")).await;
    assert_eq!(said.text("kortyx"), "You said: one, in turn 1.");
    let unknown = world.post("/v1/sessions/s/checkpoints/cp_no/rollback", &json!({})).await;
    assert_eq!(
        (unknown.status, unknown.json()["code"].clone()),
        (404, json!("checkpoint.unknown")),
        "{}",
        unknown.body
    );
    let exported = world.get("/v1/sessions/f/export").await;
    let copy = world.post("/v1/sessions", &json!({ "id": "copy", "import": exported.json() })).await;
    assert_eq!(copy.status, 201, "{}", copy.body);
    let messages = |name: &str| format!("/v1/sessions/{name}/messages");
    // A document is its sender's word: of the messages it gives what was written.
    let mut written = world.get(&messages("f")).await.json();
    for message in written["messages"].as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| part["type"] == "text");
    }
    assert_eq!(world.get(&messages("copy")).await.json(), written);
    let client = world.http.delete(format!("{}/v1/sessions/f", world.base)).send().await.unwrap();
    assert_eq!(client.status().as_u16(), 204);
    assert_eq!(world.get("/v1/sessions/f").await.status, 404);
}

#[tokio::test]
async fn kortyx_asks_for_checkpoints_in_its_own_words() {
    let world = World::new().await;
    for text in ["one", "two"] {
        let said = world.post("/v1/kortyx/chat", &says("kortyx", "k", "", text)).await;
        assert_eq!(said.chunk("checkpoint")["sessionId"], "k");
    }
    let ask = |body: Value| {
        let world = &world;
        async move { world.post("/v1/kortyx/checkpoints", &body).await }
    };
    let listed = ask(json!({ "action": "list", "sessionId": "k" })).await.json();
    let turns: Vec<_> = listed.as_array().unwrap().iter().map(|point| point["turnIndex"].clone()).collect();
    assert_eq!(turns, [0, 1, 2]);
    assert_eq!(
        (&listed[0]["label"], &listed[1]["parentCheckpointId"]),
        (&json!("session start"), &listed[0]["id"])
    );
    let (start, first) = (listed[0]["id"].clone(), listed[1]["id"].clone());
    let got = ask(json!({ "action": "get", "checkpointId": first })).await.json();
    assert_eq!(texts(&got["messages"]), ["one", "You said: one, in turn 1."]);
    let forked = ask(json!({ "action": "fork", "checkpointId": first, "newSessionId": "k2" })).await;
    assert_eq!(forked.json()["sessionId"], "k2", "{}", forked.body);
    assert_eq!(forked.json()["parentSessionId"], "k", "{}", forked.body);
    assert_eq!(forked.json()["forkedFrom"], first, "{}", forked.body);
    assert_eq!(forked.json()["checkpoint"]["activePendingRequests"], json!([]), "{}", forked.body);
    let back = ask(json!({ "action": "rollback", "checkpointId": first })).await.json();
    assert_eq!((&back["sessionId"], &back["head"]["id"]), (&json!("k"), &first), "{back}");
    let none = json!([]);
    assert_eq!(
        (&back["invalidatedStructuredStreamIds"], &back["invalidatedInterruptTokens"]),
        (&none, &none),
        "{back}"
    );
    assert_eq!(ask(json!({ "action": "list", "sessionId": "k" })).await.json().as_array().unwrap().len(), 2);
    let back = ask(json!({ "action": "rollback", "checkpointId": start })).await.json();
    assert_eq!(back["head"]["turnIndex"], 0, "{back}");
    let said = world.post("/v1/kortyx/chat", &says("kortyx", "k", "", "anew")).await;
    assert_eq!(said.text("kortyx"), "You said: anew, in turn 1.", "the first answer can be regenerated");
    let fresh = ask(json!({ "action": "fork", "checkpointId": start, "newSessionId": "k3" })).await.json();
    assert_eq!(
        (&fresh["sessionId"], &fresh["checkpoint"]["turnIndex"]),
        (&json!("k3"), &json!(0)),
        "{fresh}"
    );
    let unknown = ask(json!({ "action": "rollback", "checkpointId": "cp_no" })).await;
    assert_eq!((unknown.status, unknown.json()["code"].clone()), (404, json!("checkpoint.unknown")));
}

#[tokio::test]
async fn kortyx_answers_a_question_in_a_fork_and_after_roll_back_to_it() {
    let world = World::new().await;
    let said = world.post("/v1/kortyx/chat", &says("kortyx", "k", "", "let me choose")).await;
    let asked = said.chunk("interrupt");
    let listed =
        world.post("/v1/kortyx/checkpoints", &json!({ "action": "list", "sessionId": "k" })).await.json();
    let waiting = listed[1]["id"].clone();
    let answer = |session: &str, pending: &Value| {
        let resume = json!({ "token": pending["token"], "requestId": pending["requestId"],
            "selected": [pending["options"][0]["id"]] });
        json!({ "sessionId": session, "messages": [
            { "role": "user", "content": "the first", "metadata": { "resume": resume } }] })
    };
    let fork = json!({ "action": "fork", "checkpointId": waiting, "newSessionId": "f" });
    let forked = world.post("/v1/kortyx/checkpoints", &fork).await.json();
    let pending = &forked["checkpoint"]["activePendingRequests"][0];
    assert_ne!(pending["token"], asked["resumeToken"], "{forked}");
    let said = world.post("/v1/kortyx/chat", &answer("f", pending)).await;
    assert_eq!((said.status, said.body.contains("\"type\":\"done\"")), (200, true), "{}", said.body);
    let back = json!({ "action": "rollback", "checkpointId": waiting });
    let back = world.post("/v1/kortyx/checkpoints", &back).await.json();
    let said = world.post("/v1/kortyx/chat", &answer("k", &back["head"]["activePendingRequests"][0])).await;
    assert_eq!(said.status, 200, "{}", said.body);
    let back = json!({ "action": "rollback", "checkpointId": waiting });
    let again = world.post("/v1/kortyx/checkpoints", &back).await.json();
    let said = world.post("/v1/kortyx/chat", &answer("k", &again["head"]["activePendingRequests"][0])).await;
    assert_eq!(said.status, 200, "{}", said.body);
}
