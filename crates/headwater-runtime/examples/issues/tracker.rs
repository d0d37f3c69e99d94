//! An issue tracker in a model's hands: tools of an MCP server, with and without a person's word.

use std::path::Path;

use headwater_runtime::{Choice, Cx, END, Next, NodeResult, Result, START, Text, ToolOptions, Workflow};
use headwater_tools::McpClient;
use serde_json::json;

/// The server, which is started for a model call and ended after it.
fn issues() -> McpClient {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mcp-issues/server.mjs");
    McpClient::stdio("node", [script])
}

/// The model looks issues up, in five steps at most, and answers.
async fn find(cx: Cx, question: String) -> NodeResult {
    let reply = cx
        .reason("agent")
        .id("find")
        .system("Use the tools to look issues up.")
        .input(question)
        .mcp(issues().tools().include(["search_issues", "get_issue"]))
        .tool_options(ToolOptions::default().max_steps(5).approval(false))
        .await?;
    Ok(Next::go().with_result(&json!({ "calls": reply.tool_results.len() }))?)
}

/// A person sees every call, and may change its input.
async fn approved(cx: Cx, question: String) -> NodeResult {
    cx.reason("agent")
        .id("find")
        .input(question)
        .mcp(issues().tools().editable())
        .tool_options(ToolOptions::default().approval(true))
        .await?;
    Ok(Next::go())
}

/// Readers see the answer, and nothing of the calls.
async fn discreet(cx: Cx, question: String) -> NodeResult {
    let options = ToolOptions::default().emit(false);
    cx.reason("agent").id("find").input(question).mcp(issues().tools()).tool_options(options).await?;
    Ok(Next::go())
}

/// Tools first; then a person decides what becomes of what they found.
async fn tools_then_person(cx: Cx, question: String) -> NodeResult {
    let options = ToolOptions::default().max_steps(3);
    let found =
        cx.reason("agent").id("find").input(question).mcp(issues().tools()).tool_options(options).await?;
    let question =
        Choice::new(format!("Send this? {}", found.text)).option("send", "Send").option("drop", "Drop");
    let answer = cx.interrupt(question).id("send").await?;
    Ok(Next::message(if answer == "send" { "Sent." } else { "Dropped." }))
}

/// A person first; then the tools look up what the person wants.
async fn person_then_tools(cx: Cx, _: ()) -> NodeResult {
    let wanted = cx.interrupt(Text::new("Which issues?")).id("which").await?;
    let options = ToolOptions::default().max_steps(3);
    cx.reason("agent").id("find").input(wanted).mcp(issues().tools()).tool_options(options).await?;
    Ok(Next::go())
}

pub(crate) fn workflows() -> Result<Vec<Workflow>> {
    let single = |id: &str| Workflow::new(id).edge(START, "node").edge("node", END);
    Ok(vec![
        single("find").node("node", find).build()?,
        single("approved").node("node", approved).build()?,
        single("discreet").node("node", discreet).build()?,
        single("tools-then-person").node("node", tools_then_person).build()?,
        single("person-then-tools").node("node", person_then_tools).build()?,
    ])
}
