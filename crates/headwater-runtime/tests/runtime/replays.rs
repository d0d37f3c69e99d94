//! Replay: a recorded run tests the current code and reports the first difference.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use headwater_models::scripted::{Rule, Script, ScriptedModel};
use headwater_protocol::RunStatus;
use headwater_runtime::{
    Agent, Choice, Cx, DivergenceKind, END, ErrorKind, Next, NodeResult, ReplayReport, START, Start, Text,
    Workflow, replay,
};
use headwater_store::{Memory, Store};
use serde_json::json;

type Node = fn(Cx) -> Pin<Box<dyn Future<Output = NodeResult> + Send>>;

/// An agent of two nodes; a condition leads to the second.
fn agent(store: &Arc<Memory>, version: &str, model: &ScriptedModel, node: Node) -> Agent {
    let workflow = Workflow::new("w")
        .version(version)
        .node("node", move |cx: Cx, (): ()| node(cx))
        .node("other", async |_: Cx, (): ()| Ok(Next::go()))
        .edge(START, "node")
        .edge_when("node", "other", "other")
        .edge("node", END)
        .edge("other", END)
        .build()
        .unwrap();
    let store: Arc<dyn Store> = store.clone();
    Agent::builder().workflow(workflow).model("m", model.clone()).store(store).build().unwrap()
}

fn model() -> ScriptedModel {
    ScriptedModel::new(Script::new("m").rule(Rule::always().text("You said {input}.")))
}

/// Runs the old code until it ends or waits, and replays the run with new code of another version.
async fn changed(old: Node, new: Node) -> ReplayReport {
    let (store, model) = (Arc::new(Memory::new()), model());
    let before = agent(&store, "1", &model, old);
    let run = before.start(Start::new("hi")).await.unwrap();
    run.outcome().await.unwrap();
    let (asked, entries) = (model.asked(), run.entries().await.unwrap().len());
    let after = agent(&store, "2", &model, new);
    let replayed = replay(&after, run.id().clone()).await.unwrap();
    assert_eq!(model.asked(), asked, "a replay asks no model");
    assert_eq!(run.entries().await.unwrap().len(), entries, "a replay writes nothing");
    replayed
}

fn usual() -> Node {
    |cx| {
        Box::pin(async move {
            let said = cx.reason("m").id("say").input("one").await?;
            let number = cx.step("thing", || async { Ok(7) }).await?;
            cx.emit().status("working")?;
            Ok(Next::data(&json!({ "said": said.text, "number": number }))?)
        })
    }
}

#[tokio::test]
async fn equivalent_code_replays_whatever_its_version() {
    let replayed = changed(usual(), usual()).await;
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.visits, 1);
}

#[tokio::test]
async fn first_difference_is_reported_with_both_sides() {
    let other_input: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("two").await?;
            Ok(Next::go())
        })
    };
    let other_kind: Node = |cx| {
        Box::pin(async move {
            cx.step("say", || async { Ok(1) }).await?;
            Ok(Next::go())
        })
    };
    let one_more: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("one").await?;
            cx.step("more", || async { Ok(1) }).await?;
            Ok(Next::go())
        })
    };
    let one_less: Node = |cx| {
        Box::pin(async move {
            let said = cx.reason("m").id("say").input("one").await?;
            cx.emit().status("working")?;
            Ok(Next::data(&json!({ "said": said.text, "number": 7 }))?)
        })
    };
    let other_words: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("one").await?;
            cx.step("thing", || async { Ok(7) }).await?;
            cx.emit().status("resting")?;
            Ok(Next::go())
        })
    };
    let silent: Node = |cx| {
        Box::pin(async move {
            let said = cx.reason("m").id("say").input("one").await?;
            let number = cx.step("thing", || async { Ok(7) }).await?;
            Ok(Next::data(&json!({ "said": said.text, "number": number }))?)
        })
    };
    let other_result: Node = |cx| {
        Box::pin(async move {
            let said = cx.reason("m").id("say").input("one").await?;
            let number = cx.step("thing", || async { Ok(7) }).await?;
            cx.emit().status("working")?;
            Ok(Next::data(&json!({ "said": said.text, "number": number + 1 }))?)
        })
    };
    let failing: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("one").await?;
            cx.step("thing", || async { Ok(7) }).await?;
            cx.emit().status("working")?;
            Err(std::io::Error::other("no").into())
        })
    };
    for (new, kind, key) in [
        (other_input, DivergenceKind::Input, "w@1/node#1/say#0/pass.0"),
        (other_kind, DivergenceKind::Hook, "w@1/node#1/say#0"),
        (one_more, DivergenceKind::New, "w@1/node#1/more#0"),
        (one_less, DivergenceKind::Missing, "w@1/node#1/thing#0"),
        (other_words, DivergenceKind::Shown, "w@1/node#1"),
        (silent, DivergenceKind::Shown, "w@1/node#1"),
        (other_result, DivergenceKind::Result, "w@1/node#1"),
        (failing, DivergenceKind::Result, "w@1/node#1"),
    ] {
        let found =
            changed(usual(), new).await.divergence.unwrap_or_else(|| panic!("{kind:?} was not found"));
        assert_eq!((found.kind, found.key.as_str()), (kind, key), "{found:?}");
    }
    let found = changed(usual(), other_input).await.divergence.unwrap();
    assert_eq!(found.recorded.unwrap()["parts"][0]["text"], "You said one.");
    assert_eq!(found.asked.unwrap()["messages"][0]["content"][0]["text"], "two");
}

