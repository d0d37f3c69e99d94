//! A store that cannot keep up slows models down, and never costs an attempt.

use headwater_protocol::{RunId, RunStatus};
use headwater_runtime::{Cx, Next, NodeResult, Start};

use crate::{
    harness::{TestRun, World, memory, one},
    stalling::Stalling,
    streaming_model::StreamingModel,
};

async fn talk(cx: Cx, input: String) -> NodeResult {
    cx.emit().status("listening")?;
    let reply = cx.reason("m").input(input).await?;
    cx.emit().status("done")?;
    Ok(Next::go().with_result(&reply.text.len())?)
}

#[tokio::test]
async fn streams_wait_for_a_stalled_disk_and_no_model_is_asked_again() {
    const RUNS: usize = 100;
    let (store, clock) = memory();
    let store = Stalling::new(store, (0, 1));
    let model = StreamingModel::quiet("word ", 20);
    let world = World::on(store.clone(), clock, |agent| agent.workflow(one(talk)).model("m", model.clone()));
    let mut runs: Vec<RunId> = Vec::new();
    for _ in 0..RUNS {
        runs.push(world.agent.start(Start::new("hi")).await.unwrap().id().clone());
    }
    while model.asked() < RUNS as u64 {
        tokio::task::yield_now().await;
    }
    // The deltas come one at a time, so that no model finishes before the disk stalls.
    for round in 1..=5 {
        model.speak(RUNS);
        while model.said() < (round * RUNS) as u64 {
            tokio::task::yield_now().await;
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    store.stall(true);
    let before = model.said();
    model.speak(15 * RUNS);
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    let taken = model.said() - before;
    assert!(taken <= 2 * RUNS as u64, "{taken} deltas were taken while there was no room for them");
    assert_eq!(world.agent.driving(), RUNS, "no driver releases a run");

    store.stall(false);
    world.idle().await;
    for run in runs {
        let ran = TestRun::of(&world.agent, world.agent.run(run)).await;
        assert_eq!(*ran.result(), 20 * "word ".len());
        assert_eq!(ran.text(), "word ".repeat(20));
        assert_eq!(ran.count("attempt-retracted"), 0);
        assert_eq!(ran.emitted().iter().filter(|kind| **kind == "status").count(), 2);
    }
    assert_eq!(model.asked(), RUNS as u64);
    assert!(store.refused() > 0, "some records had to wait");
}

#[tokio::test]
async fn facts_that_meet_a_busy_store_wait_and_keep_their_order() {
    for refuses in [(1, 2), (2, 3), (9, 10)] {
        let (store, clock) = memory();
        let store = Stalling::new(store, refuses);
        let model = StreamingModel::new("word ", 200);
        let world =
            World::on(store.clone(), clock, |agent| agent.workflow(one(talk)).model("m", model.clone()));
        let ran = world.run("hi").await;
        assert_eq!(ran.text(), "word ".repeat(200));
        assert_eq!((model.asked(), ran.count("attempt-retracted")), (1, 0));
        world.idle().await;
        assert!(store.refused() > 10, "{refuses:?}: {}", store.refused());
    }
}

#[tokio::test]
async fn run_can_be_stopped_while_its_store_stalls() {
    let (store, clock) = memory();
    let store = Stalling::new(store, (0, 1));
    let model = StreamingModel::quiet("word ", 20);
    let world = World::on(store.clone(), clock, |agent| agent.workflow(one(talk)).model("m", model.clone()));
    let run = world.agent.start(Start::new("hi")).await.unwrap();
    model.speak(5);
    while model.said() < 5 {
        tokio::task::yield_now().await;
    }
    store.stall(true);
    model.speak(15);
    let stopped = world.agent.stop(run.id(), None).await.unwrap();
    store.stall(false);
    assert_eq!(stopped.outcome().await.unwrap().status(), RunStatus::Cancelled);
    assert_eq!(model.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn time_blocked_by_the_store_does_not_count_for_the_timeout_of_a_call() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let minute = std::time::Duration::from_secs(60);
        let reply = cx.reason("m").input(input).attempts(1).timeout(minute).await?;
        Ok(Next::go().with_result(&reply.text)?)
    }
    let (store, clock) = memory();
    let store = Stalling::new(store, (0, 1));
    let model = StreamingModel::quiet("word ", 3);
    let world = World::on(store.clone(), clock, |agent| agent.workflow(one(node)).model("m", model.clone()));
    let run = world.agent.start(Start::new("hi")).await.unwrap();
    model.speak(1);
    while model.said() == 0 {
        tokio::task::yield_now().await;
    }
    store.stall(true);
    model.speak(2);
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    store.stall(false);
    world.idle().await;
    let ran = TestRun::of(&world.agent, run).await;
    assert_eq!(*ran.result(), "word word word ");
    assert_eq!(model.asked(), 1);
}
