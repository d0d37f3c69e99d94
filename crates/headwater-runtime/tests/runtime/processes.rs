//! Several processes on one store: each can read, answer and stop the runs of another, and takes over
//! abandoned ones.

mod leaving;
mod sessions;
mod upgrades;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use headwater_protocol::{EventKind, RunId, RunStatus};
use headwater_runtime::{AgentBuilder, Answer, Cx, Next, NodeResult, Run, Start, Text};
use headwater_store::{Expect, JournalId, ReadLimit, Store as _};

use crate::{
    connection::Connection,
    harness::{TestRun, World, memory, one},
    streaming_model::StreamingModel,
};

/// Emits the model's reply, and asks a question at the same time for some inputs.
async fn reply(cx: Cx, input: String) -> NodeResult {
    if input != "ask" {
        cx.reason("talker").input(input).await?;
        return Ok(Next::go());
    }
    let (answer, said) =
        tokio::join!(cx.interrupt(Text::new("Which?")), cx.reason("talker").input("hi").emit(false));
    Ok(Next::message(format!("{}{}", said?.text, answer?)))
}

fn with(talker: &StreamingModel) -> impl Fn(AgentBuilder) -> AgentBuilder {
    move |agent| agent.workflow(one(reply)).model("talker", talker.clone())
}

/// Two processes on one store, with one model.
fn two(talker: &StreamingModel) -> (World, World) {
    let (store, clock) = memory();
    let first = World::on(store, clock, with(talker));
    let second = first.restarted(with(talker));
    (first, second)
}

/// Starts a run and waits until its model is called.
async fn start(world: &World, talker: &StreamingModel, input: &str) -> Run {
    let asked = talker.asked();
    let run = world.agent.start(Start::new(input)).await.unwrap();
    while talker.asked() == asked {
        tokio::task::yield_now().await;
    }
    run
}

/// Reads a run until an event of a kind.
async fn until(run: &Run, kind: EventKind) {
    let mut events = std::pin::pin!(run.events(0));
    while let Some(record) = events.next().await {
        if record.unwrap().event.kind() == kind {
            return;
        }
    }
    panic!("the run ended before {kind:?}");
}

#[tokio::test]
async fn stop_from_another_process_reaches_the_driver() {
    let talker = StreamingModel::quiet("word ", 2);
    let (first, second) = two(&talker);
    let run = start(&first, &talker, "talk").await;
    let stopped = second.agent.stop(run.id(), Some("enough")).await.unwrap();
    assert_eq!(stopped.ended_by_stop(Duration::from_secs(60)).await.unwrap(), Some(true));
    first.idle().await;
    let ran = second.settled(run.id()).await;
    assert_eq!(ran.outcome.state.run().cancel_reason.as_deref(), Some("enough"));
    assert_eq!((talker.asked(), second.agent.driving()), (1, 0));
}

#[tokio::test]
async fn answer_from_another_process_is_taken_by_the_driver() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let run = start(&first, &talker, "ask").await;
    let there = second.agent.run(run.id().clone());
    until(&there, EventKind::InterruptRequested).await;
    let open = second.agent.open_questions(run.id()).await.unwrap().remove(0);
    let request = [open.request.as_str()];
    assert!(there.awaits_elsewhere(&request).await.unwrap(), "what it asks is known everywhere");
    assert!(!run.awaits_elsewhere(&request).await.unwrap(), "it is driven here");
    second.agent.answer(Answer::given(open.request, "blue").by(None)).await.unwrap();
    // The model is still streaming.
    until(&there, EventKind::InterruptAnswered).await;
    assert_eq!(first.agent.driving(), 1);
    talker.speak(1);
    assert_eq!(second.settled(run.id()).await.text(), "word blue");
    assert_eq!((talker.asked(), second.agent.driving()), (1, 0), "it is not driven twice");
}

