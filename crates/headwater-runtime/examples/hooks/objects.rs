//! Objects that pages render while they grow: written by a model, or by node code.

use headwater_runtime::{Cx, Next, NodeResult, Result, StructuredOutput, Workflow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::single;

#[derive(Serialize, Deserialize, JsonSchema)]
struct EmailDraft {
    subject: String,
    body: String,
    bullets: Vec<String>,
}

/// One field grows as text, one as a list, one is set at once; the whole, checked, comes at the end.
async fn email_draft(cx: Cx, _: ()) -> NodeResult {
    let reply = cx
        .reason("writer")
        .id("compose-email")
        .input("Write a short beta launch email for customers.")
        .output::<EmailDraft>()
        .structured(
            StructuredOutput::new("email.compose")
                .schema("email-compose", "1")
                .set("subject")
                .text("body")
                .append("bullets"),
        )
        .await?;
    Ok(Next::data(&reply.output)?)
}

/// Without fields the object is shown once, when it is complete.
async fn email_at_once(cx: Cx, _: ()) -> NodeResult {
    let reply = cx
        .reason("writer")
        .input("Write a short beta launch email for customers.")
        .output::<EmailDraft>()
        .structured(StructuredOutput::new("email.compose"))
        .await?;
    Ok(Next::data(&reply.output)?)
}

/// Node code that drives an email composer itself.
async fn composer(cx: Cx, _: ()) -> NodeResult {
    let email = cx.structured("email.compose").stream("email-compose");
    email.set("subject", "Beta access is open")?;
    email.text("draft.body", "Hi team,\n\n")?;
    email.append("draft.bullets", ["Faster setup", "Live streaming UI"])?;
    email.finish(&json!({
        "subject": "Beta access is open",
        "draft": {
            "body": "Hi team,\n\nBeta access is open.\n",
            "bullets": ["Faster setup", "Live streaming UI"],
        },
    }))?;
    Ok(Next::go())
}

/// What is shown before a model call is shown once, however often the node is run: no guard is needed.
async fn resume_safe(cx: Cx, input: String) -> NodeResult {
    cx.structured("lifecycle").stream("lifecycle").finish(&json!({ "step": "start" }))?;
    let reply = cx.reason("writer").id("resume-safe-step").input(input).await?;
    cx.interrupt(headwater_runtime::Text::new("Is it good?")).id("good").await?;
    Ok(Next::data(&json!({ "text": reply.text }))?)
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    Ok(vec![
        single("email-draft", email_draft)?,
        single("email-at-once", email_at_once)?,
        single("composer", composer)?,
        single("resume-safe", resume_safe)?,
    ])
}
