//! What nodes give, keep and show, and what happens when they fail.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_models::scripted::Rule;
use headwater_protocol::{Event, RunStatus};
use headwater_runtime::{
    AgentOptions, Cx, END, Next, NodeError, NodeOptions, NodeResult, OnError, Retry, START, Start, Text,
    Workflow,
};
use headwater_tools::Schema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::harness::{World, one, scripted};

/// A node that fails so often, and then says how often it was tried.
fn failing(times: u32, options: NodeOptions) -> (Workflow, Arc<AtomicU32>) {
    let tried = Arc::new(AtomicU32::new(0));
    let node = {
        let tried = tried.clone();
        move |_: Cx, _: ()| {
            let nth = tried.fetch_add(1, Ordering::SeqCst) + 1;
            std::future::ready(if nth <= times {
                Err(NodeError::new(format!("failure {nth}")))
            } else {
                Next::go().with_result(&nth).map_err(Into::into)
            })
        }
    };
    let after = |cx: Cx, _: ()| async move { Ok(Next::go().with_result(cx.data())?) };
    let workflow = Workflow::new("w")
        .node_with("node", options, node)
        .node("after", after)
        .node("other", after)
        .edge(START, "node")
        .edge_when("node", "never", "other")
        .edge_when("node", "neither", "after")
        .build()
        .unwrap();
    (workflow, tried)
}

#[tokio::test(start_paused = true)]
async fn a_node_is_tried_as_often_as_its_policy_says_with_growing_pauses() {
    let retry = Retry::times(4).delay(Duration::from_secs(10)).backoff(3.0);
    let (workflow, tried) = failing(3, NodeOptions::default().retry(retry));
    let began = tokio::time::Instant::now();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result(), 4);
    assert_eq!(tried.load(Ordering::SeqCst), 4);
    assert_eq!(ran.warnings(), ["node.failed"; 3]);
    // The clock of the runtime is not the wall's: it moves only by what is slept.
    assert_eq!(began.elapsed().as_secs(), 10 + 30 + 90);
}

#[tokio::test]
async fn no_attempts_at_all_count_as_one() {
    let mut retry = Retry::times(0);
    assert_eq!(retry.attempts, 1);
    retry.attempts = 0;
    let (workflow, tried) = failing(0, NodeOptions::default().retry(retry));
    assert_eq!(World::of(workflow).run("").await.result(), 1);
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_node_that_failed_for_good_fails_the_run_with_its_own_words() {
    let (workflow, tried) = failing(9, NodeOptions::default().retry(Retry::times(2)));
    let ran = World::of(workflow).run("").await;
    assert_eq!((ran.code(), ran.error()), ("node.failed", "failure 2"));
    assert_eq!(tried.load(Ordering::SeqCst), 2);
    assert_eq!(ran.count("run-failed"), 1);
}

#[tokio::test]
async fn a_node_that_failed_for_good_may_be_passed_over_or_lead_elsewhere() {
    async fn fail(_: Cx, _: ()) -> NodeResult {
        Err(NodeError::new("no luck"))
    }
    async fn show(cx: Cx, _: ()) -> NodeResult {
        Ok(Next::go().with_result(&cx.data().get("error"))?)
    }
    let workflow = |on_error: OnError| {
        Workflow::new("w")
            .node_with("fail", NodeOptions::default().on_error(on_error), fail)
            .node("plain", show)
            .node("rescue", show)
            .edge(START, "fail")
            .edge("fail", "plain")
            .edge_when("plain", "never", "rescue")
            .build()
            .unwrap()
    };
    for (on_error, node) in [(OnError::Continue, "plain"), (OnError::GoTo("rescue".into()), "rescue")] {
        let ran = World::of(workflow(on_error)).run("").await;
        assert_eq!(ran.entered().await, ["fail", node]);
        assert_eq!(*ran.result(), json!({ "message": "no luck", "code": "node.failed" }));
        assert_eq!(ran.count("error"), 1, "the reader is told");
    }
}

#[tokio::test]
async fn waiting_is_not_a_failure_and_is_not_tried_again() {
    let asked = Arc::new(AtomicU32::new(0));
    let node = {
        let asked = asked.clone();
        move |cx: Cx, _: ()| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move {
                let name = cx.interrupt(Text::new("Who?")).await?;
                Ok(Next::message(name))
            }
        }
    };
    let options = NodeOptions::default().retry(Retry::times(3)).timeout(Duration::from_secs(3600));
    let workflow = Workflow::new("w").node_with("ask", options, node).edge(START, "ask").build().unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(ran.count("interrupt-requested"), 1);
    let ran = ran.answer("Ada").await;
    assert_eq!(ran.text(), "Ada");
    assert_eq!(asked.load(Ordering::SeqCst), 2, "once more, from the top, with the answer");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_is_stopped() {
    async fn hang(_: Cx, _: ()) -> NodeResult {
        std::future::pending().await
    }
    let options = NodeOptions::default().timeout(Duration::from_secs(5));
    let workflow = Workflow::new("w").node_with("hang", options, hang).edge(START, "hang").build().unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!((ran.code(), ran.error()), ("node.timeout", "node `hang` took longer than 5s"));
}

#[tokio::test]
async fn a_retry_does_only_what_failed_again_and_shows_nothing_twice() {
    let (paid, sent) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counts = (paid.clone(), sent.clone());
    let node = move |cx: Cx, _: ()| {
        let (paid, sent) = counts.clone();
        async move {
            cx.emit().status("working")?;
            cx.step("pay", || async { Ok(paid.fetch_add(1, Ordering::SeqCst)) }).await?;
            let send = || async {
                match sent.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(NodeError::new("the line is busy")),
                    nth => Ok(nth),
                }
            };
            if let Err(error) = cx.step("send", send).await {
                cx.emit().status("it did not work")?;
                cx.step("tell", || async { Ok(()) }).await?;
                return Err(error.into());
            }
            cx.emit().status("done")?;
            Ok(Next::message("sent"))
        }
    };
    let options = NodeOptions::default().retry(Retry::times(2));
    let workflow = Workflow::new("w").node_with("node", options, node).edge(START, "node").build().unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.text(), "sent", "{:?}", ran.outcome.state.run().error);
    assert_eq!((paid.load(Ordering::SeqCst), sent.load(Ordering::SeqCst)), (1, 2));
    let said: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Status { message, .. } => message.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["working", "it did not work", "done"]);
}

