//! What a run remembers, what the route approved for it, and effects that are recorded.

use headwater_runtime::{Cx, END, Next, NodeResult, Result, START, Text, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::single;

/// State of one node, and state that all nodes share.
async fn count(cx: Cx, _: ()) -> NodeResult {
    let idx = cx.node_state("idx", 0)?;
    let todos = cx.workflow_state("todos", Vec::<String>::new())?;
    let visit = idx.get()?;
    todos.update(|mut todos| {
        todos.push(format!("thing {visit}"));
        todos
    })?;
    idx.set(visit + 1)?;
    Ok(Next::condition(if visit < 2 { "again" } else { "done" }))
}

async fn list(cx: Cx, _: ()) -> NodeResult {
    let todos = cx.workflow_state("todos", Vec::<String>::new())?.get()?;
    Ok(Next::message(todos.join(", ")))
}

/// What the page shows as its state.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Trip {
    city: String,
    days: u32,
}

async fn plan(cx: Cx, city: String) -> NodeResult {
    let trip = cx.shared_state(Trip::default())?;
    trip.update(|trip| Trip { city, days: trip.days + 1 })?;
    Ok(Next::go())
}

/// A block that runs once, though the node starts from the top after the wait.
async fn guard(cx: Cx, _: ()) -> NodeResult {
    let started = cx.node_state("started", false)?;
    if !started.get()? {
        cx.structured("lifecycle").stream("lifecycle").finish(&json!({ "step": "start" }))?;
        started.set(true)?;
    }
    let account = cx.interrupt(Text::new("Which account?")).id("resume-safe-step").await?;
    started.set(false)?;
    Ok(Next::message(account))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppContext {
    user_id: String,
    thread_id: Option<String>,
}

/// What the route approved, kept apart from what the client said.
async fn context(cx: Cx, _: ()) -> NodeResult {
    let context: AppContext = cx.runtime_context()?;
    let locale = cx.client_context().get("locale").and_then(|locale| locale.as_str()).unwrap_or("en");
    let greeting = if locale == "no" { "Hei" } else { "Hello" };
    Ok(Next::message(format!("{greeting} {}!", context.user_id))
        .with_data(&json!({ "thread": context.thread_id }))?)
}

async fn charge(cents: u32) -> std::io::Result<String> {
    Ok(format!("receipt for {cents}"))
}

/// An effect of one's own is done once, and time, chance and names are the same when the node is run again.
async fn pay(cx: Cx, _: ()) -> NodeResult {
    cx.emit().status("paying")?;
    let receipt = cx.step("charge", || async { Ok(charge(100).await?) }).await?;
    let (when, order, lucky) = (cx.now()?, cx.id()?, cx.random()? < 0.5);
    cx.emit().data("receipt", Some(&order), json!({ "text": receipt, "when": when, "lucky": lucky }))?;
    Ok(Next::message(receipt))
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    let remember = Workflow::new("remember")
        .node("count", count)
        .node("list", list)
        .edge(START, "count")
        .edge_when("count", "again", "count")
        .edge_when("count", "done", "list")
        .edge("list", END)
        .build()?;
    Ok(vec![
        remember,
        single("plan", plan)?,
        single("guard", guard)?,
        single("context", context)?,
        single("pay", pay)?,
    ])
}
