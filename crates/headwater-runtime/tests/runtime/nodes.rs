//! The input, data and state of nodes, and what stays the same on replay.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_models::scripted::Rule;
use headwater_protocol::{BlockKind, EventKind, RunStatus};
use headwater_runtime::{AgentOptions, Cx, END, Next, NodeError, NodeResult, START, Start, Text, Workflow};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::harness::{World, one, scripted};

#[tokio::test]
async fn data_is_merged_key_by_key_and_read_by_type() {
    #[derive(Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Trip {
        raw_input: String,
        place: Place,
        days: Vec<u32>,
        #[serde(default)]
        unknown: Option<u32>,
    }
    #[derive(Deserialize, Serialize)]
    struct Place {
        city: String,
        country: String,
    }
    async fn first(_: Cx, _: ()) -> NodeResult {
        Ok(Next::data(&json!({ "place": { "city": "Oslo", "country": "?" }, "days": [1, 2, 3] }))?)
    }
    async fn second(_: Cx, _: ()) -> NodeResult {
        Ok(Next::data(&json!({ "place": { "country": "Norway" }, "days": [4] }))?)
    }
    async fn third(_: Cx, trip: Trip) -> NodeResult {
        Ok(Next::go().with_result(&trip)?)
    }
    let workflow = Workflow::new("w")
        .node("first", first)
        .node("second", second)
        .node("third", third)
        .edge(START, "first")
        .edge("first", "second")
        .edge("second", "third")
        .edge("third", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("a trip").await;
    assert_eq!(
        *ran.result(),
        json!({ "rawInput": "a trip", "place": { "city": "Oslo", "country": "Norway" }, "days": [4], "unknown": null })
    );
}

#[tokio::test]
async fn invalid_input_names_the_field_and_the_available_data() {
    #[derive(Deserialize)]
    struct CityInput {
        #[serde(rename = "city")]
        _city: String,
    }
    async fn node(_: Cx, _: CityInput) -> NodeResult {
        Ok(Next::go())
    }
    let ran = World::of(one(node)).run("hi").await;
    assert_eq!(ran.code(), "input.invalid");
    assert!(
        ran.error().contains("missing field `city`") && ran.error().contains("rawInput"),
        "{}",
        ran.error()
    );
}

#[tokio::test]
async fn message_equal_to_streamed_text_is_not_sent_twice() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let reply = cx.reason("writer").input(&*input).emit(input != "quiet").await?;
        Ok(Next::message(match &*input {
            "other" => "something else".to_owned(),
            _ => format!(" {}\n", reply.text),
        }))
    }
    let world =
        World::with(one(node), |agent| agent.model("writer", scripted([Rule::always().text("An answer")])));
    let ran = world.run("same").await;
    assert_eq!(ran.text(), "An answer");
    assert_eq!(ran.warnings(), ["message.repeated"]);
    assert_eq!(ran.count("message"), 0);
    let ran = world.run("other").await;
    assert_eq!((ran.count("message"), ran.warnings().len()), (1, 0));
    let ran = world.run("quiet").await;
    assert_eq!((ran.count("message"), ran.count_blocks(BlockKind::Text, EventKind::BlockDelta)), (1, 0));
    assert_eq!(ran.text().trim(), "An answer");
}

#[tokio::test]
async fn finished_object_is_shown_and_only_the_result_is_public() {
    async fn node(_: Cx, _: ()) -> NodeResult {
        let next = Next::data(&json!({ "inner": "not for readers" }))?
            .with_structured("report", json!({ "rows": 3 }))
            .with_result(&json!({ "ok": true }))?;
        Ok(next)
    }
    let ran = World::of(one(node)).run("hi").await;
    assert_eq!(*ran.result(), json!({ "ok": true }));
    let shown = ran.outcome.structured().iter().next().unwrap();
    assert_eq!(
        (shown.data_type(), shown.data(), shown.node()),
        ("report", Some(&json!({ "rows": 3 })), Some("node"))
    );
    assert!(!ran.wire().contains("not for readers"));
}

