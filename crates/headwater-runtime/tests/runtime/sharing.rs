//! State shared with the page: its initial value, and the changes sent to the page.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use headwater_protocol::{Event, RunStatus};
use headwater_runtime::{
    Cx, END, Next, NodeError, NodeOptions, NodeResult, Retry, START, Start, Text, Workflow,
};
use serde_json::{Value, json};

use crate::harness::{TestRun, World, one};

/// What the page received: whole states, and the operations of changes.
fn shown(ran: &TestRun) -> Vec<Value> {
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
async fn page_gets_the_whole_state_once_and_then_changes() {
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
async fn shared_state_starts_with_the_state_sent_by_the_page() {
    let world = World::of(one(add));
    for (sent, first) in [
        (json!({ "items": ["tea"] }), json!({ "items": ["tea"] })),
        (json!({}), json!({ "items": [] })),
        (Value::Null, json!({ "items": [] })),
    ] {
        let ran = world.start(Start::new("").client_context(json!({ "state": sent }))).await;
        assert_eq!(shown(&ran)[0], json!({ "whole": first }), "{sent}");
    }
}

#[tokio::test]
async fn page_state_of_another_type_fails_the_node_that_reads_it() {
    async fn count(cx: Cx, _: ()) -> NodeResult {
        let state = cx.shared_state(0_u32)?;
        state.update(|count| count + 1)?;
        Ok(Next::go())
    }
    let world = World::of(one(count));
    let ran = world.start(Start::new("").client_context(json!({ "state": "many" }))).await;
    assert_eq!(ran.status(), RunStatus::Failed);
    assert!(ran.error().contains("the state that is shared with the page cannot be read"), "{}", ran.error());
}

#[tokio::test]
async fn following_nodes_see_the_changed_state() {
    async fn first(cx: Cx, _: ()) -> NodeResult {
        cx.shared_state(json!({}))?.set(json!({ "step": 1 }))?;
        Ok(Next::go())
    }
    async fn second(cx: Cx, _: ()) -> NodeResult {
        let state = cx.shared_state(json!({}))?;
        let before = state.get()?;
        state.set(json!({ "step": 2, "before": before }))?;
        // Setting an equal value is not a change.
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
async fn retry_sends_the_whole_state_again() {
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