#[tokio::test(start_paused = true)]
async fn stop_is_found_by_a_poll_where_no_notification_comes() {
    let talker = StreamingModel::quiet("word ", 2);
    let (store, clock) = memory();
    let first = World::on(Connection::deaf(store.clone()), clock.clone(), with(&talker));
    let second = World::on(store, clock, with(&talker));
    let run = start(&first, &talker, "talk").await;
    let stopped = second.agent.stop(run.id(), None).await.unwrap();
    assert_eq!(stopped.ended_by_stop(Duration::from_secs(60)).await.unwrap(), Some(true));
}

#[tokio::test]
async fn reader_of_another_process_is_woken_by_each_record() {
    let talker = StreamingModel::quiet("word ", 3);
    let (first, second) = two(&talker);
    let run = start(&first, &talker, "talk").await;
    let there = second.agent.run(run.id().clone());
    let mut events = std::pin::pin!(there.events(0));
    for _ in 0..3 {
        talker.speak(1);
        while events.next().await.unwrap().unwrap().event.kind() != EventKind::BlockDelta {}
    }
    let rest: Vec<_> = events.map(|record| record.unwrap().event.kind()).collect().await;
    assert_eq!(rest.last(), Some(&EventKind::RunFinished));
}

#[tokio::test]
async fn each_run_of_a_dead_process_is_taken_over_by_one_of_those_that_find_it() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, _) = two(&talker);
    let mut runs = Vec::new();
    for _ in 0..20 {
        runs.push(start(&first, &talker, "talk").await.id().clone());
    }
    first.agent.abandon();
    first.clock.advance(Duration::from_secs(60));
    let other = || World::on(Connection::new(first.store.clone()), first.clock.clone(), with(&talker));
    let others = [other(), other(), other()];
    let report =
        tokio::join!(others[0].agent.recover(), others[1].agent.recover(), others[2].agent.recover());
    let report = [report.0.unwrap(), report.1.unwrap(), report.2.unwrap()];
    let mut taken: Vec<RunId> = report.iter().flat_map(|report| report.taken_over.clone()).collect();
    taken.sort();
    runs.sort();
    assert_eq!(taken, runs, "each by one");
    assert!(report.iter().all(|report| report.stuck.is_empty()), "who comes late is quiet: {report:?}");
    assert!(report.iter().all(|report| !report.taken_over.is_empty()), "each takes some: {report:?}");
    talker.speak(20);
    for run in &runs {
        let ran = TestRun::of(&others[0].agent, others[0].agent.run(run.clone())).await;
        assert_eq!((ran.text().as_str(), ran.status()), ("word ", RunStatus::Finished));
        assert_eq!(ran.count("run-finished"), 1);
    }
    assert_eq!(talker.asked(), 40, "each model call that was cut off is made again once");
}

#[tokio::test]
async fn process_takes_over_no_more_runs_than_it_has_room_for() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    for _ in 0..5 {
        start(&first, &talker, "talk").await;
    }
    first.agent.abandon();
    first.clock.advance(Duration::from_secs(60));
    assert_eq!(second.agent.recover_within(0).await.unwrap().taken_over.len(), 0);
    assert_eq!(second.agent.recover_within(3).await.unwrap().taken_over.len(), 3);
    let third = first.restarted(with(&talker));
    assert_eq!(
        third.agent.recover_within(3).await.unwrap().taken_over.len(),
        2,
        "the rest is left to others"
    );
    talker.speak(5);
    second.idle().await;
    third.idle().await;
}

