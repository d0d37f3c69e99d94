//! State that is shared with the page: what it begins as, and what the page is shown of its changes.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use headwater_protocol::{Event, RunStatus};
use headwater_runtime::{
    Cx, END, Next, NodeError, NodeOptions, NodeResult, Retry, START, Start, Text, Workflow,
};
use serde_json::{Value, json};

use crate::harness::{Ran, World, one};

/// What the page was shown: whole states, and the operations of changes.
fn shown(ran: &Ran) -> Vec<Value> {
    let shown = ran.events.iter().filter_map(|event| match event {
        Event::StateSnapshot { state } => Some(json!({ "whole": state })),
        Event::StateDelta { patch } => Some(json!(patch)),
        _ => None,
    });
    shown.collect()
}

async fn add(cx: Cx, _: ()) -> NodeResult {
    let state = cx.shared_state(json!({ "items": [] }))?;
    state.update(|mut state| {
        if let Some(items) = state["items"].as_array_mut() {
            items.push(json!("milk"));
        }
        state
    })?;
    cx.interrupt(Text::new("More?")).await?;
    let mut now = state.get()?;
    now["done"] = json!(true);
    state.set(now)?;
    Ok(Next::go())
}

#[tokio::test]
async fn a_page_is_shown_the_whole_once_and_then_what_changes() {
    let ran = World::of(one(add)).run("").await.answer("no").await;
    assert_eq!(
        shown(&ran),
        [
            json!({ "whole": { "items": [] } }),
            json!([{ "op": "add", "path": "/items/0", "value": "milk" }]),
            json!([{ "op": "add", "path": "/done", "value": true }]),
        ]
    );
    assert_eq!(ran.outcome.state.shared_state(), Some(&json!({ "items": ["milk"], "done": true })));
}

#[tokio::test]
async fn it_begins_as_what_the_page_sent_unless_that_is_nothing() {
    let world = World::of(one(add));
    for (sent, first) in [
        (json!({ "items": ["tea"] }), json!({ "items": ["tea"] })),
        (json!({}), json!({ "items": [] })),
        (Value::Null, json!({ "items": [] })),
    ] {
        let ran = world.start(Start::new("").client_context(&json!({ "state": sent }))).await;
        assert_eq!(shown(&ran)[0], json!({ "whole": first }), "{sent}");
    }
}

#[tokio::test]
async fn what_the_page_sent_in_another_shape_fails_the_node_that_wants_it() {
    async fn count(cx: Cx, _: ()) -> NodeResult {
        let state = cx.shared_state(0_u32)?;
        state.update(|count| count + 1)?;
        Ok(Next::go())
    }
    let world = World::of(one(count));
    let ran = world.start(Start::new("").client_context(&json!({ "state": "many" }))).await;
    assert_eq!(ran.status(), RunStatus::Failed);
    assert!(ran.error().contains("the state that is shared with the page cannot be read"), "{}", ran.error());
}

#[tokio::test]
async fn nodes_that_follow_go_on_from_what_the_ones_before_left() {
    async fn first(cx: Cx, _: ()) -> NodeResult {
        cx.shared_state(json!({}))?.set(json!({ "step": 1 }))?;
        Ok(Next::go())
    }
    async fn second(cx: Cx, _: ()) -> NodeResult {
        let state = cx.shared_state(json!({}))?;
        let before = state.get()?;
        state.set(json!({ "step": 2, "before": before }))?;
        // The same again is no change.
        state.set(json!({ "step": 2, "before": before }))?;
        Ok(Next::go())
    }
    let workflow = Workflow::new("w")
        .node("first", first)
        .node("second", second)
        .edge(START, "first")
        .edge("first", "second")
        .edge("second", END);
    let ran = World::of(workflow.build().unwrap()).run("").await;
    assert_eq!(shown(&ran).len(), 3);
    assert_eq!(ran.outcome.state.shared_state(), Some(&json!({ "step": 2, "before": { "step": 1 } })));
}

#[tokio::test(start_paused = true)]
async fn a_second_try_shows_the_whole_as_it_does_not_know_what_the_first_has_shown() {
    let tried = Arc::new(AtomicU32::new(0));
    let flaky = move |cx: Cx, _: ()| {
        let nth = tried.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            cx.shared_state(json!({}))?.set(json!({ format!("try {nth}"): true }))?;
            if nth == 1 { Err(NodeError::new("once more")) } else { Ok(Next::go()) }
        }
    };
    let options = NodeOptions::default().retry(Retry::times(2));
    let workflow = Workflow::new("w").node_with("flaky", options, flaky).edge(START, "flaky").build();
    let ran = World::of(workflow.unwrap()).run("").await;
    assert_eq!(ran.status(), RunStatus::Finished);
    assert_eq!(ran.outcome.state.shared_state(), Some(&json!({ "try 2": true })));
}
