//! A process that shuts down: it starts nothing, lets its runs end, and hands the others over.

use std::time::Duration;

use headwater_protocol::RunStatus;
use headwater_runtime::{AgentOptions, ErrorKind, Start, Turn};
use headwater_store::Expect;

use super::{start, two, with};
use crate::{harness::TestRun, streaming_model::StreamingModel};

#[tokio::test]
async fn draining_process_starts_no_run_and_lets_its_runs_end() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let run = start(&first, &talker, "talk").await;
    first.agent.drain();
    let refused = first.agent.start(Start::new("talk")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
    assert_eq!(first.agent.driving(), 1);
    talker.speak(1);
    assert_eq!(first.settled(run.id()).await.status(), RunStatus::Finished);
    assert_eq!(first.agent.hand_over().await, 0);
    assert!(second.agent.recover().await.unwrap().taken_over.is_empty());
    assert_eq!(talker.asked(), 1);
}

#[tokio::test]
async fn runs_that_are_handed_over_are_taken_over_before_their_leases_would_have_run_out() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let mut watch = second.agent.watch_handovers();
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(start(&first, &talker, "talk").await);
    }
    first.agent.drain();
    assert_eq!(first.agent.hand_over().await, 3);
    assert_eq!(first.agent.driving(), 0);
    watch.changed().await;
    // A lease lasts for 30 s.
    first.clock.advance(Duration::from_millis(1));
    assert_eq!(second.agent.recover().await.unwrap().taken_over.len(), 3);
    talker.speak(3);
    second.idle().await;
    for run in runs {
        let ran = TestRun::of(&second.agent, second.agent.run(run.id().clone())).await;
        assert_eq!((ran.status(), ran.text().as_str()), (RunStatus::Finished, "word "));
        assert_eq!(ran.count("attempt-retracted"), 1);
    }
}

#[tokio::test]
async fn rolling_restarts_do_not_abandon_a_run() {
    let talker = StreamingModel::quiet("word ", 1);
    let (mut world, _) = two(&talker);
    let run = start(&world, &talker, "talk").await;
    let restarts = u64::from(AgentOptions::default().max_takeovers) + 2;
    for restart in 1..=restarts {
        world.agent.drain();
        assert_eq!(world.agent.hand_over().await, 1, "restart {restart}");
        world.clock.advance(Duration::from_millis(1));
        world = world.restarted(with(&talker));
        assert_eq!(world.agent.recover().await.unwrap().taken_over, [run.id().clone()], "restart {restart}");
        while talker.asked() == restart {
            tokio::task::yield_now().await;
        }
    }
    talker.speak(1);
    let ran = world.settled(run.id()).await;
    assert_eq!((ran.status(), ran.text().as_str()), (RunStatus::Finished, "word "));
}

