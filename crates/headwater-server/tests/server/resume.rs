//! Readers that disconnect and reconnect.

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::{
    harness::{World, state, text},
    talk::says,
};

/// The beginning of a stream, until there is enough of it; then the connection is cut.
pub(crate) async fn cut(
    world: &World,
    dialect: &str,
    session: &str,
    input: &str,
    enough: impl Fn(&str) -> bool,
) -> (String, String) {
    let response = world
        .http
        .post(format!("{}/v1/{dialect}/chat", world.base))
        .header("content-type", "application/json")
        .body(says(dialect, session, "u1", input).to_string())
        .send()
        .await
        .unwrap();
    let run = response.headers().get("x-run-id").unwrap().to_str().unwrap().to_owned();
    let mut body = response.bytes_stream();
    let mut read = String::new();
    while !enough(&read)
        && let Some(chunk) = body.next().await
    {
        read += &String::from_utf8_lossy(&chunk.unwrap());
    }
    (run, read)
}

#[tokio::test]
async fn every_frame_that_was_read_is_a_place_to_continue_from() {
    let world = World::new().await;
    for dialect in ["agents", "ag-ui"] {
        for input in ["hello", "weather please"] {
            let session = format!("{dialect}-{input}");
            let whole =
                world.post(&format!("/v1/{dialect}/chat"), &says(dialect, &session, "u1", input)).await;
            let run = whole.header("x-run-id").to_owned();
            let expected = whole.text(dialect);
            let ids = whole.ids();
            assert!(ids.len() > 5, "{}", whole.body);
            let url = format!("/v1/runs/{run}/events?dialect={dialect}");
            for id in &ids {
                let at = whole.body.find(&format!("id: {id}\n")).unwrap();
                let end = whole.body[at..].find("\n\n").unwrap() + at + 2;
                let rest = world.get_with(&url, &[("last-event-id", id)]).await;
                assert_eq!(rest.status, 200, "{}", rest.body);
                let joined = format!("{}{}", &whole.body[..end], rest.body);
                assert_eq!(text(&state(dialect, &joined)), expected, "{dialect} after {id}: {joined}");
                assert_eq!(state(dialect, &joined), state(dialect, &whole.body), "{dialect} after {id}");
            }
        }
    }
}

#[tokio::test]
async fn native_continues_after_the_cursor_of_every_frame() {
    let world = World::new().await;
    let chat = world.post("/v1/agents/chat", &says("agents", "native", "u1", "weather please")).await;
    let url = format!("/v1/runs/{}/events", chat.header("x-run-id"));
    let whole = world.get(&url).await;
    let expected = whole.text("native");
    assert!(whole.ids().len() > 5, "{}", whole.body);
    for id in whole.ids() {
        let at = whole.body.find(&format!("id: {id}\n")).unwrap();
        let end = whole.body[at..].find("\n\n").unwrap() + at + 2;
        let rest = world.get_with(&url, &[("last-event-id", id)]).await;
        let joined = format!("{}{}", &whole.body[..end], rest.body);
        assert_eq!(text(&state("native", &joined)), expected, "after {id}: {joined}");
    }

    // In lines of JSON the cursor is a field of each.
    let lines = world.get(&format!("{url}?framing=ndjson")).await.body;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (at, line) in lines.iter().enumerate() {
        let cursor = line["cursor"].as_str().unwrap();
        let rest = world.get(&format!("{url}?framing=ndjson&after={cursor}")).await.body;
        let rest: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rest, lines[at + 1..], "after {cursor}");
    }
}

#[tokio::test]
async fn native_marks_the_records_that_rebuild_the_state() {
    let world = World::new().await;
    let begun = world.post("/v1/runs", &json!({ "input": "let me choose" })).await.json();
    let url = format!("/v1/runs/{}/events", begun["run"].as_str().unwrap());
    let first = world.get(&url).await;
    assert!(first.chunks().iter().all(|record| record["replay"].is_null()), "{}", first.body);
    let anew = world.get(&format!("{url}?after=now")).await;
    assert!(anew.chunks().iter().all(|record| record["replay"] == true), "{}", anew.body);
    assert_eq!(anew.state("native").interrupts().len(), 1, "{}", anew.body);
}

#[tokio::test]
async fn mui_continues_after_any_sequence() {
    let world = World::new().await;
    let whole = world.post("/v1/mui/chat", &says("mui", "m", "u1", "weather please")).await;
    let chunks = whole.chunks();
    let count = chunks.len();
    for after in 0..count - 1 {
        let rest = world.get(&format!("/v1/mui/chat?conversationId=m&after={after}")).await;
        assert_eq!(rest.chunks(), chunks[after + 1..], "after {after}");
    }
    let future = world.get(&format!("/v1/mui/chat?conversationId=m&after={}", count + 5)).await;
    assert_eq!((future.status, future.json()["code"].clone()), (409, json!("cursor.future")));
}

