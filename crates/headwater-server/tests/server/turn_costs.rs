//! The calls of the store for a turn: as many for each turn of a session, however long it is.

use headwater_server::Options;
use headwater_store::Memory;
use serde_json::json;

use crate::{
    counting::{Calls, CountingStore},
    harness::World,
    talk::{DIALECTS, after, path, says},
};

/// Turns in the short form of the test of a long session; `HEADWATER_TURNS` says how many else.
const TURNS: usize = 200;

#[tokio::test]
async fn turn_loads_the_head_of_its_session_once() {
    for dialect in DIALECTS {
        let store = CountingStore::new(Memory::new());
        let world = World::on(store.clone(), Options::default()).await;
        let turns: Vec<_> = (0..5).map(|turn| (format!("u{turn}"), format!("number {turn}"))).collect();
        let turns: Vec<_> = turns.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        let mut calls: Vec<Calls> = Vec::new();
        for (at, (message, text)) in turns.iter().enumerate() {
            let body = after(dialect, &turns[..at], says(dialect, "s", message, text));
            let before = store.calls();
            let said = world.post(&path(dialect), &body).await;
            world.idle().await;
            calls.push(store.calls().since(before));
            assert_eq!(said.text(dialect), format!("You said: {text}, in turn {}.", at + 1), "{dialect}");
        }
        println!("{dialect}: {calls:?}");
        for calls in calls {
            assert_eq!(calls.heads, 1, "{dialect}: {calls:?}");
            assert!(calls.reads <= 40 && calls.writes <= 80, "{dialect}: {calls:?}");
        }
    }
}

/// The mean of each number.
fn mean(calls: &[Calls]) -> [u64; 4] {
    let mean = |of: fn(&Calls) -> u64| calls.iter().map(of).sum::<u64>() / calls.len() as u64;
    [mean(|it| it.reads), mean(|it| it.read_bytes), mean(|it| it.writes), mean(|it| it.written_bytes)]
}

#[tokio::test]
async fn turn_of_a_long_session_costs_what_an_early_one_does() {
    let turns = std::env::var("HEADWATER_TURNS").map_or(TURNS, |turns| turns.parse().unwrap());
    let store = CountingStore::new(Memory::new());
    let world = World::on(store.clone(), Options::default()).await;
    // A few words more than what a chat says at a time.
    let text = "what a person writes. ".repeat(15);
    let mut calls = Vec::with_capacity(turns);
    for turn in 0..turns {
        let body = says("mui", "long", &format!("u{turn}"), &text);
        let before = store.calls();
        let said = world.post(&path("mui"), &body).await;
        assert_eq!(said.status, 200, "turn {turn}: {}", said.body);
        world.idle().await;
        calls.push(store.calls().since(before));
    }
    let session = world.get("/v1/sessions/long").await.json();
    assert_eq!(session["turns"], turns, "{session}");
    // By then a run gets as much of the conversation as it ever gets.
    let (early, late) = (mean(&calls[60..80]), mean(&calls[turns - 20..]));
    println!(
        "reads, bytes read, writes, bytes written: {early:?} in turns 60 to 80, {late:?} in the last 20 of {turns}"
    );
    for (early, late) in early.iter().zip(late) {
        assert!(late * 100 <= early * 110, "{late} in a late turn, {early} in an early one");
    }
    // The conversation is in the checkpoints, and not in the journal of each run as well.
    let written = late[3];
    assert!(written < 50 * text.len() as u64, "{written} bytes written, and a run gets 50 messages");
}

#[tokio::test]
async fn large_checkpoint_is_stored_once_for_all_of_its_forks() {
    // The checkpoint has it several times, in the input of the turn and in both messages.
    const LARGE: usize = 400_000;
    let store = CountingStore::new(Memory::new());
    let world = World::on(store.clone(), Options::default()).await;
    let text = "much ".repeat(LARGE / 5);
    let said = world.post(&path("mui"), &says("mui", "large", "u0", &text)).await;
    assert_eq!(said.status, 200, "{}", said.body);
    world.idle().await;
    let first = store.calls().written_bytes;
    // The message and the answer that repeats it: in the head while the turn is active, the journal and the checkpoint.
    assert!(first <= 12 * LARGE as u64, "{first} bytes");
    let session = world.get("/v1/sessions/large").await.json();
    let checkpoint = session["checkpoint"].as_str().unwrap();
    for fork in 0..10 {
        let before = store.calls();
        let name = format!("fork-{fork}");
        let forked = world
            .post(&format!("/v1/sessions/large/checkpoints/{checkpoint}/fork"), &json!({ "id": name }))
            .await;
        assert!(forked.status < 300, "{}", forked.body);
        let said = world.post(&path("mui"), &says("mui", &name, &format!("f{fork}"), "and now?")).await;
        assert_eq!(said.status, 200, "{}", said.body);
        world.idle().await;
        let written = store.calls().since(before).written_bytes;
        println!("fork {fork} and a turn of it: {written} bytes");
        assert!(written < 40_000, "{written} bytes for a fork and a short turn of it");
    }
}
