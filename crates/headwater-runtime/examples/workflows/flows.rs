//! Workflows of each shape: a loop with a person in it, branches that join, nodes that may fail, and two in a row.

use std::time::Duration;

use headwater_runtime::{
    Choice, Cx, END, Next, NodeError, NodeOptions, NodeResult, OnError, Result, Retry, START,
    StructuredOutput, Workflow,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, Serialize, JsonSchema)]
struct EmailDraft {
    subject: String,
    body: String,
    bullets: Vec<String>,
}

// A node's input: `String` is the raw input, any other type is read from the data merged so far.
async fn compose(cx: Cx, brief: String) -> NodeResult {
    let draft = cx
        .reason("writer")
        .id("compose-email")
        .input(format!("Write a short launch email: {brief}"))
        .output::<EmailDraft>()
        .structured(StructuredOutput::new("email.compose").set("subject").text("body").append("bullets"))
        .await?;
    Ok(Next::data(&draft.output)?)
}

async fn approve(cx: Cx, draft: EmailDraft) -> NodeResult {
    let question = Choice::new(format!("Send \"{}\"?", draft.subject));
    let answer =
        cx.interrupt(question.option("send", "Send").option("revise", "Revise")).id("approve").await?;
    Ok(Next::condition(answer))
}

fn email() -> Result<Workflow> {
    Workflow::new("email")
        .node("compose", compose)
        .node("approve", approve)
        .edge(START, "compose")
        .edge("compose", "approve")
        .edge_when("approve", "revise", "compose")
        .edge_when("approve", "send", END)
        .build()
}

async fn weather(_: Cx, city: String) -> NodeResult {
    Ok(Next::data(&json!({ "weather": format!("sunny in {city}") }))?)
}

async fn news(_: Cx, city: String) -> NodeResult {
    Ok(Next::data(&json!({ "news": format!("nothing new in {city}") }))?)
}

#[derive(Deserialize)]
struct Morning {
    weather: String,
    news: String,
}

async fn greet(_: Cx, morning: Morning) -> NodeResult {
    Ok(Next::message(format!("It is {}, and {}.", morning.weather, morning.news)))
}

fn morning() -> Result<Workflow> {
    Workflow::new("morning")
        .node("weather", weather)
        .node("news", news)
        .node("greet", greet)
        .edge(START, "weather")
        .edge(START, "news")
        .edge("weather", "greet")
        .edge("news", "greet")
        .edge("greet", END)
        .build()
}

async fn fragile(cx: Cx, input: String) -> NodeResult {
    let tries = cx.step("fetch", || async { Err::<u32, _>(NodeError::new("the line is dead")) }).await;
    Ok(Next::message(format!("{input}: {}", tries?)))
}

#[derive(Deserialize)]
struct FailureInput {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    message: String,
    code: String,
}

async fn rescue(_: Cx, failed: FailureInput) -> NodeResult {
    Ok(Next::message(format!("Sorry: {} ({}).", failed.error.message, failed.error.code)))
}

fn careful() -> Result<Workflow> {
    let options = NodeOptions::default()
        .retry(Retry::times(3).delay(Duration::from_millis(20)).backoff(2.0))
        .timeout(Duration::from_secs(30))
        .on_error(OnError::GoTo("rescue".into()));
    Workflow::new("careful")
        .node_with("fragile", options, fragile)
        .node("rescue", rescue)
        .edge(START, "fragile")
        .edge("fragile", END)
        .edge("rescue", END)
        .build()
}

async fn route(_: Cx, input: String) -> NodeResult {
    if input.is_empty() {
        return Ok(Next::message("Where do you live?"));
    }
    Ok(Next::transition("morning").with_payload(json!({ "rawInput": input.trim(), "from": "front-desk" })))
}

fn front_desk() -> Result<Workflow> {
    Workflow::new("front-desk").version("2").node("route", route).edge(START, "route").max_steps(100).build()
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    Ok(vec![email()?, morning()?, careful()?, front_desk()?])
}
