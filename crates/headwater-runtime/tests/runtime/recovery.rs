//! Recovery skips unreadable runs and sessions and processes all others.

use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::{RunId, RunStatus};
use headwater_runtime::{Agent, AgentBuilder, Cx, ErrorKind, Next, NodeResult, Start, Text, Turn};
use headwater_store::{Class, Expect, JournalId};

use crate::{
    harness::{TestRun, World, memory, one, token},
    streaming_model::StreamingModel,
};

async fn chat(cx: Cx, input: String) -> NodeResult {
    if input == "ask" {
        let colour = cx.interrupt(Text::new("Which colour?")).await?;
        return Ok(Next::message(format!("It is {colour}.")));
    }
    cx.reason("m").input(input).await?;
    Ok(Next::go())
}

/// Overwrites every value whose key contains a name with garbage.
async fn poison(world: &World, name: &str) -> usize {
    let mut poisoned = 0;
    for (key, _) in world.store.list("", None, 10_000).await.unwrap() {
        if key.contains(name) {
            world.store.put(&key, Bytes::from_static(b"{\"garbage"), Expect::Any, None).await.unwrap();
            poisoned += 1;
        }
    }
    poisoned
}

/// A journal of a run whose process died, with one record.
async fn leave_run(world: &World, run: &str, record: &'static [u8]) {
    let lease = world.store.claim(&run.into(), "dead", Duration::from_secs(30)).await.unwrap();
    world.store.append(&lease, Class::Fact, &[Bytes::from_static(record)]).unwrap().await.unwrap();
}

#[tokio::test]
async fn poisoned_runs_and_sessions_keep_nothing_else_from_being_recovered() {
    let (store, clock) = memory();
    let talker = StreamingModel::quiet("word ", 1);
    let build = |agent: AgentBuilder| agent.workflow(one(chat)).model("m", talker.clone());
    let before = World::on(store, clock.clone(), build);
    // Two sessions with an active and a queued turn, and two runs without a session.
    for session in ["poisoned", "healthy"] {
        let session = before.agent.open_session(session, None).await.unwrap();
        session.send(Turn::new("one")).await.unwrap();
        session.send(Turn::new("two")).await.unwrap();
    }
    let dying = before.agent.start(Start::new("three")).await.unwrap();
    let asking = before.run("ask").await;
    let unreadable_answer = before.run("ask").await;
    let old = before.run("ask").await;
    before.agent.stop(old.id(), None).await.unwrap().outcome().await.unwrap();
    while talker.asked() < 3 || before.agent.driving() > 3 {
        tokio::task::yield_now().await;
    }
    before.agent.abandon();
    assert!(poison(&before, "poisoned").await >= 1);
    for (run, record) in [("run_bad_1", &b"no json"[..]), ("run_bad_2", b"{\"event\":{\"type\":5}}")] {
        leave_run(&before, run, record).await;
    }
    let put = async |key: String| {
        before.store.put(&key, Bytes::from_static(b"[[["), Expect::Any, None).await.unwrap();
    };
    put("run/run_bad_2/".to_owned()).await;
    put("run/run_bad_3/".to_owned()).await;
    put("question/req_bad/".to_owned()).await;
    put("inbox/run_bad_1/req_bad/".to_owned()).await;
    put(format!("inbox/{}/{}/", unreadable_answer.id(), unreadable_answer.question().request)).await;
    put("waiting/garbage".to_owned()).await;
    put(format!("waiting/{:020}/run_bad_1/", 1)).await;

    clock.advance(Duration::from_secs(60));
    let world = before.restarted(build);
    let answered = headwater_runtime::Answer::given(asking.question().request.clone(), "blue");
    world.agent.answer(answered.token(token(asking.question()))).await.unwrap();
    let report = world.agent.recover().await.unwrap();
    let stuck: Vec<_> = report.stuck.iter().map(|(run, _)| run.as_str()).collect();
    assert!(stuck.contains(&"run_bad_1") && stuck.contains(&"run_bad_2"), "{report:?}");
    assert!(report.taken_over.contains(dying.id()), "{report:?}");
    talker.speak(100);
    world.agent.session("healthy", None).settled().await.unwrap();
    world.idle().await;
    assert_eq!(
        TestRun::of(&world.agent, world.agent.run(dying.id().clone())).await.status(),
        RunStatus::Finished
    );
    assert_eq!(TestRun::of(&world.agent, world.agent.run(asking.id().clone())).await.text(), "It is blue.");
    let turns = world.agent.session("healthy", None).checkpoints(None, 10).await.unwrap();
    assert_eq!(turns.len(), 2, "both turns are done");

    // The question whose answer was unreadable can be answered again.
    let ran = TestRun::of(&world.agent, world.agent.run(unreadable_answer.id().clone())).await;
    assert_eq!(ran.answer("red").await.text(), "It is red.");

    // It is logged once, and retention continues.
    clock.advance(Duration::from_secs(8 * 24 * 3_600));
    let again = world.agent.recover().await.unwrap();
    assert_eq!(again.taken_over, Vec::<RunId>::new());
    assert_eq!(world.store.info(&JournalId::from(old.id().as_str())).await.unwrap(), None, "space is freed");
}

#[tokio::test]
async fn unreadable_run_is_an_error_and_can_be_stopped() {
    let world = World::with(one(chat), |agent| agent.model("m", StreamingModel::new("word ", 1)));
    let ran = world.run("ask").await;
    world.idle().await;
    let journal = JournalId::from(ran.id().as_str());
    let lease = world.store.claim(&journal, "dead", Duration::from_secs(1)).await.unwrap();
    world.store.append(&lease, Class::Fact, &[Bytes::from_static(b"no json")]).unwrap().await.unwrap();
    world.clock.advance(Duration::from_secs(60));
    let report = world.agent.recover().await.unwrap();
    assert_eq!(report.stuck.len(), 1, "{report:?}");
    let summary = ran.run.summary().await.unwrap();
    assert!(summary.stuck.unwrap().contains("cannot be read"));
    assert_eq!(summary.status, RunStatus::Waiting);

    world.agent.stop(ran.id(), None).await.unwrap();
    world.idle().await;
    assert_eq!(ran.run.summary().await.unwrap().status, RunStatus::Cancelled);
    assert!(world.store.info(&journal).await.unwrap().unwrap().tail.closed);
    let error = Agent::stop(&world.agent, ran.id(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ended);
    assert_eq!(world.agent.recover().await.unwrap().stuck, []);
}
