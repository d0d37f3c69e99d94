//! A Headwater server on a port that the system picks, with an agent that does what its input says.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use headwater_client::{Client, Options};
use headwater_models::scripted::{Rule, Script, ScriptedModel, When};
use headwater_protocol::ToolSpec;
use headwater_runtime::{Agent, Choice, Cx, END, Next, NodeResult, START, Workflow};
use headwater_server::{Agents, Server};
use headwater_store::Memory;
use headwater_tools::{Approval, ClientTool, FunctionTool, ToolContext, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::json;

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(headwater_server::Options::default()).await
    }

    pub(crate) async fn with(options: headwater_server::Options) -> Self {
        let server = Server::new(Agents::new().add("demo", agent()), options);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = server.application(axum::Router::new());
        let task = tokio::spawn(headwater_server::serve(listener, router, std::future::pending()));
        Self { address, task }
    }

    pub(crate) fn client(&self) -> Client {
        client(self.address)
    }
}

/// A client that reconnects without long pauses.
pub(crate) fn client(address: SocketAddr) -> Client {
    Client::new(format!("http://{address}")).options(quick())
}

pub(crate) fn quick() -> Options {
    Options {
        first_delay: Duration::from_millis(2),
        longest_delay: Duration::from_millis(20),
        give_up_after: Duration::from_secs(30),
        ..Options::default()
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// What the agent answers to an input with `long` in it.
pub(crate) fn long_text() -> String {
    (0..400).map(|word| format!("word{word} ")).collect()
}

fn script() -> Script {
    Script::new("script")
        .rule(Rule::when(When::after_tool("weather")).text("It is sunny."))
        .rule(Rule::when(When::tool_gave("delete", "deleted")).text("It is gone."))
        .rule(Rule::when(When::after_tool("delete")).text("It stays."))
        .rule(Rule::when(When::after_tool("locate")).text("So you are in {tool.locate}."))
        .rule(Rule::when(When::input_contains("weather")).tool("weather", json!({ "city": "Paris" })))
        .rule(Rule::when(When::input_contains("delete")).tool("delete", json!({ "city": "Rome" })))
        .rule(Rule::when(When::input_contains("where")).tool("locate", json!({ "zone": 1 })))
        .rule(Rule::when(When::input_contains("long")).pace(Duration::from_millis(1)).text(long_text()))
        .rule(
            Rule::when(When::input_contains("slow"))
                .pace(Duration::from_millis(20))
                .text("slowly but surely ".repeat(500)),
        )
        .rule(Rule::always().reasoning("Hm, let me think.").text("You said: {input}, in turn {turn}."))
}

async fn reply(cx: Cx, input: String) -> NodeResult {
    if input.contains("choose") {
        let choice = Choice::new("Which one?").option("a", "The first").option("b", "The second");
        let answer = cx.interrupt(choice).id("which").await?;
        return Ok(Next::message(format!("You chose {answer}.")));
    }
    if input.contains("fail") {
        return Err(headwater_runtime::NodeError::new("it went wrong"));
    }
    cx.reason(cx.model("model")?)
        .id("reply")
        .messages(cx.conversation()?)
        .input(input)
        .agent_tools(["weather", "delete", "locate"])
        .await?;
    Ok(Next::go())
}

fn agent() -> Agent {
    let workflow =
        Workflow::new("reply").node("reply", reply).edge(START, "reply").edge("reply", END).build().unwrap();
    let weather = FunctionTool::new("weather", |input: City, _: ToolContext| async move {
        Ok::<_, ToolError>(format!("sunny in {}", input.city))
    });
    let delete = FunctionTool::new("delete", |input: City, _: ToolContext| async move {
        Ok::<_, ToolError>(format!("deleted {}", input.city))
    });
    Agent::builder()
        .name("demo")
        .workflow(workflow)
        .model("model", ScriptedModel::new(script()))
        .tool(weather)
        .tool(delete.approval(Approval::Needed))
        .tool(ClientTool::new(ToolSpec::new("locate", json!({ "type": "object" }))))
        .store(Arc::new(Memory::new()))
        .build()
        .unwrap()
}