#[tokio::test]
async fn a_node_that_panics_fails_the_run_and_the_agent_lives_on() {
    async fn node(_: Cx, input: String) -> NodeResult {
        assert_ne!(input, "bad", "this input cannot be");
        Ok(Next::message("fine"))
    }
    let world = World::of(one(node));
    let ran = world.run("bad").await;
    assert_eq!(ran.code(), "node.panicked");
    assert!(ran.error().contains("node `node` panicked") && ran.error().contains("this input cannot be"));
    assert_eq!(world.run("good").await.text(), "fine");
}

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
async fn an_input_that_does_not_fit_names_the_field_and_what_there_is() {
    #[derive(Deserialize)]
    struct Wanted {
        #[serde(rename = "city")]
        _city: String,
    }
    async fn node(_: Cx, _: Wanted) -> NodeResult {
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
async fn a_message_equal_to_streamed_text_is_not_sent_twice() {
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
    assert_eq!((ran.count("message"), ran.count("text-delta")), (1, 0));
    assert_eq!(ran.text().trim(), "An answer");
}

#[tokio::test]
async fn a_node_may_show_a_finished_object_and_only_the_result_is_public() {
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
async fn a_state_is_replaced_as_a_whole() {
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
        cx.interrupt(Text::new("Go on?")).await?;
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
        ("step", "state.invalid", "does not serialise: it has no words"),
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
async fn what_is_emitted_is_shown_in_order_and_once() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.emit().status("searching")?;
        cx.emit().source_url("s1", "https://example.org", Some("Example"))?;
        cx.emit().file("data:text/plain,hi", "text/plain", Some("hi.txt"))?;
        cx.emit().data("progress", Some("p"), json!(1))?;
        cx.emit().transient("cursor", json!({ "x": 1 }))?;
        cx.emit().metadata(json!({ "model": "m" }))?;
        cx.emit().warning("mind the gap")?;
        cx.interrupt(Text::new("Go on?")).await?;
        cx.emit().data("progress", Some("p"), json!(2))?;
        Ok(Next::message("end"))
    }
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(
        ran.told(),
        [
            "status",
            "source-url",
            "file",
            "data",
            "message-metadata",
            "warning",
            "interrupt-requested",
            "run-waiting",
            "interrupt-answered",
            "data",
            "message",
            "run-finished"
        ]
    );
    assert_eq!((ran.count("status"), ran.count("data")), (1, 3));
}

#[tokio::test]
async fn a_parked_branch_that_goes_on_in_the_same_process_shows_nothing_twice() {
    // The other branch keeps the driver alive while this one is parked and answered.
    let go = Arc::new(tokio::sync::Notify::new());
    let ask = |cx: Cx, _: ()| async move {
        cx.emit().status("asking")?;
        let id = cx.id()?;
        cx.interrupt(Text::new("Go on?")).await?;
        cx.emit().status("answered")?;
        Ok(Next::data(&json!({ "id": id }))?)
    };
    let busy = {
        let go = go.clone();
        move |cx: Cx, _: ()| {
            let go = go.clone();
            async move {
                cx.step("busy", || async {
                    go.notified().await;
                    Ok(())
                })
                .await?;
                Ok(Next::go())
            }
        }
    };
    let workflow = Workflow::new("w")
        .node("ask", ask)
        .node("busy", busy)
        .edge(START, "ask")
        .edge(START, "busy")
        .build()
        .unwrap();
    let world = World::of(workflow);
    let run = world.agent.start(Start::new("")).await.unwrap();
    let question = loop {
        if let Some(question) = world.agent.questions(None, 1).await.unwrap().pop() {
            break question;
        }
        tokio::task::yield_now().await;
    };
    let answer =
        headwater_runtime::Answered::given(question.request.clone(), "yes").token(question.token().unwrap());
    world.agent.answer(answer).await.unwrap();
    while !run.recorded().await.unwrap().iter().any(|event| event.kind().name() == "interrupt-answered") {
        tokio::task::yield_now().await;
    }
    go.notify_one();
    let ran = world.settled(run.id()).await;
    assert_eq!(ran.status(), RunStatus::Finished, "{:?}", ran.outcome.state.run().error);
    assert_eq!(ran.count("status"), 2);
}

#[tokio::test]
async fn an_object_that_grows_is_checked_by_the_reducer_and_by_its_schemas() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let text = Schema::new(json!({ "type": "string" }))?;
        let email = cx
            .structured("email")
            .stream("e")
            .id("app-1")
            .schema("email", "2")
            .value_schema(text.clone())
            .item_schema(text)
            .data_schema(Schema::new(json!({ "type": "object", "required": ["subject"] }))?);
        email.set("subject", "Hi")?;
        match &*input {
            "value" => email.set("subject", 1)?,
            "item" => email.append("bullets", [json!("a"), json!(2)])?,
            "data" => email.finish(&json!({}))?,
            "path" => email.text("subject.deep", "x")?,
            "empty" => email.text("", "x")?,
            "late" => {
                email.finish(&json!({ "subject": "Hi" }))?;
                email.set("subject", "again")?;
            }
            _ => {
                email.text("body", "Dear ")?;
                email.text("body", "Ada")?;
                email.append("bullets", ["one", "two"])?;
                email.finish(&json!({ "subject": "Hi", "body": "Dear Ada" }))?;
            }
        }
        Ok(Next::go())
    }
    let world = World::of(one(node));
    let ran = world.run("fine").await;
    let shown = ran.outcome.structured().get("e").unwrap();
    assert_eq!(shown.data(), Some(&json!({ "subject": "Hi", "body": "Dear Ada" })));
    assert_eq!(
        (shown.id(), shown.schema_id(), shown.schema_version()),
        (Some("app-1"), Some("email"), Some("2"))
    );
    for (input, says) in [
        ("value", "at `subject` does not fit its schema"),
        ("item", "at `bullets[1]` does not fit its schema"),
        ("data", "subject: missing"),
        ("path", "subject"),
        ("empty", "path"),
        ("late", "e"),
    ] {
        let ran = world.run(input).await;
        assert_eq!(ran.code(), "structured.invalid", "{input}");
        assert!(ran.error().contains(says), "{input}: {}", ran.error());
    }
}

