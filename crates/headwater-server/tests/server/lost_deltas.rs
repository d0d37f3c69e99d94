//! Readers that received deltas which were lost with the process that sent them.

use std::{sync::Arc, time::Duration};

use headwater_server::Options;
use headwater_store::{
    Store,
    embedded::{self, Embedded},
};
use headwater_testkit::disk::Disk;
use serde_json::Value;

use crate::{
    harness::{TestResponse, World, state, text},
    resume::cut,
    talk::says,
};

/// What the model says, in forty pieces.
fn slowly() -> String {
    "slowly but surely ".repeat(20)
}

/// A store that keeps what a model says only when the model is done.
fn open(disk: &Disk) -> Arc<dyn Store> {
    let mut options = embedded::Options::default();
    options.delta_window = Duration::from_secs(3_600);
    Arc::new(Embedded::open_with(Arc::new(disk.clone()), options).unwrap())
}

/// A run, the frames that its reader got before the process died, and a new process.
async fn died_after_a_delta(dialect: &str) -> (World, String, TestResponse) {
    let disk = Disk::new(1);
    let world = World::on(open(&disk), Options::default()).await;
    let (run, read) = cut(&world, dialect, "s", "slow", |read| read.matches("surely").count() >= 3).await;
    disk.kill();
    drop(world);
    let body = read.split_inclusive("\n\n").filter(|frame| frame.ends_with("\n\n")).collect();
    let read = TestResponse { status: 200, headers: reqwest::header::HeaderMap::new(), body };
    (World::on(open(&disk), Options::default()).await, run, read)
}

/// The text that a client without attempts shows, since the last full snapshot.
fn shown(rest: &TestResponse) -> String {
    let texts = |parts: &Value, key: &str| -> String {
        parts.as_array().unwrap().iter().filter_map(|part| part[key].as_str()).collect()
    };
    let mut shown = String::from("nothing was said again: ");
    for frame in rest.chunks() {
        let chunk = frame.get("chunk").unwrap_or(&frame);
        match chunk["type"].as_str().unwrap() {
            "MESSAGES_SNAPSHOT" => {
                let messages = chunk["messages"].as_array().unwrap().iter();
                let answers: Value = messages.filter(|it| it["role"] == "assistant").cloned().collect();
                shown = texts(&answers, "content");
            }
            "message-updated" => shown = texts(&chunk["message"]["parts"], "text"),
            "TEXT_MESSAGE_CONTENT" | "text-delta" => shown += chunk["delta"].as_str().unwrap(),
            _ => {}
        }
    }
    shown
}

#[tokio::test]
async fn cursor_at_a_lost_record_continues_without_it() {
    let (world, run, read) = died_after_a_delta("ag-ui").await;
    let last = read.ids().pop().unwrap();
    let url = format!("/v1/runs/{run}/events?dialect=ag-ui");
    let rest = world.get_with(&url, &[("last-event-id", last)]).await;
    assert_eq!(rest.status, 200, "{}", rest.body);
    let joined = format!("{}{}", read.body, rest.body);
    assert_eq!(text(&state("ag-ui", &joined)), slowly(), "{joined}");
    assert_eq!(shown(&rest), slowly(), "{joined}");
}

#[tokio::test]
async fn agents_reader_learns_that_it_holds_a_dead_attempt_and_reads_anew() {
    let (world, run, read) = died_after_a_delta("agents").await;
    let last = read.ids().pop().unwrap();
    let url = format!("/v1/runs/{run}/events?dialect=agents");
    let rest = world.get_with(&url, &[("last-event-id", last)]).await;
    assert_eq!(rest.status, 200, "{}", rest.body);
    let retrying = rest.body.find(r#"{"state":"retrying""#).expect("the dead attempt is announced");
    assert!(!rest.body[..retrying].contains("message.delta"), "{}", rest.body);
    let anew = world.get(&format!("{url}&after=now")).await;
    assert_eq!(anew.text("agents"), slowly(), "{}", anew.body);
}

#[tokio::test]
async fn tanstacks_newest_client_repeats_its_request_after_what_was_lost() {
    let (world, run, read) = died_after_a_delta("ag-ui").await;
    let last = read.ids().pop().unwrap();
    let body = says("ag-ui", "s", "u1", "slow");
    let rest = world.post_with("/v1/ag-ui/chat", &body, &[("last-event-id", last)]).await;
    assert_eq!(rest.header("x-run-id"), run);
    assert_eq!(shown(&rest), slowly(), "{}", rest.body);
}

#[tokio::test]
async fn mui_gets_the_stored_state_again() {
    let (world, _, read) = died_after_a_delta("mui").await;
    let last = read.ids().pop().unwrap();
    let rest = world.get_with("/v1/mui/chat/stream?conversationId=s", &[("last-event-id", last)]).await;
    assert_eq!(shown(&rest), slowly(), "{}", rest.body);
}

#[tokio::test]
async fn number_that_was_lost_is_not_given_again() {
    let (world, _, read) = died_after_a_delta("mui").await;
    let after = read.chunks().last().unwrap()["sequence"].as_u64().unwrap();
    let mut told = after;
    // The second time it is a number of the process that took over; it looks the same as a lost one.
    for _ in 0..2 {
        let rest = world.get(&format!("/v1/mui/chat?conversationId=s&after={told}")).await;
        assert_eq!(shown(&rest), slowly(), "{}", rest.body);
        let numbers: Vec<u64> = rest.chunks().iter().map(|it| it["sequence"].as_u64().unwrap()).collect();
        assert!(numbers.iter().copied().eq(told + 1..told + 1 + numbers.len() as u64), "{numbers:?}");
        told += 5;
    }
    // What came before is where it was.
    let early = world.get("/v1/mui/chat?conversationId=s&after=0").await;
    assert_eq!(early.chunks()[0]["sequence"], 1);
    let future = world.get("/v1/mui/chat?conversationId=s&after=100000").await;
    assert_eq!(future.status, 409, "{}", future.body);
}
