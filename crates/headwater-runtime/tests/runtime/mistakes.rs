//! Regression tests for mistakes of similar systems. Those about one hook are in that hook's tests.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_models::scripted::{Rule, When};
use headwater_protocol::{RunStatus, Usage};
use headwater_runtime::{
    AgentOptions, Answer, Cx, END, Next, NodeError, NodeOptions, NodeResult, Retry, START, Start, Text,
    Workflow,
};
use headwater_tools::{FunctionTool, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{Event, Metadata, Subscriber, field, span};

use crate::harness::{World, one, scripted, token};

async fn go(_: Cx, _: ()) -> NodeResult {
    Ok(Next::go())
}

#[tokio::test]
async fn condition_of_an_earlier_node_does_not_apply() {
    async fn conditional(_: Cx, _: ()) -> NodeResult {
        Ok(Next::condition("go"))
    }
    async fn intending(_: Cx, _: ()) -> NodeResult {
        Ok(Next::intent("there"))
    }
    let workflow = Workflow::new("w")
        .node("first", conditional)
        .node("second", go)
        .node("third", intending)
        .node("wrong", go)
        .node("there", go)
        .edge(START, "first")
        .edge_when("first", "go", "second")
        .edge_when("second", "go", "wrong")
        .edge("second", "third")
        .edge_when("third", "go", "wrong")
        .edge_when("third", "there", "there")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.entered().await, ["first", "second", "third", "there"]);
}

#[tokio::test]
async fn messages_of_a_run_are_stored_once() {
    let say = |text: &'static str| move |_: Cx, _: ()| std::future::ready(Ok(Next::message(text)));
    let workflow = Workflow::new("w")
        .node("a", say("one "))
        .node("b", say("two "))
        .node("c", say("three"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .edge("c", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!((&*ran.text(), ran.count("message")), ("one two three", 3));
}

#[tokio::test]
async fn tool_loop_passes_count_in_the_usage_of_the_run() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").agent_tools(["look"]).input("go").await?;
        Ok(Next::go().with_result(&json!([reply.usage.total_tokens, cx.usage().total_tokens]))?)
    }
    let used = || Usage { total_tokens: Some(5), ..Usage::default() };
    let model = scripted([
        Rule::when(When::pass(0)).tool("look", json!({})).usage(used()),
        Rule::always().text("ok").usage(used()),
    ]);
    let look = FunctionTool::new("look", |_: Nothing| async { Ok::<_, ToolError>("seen") });
    let world = World::with(one(node), |agent| agent.model("writer", model).tool(look));
    let ran = world.run("").await;
    assert_eq!(*ran.result(), json!([10, 10]));
    assert_eq!(ran.outcome.state.run().usage.as_ref().unwrap().total_tokens, Some(10));
}

#[tokio::test]
async fn answer_survives_a_failure_after_it() {
    let tried = Arc::new(AtomicU32::new(0));
    let counted = tried.clone();
    let node = move |cx: Cx, _: ()| {
        let tried = counted.clone();
        async move {
            let name = cx.interrupt(Text::new("Who?")).await?;
            if tried.fetch_add(1, Ordering::SeqCst) == 0 {
                return Err(NodeError::new("not yet"));
            }
            Ok(Next::message(name))
        }
    };
    let options = NodeOptions::default().retry(Retry::times(2));
    let workflow = Workflow::new("w").node_with("node", options, node).edge(START, "node").build().unwrap();
    let ran = World::of(workflow).run("").await.answer("Ada").await;
    assert_eq!((&*ran.text(), tried.load(Ordering::SeqCst)), ("Ada", 2));
    assert_eq!(ran.count("interrupt-requested"), 1);
}

#[tokio::test]
async fn answer_is_not_added_to_the_data_automatically() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Where?")).await?;
        Ok(Next::go())
    }
    let show = |cx: Cx, _: ()| async move { Ok(Next::go().with_result(cx.data())?) };
    let workflow = Workflow::new("w")
        .node("node", node)
        .node("show", show)
        .edge(START, "node")
        .edge("node", "show")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("hi").await.answer("59.9, 10.7").await;
    assert_eq!(*ran.result(), json!({ "rawInput": "hi" }));
}

#[tokio::test]
async fn runs_without_a_session_share_nothing() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let before: usize = cx.workflow_state("count", 0)?.get()?;
        cx.workflow_state("count", 0)?.set(before + 1)?;
        let known = json!([cx.session(), cx.messages().len(), before]);
        Ok(Next::message(input).with_result(&known)?)
    }
    let world = World::of(one(node));
    world.run("a secret of mine").await;
    let ran = world.run("hello").await;
    assert_eq!(*ran.result(), json!([null, 0, 0]));
    assert!(!ran.wire().contains("a secret of mine"));
}

#[tokio::test]
async fn ended_runs_are_deleted_after_their_retention() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Who?")).await?;
        Ok(Next::go())
    }
    let mut options = AgentOptions::default();
    options.keep = Duration::from_secs(3600);
    let world = World::with(one(node), |agent| agent.options(options));
    for _ in 0..3 {
        world.run("").await.answer("Ada").await;
    }
    world.idle().await;
    assert_eq!(world.agent.runs(None, 10).await.unwrap().len(), 3);
    world.clock.advance(Duration::from_secs(8 * 24 * 3600));
    world.agent.recover().await.unwrap();
    assert!(world.agent.runs(None, 10).await.unwrap().is_empty());
    let left = world.store.list("", None, 100).await.unwrap();
    let keys: Vec<_> =
        left.iter().map(|(key, _)| key.as_str()).filter(|key| !key.contains("secret")).collect();
    assert!(keys.is_empty(), "{keys:?}");
}

/// Collects every log line.
struct Log(Mutex<String>);

struct Line<'a>(&'a mut String);

impl field::Visit for Line<'_> {
    fn record_debug(&mut self, field: &field::Field, value: &dyn fmt::Debug) {
        *self.0 += &format!("{field}={value:?} ");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut Line(&mut self.0.lock().unwrap()));
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Line(&mut self.0.lock().unwrap()));
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn no_token_and_no_context_is_ever_logged() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Who?")).await?;
        Err(NodeError::new("failed after the answer"))
    }
    let log = Arc::new(Log(Mutex::default()));
    let _guard = tracing::subscriber::set_default(log.clone());
    let world = World::of(one(node));
    let ran = world.start(Start::new("").runtime_context(json!({ "key": "TOP-SECRET" }))).await;
    let right = token(ran.question());
    let wrong = Answer::given(ran.question().request.clone(), "Ada").token(format!("{right}x"));
    let error = ran.send(wrong).await.unwrap_err();
    let ran = ran.answer("Ada").await;
    assert_eq!(ran.status(), RunStatus::Failed);
    world.idle().await;
    tracing::info!("the log is noted");
    let log = log.0.lock().unwrap();
    assert!(log.contains("the log is noted"));
    for secret in [&*right, "TOP-SECRET"] {
        assert!(!log.contains(secret) && !error.to_string().contains(secret), "{log}");
    }
}

#[tokio::test]
async fn run_end_carries_the_result_and_not_the_state() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.workflow_state("inner", "state-secret".to_owned())?;
        Ok(Next::data(&json!({ "a": "data-secret" }))?.with_result(&"public")?)
    }
    let start = Start::new("hi").runtime_context(json!("context-secret")).owner("owner-secret");
    let ran = World::of(one(node)).start(start).await;
    assert_eq!(ran.result(), &Value::from("public"), "it is of the end of the run, not of its start");
    assert!(!ran.wire().contains("-secret"), "{}", ran.wire());
}
