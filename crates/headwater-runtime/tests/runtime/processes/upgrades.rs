//! Processes with different versions of a workflow, as in a rolling upgrade.

use std::time::Duration;

use headwater_protocol::RunStatus;
use headwater_runtime::{AgentBuilder, AgentOptions, Answer, END, START, Start, Workflow};

use super::{reply, start};
use crate::{
    harness::{TestRun, World, memory},
    streaming_model::StreamingModel,
};

/// An agent with one version of the workflow. Versions with a `~` are derived from the content of a file.
fn with_version(version: &'static str, talker: &StreamingModel) -> impl Fn(AgentBuilder) -> AgentBuilder {
    move |agent| {
        let workflow = Workflow::new("w").version(version).node("reply", reply).edge(START, "reply");
        let mut options = AgentOptions::default();
        options.version_wait = Duration::from_secs(120);
        let workflow = workflow.edge("reply", END).build().unwrap();
        agent.workflow(workflow).model("talker", talker.clone()).options(options)
    }
}

#[tokio::test]
async fn run_is_left_to_a_process_that_has_its_version() {
    for (old, new) in [("1", "2"), ("~old", "~new")] {
        let talker = StreamingModel::quiet("word ", 1);
        let (store, clock) = memory();
        let first = World::on(store, clock.clone(), with_version(old, &talker));
        let upgraded = first.restarted(with_version(new, &talker));
        let run = start(&first, &talker, "talk").await;
        first.agent.abandon();
        clock.advance(Duration::from_secs(60));
        let report = upgraded.agent.recover().await.unwrap();
        assert!(report.taken_over.is_empty(), "{old}");
        assert_eq!(report.stuck.len(), 1, "{old}");
        let summary = upgraded.agent.run(run.id().clone()).summary().await.unwrap();
        assert_eq!(summary.status, RunStatus::Running, "{old}: it does not fail");
        assert!(summary.stuck.is_some() && summary.stuck_since.is_some(), "{old}");

        let other = first.restarted(with_version(old, &talker));
        assert_eq!(other.agent.recover().await.unwrap().taken_over, [run.id().clone()], "{old}: at once");
        talker.speak(1);
        assert_eq!(other.settled(run.id()).await.status(), RunStatus::Finished);
        let summary = other.agent.run(run.id().clone()).summary().await.unwrap();
        assert_eq!((summary.stuck, summary.stuck_since), (None, None), "{old}");
    }
}

#[tokio::test]
async fn reader_at_an_upgraded_process_is_not_disturbed() {
    let talker = StreamingModel::quiet("word ", 1);
    let (store, clock) = memory();
    let first = World::on(store, clock, with_version("~old", &talker));
    let upgraded = first.restarted(with_version("~new", &talker));
    let run = start(&first, &talker, "talk").await;
    upgraded.agent.ensure_driven(run.id()).await.unwrap();
    assert_eq!(upgraded.agent.run(run.id().clone()).summary().await.unwrap().stuck, None);
    talker.speak(1);
    assert_eq!(TestRun::of(&upgraded.agent, upgraded.agent.run(run.id().clone())).await.text(), "word ");
}

#[tokio::test]
async fn run_whose_version_stays_missing_fails_after_the_wait() {
    let talker = StreamingModel::quiet("word ", 1);
    let (store, clock) = memory();
    let first = World::on(store, clock.clone(), with_version("~old", &talker));
    let run = start(&first, &talker, "talk").await;
    first.agent.abandon();
    clock.advance(Duration::from_secs(60));
    let upgraded = first.restarted(with_version("~new", &talker));
    assert_eq!(upgraded.agent.recover().await.unwrap().stuck.len(), 1);
    clock.advance(Duration::from_secs(121));
    // Another process, because the first one retries such a run only once a minute.
    let later = first.restarted(with_version("~new", &talker));
    later.agent.recover().await.unwrap();
    assert_eq!(later.settled(run.id()).await.code(), "workflow.changed");
}

#[tokio::test]
async fn answer_that_an_upgraded_process_takes_is_resumed_by_one_that_has_the_version() {
    let talker = StreamingModel::new("word ", 1);
    let (store, clock) = memory();
    let first = World::on(store, clock, with_version("~old", &talker));
    let ran = TestRun::of(&first.agent, first.agent.start(Start::new("ask")).await.unwrap()).await;
    first.idle().await;
    let upgraded = first.restarted(with_version("~new", &talker));
    let open = upgraded.agent.open_questions(ran.id()).await.unwrap().remove(0);
    upgraded.agent.answer(Answer::given(open.request, "blue").by(None)).await.unwrap();
    assert_eq!(upgraded.agent.driving(), 0);
    assert_eq!(first.agent.recover().await.unwrap().answered, [ran.id().clone()]);
    assert_eq!(first.settled(ran.id()).await.text(), "word blue");
}
