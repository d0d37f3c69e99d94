//! Agents of files as pages meet them: state that is shared, forms that a client wants, and what is shown of calls.

use std::sync::Arc;

use headwater_runtime::{AgentFile, FileOptions};
use headwater_store::Memory;
use headwater_tools::{FunctionTool, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    harness::{TestResponse, World},
    talk::says,
};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

async fn serve(text: &str) -> World {
    let file = AgentFile::parse("agent.yaml", text).unwrap();
    let weather = |input: City| async move { Ok::<_, ToolError>(format!("sunny in {}", input.city)) };
    let options =
        FileOptions::new(Arc::new(Memory::new())).tool(FunctionTool::new("weather", weather)).unwrap();
    World::of_agent(file.build(options).unwrap()).await
}

/// The chunks of a stream.
fn chunks(said: &TestResponse) -> Vec<Value> {
    let lines = said.body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn kinds(said: &TestResponse) -> Vec<String> {
    let kinds = chunks(said).into_iter().map(|chunk| chunk["type"].as_str().unwrap_or_default().to_owned());
    let mut kinds: Vec<_> = kinds.collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn page_of_ag_ui_shares_its_state_with_the_agent() {
    let text = "
name: planner
description: Plans trips.
workflows:
  plan:
    start: choose
    nodes:
      choose: { route: { by: shared.city }, save: { shared: chosen } }
      say: { message: \"{{ shared.city }} it is.\" }
    edges: [{ from: choose, to: say }]
";
    let world = serve(text).await;
    let mut body = says("ag-ui", "t", "u1", "go");
    body["state"] = json!({ "city": "Oslo" });
    let said = world.post("/v1/ag-ui/chat", &body).await;
    let of = |kind: &str| chunks(&said).into_iter().find(|chunk| chunk["type"] == kind).unwrap_or_default();
    assert_eq!(of("STATE_SNAPSHOT")["snapshot"], json!({ "city": "Oslo" }), "{}", said.body);
    let change = json!([{ "op": "add", "path": "/chosen", "value": "Oslo" }]);
    assert_eq!(of("STATE_DELTA")["delta"], change, "{}", said.body);
    assert_eq!(of("TEXT_MESSAGE_CONTENT")["delta"], "Oslo it is.");
    let threads = world.get("/v1/ag-ui/threads?agentId=planner").await.json();
    assert_eq!(
        (&threads["threads"][0]["id"], &threads["nextCursor"]),
        (&json!("t"), &Value::Null),
        "{threads}"
    );
    let info = world.post("/v1/ag-ui", &json!({ "method": "info" })).await;
    assert_eq!(info.json()["agents"]["planner"]["description"], "Plans trips.", "{}", info.body);
}

const FORECAST: &str = "
name: forecast
tools: [weather]
models:
  m:
    script:
      name: m
      rules:
        - when: { after_tool: weather }
          say: [{ text: \"It is {tool.weather}.\" }]
        - when: { schema: true }
          say: [{ json: { city: Oslo } }]
        - say: [{ tool: { name: weather, input: { city: Oslo } } }]
workflows:
  w:
    start: answer
    nodes:
      answer: { reason: { model: m, tools: [weather] } }
";

#[tokio::test]
async fn calls_come_before_the_text_that_rests_on_them_where_nothing_is_asked() {
    let world = serve(FORECAST).await;
    let said = world.post("/v1/tanstack/chat", &says("tanstack", "c", "u1", "how is it?")).await;
    assert_eq!(kinds(&said), ["tool_call", "done", "tool_result", "content", "done"], "{}", said.body);
    // One that may ask shows them at the end.
    let nodes = "    nodes:\n      ask: { interrupt: { ask: Continue? } }\n";
    let asks = serve(
        &FORECAST
            .replace("    nodes:\n", nodes)
            .replace("start: answer", "start: answer\n    edges: [{ from: answer, to: ask }]"),
    )
    .await;
    let said = asks.post("/v1/tanstack/chat", &says("tanstack", "c", "u1", "how is it?")).await;
    assert_eq!(kinds(&said).first().map(String::as_str), Some("content"), "{}", said.body);
}

#[tokio::test]
async fn page_can_have_the_text_so_far_in_each_chunk() {
    let world = serve(FORECAST).await;
    let last = |said: &TestResponse| {
        let mut contents = chunks(said).into_iter().filter(|chunk| chunk["type"] == "content");
        contents.next_back().map(|chunk| chunk["content"].clone()).unwrap_or_default()
    };
    let full = world.post("/v1/tanstack/chat?content=full", &says("tanstack", "a", "u1", "how is it?")).await;
    assert_eq!(last(&full), "It is sunny in Oslo.");
    let plain = world.post("/v1/tanstack/chat", &says("tanstack", "b", "u1", "how is it?")).await;
    assert_ne!(last(&plain), "It is sunny in Oslo.");
    let wrong =
        world.post("/v1/tanstack/chat?content=some", &says("tanstack", "c", "u1", "how is it?")).await;
    assert_eq!((wrong.status, wrong.code().as_deref()), (400, Some("request.invalid")));
}

#[tokio::test]
async fn page_of_kortyx_is_shown_the_calls_whose_node_asks_for_it() {
    let quiet = serve(FORECAST).await.post("/v1/kortyx/chat", &says("kortyx", "k", "u1", "how is it?")).await;
    assert!(!quiet.body.contains("tool-call"), "{}", quiet.body);
    assert!(quiet.body.contains("sunny"), "{}", quiet.body);
    let text = FORECAST.replace("tools: [weather] }", "tools: [weather], tool_options: { emit: true } }");
    let shown = serve(&text).await.post("/v1/kortyx/chat", &says("kortyx", "k", "u1", "how is it?")).await;
    assert!(shown.body.contains("tool-call-result"), "{}", shown.body);
}

#[tokio::test]
async fn client_of_responses_gets_the_form_that_it_wants() {
    let world = serve(FORECAST).await;
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let format = json!({ "type": "json_schema", "name": "city", "schema": schema });
    let body = json!({ "model": "forecast", "input": "where?", "text": { "format": format } });
    let said = world.post("/v1/responses", &body).await;
    let text = said.json()["output"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(json!({ "city": "Oslo" })), "{}", said.body);
}
