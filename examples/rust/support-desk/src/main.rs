//! A support desk: looks issues up at an MCP server, refunds an order when a person approves, and writes the case down. Its
//! runs are in Postgres, so that several of these programs can share them:
//!
//!     DATABASE_URL=postgres://localhost/desk API_KEY=$(openssl rand -hex 16) cargo run -p support-desk
//!
//! Requests send the key as `X-Api-Key`. The MCP server needs Node.

use headwater::{
    models::scripted::When,
    prelude::*,
    server::{Agents, ApiKeys, Options, Server},
    store::{PostgresStore, remote},
    tools::McpClient,
};
use serde_json::json;

/// Refunds an order.
#[derive(Debug, Deserialize, JsonSchema)]
struct Refund {
    /// The number of the order.
    order: u32,
    /// In euros.
    amount: u32,
}

async fn refund(refund: Refund) -> Result<String, ToolError> {
    Ok(format!("{} € for order {}", refund.amount, refund.order))
}

/// What became of a complaint.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Case {
    order: u32,
    summary: String,
    steps: Vec<String>,
}

/// The MCP server of the examples, wherever the program is started.
const ISSUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-issues/server.mjs");

async fn talk(cx: Cx, input: String) -> NodeResult {
    let issues = McpClient::stdio("node", [ISSUES]);
    cx.reason("clerk")
        .system("You help customers. Look for known issues first.")
        .input(input)
        .mcp(issues.tools().include(["search_issues"]))
        .agent_tools(["refund"])
        .await?;
    Ok(Next::go())
}

async fn write_down(cx: Cx, input: String) -> NodeResult {
    let case = cx
        .reason("clerk")
        .input(format!("Write down the case: {input}"))
        .output::<Case>()
        .structured(StructuredOutput::new("case").set("order").text("summary").append("steps"))
        .await?;
    Ok(Next::data(&case.output)?)
}

fn clerk() -> ScriptedModel {
    let case = json!({ "order": 1042, "summary": "The kettle arrived broken.", "steps": ["Paid 49 € back"] });
    let script = Script::new("clerk")
        .rule(Rule::when(When::schema(true)).json(case))
        .rule(Rule::when(When::after_tool("refund")).text("It is paid back."))
        .rule(
            Rule::when(When::after_tool("search_issues"))
                .tool("refund", json!({ "order": 1042, "amount": 49 })),
        )
        .rule(Rule::always().tool("search_issues", json!({ "query": "kettle" })));
    ScriptedModel::new(script)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = std::env::var("DATABASE_URL")?;
    let workflow = Workflow::new("desk")
        .node("talk", talk)
        .node("write-down", write_down)
        .edge(START, "talk")
        .edge("talk", "write-down")
        .edge("write-down", END)
        .build()?;
    let agent = Agent::builder()
        .name("desk")
        .workflow(workflow)
        .model("clerk", clerk())
        // Small refunds need no approval. The approver may change the amount, and the rule is checked again.
        .tool(
            FunctionTool::new("refund", refund).approval_if(|refund: &Refund| refund.amount > 25).editable(),
        )
        .store(PostgresStore::connect(&database, remote::Options::default()).await?)
        .build()?;
    let options = Options::default().authenticator(ApiKeys::new().add("web", &std::env::var("API_KEY")?));
    let server = Server::new(Agents::new().add("desk", agent), options);
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "0.0.0.0:8787".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, server.application(axum::Router::new())).await?;
    Ok(())
}
