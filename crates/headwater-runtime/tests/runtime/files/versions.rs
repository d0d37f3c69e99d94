//! A changed file: waiting runs keep the version that they began with.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{Event, RunStatus};
use headwater_runtime::{Agent, AgentFile, Answer, FileOptions, Run, Start, Turn};
use headwater_store::{ManualClock, Memory, MemoryOptions, Store};

use super::examples::answer;

fn file(version: &str, said: &str) -> AgentFile {
    let text = format!(
        "name: a\nworkflows:\n  w:\n{version}    start: ask\n    nodes:\n      ask: {{ interrupt: {{ ask: Name? }}, save: name }}\n      say: {{ message: \"{said} {{{{ data.name }}}}\" }}\n    edges: [{{ from: ask, to: say }}]\n"
    );
    AgentFile::parse("a.yaml", text).unwrap()
}

#[tokio::test]
async fn waiting_run_keeps_its_version_when_the_file_is_reloaded() {
    for version in ["", "    version: \"2\"\n"] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let old = file(version, "Hello");
        let before = old.build(FileOptions::new(store.clone())).unwrap();
        let waiting = before.start(Start::new("x")).await.unwrap().outcome().await.unwrap();

        let new = file(version, "Good day");
        let after = new.build(FileOptions::new(store.clone()).replaces(before, old)).unwrap();
        let (_, outcome) = answer(&after, &waiting, "Ada").await;
        assert_eq!(outcome.text(), "Hello Ada", "{version}");

        let fresh = after.start(Start::new("x")).await.unwrap().outcome().await.unwrap();
        let (_, outcome) = answer(&after, &fresh, "Ada").await;
        assert_eq!(outcome.text(), "Good day Ada", "{version}");
    }
}

#[tokio::test]
async fn active_run_can_be_stopped_after_its_file_was_reloaded() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let text = "name: a\nworkflows: { w: { start: n, nodes: { n: { wait: 7d } } } }\n";
    let old = AgentFile::parse("a.yaml", text).unwrap();
    let before = old.build(FileOptions::new(store.clone())).unwrap();
    let run = before.start(Start::new("x")).await.unwrap();

    let new = AgentFile::parse("a.yaml", text.replace("7d", "6d")).unwrap();
    let after = new.build(FileOptions::new(store).replaces(before, old)).unwrap();
    assert_eq!(after.driving(), 1);
    let outcome = after.stop(run.id(), None).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Cancelled);
}

#[test]
fn content_version_ignores_layout() {
    let version = |text: &str| {
        AgentFile::parse("a.yaml", text).unwrap().workflows().next().unwrap().version().to_owned()
    };
    let plain = version(
        "name: a\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: { message: x, timeout: 1s }\n",
    );
    let other = version(
        "# about\nname: b\nworkflows: { w: { nodes: { n: { timeout: 1s, message: 'x' } }, start: n } }\n",
    );
    assert_eq!(plain, other);
    assert_eq!((plain.len(), &plain[..1]), (13, "~"));
    let changed = version(
        "name: a\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: { message: y, timeout: 1s }\n",
    );
    assert_ne!(plain, changed);
}

async fn last_event(run: &Run) -> Event {
    run.recorded().await.unwrap().pop().unwrap()
}

async fn idle(agent: &Agent) {
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
}

/// The error code of a failed run.
async fn failed(run: &Run) -> String {
    match last_event(run).await {
        Event::RunFailed(error) => error.code.unwrap(),
        other => panic!("it did not fail: {other:?}"),
    }
}

