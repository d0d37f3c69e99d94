//! What a page sends by mistake: each gets the documented answer, and its conversation continues.

use serde_json::json;

use crate::{
    harness::World,
    limits::{ANN, holding_with},
    repeated_requests::{NAMING, edits, turns},
    talk::{after, path, says},
};

/// The dialects whose clients send all that they show.
const COMPLETE: [&str; 4] = ["tanstack", "agents", "ai-sdk", "ag-ui"];

#[tokio::test]
async fn history_of_another_session_is_brought_along_as_text_and_leaves_that_session_alone() {
    let world = World::new().await;
    for dialect in COMPLETE {
        let (one, other) = (format!("{dialect}-1"), format!("{dialect}-2"));
        let first = world.post(&path(dialect), &says(dialect, &one, "u1", "one")).await;
        world.post(&path(dialect), &says(dialect, &other, "v1", "uno")).await;
        let before = world.get(&format!("/v1/sessions/{one}/messages")).await.body;
        // The page shows the first conversation and names the second.
        let mixed = after(dialect, &[("u1", "one")], says(dialect, &other, "v2", "two"));
        let said = world.post(&path(dialect), &mixed).await;
        assert_eq!(
            (said.status, said.text(dialect).as_str()),
            (200, "You said: two, in turn 2."),
            "{dialect}"
        );
        assert_ne!(said.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        assert_eq!(world.get(&format!("/v1/sessions/{one}/messages")).await.body, before, "{dialect}");
        let messages = world.get(&format!("/v1/sessions/{other}/messages")).await.body;
        assert!(messages.contains("one") && !messages.contains("uno"), "{dialect}: {messages}");
        for (session, shown, text) in
            [(&one, vec![("u1", "one")], "on"), (&other, vec![("u1", "one"), ("v2", "two")], "on")]
        {
            let turn = shown.len() + 1;
            let next = after(dialect, &shown, says(dialect, session, "w1", text));
            let next = world.post(&path(dialect), &next).await;
            assert_eq!(next.text(dialect), format!("You said: on, in turn {turn}."), "{dialect}, {session}");
        }
    }
}

#[tokio::test]
async fn concurrent_edits_keep_one_and_the_conversation_continues() {
    let world = World::new().await;
    for dialect in NAMING {
        world.post(&path(dialect), &edits(dialect, dialect, "u1", "hello", 0)).await;
        let [one, two] = [("uno", 1), ("due", 2)].map(|(text, nth)| edits(dialect, dialect, "u1", text, nth));
        let chat = path(dialect);
        let said = tokio::join!(world.post(&chat, &one), world.post(&chat, &two));
        for said in [&said.0, &said.1] {
            let refused = said.status == 409 && said.code().as_deref() == Some("session.busy");
            assert!(said.status == 200 || refused, "{dialect}: {}", said.body);
        }
        assert!(said.0.status == 200 || said.1.status == 200, "{dialect}");
        world.agent.session(dialect, Some("local")).settled().await.unwrap();
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
        let kept = world.get(&format!("/v1/sessions/{dialect}/messages")).await.json();
        let text = kept["messages"][0]["parts"][0]["text"].as_str().unwrap().to_owned();
        assert!(["uno", "due"].contains(&text.as_str()), "{dialect}: {kept}");
        let next = after(dialect, &[("u1", &text)], says(dialect, dialect, "u2", "next"));
        let next = world.post(&path(dialect), &next).await;
        assert_eq!(next.text(dialect), "You said: next, in turn 2.", "{dialect}: {}", next.body);
    }
}

#[tokio::test]
async fn run_id_in_use_is_refused_for_another_message_and_counts_in_its_session_alone() {
    let world = World::new().await;
    for dialect in ["mui", "agents", "ai-sdk", "ag-ui"] {
        let say = async |session: &str, shown: &[(&str, &str)], message: &str, text: &str| {
            let mut body = after(dialect, shown, says(dialect, session, message, text));
            if let Some(body) = body.as_object_mut() {
                body.remove("runId");
            }
            world.post_with(&path(dialect), &body, &[("x-run-id", "mine")]).await
        };
        let first = say(dialect, &[], "u1", "one").await;
        assert_eq!(first.status, 200, "{dialect}: {}", first.body);
        let again = say(dialect, &[], "u1", "one").await;
        assert_eq!(again.header("x-run-id"), first.header("x-run-id"), "{dialect}");
        let taken = say(dialect, &[("u1", "one")], "u2", "two").await;
        assert_eq!(
            (taken.status, taken.code().as_deref()),
            (409, Some("run.in-use")),
            "{dialect}: {}",
            taken.body
        );
        assert_eq!(turns(&world, dialect).await, 1, "{dialect}");
        let elsewhere = say(&format!("{dialect}-2"), &[], "u2", "two").await;
        assert_eq!(elsewhere.text(dialect), "You said: two, in turn 1.", "{dialect}");
        let body = after(dialect, &[("u1", "one")], says(dialect, dialect, "u2", "two"));
        let next = world.post(&path(dialect), &body).await;
        assert_eq!(next.text(dialect), "You said: two, in turn 2.", "{dialect}: {}", next.body);
    }
}

#[tokio::test]
async fn run_id_of_a_run_in_progress_is_refused_for_another_message() {
    let (world, gate) = holding_with(|_| {}).await;
    let request = world.http.post(format!("{}/v1/ag-ui/chat", world.base)).header(ANN.0, ANN.1);
    let mut body = says("ag-ui", "t", "u1", "hold");
    body["runId"] = json!("mine");
    let request = request.header("content-type", "application/json").body(body.to_string());
    let held = request.send().await.unwrap();
    let mut other = after("ag-ui", &[("u1", "hold")], says("ag-ui", "t", "u2", "next"));
    other["runId"] = json!("mine");
    let other = world.post_with("/v1/ag-ui/chat", &other, &[ANN]).await;
    assert_eq!((other.status, other.code().as_deref()), (409, Some("run.in-use")), "{}", other.body);
    gate.add_permits(1);
    assert!(held.text().await.unwrap().contains("done"), "the run in progress is left alone");
}

#[tokio::test]
async fn stop_of_a_run_that_has_ended_changes_nothing() {
    let world = World::new().await;
    let said = world.post("/v1/mui/chat", &says("mui", "m", "u1", "hello")).await;
    let run = said.header("x-run-id").to_owned();
    for (path, body) in [
        ("/v1/mui/chat/stop".to_owned(), json!({ "conversationId": "m" })),
        ("/v1/mui/chat/stop".to_owned(), json!({ "runId": run })),
        ("/v1/ag-ui/agent/demo/stop/m".to_owned(), json!({})),
        (format!("/v1/agents/chat/{run}/stop"), json!({})),
        (format!("/v1/runs/{run}/stop"), json!({})),
    ] {
        let stopped = world.post(&path, &body).await;
        assert_eq!(
            (stopped.status, &stopped.json()["stopped"]),
            (200, &json!(false)),
            "{path}: {}",
            stopped.body
        );
    }
    assert_eq!(world.post("/v1/sessions/m/stop", &json!({})).await.json()["stopped"], json!(null));
    let cancelled = world.post(&format!("/v1/responses/resp_{run}.0/cancel"), &json!({})).await;
    assert_eq!(
        (cancelled.status, &cancelled.json()["status"]),
        (200, &json!("completed")),
        "{}",
        cancelled.body
    );
    let run = world.get(&format!("/v1/runs/{run}")).await.json();
    assert_eq!(run["run"]["status"], "finished");
    let next = world.post("/v1/mui/chat", &says("mui", "m", "u2", "next")).await;
    assert_eq!(next.text("mui"), "You said: next, in turn 2.", "{}", next.body);
}
