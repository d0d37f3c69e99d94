//! Nodes that fail, time out or panic.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_protocol::{Event, RunStatus, StatusEvent};
use headwater_runtime::{
    Cx, Next, NodeError, NodeOptions, NodeResult, OnError, Retry, START, Text, Workflow,
};
use serde_json::json;

use crate::harness::{World, one};

/// A node that fails this often, and then reports how often it was tried.
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
async fn node_is_retried_by_its_policy_with_growing_pauses() {
    let retry = Retry::times(4).delay(Duration::from_secs(10)).backoff(3.0);
    let (workflow, tried) = failing(3, NodeOptions::default().retry(retry));
    let began = tokio::time::Instant::now();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result(), 4);
    assert_eq!(tried.load(Ordering::SeqCst), 4);
    assert_eq!(ran.warnings(), ["node.retried"; 3]);
    // The paused clock only advances by the time slept.
    assert_eq!(began.elapsed().as_secs(), 10 + 30 + 90);
}

#[tokio::test]
async fn zero_attempts_count_as_one() {
    let mut retry = Retry::times(0);
    assert_eq!(retry.attempts, 1);
    retry.attempts = 0;
    let (workflow, tried) = failing(0, NodeOptions::default().retry(retry));
    assert_eq!(World::of(workflow).run("").await.result(), 1);
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn failed_node_fails_the_run_with_its_message() {
    let (workflow, tried) = failing(9, NodeOptions::default().retry(Retry::times(2)));
    let ran = World::of(workflow).run("").await;
    assert_eq!((ran.code(), ran.error()), ("node.failed", "failure 2"));
    assert_eq!(tried.load(Ordering::SeqCst), 2);
    assert_eq!(ran.count("run-failed"), 1);
}

#[tokio::test]
async fn failed_node_may_be_skipped_or_continue_elsewhere() {
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
        assert_eq!(ran.count("error"), 1, "readers see it");
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
async fn node_is_stopped_at_its_timeout() {
    async fn hang(_: Cx, _: ()) -> NodeResult {
        std::future::pending().await
    }
    let options = NodeOptions::default().timeout(Duration::from_secs(5));
    let workflow = Workflow::new("w").node_with("hang", options, hang).edge(START, "hang").build().unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!((ran.code(), ran.error()), ("node.timeout", "node `hang` took longer than 5s"));
}

#[tokio::test]
async fn retry_repeats_only_the_failed_hook_and_shows_nothing_twice() {
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
            Event::Status(StatusEvent { message, .. }) => message.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["working", "it did not work", "done"]);
}

#[tokio::test]
async fn panic_of_a_node_fails_the_run_only() {
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
