//! Code that changed under a waiting run: the error names both sides, and nothing is guessed.

use std::{future::Future, pin::Pin, sync::Arc};

use headwater_models::scripted::{Rule, Script, ScriptedModel};
use headwater_protocol::{Event, RunStatus, WarningEvent};
use headwater_runtime::{
    Agent, AgentOptions, Answer, Choice, Cx, END, ErrorKind, Next, NodeResult, START, Start, Text, Workflow,
};
use headwater_store::{Memory, Store};

type Node = fn(Cx) -> Pin<Box<dyn Future<Output = NodeResult> + Send>>;

fn agent(store: &Arc<Memory>, version: &str, strict: bool, node: Node) -> Agent {
    let workflow = Workflow::new("w")
        .version(version)
        .node("node", move |cx: Cx, (): ()| node(cx))
        .edge(START, "node")
        .edge("node", END)
        .build()
        .unwrap();
    let model = ScriptedModel::new(Script::new("m").rule(Rule::always().text("You said {input}.")));
    let mut options = AgentOptions::default();
    options.strict_replay = strict;
    let store: Arc<dyn Store> = store.clone();
    Agent::builder().workflow(workflow).model("m", model).store(store).options(options).build().unwrap()
}

/// Runs the old code until it waits, answers, and continues with the new code. Returns its events.
async fn changed(old: Node, new: Node, strict: bool) -> Vec<Event> {
    let store = Arc::new(Memory::new());
    let before = agent(&store, "1", strict, old);
    let run = before.start(Start::new("hi")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let asked = outcome.state.interrupts()[0].clone();
    // The driver releases the run after emitting the wait.
    while before.driving() > 0 {
        tokio::task::yield_now().await;
    }
    let after = agent(&store, "1", strict, new);
    let answer = Answer::given(asked.request, "yes").by(None);
    let run = after.answer(answer).await.unwrap();
    run.outcome().await.unwrap();
    run.recorded().await.unwrap()
}

fn failure(events: &[Event]) -> (String, String) {
    match events.last() {
        Some(Event::RunFailed(error)) => (error.code.clone().unwrap(), error.message.clone()),
        other => panic!("the run should have failed, and ended with {other:?}"),
    }
}

async fn wait(cx: &Cx) -> headwater_runtime::Result<String> {
    cx.interrupt(Text::new("Continue?")).id("wait").await
}

fn says(id: &'static str, input: &'static str) -> Node {
    match (id, input) {
        ("say", "one") => |cx| {
            Box::pin(async move {
                cx.reason("m").id("say").input("one").await?;
                wait(&cx).await?;
                Ok(Next::go())
            })
        },
        ("say", _) => |cx| {
            Box::pin(async move {
                cx.reason("m").id("say").input("two").await?;
                wait(&cx).await?;
                Ok(Next::go())
            })
        },
        _ => |cx| {
            Box::pin(async move {
                cx.reason("m").id("tell").input("one").await?;
                wait(&cx).await?;
                Ok(Next::go())
            })
        },
    }
}

fn steps() -> Node {
    |cx| {
        Box::pin(async move {
            cx.step("thing", || async { Ok(1) }).await?;
            wait(&cx).await?;
            Ok(Next::go())
        })
    }
}

#[tokio::test]
async fn hook_of_another_kind_is_reported_with_both_kinds() {
    let asks: Node = |cx| {
        Box::pin(async move {
            cx.interrupt(Choice::new("?").option("a", "A")).id("wait").await?;
            Ok(Next::go())
        })
    };
    let step: Node = |cx| {
        Box::pin(async move {
            cx.step("wait", || async { Ok(1) }).await?;
            Ok(Next::go())
        })
    };
    let (code, message) = failure(&changed(steps(), step, false).await);
    assert_eq!(code, "replay.diverged");
    assert!(
        message.contains("`w@1/node#1/wait#0` is a `interrupt` in the journal and a `step` in the code"),
        "{message}"
    );

    let id: Node = |cx| {
        Box::pin(async move {
            cx.reason("m").id("thing").input("x").await?;
            wait(&cx).await?;
            Ok(Next::go())
        })
    };
    let (code, message) = failure(&changed(steps(), id, false).await);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains("`w@1/node#1/thing#0`") && message.contains("`step`"), "{message}");
    assert!(message.contains("`reason`"), "both kinds are named: {message}");

    let (code, _) = failure(&changed(steps(), asks, false).await);
    assert_eq!(code, "replay.diverged");
}

