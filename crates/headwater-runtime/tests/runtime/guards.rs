//! Node state written before a wait, used to guard the block before it.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use headwater_models::scripted::{Rule, When};
use headwater_protocol::{Event, RunStatus, StatusEvent, ToolSpec};
use headwater_runtime::{
    Agent, AgentBuilder, Answer, AnswerValue, Ask, Choice, Cx, END, Next, NodeOptions, Retry, START, Start,
    Text, ToolOptions, Workflow, replay,
};
use headwater_tools::{ClientTool, FunctionTool, ToolError, Tools};
use serde_json::{Value, json};

use crate::harness::{TestRun, World, one, scripted};

/// Counts side effects outside the journal.
#[derive(Debug, Clone, Default)]
struct Outside(Arc<AtomicU32>);

impl Outside {
    fn happens(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn times(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The documented guard: a block that runs once before a model or a person is asked.
fn guarded(cx: &Cx, outside: &Outside) -> headwater_runtime::Result<()> {
    let started = cx.node_state("started", false)?;
    if !started.get()? {
        outside.happens();
        cx.structured("lifecycle").stream("lifecycle").finish(&json!({ "step": "start" }))?;
        started.set(true)?;
    }
    Ok(())
}

async fn is_same_as_recorded(ran: &TestRun) {
    let replayed = replay(ran.agent(), ran.id().clone()).await.unwrap();
    assert!(replayed.is_same(), "{:?}", replayed.divergence);
}

/// How often readers saw the lifecycle.
fn shown(ran: &TestRun) -> usize {
    ran.count("structured")
}

#[tokio::test]
async fn block_before_an_interrupt_runs_once() {
    let outside = Outside::default();
    let count = outside.clone();
    let node = move |cx: Cx, (): ()| {
        let outside = outside.clone();
        async move {
            guarded(&cx, &outside)?;
            let first = cx.interrupt(Text::new("First?")).id("first").await?;
            let second = cx.interrupt(Text::new("Second?")).id("second").await?;
            cx.node_state("started", false)?.set(false)?;
            Ok(Next::go().with_result(&json!([first, second]))?)
        }
    };
    let world = World::of(one(node));
    let ran = world.run("").await;
    let ran = ran.answer("a").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    let ran = ran.answer("b").await;
    assert_eq!(ran.result(), &json!(["a", "b"]));
    assert_eq!((count.times(), shown(&ran)), (1, 1));
    is_same_as_recorded(&ran).await;
}

#[tokio::test]
async fn block_before_an_approval_a_page_tool_and_a_models_question_runs_once() {
    let outside = Outside::default();
    let count = outside.clone();
    let node = move |cx: Cx, (): ()| {
        let outside = outside.clone();
        async move {
            guarded(&cx, &outside)?;
            let tools = Tools::new()
                .with(FunctionTool::new("pay", |_: Value| {
                    std::future::ready(Ok::<_, ToolError>("paid".to_owned()))
                }))
                .unwrap()
                .with(ClientTool::new(ToolSpec::new("locate", json!({ "type": "object" }))))
                .unwrap();
            let approved = ToolOptions::default().approval(true);
            cx.reason("m").id("pay").input("pay").tools(tools.clone()).tool_options(approved).await?;
            cx.reason("m").id("locate").input("locate").tools(tools).await?;
            let asked = cx.reason("m").id("ask").input("ask").interrupt(Ask::required()).await?;
            Ok(Next::go().with_result(&asked.text)?)
        }
    };
    let question = json!({ "kind": "text", "question": "Sure?" });
    let model = scripted([
        Rule::when(When::input_contains("The person answered")).text("done"),
        Rule::when(When::input_contains("ask")).json(json!({ "interruptRequest": question })),
        Rule::when(When::after_tool("pay")).text("It is paid."),
        Rule::when(When::after_tool("locate")).text("It is there."),
        Rule::when(When::input_contains("pay")).tool("pay", json!({})),
        Rule::always().tool("locate", json!({})),
    ]);
    let world = World::with(one(node), |agent| agent.model("m", model.clone()));
    let ran = world.run("").await;
    let approval = ran.approval().await;
    let approve = Answer::approved(approval.request.clone()).by(None);
    let ran = ran.send(approve).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Waiting);
    let open = ran.agent().questions(None, 10).await.unwrap();
    let output = Answer::new(open[0].request.clone(), AnswerValue::Output(json!({ "lat": 1 }))).by(None);
    let ran = ran.send(output).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Waiting);
    let ran = ran.answer("yes").await;
    assert_eq!(ran.result(), "done");
    assert_eq!((count.times(), shown(&ran), model.asked()), (1, 1, 6), "nothing is done or asked twice");
    is_same_as_recorded(&ran).await;
}

/// A node with a guarded block, hooks without ids on both sides of the wait, and the same emit before and
/// after it.
fn busy(outside: &Outside, pay: &Outside) -> Workflow {
    let (outside, pay) = (outside.clone(), pay.clone());
    one(move |cx: Cx, (): ()| {
        let (outside, pay) = (outside.clone(), pay.clone());
        async move {
            let started = cx.node_state("started", None::<String>)?;
            let rounds = cx.node_state("rounds", 0)?;
            let log = cx.workflow_state("log", Vec::<String>::new())?;
            let note = |what: &str| {
                let what = what.to_owned();
                log.update(|mut log| {
                    log.push(what);
                    log
                })
            };
            rounds.update(|rounds| rounds + 1)?;
            cx.emit().status("begins")?;
            note("outside of the guard")?;
            if started.get()?.is_none() {
                outside.happens();
                cx.emit().status("works")?;
                note("in the guard")?;
                let id = cx.id()?;
                cx.step("pay", || async {
                    pay.happens();
                    Ok(())
                })
                .await?;
                started.set(Some(id))?;
            }
            let answer = cx.interrupt(Text::new("Continue?")).id("wait").await?;
            cx.emit().status("works")?;
            note("after the wait")?;
            let later = cx.id()?;
            cx.step("pay", || async {
                pay.happens();
                Ok(())
            })
            .await?;
            let same = started.get()? == Some(later);
            let result =
                json!({ "answer": answer, "rounds": rounds.get()?, "log": log.get()?, "same": same });
            Ok(Next::go().with_result(&result)?)
        }
    })
}

#[tokio::test]
async fn state_and_hook_counts_survive_a_wait() {
    let (outside, pay) = (Outside::default(), Outside::default());
    let world = World::of(busy(&outside, &pay));
    let ran = world.run("").await.answer("yes").await;
    let log = ["outside of the guard", "in the guard", "after the wait"];
    assert_eq!(ran.result(), &json!({ "answer": "yes", "rounds": 1, "log": log, "same": false }));
    assert_eq!((outside.times(), pay.times()), (1, 2));
    let states: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Status(StatusEvent { message, .. }) => message.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(states, ["begins", "works", "works"], "each is shown once, also the one that is said twice");
    is_same_as_recorded(&ran).await;
}

#[tokio::test]
async fn state_before_a_wait_reaches_another_process() {
    let (outside, pay) = (Outside::default(), Outside::default());
    let first = World::of(busy(&outside, &pay));
    let waiting = first.run("").await;
    first.idle().await;
    let second = first.restarted(|agent| agent.workflow(busy(&outside, &pay)));
    let question = waiting.question();
    let answer = Answer::given(question.request.clone(), "yes").by(None);
    let ran = TestRun::of(&second.agent, second.agent.answer(answer).await.unwrap()).await;
    assert_eq!(ran.result()["rounds"], 1);
    assert_eq!((outside.times(), pay.times()), (1, 2));
    is_same_as_recorded(&ran).await;
}

#[tokio::test]
async fn retry_after_a_wait_does_not_run_the_guarded_block_again() {
    let (outside, tries) = (Outside::default(), Outside::default());
    let (count, tried) = (outside.clone(), tries.clone());
    let node = move |cx: Cx, (): ()| {
        let (outside, tries) = (outside.clone(), tries.clone());
        async move {
            guarded(&cx, &outside)?;
            cx.interrupt(Text::new("Continue?")).id("wait").await?;
            cx.step("flaky", || async {
                tries.happens();
                if tries.times() < 3 { Err(std::io::Error::other("not yet").into()) } else { Ok(()) }
            })
            .await?;
            Ok(Next::go())
        }
    };
    let workflow = Workflow::new("w")
        .node_with("node", NodeOptions::default().retry(Retry::times(3)), node)
        .edge(START, "node")
        .edge("node", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await.answer("yes").await;
    assert_eq!(ran.status(), RunStatus::Finished);
    assert_eq!((count.times(), tried.times(), shown(&ran)), (1, 3, 1));
}

#[tokio::test]
async fn hooks_beside_a_waiting_one_do_not_repeat() {
    let (outside, pay) = (Outside::default(), Outside::default());
    let (count, paid) = (outside.clone(), pay.clone());
    let node = move |cx: Cx, (): ()| {
        let (outside, pay) = (outside.clone(), pay.clone());
        async move {
            guarded(&cx, &outside)?;
            let ask = async { cx.interrupt(Text::new("Continue?")).id("wait").await };
            let work = async {
                cx.step("slow", || async {
                    tokio::task::yield_now().await;
                    pay.happens();
                    Ok(())
                })
                .await?;
                cx.step("pay", || async {
                    pay.happens();
                    Ok(())
                })
                .await
            };
            let (answer, done) = tokio::join!(ask, work);
            done?;
            Ok(Next::go().with_result(&answer?)?)
        }
    };
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(ran.result(), "yes");
    assert_eq!((count.times(), paid.times(), shown(&ran)), (1, 2, 1));
}

#[tokio::test]
async fn skipped_wait_is_a_divergence() {
    let node = |cx: Cx, (): ()| async move {
        let asked = cx.node_state("asked", false)?;
        if !asked.get()? {
            asked.set(true)?;
            cx.interrupt(Text::new("Lost?")).id("lost").await?;
        }
        Ok(Next::go())
    };
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(ran.code(), "replay.diverged");
    assert!(ran.error().contains("lost"), "{}", ran.error());
}

#[tokio::test]
async fn hooks_without_ids_around_a_guarded_block_are_refused_after_the_wait() {
    let ask = |cx: Cx, (): ()| async move {
        let started = cx.node_state("started", false)?;
        if !started.get()? {
            cx.interrupt(Choice::new("First?").option("a", "A")).await?;
            started.set(true)?;
        }
        let second = cx.interrupt(Text::new("Second?")).await?;
        Ok(Next::message(second))
    };
    let ran = World::of(one(ask)).run("").await.answer("a").await;
    assert_eq!(ran.question().question.as_deref(), Some("Second?"));
    let ran = ran.answer("b").await;
    assert_eq!(ran.code(), "hook.invalid", "the second question does not get the answer of the first");
    assert!(ran.error().contains("give them ids"), "{}", ran.error());

    let names = |cx: Cx, (): ()| async move {
        let started = cx.node_state("started", false)?;
        if !started.get()? {
            cx.id()?;
            started.set(true)?;
        }
        let name = cx.id()?;
        cx.interrupt(Text::new("Continue?")).id("wait").await?;
        Ok(Next::message(name))
    };
    let ran = World::of(one(names)).run("").await.answer("yes").await;
    assert_eq!(ran.code(), "replay.diverged");
    assert!(ran.error().contains("`id` was used 2 times before the wait and 1 times now"), "{}", ran.error());
}

#[tokio::test]
async fn id_used_on_both_sides_of_a_wait_keeps_counting() {
    let node = |cx: Cx, (): ()| async move {
        let started = cx.node_state("started", false)?;
        if !started.get()? {
            cx.reason("m").id("same").input("plan").await?;
            started.set(true)?;
        }
        cx.interrupt(Text::new("Continue?")).id("wait").await?;
        let reply = cx.reason("m").id("same").input("answer").await?;
        Ok(Next::go().with_result(&reply.text)?)
    };
    let model = scripted([Rule::always().text("You said {input}.")]);
    let with = |agent: AgentBuilder| agent.model("m", model.clone());
    let ran = World::with(one(node), with).run("").await.answer("yes").await;
    assert_eq!(ran.result(), "You said answer.", "the second use of the id is counted as such");
    assert_eq!(model.asked(), 2);
}

#[tokio::test]
async fn state_too_large_for_a_wait_fails_the_run() {
    let node = |cx: Cx, (): ()| async move {
        for key in ["a", "b"] {
            cx.node_state(key, String::new())?.set("x".repeat(150 << 10))?;
        }
        cx.interrupt(Text::new("Continue?")).id("wait").await?;
        Ok(Next::go())
    };
    let world = World::of(one(node));
    let ran = world.start(Start::new("")).await;
    assert_eq!(ran.code(), "state.too-large");
    let _: &Agent = ran.agent();
}