#[tokio::test]
async fn a_refused_update_can_be_handled_and_is_refused_again_when_the_node_is_run_again() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let object = cx.structured("").stream("o");
        object.set("a", 1)?;
        let refused = object.text("a", "x").unwrap_err();
        object.set("b", refused.code())?;
        cx.interrupt(Text::new("Go on?")).await?;
        object.set("c", 3)?;
        Ok(Next::go())
    }
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(ran.status(), RunStatus::Finished, "{:?}", ran.outcome.state.run().error);
    let shown = ran.outcome.structured().get("o").unwrap();
    assert_eq!(shown.data(), Some(&json!({ "a": 1, "b": "structured.invalid", "c": 3 })));
    assert_eq!(shown.data_type(), "generic");
    assert_eq!(ran.count("structured"), 3);
}

#[tokio::test]
async fn a_stream_without_a_name_gets_one_that_stays() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let object = cx.structured("report");
        object.set("a", 1)?;
        cx.interrupt(Text::new("Go on?")).await?;
        object.set("b", 2)?;
        cx.structured("other").finish(&json!(1))?;
        Ok(Next::go())
    }
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    let shown: Vec<_> = ran.outcome.structured().iter().map(|one| one.data().cloned().unwrap()).collect();
    assert_eq!(shown, [json!({ "a": 1, "b": 2 }), json!(1)]);
}

#[tokio::test]
async fn time_chance_names_and_steps_are_the_same_when_a_node_is_run_again() {
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
                cx.interrupt(Text::new("Go on?")).await?;
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
async fn a_step_that_failed_fails_again_until_the_node_is_retried() {
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
                cx.interrupt(Text::new("Go on?")).await?;
                Ok(Next::message(failed))
            }
        }
    };
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(ran.text(), "no");
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn context_is_given_to_nodes_and_never_told_to_readers() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct App {
        user_id: String,
        thread: Option<u32>,
    }
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let app: App = cx.runtime_context()?;
        let locale = cx.client_context().get("locale").cloned();
        cx.interrupt(Text::new("Go on?")).await?;
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