#[tokio::test(start_paused = true)]
async fn driver_that_was_cut_off_is_fenced_and_its_readers_continue_with_the_new_one() {
    let talker = StreamingModel::quiet("word ", 4);
    let (store, clock) = memory();
    let connection = Connection::new(store.clone());
    let first = World::on(connection.clone(), clock.clone(), with(&talker));
    let second = World::on(store.clone(), clock.clone(), with(&talker));
    let run = start(&first, &talker, "talk").await;
    talker.speak(1);
    until(&run, EventKind::BlockDelta).await;
    let kept = store.info(&JournalId::from(run.id().as_str())).await.unwrap().unwrap().tail.last;

    connection.cut();
    let reader = tokio::spawn({
        let run = run.clone();
        async move { run.events(0).map(Result::unwrap).collect::<Vec<_>>().await }
    });
    // Two deltas that are visible only there.
    talker.speak(2);
    let journal = JournalId::from(run.id().as_str());
    while connection.read(&journal, kept, ReadLimit::default()).await.unwrap().records.len() < 2 {
        tokio::task::yield_now().await;
    }
    let there = store.info(&journal).await.unwrap().unwrap();
    assert_eq!(there.tail.last, kept, "no other process sees them");

    clock.advance(Duration::from_secs(60));
    assert_eq!(second.agent.recover().await.unwrap().taken_over, [run.id().clone()]);
    while talker.asked() < 2 {
        tokio::task::yield_now().await;
    }
    connection.restore();
    // Its next renewal reports the loss.
    tokio::time::sleep(Duration::from_secs(11)).await;
    first.idle().await;
    talker.speak(8);
    second.idle().await;
    let read = reader.await.unwrap();
    let kinds: Vec<_> = read.iter().map(|record| record.event.kind()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == EventKind::AttemptRetracted).count(), 1, "{kinds:?}");
    let mut state = headwater_protocol::RunState::default();
    for record in &read {
        let _ = state.apply(record);
    }
    let text: String = state.messages().iter().map(headwater_protocol::Message::plain_text).collect();
    assert_eq!(text, "word word word word ");
    assert_eq!(second.settled(run.id()).await.text(), text, "as any other reader sees it");
}

#[tokio::test]
async fn summary_of_a_newer_driver_is_not_replaced_by_a_fenced_one() {
    let talker = StreamingModel::new("word ", 1);
    let (store, clock) = memory();
    let connection = Connection::new(store.clone());
    let first = World::on(connection.clone(), clock.clone(), with(&talker));
    let second = World::on(store, clock.clone(), with(&talker));
    // It is suspended while starting a run.
    connection.hold_puts(Some("run/"));
    let starting = tokio::spawn({
        let agent = first.agent.clone();
        async move { agent.start(Start::new("talk").run("run_1")).await.map(drop) }
    });
    let journal = JournalId::from("run_1");
    while second.store.info(&journal).await.unwrap().is_none_or(|info| info.tail.last < 2) {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(60));
    assert_eq!(second.agent.recover().await.unwrap().taken_over, [RunId::from("run_1")]);
    assert_eq!(second.settled(&"run_1".into()).await.status(), RunStatus::Finished);
    connection.hold_puts(None);
    starting.await.unwrap().unwrap();
    first.idle().await;
    let summary = second.agent.run("run_1").summary().await.unwrap();
    assert_eq!((summary.status, summary.ended.is_some()), (RunStatus::Finished, true));
    assert_eq!(talker.asked(), 1, "the fenced driver asks no model");
}

/// A run whose driver is suspended while asking, and that another process has taken over.
async fn paused_while_asking(
    talker: &StreamingModel,
    other: impl Fn(AgentBuilder) -> AgentBuilder,
) -> (Arc<Connection>, World, World, RunId) {
    let (store, clock) = memory();
    let connection = Connection::new(store.clone());
    let first = World::on(connection.clone(), clock.clone(), with(talker));
    let second = World::on(store, clock.clone(), other);
    connection.hold_puts(Some("question/"));
    let run = start(&first, talker, "ask").await.id().clone();
    while connection.held_puts() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(60));
    assert_eq!(second.agent.recover().await.unwrap().taken_over, std::slice::from_ref(&run));
    second.idle().await;
    (connection, first, second, run)
}