#[tokio::test]
async fn lost_driver_counts_also_after_handovers() {
    let talker = StreamingModel::quiet("word ", 1);
    let (mut world, _) = two(&talker);
    let run = start(&world, &talker, "talk").await;
    let most = u64::from(AgentOptions::default().max_takeovers);
    for takeover in 0..=most {
        // Each process hands the run over, and the next one dies.
        world.agent.drain();
        assert_eq!(world.agent.hand_over().await, 1);
        world.clock.advance(Duration::from_millis(1));
        world = world.restarted(with(&talker));
        assert_eq!(world.agent.recover().await.unwrap().taken_over.len(), 1, "handover {takeover}");
        while talker.asked() < 2 * takeover + 2 {
            tokio::task::yield_now().await;
        }
        world.agent.abandon();
        world.clock.advance(Duration::from_secs(60));
        world = world.restarted(with(&talker));
        let taken_over = world.agent.recover().await.unwrap().taken_over.len();
        assert_eq!(taken_over, usize::from(takeover < most), "takeover {takeover}");
        while takeover < most && talker.asked() < 2 * takeover + 3 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(world.settled(run.id()).await.code(), "run.abandoned");
}

#[tokio::test]
async fn answer_that_a_draining_process_takes_is_resumed_by_another_one() {
    let talker = StreamingModel::new("word ", 1);
    let (first, second) = two(&talker);
    let ran = TestRun::of(&first.agent, first.agent.start(Start::new("ask")).await.unwrap()).await;
    first.idle().await;
    first.agent.drain();
    let open = first.agent.open_questions(ran.id()).await.unwrap().remove(0);
    let answered = headwater_runtime::Answer::given(open.request, "blue").by(None);
    first.agent.answer(answered).await.unwrap();
    assert_eq!(first.agent.driving(), 0);
    assert_eq!(second.agent.recover().await.unwrap().answered, [ran.id().clone()]);
    assert_eq!(second.settled(ran.id()).await.text(), "word blue");
}

#[tokio::test]
async fn process_resumes_no_more_answered_runs_than_it_has_room_for() {
    let talker = StreamingModel::new("word ", 1);
    let (first, second) = two(&talker);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(TestRun::of(&first.agent, first.agent.start(Start::new("ask")).await.unwrap()).await);
    }
    first.idle().await;
    first.agent.drain();
    for ran in &runs {
        let open = first.agent.open_questions(ran.id()).await.unwrap().remove(0);
        let answered = headwater_runtime::Answer::given(open.request, "blue").by(None);
        first.agent.answer(answered).await.unwrap();
    }
    assert!(second.agent.recover_within(0).await.unwrap().answered.is_empty());
    assert_eq!(second.agent.recover_within(2).await.unwrap().answered.len(), 2);
    second.idle().await;
    assert_eq!(second.agent.recover_within(2).await.unwrap().answered.len(), 1, "the rest is left for later");
    for ran in &runs {
        assert_eq!(second.settled(ran.id()).await.text(), "word blue");
    }
}

/// A put whose answer was lost is sent again, and may come after the driver has taken the value that it left.
#[tokio::test]
async fn answer_that_arrives_again_after_it_was_taken_does_nothing() {
    let talker = StreamingModel::new("word ", 1);
    let (first, second) = two(&talker);
    let ran = TestRun::of(&first.agent, first.agent.start(Start::new("ask")).await.unwrap()).await;
    first.idle().await;
    first.agent.drain();
    let open = first.agent.open_questions(ran.id()).await.unwrap().remove(0);
    let answered = headwater_runtime::Answer::given(open.request, "blue").by(None);
    first.agent.answer(answered.clone()).await.unwrap();
    let sent = first.store.list("", None, 1_000).await.unwrap();
    let (key, value) =
        sent.into_iter().find(|(_, value)| value.bytes.windows(4).any(|word| word == b"blue")).unwrap();
    assert_eq!(second.agent.recover().await.unwrap().answered, [ran.id().clone()]);
    let before = second.settled(ran.id()).await;
    assert_eq!(first.store.get(&key).await.unwrap(), None, "it was taken");

    first.store.put(&key, value.bytes, Expect::Absent, None).await.unwrap();
    let report = second.agent.recover().await.unwrap();
    assert!(report.answered.is_empty() && report.stuck.is_empty(), "{report:?}");
    second.agent.answer(answered).await.unwrap();
    assert_eq!(second.settled(ran.id()).await.events, before.events);
}

#[tokio::test]
async fn message_that_waits_has_its_turn_elsewhere_when_the_process_before_it_drains() {
    let talker = StreamingModel::quiet("word ", 1);
    let (first, second) = two(&talker);
    let here = first.agent.open_session("s", None).await.unwrap();
    here.send(Turn::new("one")).await.unwrap();
    let there = second.agent.session("s", None);
    let queued = there.send(Turn::new("two")).await.unwrap();
    assert!(queued.queued);
    first.agent.drain();
    talker.speak(1);
    first.idle().await;
    assert_eq!(talker.asked(), 1, "the draining process does not begin the next turn");
    second.agent.recover().await.unwrap();
    talker.speak(1);
    there.settled().await.unwrap();
    second.idle().await;
    assert_eq!(TestRun::of(&second.agent, second.agent.run(queued.run)).await.text(), "word ");
}