#[tokio::test]
async fn cut_stream_resumes_with_a_full_re_entry() {
    let world = World::new().await;
    let (run, _) = cut(&world, "ai-sdk", "chat", "slow", |read| read.len() > 700).await;
    let back = world.get("/v1/ai-sdk/chat/chat/stream").await;
    assert_eq!(back.status, 200, "{}", back.body);
    assert_eq!(back.header("x-run-id"), run);
    assert_eq!(back.text("ai-sdk"), "slowly but surely ".repeat(20), "{}", back.body);
    assert_eq!(world.get("/v1/ai-sdk/chat/nobody/stream").await.status, 204);
    let kortyx = world.get(&format!("/v1/runs/{run}/events?dialect=kortyx")).await;
    assert_eq!(kortyx.text("kortyx"), "slowly but surely ".repeat(20));
}

#[tokio::test]
async fn run_continues_without_its_reader() {
    let world = World::new().await;
    let (run, _) = cut(&world, "tanstack", "chat", "slow", |read| read.len() > 100).await;
    let outcome = world.agent.run(run).outcome().await.unwrap();
    assert_eq!(outcome.text(), "slowly but surely ".repeat(20));
}

#[tokio::test]
async fn tanstacks_newest_client_repeats_its_request_with_a_cursor_and_joins_by_its_own_name() {
    let world = World::new().await;
    let body = says("ag-ui", "thread", "u1", "weather please");
    let whole = world.post("/v1/ag-ui/chat", &body).await;
    let id = whole.ids()[3].to_owned();
    let rest = world.post_with("/v1/ag-ui/chat", &body, &[("last-event-id", &id)]).await;
    assert_eq!(rest.header("x-run-id"), whole.header("x-run-id"));
    assert!(whole.body.ends_with(&rest.body), "{}", rest.body);
    let name = body["runId"].as_str().unwrap();
    let joined = world.get(&format!("/v1/ag-ui/chat?offset=-1&runId={name}")).await;
    assert_eq!(joined.text("ag-ui"), whole.text("ag-ui"));
    assert_eq!(joined.chunk("RUN_STARTED")["runId"], name);
    // Before any thought: its page drops the message that a thought has begun when a call or a text follows.
    assert_eq!(joined.chunks()[1]["type"], "MESSAGES_SNAPSHOT", "{}", joined.body);
    let foreign = world.post("/v1/ag-ui/chat", &says("ag-ui", "other", "u1", "hello")).await;
    let other = foreign.ids()[1];
    let run = whole.header("x-run-id");
    let refused =
        world.get_with(&format!("/v1/runs/{run}/events?dialect=ag-ui"), &[("last-event-id", other)]).await;
    assert_eq!((refused.status, refused.json()["code"].clone()), (409, json!("cursor.foreign")));
}

#[tokio::test]
async fn reloaded_page_sees_a_failed_run_within_the_replay_time() {
    for (replay, told) in [(60, true), (0, false)] {
        let mut options = headwater_server::Options::default();
        options.replay = std::time::Duration::from_secs(replay);
        let world = World::with(options).await;
        let failed = world.post("/v1/ag-ui/chat", &says("ag-ui", "s", "u1", "fail")).await;
        let run = failed.header("x-run-id");
        // A run of this very moment is not old yet.
        let page = loop {
            let page = world.get("/v1/ag-ui/chat?threadId=s").await.json();
            if told || page["activeRun"].is_null() {
                break page;
            }
        };
        assert_eq!(page["activeRun"]["runId"].as_str(), told.then_some(run), "{page}");
        if told {
            let joined = world.get(&format!("/v1/ag-ui/chat?offset=-1&runId={run}")).await;
            assert_eq!(joined.chunk("RUN_ERROR")["message"], failed.chunk("RUN_ERROR")["message"]);
        }
    }
}

#[tokio::test]
async fn readers_of_a_closing_server_reconnect() {
    let world = World::new().await;
    let mut body = world
        .http
        .post(format!("{}/v1/agents/chat", world.base))
        .header("content-type", "application/json")
        .body(says("agents", "s", "u1", "slow").to_string())
        .send()
        .await
        .unwrap()
        .bytes_stream();
    let mut read = Vec::new();
    read.extend_from_slice(&body.next().await.unwrap().unwrap());
    world.server.let_go();
    while let Some(chunk) = body.next().await {
        read.extend_from_slice(&chunk.unwrap());
    }
    let read = String::from_utf8(read).unwrap();
    assert!(!read.contains("event: done"), "a stream that was let go looks cut: {read}");
}