#[tokio::test]
async fn different_path_through_the_workflow_is_reported() {
    let goes: Node = |_| Box::pin(async { Ok(Next::condition("other")) });
    let stays: Node = |_| Box::pin(async { Ok(Next::go()) });
    let found = changed(goes, stays).await.divergence.unwrap();
    assert_eq!(found.kind, DivergenceKind::Result);
    assert_eq!(found.recorded.unwrap()["next"]["condition"], "other");

    // The same code in a different graph.
    let (store, model) = (Arc::new(Memory::new()), model());
    let before = agent(&store, "1", &model, goes);
    let run = before.start(Start::new("hi")).await.unwrap();
    run.outcome().await.unwrap();
    let shorter =
        Workflow::new("w").node("node", move |cx: Cx, (): ()| goes(cx)).edge(START, "node").edge("node", END);
    let store: Arc<dyn Store> = store;
    let after = Agent::builder().workflow(shorter.build().unwrap()).store(store).build().unwrap();
    let found = replay(&after, run.id().clone()).await.unwrap().divergence.unwrap();
    assert_eq!((found.kind, found.key.as_str()), (DivergenceKind::Path, "w@1/other#1"));
}

#[tokio::test]
async fn waiting_run_is_replayed_to_its_question() {
    let asks: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("one").await?;
            cx.interrupt(Text::new("Continue?")).id("wait").await?;
            cx.step("after", || async { Ok(1) }).await?;
            Ok(Next::go())
        })
    };
    assert_eq!(changed(asks, asks).await.divergence, None);
    let other: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("say").input("one").await?;
            cx.step("wait", || async { Ok(1) }).await?;
            Ok(Next::go())
        })
    };
    let found = changed(asks, other).await.divergence.unwrap();
    assert_eq!((found.kind, found.key.as_str()), (DivergenceKind::Hook, "w@1/node#1/wait#0"));
}

#[tokio::test]
async fn failed_run_must_fail_again() {
    let fails: Node = |_| Box::pin(async { Err(std::io::Error::other("the disk is full").into()) });
    let fine: Node = |_| Box::pin(async { Ok(Next::go()) });
    let otherwise: Node = |_| Box::pin(async { Err(std::io::Error::other("the disk is gone").into()) });
    assert_eq!(changed(fails, fails).await.divergence, None);
    for new in [fine, otherwise] {
        let found = changed(fails, new).await.divergence.unwrap();
        assert_eq!(found.kind, DivergenceKind::End, "{found:?}");
    }
}

#[tokio::test]
async fn answers_of_people_come_from_the_journal() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let node: Node = |cx| {
        Box::pin(async move {
            let question = Choice::new("Which?").option("a", "A").option("b", "B");
            let answer = cx.interrupt(question).id("which").await?;
            RUNS.fetch_add(1, Ordering::Relaxed);
            Ok(Next::data(&json!({ "answer": answer }))?)
        })
    };
    let (store, model) = (Arc::new(Memory::new()), model());
    let before = agent(&store, "1", &model, node);
    let run = before.start(Start::new("hi")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    let request = outcome.state.interrupts()[0].request.clone();
    let answer = headwater_runtime::Answer::given(request, "b").by(None);
    let run = before.answer(answer).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().status(), RunStatus::Finished);
    let replayed = replay(&before, run.id().clone()).await.unwrap();
    assert!(replayed.is_same(), "{:?}", replayed.divergence);
    assert_eq!(RUNS.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn replay_of_an_unsuitable_run_is_an_error() {
    let (store, model) = (Arc::new(Memory::new()), model());
    let agent = agent(&store, "1", &model, usual());
    let unknown = replay(&agent, "run_nobody").await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::UnknownRun);
}
