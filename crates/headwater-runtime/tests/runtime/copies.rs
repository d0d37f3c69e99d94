//! Sessions and runs are identical in a copy of their store, and can be continued there.

use std::{path::Path, sync::Arc};

use futures_util::{StreamExt as _, stream};
use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, Answer, OpenQuestion, SessionOptions};
use headwater_store::{
    Embedded, Memory, PostgresStore, RedisStore, Store,
    copy::{CopyOptions, CopyReport, copy},
    embedded::{Fsync, Options},
    remote,
    survey::{Depth, Survey},
};
use headwater_testkit::engines::{PostgresServer, RedisServer};

use crate::sessions::agent_on;

const SESSIONS: usize = 1_000;

fn embedded(folder: &Path) -> Arc<dyn Store> {
    let mut options = Options::default();
    options.fsync = Fsync::Never;
    options.segment_bytes = 1 << 20;
    Arc::new(Embedded::open_folder(folder, options).unwrap())
}

fn agent(store: &Arc<dyn Store>) -> Agent {
    agent_on(store.clone(), SessionOptions::default())
}

/// Creates sessions of one, two or three turns, some of which wait for an answer.
async fn fill(agent: &Agent) {
    let sessions = (0..SESSIONS).map(async |n| {
        let owner = Some(["ann", "bob"][n % 2]);
        let session = agent.open_session(format!("session-{n}"), owner).await.unwrap();
        for turn in 0..=n % 3 {
            session.send(format!("turn {turn} of {n}")).await.unwrap();
            session.settled().await.unwrap();
        }
        if n % 20 == 0 {
            session.send("report").await.unwrap();
            session.settled().await.unwrap();
        }
    });
    stream::iter(sessions).buffer_unordered(64).collect::<()>().await;
}

/// Exports all sessions and runs of an agent as text.
async fn exports(agent: &Agent) -> Vec<String> {
    let mut exports = Vec::new();
    for n in 0..SESSIONS {
        let session = agent.session(format!("session-{n}"), Some(["ann", "bob"][n % 2]));
        exports.push(serde_json::to_string(&session.export().await.unwrap()).unwrap());
    }
    let mut after = None;
    loop {
        let runs = agent.runs(after.as_ref(), 500).await.unwrap();
        for summary in &runs {
            let events = agent.run(summary.run.clone()).recorded().await.unwrap();
            exports.push(serde_json::to_string(&(summary, events)).unwrap());
        }
        match runs.last() {
            Some(last) => after = Some(last.run.clone()),
            None => return exports,
        }
    }
}

async fn copied(from: &Arc<dyn Store>, to: &Arc<dyn Store>) -> CopyReport {
    let report = copy(&**from, &**to, &CopyOptions::default(), |_| {}).await.unwrap();
    assert!(report.is_good(), "{report:?}");
    report
}

async fn questions(agent: &Agent) -> Vec<OpenQuestion> {
    let mut questions = agent.questions(None, SESSIONS).await.unwrap();
    questions.sort_by_key(|question| question.run.to_string());
    questions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_sessions_have_the_same_exports_after_a_copy_through_every_store() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = embedded(folders[0].path());
    let original = agent(&first);
    fill(&original).await;
    let expected = exports(&original).await;
    assert!(expected.len() > 3 * SESSIONS - 10, "{} exports", expected.len());
    let asked = questions(&original).await;
    assert_eq!(asked.len(), SESSIONS / 20);

    let (postgres, redis) = (PostgresServer::start(), RedisServer::start());
    let mut stores: Vec<Arc<dyn Store>> = vec![Arc::new(Memory::new())];
    if let Some(postgres) = &postgres {
        let store = PostgresStore::connect(&postgres.url(), remote::Options::default()).await.unwrap();
        stores.push(Arc::new(store));
    }
    if let Some(redis) = &redis {
        let store = RedisStore::connect(&redis.url(), remote::Options::default()).await.unwrap();
        stores.push(Arc::new(store));
    }
    stores.push(embedded(folders[1].path()));
    let mut from = &first;
    let mut reports = Vec::new();
    for to in &stores {
        reports.push(copied(from, to).await);
        from = to;
    }
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
    let survey = Survey::of(&**from, Depth::Everything).await.unwrap();
    assert!(survey.is_good(), "{:?}", survey.problems);
    assert_eq!(survey.journals.waiting as usize, SESSIONS / 20);

    let moved = agent(from);
    let there = exports(&moved).await;
    assert_eq!(there.len(), expected.len());
    for (there, expected) in there.iter().zip(&expected) {
        assert_eq!(there, expected);
    }

    // A page opened before the copy holds the token of its question and answers it after the copy.
    let question = &asked[0];
    let token = question.token().unwrap();
    let answer = Answer::given(question.request.clone(), "a").token(token);
    moved.answer(answer).await.unwrap();
    let run = moved.run(question.run.clone());
    assert_eq!(run.outcome().await.unwrap().status(), RunStatus::Waiting);
    let next = questions(&moved).await;
    assert!(next.iter().any(|next| next.run == question.run && next.request != question.request));
}