#[tokio::test]
async fn question_of_a_fenced_driver_does_not_reopen_an_answered_one() {
    let talker = StreamingModel::new("word ", 1);
    let (connection, first, second, run) = paused_while_asking(&talker, with(&talker)).await;
    let open = second.agent.open_questions(&run).await.unwrap().remove(0);
    second.agent.answer(Answer::given(open.request.clone(), "blue").by(None)).await.unwrap();
    assert_eq!(second.settled(&run).await.text(), "word blue");
    connection.hold_puts(None);
    first.idle().await;
    assert!(second.agent.questions(None, 100).await.unwrap().is_empty(), "it is not open again");
    assert!(second.agent.questions_of(None, None, 100).await.unwrap().questions.is_empty());
    let late = second.agent.answer(Answer::given(open.request, "red").by(None)).await.unwrap_err();
    assert_eq!(late.code(), "request.answered", "{late}");
}

#[tokio::test]
async fn question_of_a_fenced_driver_is_removed_where_the_new_one_does_not_ask() {
    async fn asks_nothing(cx: Cx, _: String) -> NodeResult {
        Ok(Next::message(cx.reason("talker").input("hi").emit(false).await?.text))
    }
    let talker = StreamingModel::new("word ", 1);
    let other = |agent: AgentBuilder| agent.workflow(one(asks_nothing)).model("talker", talker.clone());
    let (connection, first, second, run) = paused_while_asking(&talker, other).await;
    assert_eq!(second.settled(&run).await.status(), RunStatus::Finished);
    connection.hold_puts(None);
    first.idle().await;
    for prefix in ["question/", "question-of/"] {
        let left = second.store.list(prefix, None, 10).await.unwrap();
        assert!(left.is_empty(), "no driver would process an answer to it: {left:?}");
    }
}

#[tokio::test]
async fn recovery_looks_at_one_page_of_open_questions_at_a_time() {
    let talker = StreamingModel::new("word ", 1);
    let (store, clock) = memory();
    for number in 0..1_200 {
        let key = headwater_store::key::join("question-of", &["owner", &format!("req_{number:04}")]);
        store.put(&key, format!("run_{number}\nagent").into(), Expect::Any, None).await.unwrap();
    }
    let connection = Connection::new(store);
    let world = World::on(connection.clone(), clock, with(&talker));
    for _ in 0..4 {
        world.agent.recover().await.unwrap();
    }
    let pages = connection.listed("question-of/");
    let after = |number: usize| {
        Some(headwater_store::key::join("question-of", &["owner", &format!("req_{number:04}")]))
    };
    assert_eq!(pages, [None, after(499), after(999), None], "and begins again at the end");
}

#[tokio::test]
async fn active_runs_are_counted_over_all_processes() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    for world in [&first, &second, &first] {
        world.agent.start(Start::new("talk").owner("ann")).await.unwrap();
    }
    first.agent.start(Start::new("talk").owner("bob")).await.unwrap();
    assert_eq!(second.agent.active_runs("ann", 10).await.unwrap(), 3);
    assert_eq!(second.agent.active_runs("ann", 2).await.unwrap(), 2, "it counts no further than it must");
    let asks = first.agent.start(Start::new("ask").owner("ann")).await.unwrap();
    talker.speak(5);
    until(&asks, EventKind::RunWaiting).await;
    first.idle().await;
    second.idle().await;
    assert_eq!(
        second.agent.active_runs("ann", 10).await.unwrap(),
        0,
        "neither those that wait nor those that ended"
    );
    let open = second.agent.open_questions(asks.id()).await.unwrap().remove(0);
    second.agent.answer(Answer::given(open.request, "blue").by(Some("ann".into()))).await.unwrap();
    second.idle().await;
    assert_eq!(second.agent.active_runs("ann", 10).await.unwrap(), 0);
}

#[tokio::test]
async fn processes_that_start_at_once_have_one_secret() {
    let talker = StreamingModel::new("word ", 1);
    let (first, _) = two(&talker);
    let others: Vec<_> = (0..8).map(|_| first.restarted(with(&talker))).collect();
    let secrets = others.iter().map(|world| async { world.agent.secret().await.unwrap().sign(&[b"x"]) });
    let tags = futures_util::future::join_all(secrets).await;
    assert!(tags.iter().all(|tag| *tag == tags[0]));
}
