//! Content that nodes show: once, in order, and refused before readers see it if it is invalid.

use std::sync::Arc;

use headwater_protocol::RunStatus;
use headwater_runtime::{Cx, Next, NodeResult, START, Start, Text, Workflow};
use headwater_tools::Schema;
use serde_json::json;

use crate::harness::{World, one};

#[tokio::test]
async fn emits_are_shown_in_order_and_once() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.emit().status("searching")?;
        cx.emit().source_url("s1", "https://example.org", Some("Example"))?;
        cx.emit().file("data:text/plain,hi", "text/plain", Some("hi.txt"))?;
        cx.emit().data("progress", Some("p"), json!(1))?;
        cx.emit().transient("cursor", json!({ "x": 1 }))?;
        cx.emit().metadata(json!({ "model": "m" }))?;
        cx.emit().warning("mind the gap")?;
        cx.interrupt(Text::new("Continue?")).await?;
        cx.emit().data("progress", Some("p"), json!(2))?;
        Ok(Next::message("end"))
    }
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    assert_eq!(
        ran.emitted(),
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
async fn parked_branch_resumed_in_the_same_process_repeats_nothing() {
    // The other branch keeps the driver alive while this one is parked and answered.
    let go = Arc::new(tokio::sync::Notify::new());
    let ask = |cx: Cx, _: ()| async move {
        cx.emit().status("asking")?;
        let id = cx.id()?;
        cx.interrupt(Text::new("Continue?")).await?;
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
        headwater_runtime::Answer::given(question.request.clone(), "yes").token(question.token().unwrap());
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
async fn growing_object_is_checked_by_reducer_and_schemas() {
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
async fn refused_update_can_be_handled_and_is_refused_again_on_replay() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let object = cx.structured("").stream("o");
        object.set("a", 1)?;
        let refused = object.text("a", "x").unwrap_err();
        object.set("b", refused.code())?;
        cx.interrupt(Text::new("Continue?")).await?;
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
async fn unnamed_stream_gets_a_stable_id() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let object = cx.structured("report");
        object.set("a", 1)?;
        cx.interrupt(Text::new("Continue?")).await?;
        object.set("b", 2)?;
        cx.structured("other").finish(&json!(1))?;
        Ok(Next::go())
    }
    let ran = World::of(one(node)).run("").await.answer("yes").await;
    let shown: Vec<_> = ran.outcome.structured().iter().map(|one| one.data().cloned().unwrap()).collect();
    assert_eq!(shown, [json!({ "a": 1, "b": 2 }), json!(1)]);
}