#[tokio::test]
async fn node_state_is_kept_for_its_node_and_workflow_state_for_all() {
    async fn a(cx: Cx, _: ()) -> NodeResult {
        let own = cx.node_state("own", 0)?;
        own.update(|own| own + 1)?;
        cx.workflow_state("seen", Vec::<String>::new())?.update(|mut seen| {
            seen.push("a".into());
            seen
        })?;
        Ok(Next::condition(if own.get()? < 3 { "again" } else { "done" })
            .with_data(&json!({ "a": own.get()? }))?)
    }
    async fn b(cx: Cx, _: ()) -> NodeResult {
        let own = cx.node_state("own", 100)?;
        own.update(|own| own + 1)?;
        cx.workflow_state("seen", Vec::<String>::new())?.update(|mut seen| {
            seen.push("b".into());
            seen
        })?;
        Ok(Next::data(&json!({ "b": own.get()? }))?)
    }
    async fn end(cx: Cx, _: ()) -> NodeResult {
        let seen = cx.workflow_state("seen", Vec::<String>::new())?.get()?.concat();
        Ok(Next::go().with_result(&json!({ "data": cx.data(), "seen": seen }))?)
    }
    let first = Workflow::new("first")
        .node("a", a)
        .node("b", b)
        .node("over", |_: Cx, _: ()| std::future::ready(Ok(Next::transition("second"))))
        .edge(START, "a")
        .edge_when("a", "again", "b")
        .edge("b", "a")
        .edge_when("a", "done", "over")
        .build()
        .unwrap();
    let second = Workflow::new("second").node("a", end).edge(START, "a").build().unwrap();
    let world = World::build(|agent| agent.workflow(first).workflow(second).default_workflow("first"));
    let ran = world.run("").await;
    assert_eq!(ran.result()["data"]["a"], 3, "the state of `a` is not lost because `b` has some");
    assert_eq!(ran.result()["data"]["b"], 102);
    assert_eq!(ran.result()["seen"], "ababa", "it lives across workflows");
    assert_eq!(world.run("").await.result()["seen"], "ababa", "and a new run begins afresh");
}

#[tokio::test]
async fn state_is_replaced_as_a_whole() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let state = cx.workflow_state("object", json!({ "x": 1, "y": { "z": 2 } }))?;
        state.set(json!({ "x": 9 }))?;
        Ok(Next::go())
    }
    async fn after(cx: Cx, _: ()) -> NodeResult {
        Ok(Next::go().with_result(&cx.workflow_state("object", Value::Null)?.get()?)?)
    }
    let workflow = Workflow::new("w")
        .node("node", node)
        .node("after", after)
        .edge(START, "node")
        .edge("node", "after")
        .build()
        .unwrap();
    assert_eq!(*World::of(workflow).run("").await.result(), json!({ "x": 9 }));
}

#[tokio::test]
async fn state_is_as_it_was_when_the_node_is_entered_again_after_an_answer() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let count = cx.node_state("count", 0)?;
        count.update(|count| count + 1)?;
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::go().with_result(&count.get()?)?)
    }
    assert_eq!(World::of(one(node)).run("").await.answer("yes").await.result(), 1, "a write happens once");
}

#[tokio::test]
async fn state_and_data_that_are_too_large_or_do_not_serialise_are_typed_errors() {
    struct Unspeakable;
    impl Serialize for Unspeakable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("it has no words"))
        }
    }
    impl<'de> Deserialize<'de> for Unspeakable {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Err(serde::de::Error::custom("it has no words"))
        }
    }
    async fn node(cx: Cx, input: String) -> NodeResult {
        match &*input {
            "state" => drop(cx.workflow_state("big", "x".repeat(2_000))?),
            "data" => return Ok(Next::data(&json!({ "big": "x".repeat(2_000) }))?),
            "sum" => {
                cx.workflow_state("a", "x".repeat(600))?;
                cx.node_state("b", "x".repeat(600))?;
            }
            "unspeakable" => drop(cx.node_state("it", Unspeakable)?),
            "step" => {
                let _: Unspeakable = cx.step("it", || async { Ok(Unspeakable) }).await?;
            }
            "list" => return Ok(Next::data(&[1, 2])?),
            "type" => {
                cx.node_state("it", "text".to_owned())?;
                cx.node_state("it", 1)?.get()?;
            }
            _ => {}
        }
        Ok(Next::go())
    }
    let mut options = AgentOptions::default();
    options.max_state_bytes = 1_000;
    let world = World::with(one(node), |agent| agent.options(options));
    for (input, code, says) in [
        ("state", "state.too-large", "state `big` has 2002 bytes, a run may have 1000"),
        ("data", "state.too-large", "after node `node` the run's data and state have"),
        ("sum", "state.too-large", "after node `node`"),
        ("unspeakable", "state.invalid", "state `it` does not serialise: it has no words"),
        ("step", "state.invalid", "cannot serialise the result of `one@1/node#1/it#0`: it has no words"),
        ("list", "state.invalid", "must be a JSON object, not an array"),
        ("type", "state.invalid", "state `it` cannot be read as what the node wants"),
    ] {
        let ran = world.run(input).await;
        assert_eq!(ran.code(), code, "{input}");
        assert!(ran.error().contains(says), "{input}: {}", ran.error());
    }
    assert_eq!(world.run("nothing").await.status(), RunStatus::Finished);
}