#[tokio::test]
async fn hook_with_another_id_is_reported_with_the_recorded_id() {
    let (code, message) = failure(&changed(says("say", "one"), says("tell", "one"), false).await);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains("w@1/node#1/say#0") && message.contains("was not called"), "{message}");
}

#[tokio::test]
async fn removed_hook_is_reported() {
    let gone: Node = |cx| {
        Box::pin(async move {
            wait(&cx).await?;
            Ok(Next::go())
        })
    };
    let (code, message) = failure(&changed(steps(), gone, false).await);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains("`w@1/node#1/thing#0` is in the journal and was not called"), "{message}");
    assert!(message.contains("was the code of node `node` changed?"), "{message}");
}

#[tokio::test]
async fn changed_emit_is_reported_with_both_values() {
    let one: Node = |cx| {
        Box::pin(async move {
            cx.emit().status("one")?;
            wait(&cx).await?;
            Ok(Next::go())
        })
    };
    let two: Node = |cx| {
        Box::pin(async move {
            cx.emit().status("two")?;
            wait(&cx).await?;
            Ok(Next::go())
        })
    };
    let none: Node = |cx| {
        Box::pin(async move {
            wait(&cx).await?;
            Ok(Next::go())
        })
    };
    let events = changed(one, two, false).await;
    let (code, message) = failure(&events);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains(r#""message":"one""#) && message.contains(r#""message":"two""#), "{message}");
    let (code, message) = failure(&changed(one, none, false).await);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains(r#""message":"one""#) && message.contains("not emitted now"), "{message}");
}

#[tokio::test]
async fn changed_prompt_returns_the_recorded_reply_with_a_warning() {
    let events = changed(says("say", "one"), says("say", "two"), false).await;
    assert!(matches!(events.last(), Some(Event::RunFinished(_))), "{:?}", events.last());
    let warned = events.iter().any(|event| {
        matches!(event, Event::Warning(WarningEvent { code, message, .. })
            if code.as_deref() == Some("replay.changed") && message.contains("w@1/node#1/say#0"))
    });
    assert!(warned, "{events:?}");
}

#[tokio::test]
async fn changed_prompt_stops_a_strict_run() {
    let (code, message) = failure(&changed(says("say", "one"), says("say", "two"), true).await);
    assert_eq!(code, "replay.diverged");
    assert!(message.contains("w@1/node#1/say#0"), "{message}");
}

#[tokio::test]
async fn concurrent_hooks_without_ids_are_refused() {
    let node: Node = |cx| {
        Box::pin(async move {
            let (one, two) = tokio::join!(cx.reason("m").input("one"), cx.reason("m").input("two"));
            one?;
            two?;
            Ok(Next::go())
        })
    };
    let agent = agent(&Arc::new(Memory::new()), "1", false, node);
    let run = agent.start(Start::new("hi")).await.unwrap();
    run.outcome().await.unwrap();
    let (code, message) = failure(&run.recorded().await.unwrap());
    assert_eq!(code, "hook.invalid");
    assert!(
        message.contains("two `reason` hooks without an id") && message.contains("give them ids"),
        "{message}"
    );
}

#[tokio::test]
async fn run_of_an_unregistered_version_keeps_waiting_and_names_the_version() {
    let store = Arc::new(Memory::new());
    let first = agent(&store, "1", false, steps());
    let run = first.start(Start::new("hi")).await.unwrap();
    let asked = run.outcome().await.unwrap().state.interrupts()[0].clone();
    while first.driving() > 0 {
        tokio::task::yield_now().await;
    }
    let second = agent(&store, "2", false, steps());
    second.answer(Answer::given(asked.request, "yes").by(None)).await.unwrap();
    let stuck = second.run(run.id().clone()).summary().await.unwrap().stuck.unwrap();
    assert!(stuck.contains("version 1") && stuck.contains("registered are 2"), "{stuck}");
    let report = second.recover().await.unwrap();
    assert_eq!(report.stuck.len(), 1, "{report:?}");

    // The answer is kept, and the version that the run began with processes it.
    let report = first.recover().await.unwrap();
    assert_eq!(report.answered, [run.id().clone()]);
    while first.driving() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(matches!(run.recorded().await.unwrap().last(), Some(Event::RunFinished(_))));
}

#[tokio::test]
async fn run_id_of_a_waiting_run_is_refused() {
    let store = Arc::new(Memory::new());
    let agent = agent(&store, "1", false, steps());
    let run = agent.start(Start::new("hi").run("r")).await.unwrap();
    run.outcome().await.unwrap();
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
    let error = agent.start(Start::new("hi").run("r")).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Exists, "run.exists"));
}
