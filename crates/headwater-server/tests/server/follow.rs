//! Many readers of one run, who come at different times and in different ways.

use futures_util::StreamExt as _;
use headwater_protocol::{Message, Role, RunState, RunStatus};
use headwater_runtime::JournalEntry;
use serde_json::json;

use crate::{
    harness::{World, state},
    talk::says,
};

/// As many come to one run.
const READERS: usize = 16;

/// The frames of a body so far, each with its end.
fn frames(body: &str) -> Vec<&str> {
    let mut frames: Vec<_> = body.split_inclusive("\n\n").collect();
    if frames.last().is_some_and(|last| !last.ends_with("\n\n")) {
        frames.pop();
    }
    frames
}

fn id(frame: &str) -> Option<&str> {
    frame.lines().find_map(|line| line.strip_prefix("id: "))
}

#[tokio::test]
async fn readers_who_come_by_a_cursor_while_a_run_continues_miss_nothing_and_see_nothing_twice() {
    let world = World::new().await;
    for dialect in ["agents", "ag-ui"] {
        let request = world
            .http
            .post(format!("{}/v1/{dialect}/chat", world.base))
            .header("content-type", "application/json")
            .body(says(dialect, dialect, "u1", "slow").to_string());
        let response = request.send().await.unwrap();
        let run = response.headers().get("x-run-id").unwrap().to_str().unwrap().to_owned();
        let url = format!("{}/v1/runs/{run}/events?dialect={dialect}", world.base);
        let (mut stream, mut body, mut seen) = (response.bytes_stream(), String::new(), 0);
        let mut readers = tokio::task::JoinSet::new();
        while let Some(piece) = stream.next().await {
            body.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
            let known: Vec<_> = frames(&body).iter().map(|frame| (*frame).to_owned()).collect();
            for at in seen..known.len() {
                let Some(cursor) = id(&known[at]).map(str::to_owned) else { continue };
                if readers.len() >= READERS {
                    continue;
                }
                let (before, request) =
                    (known[..=at].concat(), world.http.get(&url).header("last-event-id", cursor));
                readers.spawn(async move { before + &request.send().await.unwrap().text().await.unwrap() });
            }
            seen = known.len();
        }
        let whole = state(dialect, &body);
        assert_eq!(whole.run().status, RunStatus::Finished);
        assert!(!readers.is_empty());
        let url = format!("/v1/runs/{run}/events?dialect={dialect}");
        assert_eq!(world.get(&url).await.state(dialect).messages(), whole.messages());
        while let Some(read) = readers.join_next().await {
            let read = read.unwrap();
            assert_eq!(state(dialect, &read), whole, "{dialect}: {read}");
        }
    }
}

#[tokio::test]
async fn readers_who_come_at_any_time_in_any_way_all_see_the_whole_text() {
    let world = World::new().await;
    for dialect in crate::talk::DIALECTS {
        let body = says(dialect, &format!("s-{dialect}"), "u1", "slow").to_string();
        let request = world.http.post(format!("{}/v1/{dialect}/chat", world.base));
        let response = request.header("content-type", "application/json").body(body).send().await.unwrap();
        let run = response.headers().get("x-run-id").unwrap().to_str().unwrap().to_owned();
        let mut stream = response.bytes_stream();
        let mut readers = tokio::task::JoinSet::new();
        while let Some(piece) = stream.next().await {
            piece.unwrap();
            if readers.len() >= READERS {
                continue;
            }
            for after in ["", "&after=now"] {
                let url = format!("{}/v1/runs/{run}/events?dialect={dialect}{after}", world.base);
                let request = world.http.get(url);
                readers.spawn(async move { request.send().await.unwrap().text().await.unwrap() });
            }
        }
        assert!(!readers.is_empty());
        while let Some(read) = readers.join_next().await {
            let read = read.unwrap();
            let read_state = state(dialect, &read);
            // AG-UI's snapshot has the question too.
            let messages = read_state.messages().iter().filter(|message| message.role == Role::Assistant);
            let said: String = messages.map(Message::plain_text).collect();
            assert_eq!(said, "slowly but surely ".repeat(20), "{dialect}: {read}");
        }
    }
}

#[tokio::test]
async fn snapshot_is_the_state_up_to_its_position() {
    let world = World::new().await;
    let told = world.post("/v1/runs", &json!({ "input": "long" })).await;
    let run = world.agent.run(told.json()["run"].as_str().unwrap());
    run.outcome().await.unwrap();
    // The closing record is written after the end was sent.
    while world.agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
    let entries = run.entries().await.unwrap();
    let (seq, snapshot) = run.snapshot().await.unwrap().unwrap();
    let newest = entries.iter().rposition(|entry| matches!(entry, JournalEntry::Snapshot(_))).unwrap();
    assert_eq!(seq, newest as u64 + 1, "it is the newest");
    let mut state = RunState::default();
    for entry in &entries[..newest] {
        if let JournalEntry::Event(record) = entry {
            state.apply(record).unwrap();
        }
    }
    assert_eq!(snapshot, state, "at {seq}");
}

#[tokio::test]
async fn reader_until_the_end_gets_the_end_once() {
    let world = World::new().await;
    let ends = [
        ("kortyx", "\"type\":\"done\""),
        ("tanstack", "\"finishReason\":\"stop\""),
        ("ag-ui", "RUN_FINISHED"),
        ("agents", "event: done"),
    ];
    for (dialect, end) in ends {
        let begun = world.post("/v1/runs", &json!({ "input": "let me choose" })).await.json();
        let run = begun["run"].as_str().unwrap();
        let events = format!("/v1/runs/{run}/events?dialect={dialect}");
        let waits = world.get(&format!("{events}&until=wait")).await;
        let follow = async |query: &str| {
            let response = world.http.get(format!("{}{events}{query}", world.base)).send().await.unwrap();
            assert_eq!(response.status(), 200, "{dialect}");
            response
        };
        // Both are there while it waits.
        let (whole, now) = (follow("&until=end").await, follow("&until=end&after=now").await);
        let answered = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "answer": "a" })).await;
        assert_eq!(answered.status, 202, "{}", answered.body);
        let bodies = [whole.text().await.unwrap(), now.text().await.unwrap()];
        for body in &bodies {
            assert_eq!(body.matches(end).count(), 1, "{dialect}: {body}");
            let seen = state(dialect, body);
            assert_eq!(seen.run().status, RunStatus::Finished, "{dialect}: {body}");
            assert_eq!(crate::harness::text(&seen), "You chose a.", "{dialect}: {body}");
        }
        assert_eq!(state(dialect, &waits.body).run().status, RunStatus::Waiting, "{dialect}: {}", waits.body);
    }
}