#[tokio::test]
async fn time_randomness_ids_and_steps_are_the_same_on_replay() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let node = {
        let seen = seen.clone();
        move |cx: Cx, _: ()| {
            let seen = seen.clone();
            async move {
                let got = json!([
                    cx.now()?,
                    cx.now()?,
                    cx.random()?,
                    cx.random()?,
                    cx.id()?,
                    cx.id()?,
                    cx.step("s", || async { Ok(1) }).await?
                ]);
                seen.lock().unwrap().push(got);
                cx.interrupt(Text::new("Continue?")).await?;
                Ok(Next::go())
            }
        }
    };
    let world = World::of(one(node));
    let ran = world.run("").await;
    world.clock.advance(Duration::from_secs(60));
    ran.answer("yes").await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0][2], seen[0][3]);
    assert_ne!(seen[0][4], seen[0][5]);
    let chance = seen[0][2].as_f64().unwrap();
    assert!((0.0..1.0).contains(&chance));
}

#[tokio::test]
async fn failed_step_fails_again_until_the_node_is_retried() {
    let done = Arc::new(AtomicU32::new(0));
    let node = {
        let done = done.clone();
        move |cx: Cx, _: ()| {
            let done = done.clone();
            async move {
                let step = cx.step("s", || async {
                    done.fetch_add(1, Ordering::SeqCst);
                    Err::<(), _>(NodeError::new("no"))
                });
                let failed = step.await.unwrap_err().to_string();
                cx.interrupt(Text::new("Continue?")).await?;
                Ok(Next::message(failed))
            }
        }
    };
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(ran.text(), "no");
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn context_reaches_nodes_and_never_readers() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct App {
        user_id: String,
        thread: Option<u32>,
    }
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let app: App = cx.runtime_context()?;
        let locale = cx.client_context().get("locale").cloned();
        cx.interrupt(Text::new("Continue?")).await?;
        let again: App = cx.runtime_context()?;
        let same = app.user_id == again.user_id && app.thread.is_none();
        Ok(Next::data(&json!({ "secret": app.user_id, "locale": locale }))?.with_result(&same)?)
    }
    async fn wrong(cx: Cx, _: ()) -> NodeResult {
        cx.runtime_context::<Vec<u32>>()?;
        Ok(Next::go())
    }
    let Value::Object(client) = json!({ "locale": "client-locale" }) else { unreachable!() };
    let start = || {
        let start = Start::new("").runtime_context(json!({ "userId": "TOP-SECRET" }));
        start.client_context(client.clone())
    };
    let ran = World::of(one(node)).start(start()).await.answer("yes").await;
    assert_eq!(ran.result(), true);
    for secret in ["TOP-SECRET", "client-locale"] {
        assert!(!ran.wire().contains(secret), "{}", ran.wire());
        assert!(!serde_json::to_string(&ran.outcome.state).unwrap().contains(secret));
    }
    let ran = World::of(one(wrong)).start(start()).await;
    assert_eq!(ran.code(), "input.invalid");
    assert!(!ran.wire().contains("TOP-SECRET"), "{}", ran.error());
}
