//! Asking people, with and without a model, before and after tools.

use headwater_runtime::{
    Ask, Choice, Cx, MultiChoice, Next, NodeResult, Result, Text, ToolOptions, Workflow,
};
use headwater_tools::{FunctionTool, Schema, ToolError, Tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::single;

/// Looks up an account.
#[derive(Deserialize, JsonSchema)]
struct Account {
    /// Its number.
    id: String,
}

async fn account(input: Account) -> Result<String, ToolError> {
    Ok(format!("account {} with an open bill", input.id))
}

fn tools() -> headwater_tools::Result<Tools> {
    Tools::new().with(FunctionTool::new("account", account).title("Account").repeatable())
}

/// One of several: the answer is the id of the option.
async fn pick_one(cx: Cx, _: ()) -> NodeResult {
    let selected =
        cx.interrupt(Choice::new("Pick one").option("a", "Alpha").option("b", "Beta")).id("pick-one").await?;
    Ok(Next::condition(selected.clone()).with_result(&selected)?)
}

/// Any number of several, and the person need not answer.
async fn pick_some(cx: Cx, _: ()) -> NodeResult {
    let question = MultiChoice::new("Pick some").option("a", "Alpha").option("b", "Beta");
    match cx.interrupt(question).id("pick-some").declinable().await? {
        Some(selected) => Ok(Next::go().with_result(&selected)?),
        None => Ok(Next::message("As you like.")),
    }
}

/// Tools in one call, and the question in a second one that sees what they gave.
async fn tools_then_question(cx: Cx, _: ()) -> NodeResult {
    let lookup = cx
        .reason("writer")
        .id("lookup")
        .input("Look up this account and decide whether a human should review it.")
        .tools(tools()?)
        .tool_options(ToolOptions::default().max_steps(3))
        .await?;
    let results: Vec<_> = lookup.tool_results.iter().map(|made| format!("{:?}", made.result)).collect();
    let review = cx
        .reason("writer")
        .id("review")
        .input(format!(
            "Tool results:\n{}\nAsk for human input only if review is needed.",
            results.join("\n")
        ))
        .interrupt(
            Ask::optional()
                .request(Schema::new(json!({
                    "type": "object",
                    "properties": { "kind": { "const": "text" }, "question": { "type": "string" } },
                    "required": ["kind", "question"],
                }))?)
                .response(Schema::new(json!({ "type": "string" }))?),
        )
        .await?;
    Ok(Next::message(review.text).with_result(&review.interrupt_response)?)
}

/// The same in one call: the tools run first, and what they gave decides about the question.
async fn tools_and_question(cx: Cx, _: ()) -> NodeResult {
    let review = cx
        .reason("writer")
        .id("review")
        .input("Review this account. Ask a person if something looks odd.")
        .tools(tools()?)
        .interrupt(Ask::optional())
        .await?;
    Ok(Next::message(review.text).with_result(&review.interrupt_response)?)
}

/// A question first, whose answer the tools are called with.
async fn question_then_tools(cx: Cx, _: ()) -> NodeResult {
    let account = cx.interrupt(Text::new("Which account ID should I look up?")).id("account").await?;
    let reply = cx
        .reason("writer")
        .id("summary")
        .input(format!("Use account ID {account} and summarize the account status."))
        .tools(tools()?)
        .tool_options(ToolOptions::default().max_steps(3))
        .await?;
    Ok(Next::data(&json!({ "status": reply.text }))?)
}

/// A person sees the exact input of each call, and allows or forbids it.
async fn approved_tools(cx: Cx, _: ()) -> NodeResult {
    let reply = cx
        .reason("writer")
        .input("Look up the account of this customer.")
        .tools(tools()?)
        .tool_options(ToolOptions::default().max_steps(5).approval(true).emit(true))
        .await?;
    Ok(Next::data(&json!({ "answer": reply.text }))?)
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    Ok(vec![
        single("pick-one", pick_one)?,
        single("pick-some", pick_some)?,
        single("tools-then-question", tools_then_question)?,
        single("tools-and-question", tools_and_question)?,
        single("question-then-tools", question_then_tools)?,
        single("approved-tools", approved_tools)?,
    ])
}
