//! Answers of models: shown as they grow, at the end or not at all; what a call gives, and how it is asked.

use std::time::Duration;

use headwater_models::{ReasoningEffort, ResponseFormat};
use headwater_runtime::{Cx, Next, NodeResult, Result, Workflow};
use serde_json::{Map, json};

use crate::single;

/// A live answer: readers see it grow, and later nodes find it in the data.
async fn live(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("writer").id("answer").input(input).await?;
    Ok(Next::data(&json!({ "answer": reply.text }))?)
}

/// An answer that is shown when it is complete, as a message of the node.
async fn final_only(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("writer").id("answer").input(input).stream(false).emit(false).await?;
    Ok(Next::message(reply.text))
}

/// A thought that no reader sees.
async fn internal(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("writer").id("plan").input(input).emit(false).await?;
    Ok(Next::data(&json!({ "plan": reply.text }))?)
}

/// A live answer, and a note of the node's own after it.
async fn note(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("writer").id("answer").input(input).await?;
    Ok(Next::message(format!("({} characters)", reply.text.len())))
}

/// What a call gives beside its text.
async fn returns(cx: Cx, _: ()) -> NodeResult {
    let reply = cx.reason("writer").input("Write a short beta launch email for customers.").await?;
    Ok(Next::go().with_result(&json!({
        "text": reply.text,
        "usage": reply.usage,
        "finishReason": reply.finish_reason,
        "providerMetadata": reply.provider_metadata,
        "warnings": reply.warnings.len(),
        "toolResults": reply.tool_results.len(),
        "interruptResponse": reply.interrupt_response,
        "usageOfTheRun": cx.usage(),
    }))?)
}

/// How a model can be asked. A stop of the run cancels the call; so does the timeout.
async fn options(cx: Cx, _: ()) -> NodeResult {
    let reply = cx
        .reason("writer")
        .system("You write for people in a hurry.")
        .input("Summarize this changelog.")
        .temperature(0.2)
        .max_output_tokens(600)
        .stop_sequences(["</final>"])
        .timeout(Duration::from_secs(60))
        .reasoning_effort(ReasoningEffort::Medium)
        .reasoning_budget(256)
        .response_format(ResponseFormat::Json { schema: None, name: None })
        .provider_options(Map::new())
        .fallback("second")
        .await?;
    Ok(Next::data(&json!({ "summary": reply.text }))?)
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    Ok(vec![
        single("live", live)?,
        single("final-only", final_only)?,
        single("internal", internal)?,
        single("note", note)?,
        single("returns", returns)?,
        single("options", options)?,
    ])
}
