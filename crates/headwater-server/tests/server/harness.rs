//! A server on a port that the system picks, with an agent that does what its input says.

use std::{sync::Arc, time::Duration};

use headwater_dialects::{DecodeOutput, Decoder};
use headwater_models::scripted::{Call, Rule, Script, ScriptedModel, When};
use headwater_protocol::{Framing, Role, RunState, ToolSpec};
use headwater_runtime::{Agent, Choice, Cx, END, Next, NodeResult, START, Workflow};
use headwater_server::{Agents, Options, Server};
use headwater_store::{Memory, Store};
use headwater_tools::{Approval, ClientTool, FunctionTool, ToolContext, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

/// A server that listens.
pub(crate) struct World {
    pub(crate) base: String,
    pub(crate) agent: Agent,
    pub(crate) server: Server,
    pub(crate) http: reqwest::Client,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl World {
    /// The usual agent, for all principals.
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        Self::on(Arc::new(Memory::new()), options).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>, options: Options) -> Self {
        let agent = agent(store);
        let server = Server::new(Agents::new().add("demo", agent.clone()), options);
        Self::of(agent, server).await
    }

    /// The usual agent under its own name, for metrics by name.
    pub(crate) async fn named(name: &str, options: Options) -> Self {
        let agent = agent_named(name, Arc::new(Memory::new()));
        let server = Server::new(Agents::new().add(name, agent.clone()), options);
        Self::of(agent, server).await
    }

    /// The agent as a process has it that is started on the same store.
    pub(crate) fn restarted(&self) -> Agent {
        agent_named(self.agent.name(), self.agent.store().clone())
    }

    /// Waits until no run is being driven.
    pub(crate) async fn idle(&self) {
        while self.agent.driving() > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// A server of one agent, as another process would have it.
    pub(crate) async fn of_agent(agent: Agent) -> Self {
        let server = Server::new(Agents::new().add(agent.name(), agent.clone()), Options::default());
        Self::of(agent, server).await
    }

    /// A server with an agent.
    pub(crate) async fn of(agent: Agent, server: Server) -> Self {
        // Whichever test comes first installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = server.application(axum::Router::new());
        let task = tokio::spawn(headwater_server::serve(listener, router, std::future::pending()));
        Self { base, agent, server, http: reqwest::Client::new(), task }
    }

    /// Sends a body, and reads the whole answer.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.post_with(path, body, &[]).await
    }

    pub(crate) async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> TestResponse {
        let request =
            self.http.post(format!("{}{path}", self.base)).header("content-type", "application/json");
        let request = request.headers(named(headers));
        TestResponse::of(request.body(body.to_string()).send().await.unwrap()).await
    }

    pub(crate) async fn patch_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> TestResponse {
        let request =
            self.http.patch(format!("{}{path}", self.base)).header("content-type", "application/json");
        let request = request.headers(named(headers));
        TestResponse::of(request.body(body.to_string()).send().await.unwrap()).await
    }

    pub(crate) async fn delete_with(&self, path: &str, headers: &[(&str, &str)]) -> TestResponse {
        let request = self.http.delete(format!("{}{path}", self.base)).headers(named(headers));
        TestResponse::of(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.get_with(path, &[]).await
    }

    pub(crate) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> TestResponse {
        let request = self.http.get(format!("{}{path}", self.base));
        TestResponse::of(request.headers(named(headers)).send().await.unwrap()).await
    }
}

/// Headers, in the place of those of the same name.
fn named(headers: &[(&str, &str)]) -> reqwest::header::HeaderMap {
    let parse = |(name, value): &(&str, &str)| {
        (reqwest::header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap())
    };
    headers.iter().map(parse).collect()
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl TestResponse {
    pub(crate) async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.text().await.unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code of an error, in the server's form or that of a dialect.
    pub(crate) fn code(&self) -> Option<String> {
        let json = self.json();
        let code = json["code"].as_str().or(json["error"]["code"].as_str());
        code.map(str::to_owned)
    }

    /// The JSON of each frame.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// The first chunk of a type.
    pub(crate) fn chunk(&self, kind: &str) -> Value {
        let found = self.chunks().into_iter().find(|chunk| chunk["type"] == kind);
        found.unwrap_or_else(|| panic!("no `{kind}` in {}", self.body))
    }

    /// The ids of the frames.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
    }

    /// The state that a reader of a dialect makes of it.
    pub(crate) fn state(&self, dialect: &str) -> RunState {
        state(dialect, &self.body)
    }

    pub(crate) fn text(&self, dialect: &str) -> String {
        text(&self.state(dialect))
    }
}

/// The state that a reader of a dialect makes of a stream.
pub(crate) fn state(dialect: &str, body: &str) -> RunState {
    let dialect = headwater_dialects::reader(dialect).unwrap();
    let mut decoder = Decoder::new(dialect, Framing::Sse);
    let mut decoded = DecodeOutput::default();
    decoder.feed(body.as_bytes(), &mut decoded);
    decoder.finish(&mut decoded);
    let mut state = RunState::with_rules(dialect.rules());
    decoded.records.iter().for_each(|record| state.apply(record).unwrap());
    state
}

pub(crate) fn text(state: &RunState) -> String {
    let said = state.messages().iter().filter(|message| message.role == Role::Assistant);
    said.map(headwater_protocol::Message::plain_text).collect()
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn script() -> Script {
    Script::new("script")
        .rule(Rule::when(When::after_tool("weather")).text("It is sunny."))
        .rule(Rule::when(When::tool_gave("delete", "deleted")).text("It is gone."))
        .rule(Rule::when(When::after_tool("delete")).text("It stays."))
        .rule(Rule::when(When::after_tool("locate")).text("So you are in {tool.locate}."))
        .rule(Rule::when(When::input_contains("weather")).tool("weather", json!({ "city": "Paris" })))
        .rule(Rule::when(When::input_contains("delete")).tool("delete", json!({ "city": "Rome" })))
        .rule(Rule::when(When::input_contains("where")).tool("locate", json!({})))
        .rule(Rule::when(When::input_contains("mix")).tools([
            Call::new("weather", json!({ "city": "Paris" })),
            Call::new("delete", json!({ "city": "Rome" })),
            Call::new("locate", json!({})),
        ]))
        .rule(
            Rule::when(When::input_contains("slow"))
                .pace(Duration::from_millis(5))
                .text("slowly but surely ".repeat(20)),
        )
        .rule(
            Rule::when(When::input_contains("long")).text(format!("{} ", "so-long".repeat(15)).repeat(3_000)),
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
    let tools = ["weather", "delete", "locate"];
    cx.reason(cx.model("model")?)
        .id("reply")
        .messages(cx.conversation()?)
        .input(input)
        .agent_tools(tools)
        .client_tools()
        .await?;
    Ok(Next::go())
}

/// The agent.
pub(crate) fn agent(store: Arc<dyn Store>) -> Agent {
    agent_named("demo", store)
}

/// The agent under another name.
pub(crate) fn agent_named(name: &str, store: Arc<dyn Store>) -> Agent {
    let workflow =
        Workflow::new("reply").node("reply", reply).edge(START, "reply").edge("reply", END).build().unwrap();
    let weather = FunctionTool::new("weather", |input: City, _: ToolContext| async move {
        Ok::<_, ToolError>(format!("sunny in {}", input.city))
    });
    let delete = FunctionTool::new("delete", |input: City, _: ToolContext| async move {
        Ok::<_, ToolError>(format!("deleted {}", input.city))
    });
    Agent::builder()
        .name(name)
        .workflow(workflow)
        .model("model", ScriptedModel::new(script()))
        .tool(weather)
        .tool(delete.approval(Approval::Needed))
        .tool(ClientTool::new(ToolSpec::new("locate", json!({ "type": "object" }))))
        .store(store)
        .build()
        .unwrap()
}

/// Whether a route is of a dialect, and not the server's own.
pub(crate) fn is_of_dialect(path: &str) -> bool {
    let own = |route: &headwater_dialects::Route, name: &str| {
        route.base == headwater_dialects::RouteBase::Version
            && route.url(name).replace("{*", "{") == path.replace("{*", "{")
    };
    path.starts_with("/v1/{dialect}/")
        || headwater_dialects::CHAT
            .iter()
            .any(|dialect| dialect.routes().iter().any(|route| own(route, dialect.name())))
}
