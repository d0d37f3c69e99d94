//! The disk space of a run's journal, and how much of it is read to process an answer.

use std::{path::Path, sync::Arc};

use headwater_runtime::{Agent, Answer, Cx, Next, NodeResult, Start, Text};
use headwater_store::{Store, embedded::Embedded};

use crate::{
    harness::{memory, one},
    stalling::Stalling,
    streaming_model::StreamingModel,
};

const WORD: &str = "word0507 ";

async fn talk(cx: Cx, input: String) -> NodeResult {
    cx.reason("m").input(input).await?;
    Ok(Next::go())
}

async fn talk_and_ask(cx: Cx, input: String) -> NodeResult {
    cx.reason("m").id("talk").input(input).await?;
    cx.interrupt(Text::new("Continue?")).id("ask").await?;
    Ok(Next::go())
}

fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    files.sum()
}

async fn settled(agent: &Agent) {
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn text_of_small_deltas_takes_less_than_twice_its_bytes_on_disk() {
    let (folder, words) = (tempfile::tempdir().unwrap(), 2_000);
    let store: Arc<dyn Store> = Arc::new(Embedded::open(folder.path()).unwrap());
    let agent = Agent::builder()
        .workflow(one(talk))
        .model("m", StreamingModel::new(WORD, words))
        .store(store.clone());
    let agent = agent.build().unwrap();
    let before = size(folder.path());
    let run = agent.start(Start::new("hi")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    settled(&agent).await;
    store.flush().await.unwrap();
    assert_eq!(outcome.text().len(), WORD.len() * words);
    let ratio = (size(folder.path()) - before) as f64 / (WORD.len() * words) as f64;
    println!("{ratio:.2} bytes on disk for each byte of text");
    assert!(ratio < 2.0, "{ratio:.2} bytes on disk for each byte of text");
}

/// The records read from the answer to the end of a run that wrote this many words before it asked.
async fn read_by_an_answer(words: usize) -> u64 {
    let store = Stalling::new(memory().0, (0, 1));
    let agent = Agent::builder().workflow(one(talk_and_ask)).model("m", StreamingModel::new(WORD, words));
    let agent = agent.store(store.clone()).build().unwrap();
    let run = agent.start(Start::new("hi")).await.unwrap();
    let asked = run.outcome().await.unwrap().state.interrupts()[0].request.clone();
    settled(&agent).await;
    let before = store.records_read();
    assert!(run.waits().await.unwrap() && run.last_wait().await.unwrap().is_some());
    agent.answer(Answer::given(asked, "yes").by(None)).await.unwrap();
    settled(&agent).await;
    assert!(!run.waits().await.unwrap());
    store.records_read() - before
}

/// The same where the run is the turn of a session, and what a restarted process reads that finds the turn answered.
async fn read_by_an_answered_turn(words: usize) -> (u64, u64) {
    let store = Stalling::new(memory().0, (0, 1));
    let build = || {
        let agent = Agent::builder().workflow(one(talk_and_ask)).model("m", StreamingModel::new(WORD, words));
        agent.store(store.clone()).build().unwrap()
    };
    let agent = build();
    let session = agent.open_session("s", None).await.unwrap();
    session.send("hi").await.unwrap();
    session.settled().await.unwrap();
    settled(&agent).await;
    let asked = agent.questions(None, 1).await.unwrap().remove(0).request;
    let before = store.records_read();
    agent.answer(Answer::given(asked, "yes").by(None)).await.unwrap();
    settled(&agent).await;
    let answered = store.records_read() - before;
    let checkpoints = session.checkpoints(None, 10).await.unwrap();
    assert_eq!(checkpoints.len(), 2, "{checkpoints:?}");
    assert!(checkpoints[0].questions.is_empty(), "{checkpoints:?}");
    let before = store.records_read();
    let again = build();
    let session = again.session("s", None);
    session.send("more").await.unwrap();
    session.settled().await.unwrap();
    settled(&again).await;
    (answered, store.records_read() - before)
}

#[tokio::test]
async fn answered_turn_reads_no_more_records_after_many_than_after_few() {
    let (few, many) = (read_by_an_answered_turn(10).await, read_by_an_answered_turn(10_000).await);
    println!("{few:?} records are read after 10 words, {many:?} after 10,000");
    assert!(many.0 <= few.0 * 3 / 2, "{few:?} records are read after 10 words, {many:?} after 10,000");
    assert!(many.1 <= few.1 * 3 / 2, "{few:?} records are read after 10 words, {many:?} after 10,000");
}

#[tokio::test]
async fn answer_reads_no_more_records_after_many_than_after_few() {
    let (few, many) = (read_by_an_answer(10).await, read_by_an_answer(10_000).await);
    println!("{few} records are read after 10 words, {many} after 10,000");
    assert!(many <= few * 3 / 2, "{few} records are read after 10 words, {many} after 10,000");
}