#[tokio::test]
async fn editing_a_file_without_a_version_never_blocks_a_conversation() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let before = file("", "Hello").build(FileOptions::new(store.clone())).unwrap();
    let mut waiting = Vec::new();
    for session in ["answered", "stopped", "talked", "left"] {
        let session = before.open_session(session, None).await.unwrap();
        let run = before.run(session.send(Turn::new("x")).await.unwrap().run);
        run.outcome().await.unwrap();
        session.settled().await.unwrap();
        waiting.push(run.id().clone());
    }
    idle(&before).await;
    drop(before);

    // The process restarts with changed content.
    let after = file("", "Good day").build(FileOptions::new(store)).unwrap();
    after.recover().await.unwrap();
    let of = |number: usize| after.run(waiting[number].clone());

    // An answer to a run of the old content: its reader sees that the run failed, and why.
    let question = after.open_questions(&waiting[0]).await.unwrap().remove(0);
    let run = after.answer(Answer::given(question.request, "Ada").by(None)).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().status(), RunStatus::Failed);
    assert_eq!(failed(&run).await, "workflow.changed");
    // A stop needs no workflow.
    let run = after.stop(&waiting[1], None).await.unwrap();
    assert_eq!(run.ended_by_stop(Duration::from_secs(60)).await.unwrap(), Some(true));
    assert_eq!(of(1).outcome().await.unwrap().status(), RunStatus::Cancelled);
    // New messages use the new content, whatever happened to the previous turn.
    for session in ["answered", "stopped", "talked"] {
        let session = after.session(session, None);
        let sent = session.send(Turn::new("y")).await.unwrap();
        let waits = after.run(sent.run).outcome().await.unwrap();
        let (_, outcome) = answer(&after, &waits, "Ada").await;
        assert_eq!(outcome.text(), "Good day Ada");
    }
    assert_eq!(of(2).outcome().await.unwrap().status(), RunStatus::Cancelled, "the session left it behind");
    // A run without an answer keeps waiting: the old file may return.
    assert_eq!(of(3).summary().await.unwrap().status, RunStatus::Waiting);
    idle(&after).await;
    assert_eq!(after.recover().await.unwrap().stuck, []);
}

#[tokio::test]
async fn active_turn_fails_when_its_file_changed_and_the_next_one_begins() {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let options = MemoryOptions { clock: clock.clone(), ..MemoryOptions::default() };
    let store: Arc<dyn Store> = Arc::new(Memory::with(options));
    let text = "name: a\nworkflows: { w: { start: n, nodes: { n: { wait: 7d } } } }\n";
    let build = |text: &str| {
        AgentFile::parse("a.yaml", text).unwrap().build(FileOptions::new(store.clone())).unwrap()
    };
    let before = build(text);
    let session = before.open_session("s", None).await.unwrap();
    let going = session.send(Turn::new("one")).await.unwrap();
    let queued = session.send(Turn::new("two")).await.unwrap();
    assert!(queued.queued);
    before.abandon();
    clock.advance(Duration::from_secs(60));

    let after = build(&text.replace("wait: 7d", "message: done"));
    after.recover().await.unwrap();
    after.session("s", None).settled().await.unwrap();
    idle(&after).await;
    assert_eq!(failed(&after.run(going.run)).await, "workflow.changed");
    assert_eq!(after.run(queued.run).outcome().await.unwrap().text(), "done");
}

#[tokio::test]
async fn run_of_a_missing_version_keeps_waiting_and_can_be_stopped() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let before = file("    version: \"1\"\n", "Hello").build(FileOptions::new(store.clone())).unwrap();
    let session = before.open_session("s", None).await.unwrap();
    let run = before.run(session.send(Turn::new("x")).await.unwrap().run);
    let waits = run.outcome().await.unwrap();
    session.settled().await.unwrap();
    idle(&before).await;

    let after = file("    version: \"2\"\n", "Good day").build(FileOptions::new(store)).unwrap();
    let request = waits.state.interrupts()[0].request.clone();
    after.answer(Answer::given(request, "Ada").by(None)).await.unwrap();
    assert!(run.summary().await.unwrap().stuck.unwrap().contains("needs version 1 of workflow `w`"));
    let stopped = after.stop(run.id(), None).await.unwrap();
    assert_eq!(stopped.ended_by_stop(Duration::from_secs(60)).await.unwrap(), Some(true));
    let sent = after.session("s", None).send(Turn::new("y")).await.unwrap();
    let waits = after.run(sent.run).outcome().await.unwrap();
    assert_eq!(answer(&after, &waits, "Ada").await.1.text(), "Good day Ada");
}
