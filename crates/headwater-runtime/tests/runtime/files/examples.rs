//! The examples under `examples/agents`, from end to end.

use std::{path::PathBuf, sync::Arc};

use headwater_protocol::{Event, EventKind, RunFinished, RunStatus, StructuredOp, ToolOutput};
use headwater_runtime::{Agent, AgentFile, Answer, FileOptions, Run, RunOutcome, Start};
use headwater_store::Memory;
use headwater_tools::{FunctionTool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// A tool that looks up an order.
#[derive(Deserialize, JsonSchema)]
struct Orders {
    order: String,
}

async fn orders(input: Orders) -> Result<Value, ToolError> {
    Ok(json!({ "order": input.order, "shipped": true }))
}

fn example(name: &str) -> AgentFile {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(name);
    AgentFile::read(path).unwrap()
}

fn support() -> Agent {
    let tool = FunctionTool::new("orders", orders).repeatable();
    example("support.yaml").build(FileOptions::new(Arc::new(Memory::new())).tool(tool).unwrap()).unwrap()
}

/// Answers the last question.
pub(super) async fn answer(agent: &Agent, outcome: &RunOutcome, answer: &str) -> (Run, RunOutcome) {
    assert_eq!(outcome.status(), RunStatus::Waiting, "{:?}", outcome.state);
    let asked = outcome.state.interrupts().last().unwrap();
    let token = asked.token.clone().unwrap();
    let run = agent.answer(Answer::given(asked.request.as_str(), answer).token(token)).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    (run, outcome)
}

fn question(outcome: &RunOutcome) -> &str {
    outcome.state.interrupts().last().unwrap().question.as_deref().unwrap()
}

fn result(events: &[Event]) -> Value {
    events
        .iter()
        .find_map(|event| match event {
            Event::RunFinished(RunFinished { data, .. }) => data.clone(),
            _ => None,
        })
        .unwrap_or_default()
}

#[tokio::test]
async fn email_of_the_file_streams_by_field_and_is_revised() {
    let agent = example("email.yaml").build(FileOptions::new(Arc::new(Memory::new()))).unwrap();
    let run = agent.start(Start::new("the beta")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(question(&outcome), "Send “Beta access is open”?");
    let (_, outcome) = answer(&agent, &outcome, "revise").await;
    assert_eq!(question(&outcome), "What should be different?");
    let (_, outcome) = answer(&agent, &outcome, "make it shorter").await;
    assert_eq!(question(&outcome), "Send “Beta is open”?");
    let (run, outcome) = answer(&agent, &outcome, "send").await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert_eq!(outcome.text(), "Sent: Beta is open");

    let events = run.recorded().await.unwrap();
    let streamed: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Structured(update) => Some((update.op.kind(), update.op.path().unwrap_or_default())),
            _ => None,
        })
        .collect();
    assert_eq!(streamed.first(), Some(&("set", "subject")));
    assert!(streamed.iter().filter(|op| **op == ("text-delta", "body")).count() > 1, "{streamed:?}");
    // Items that come soon after each other are written together.
    let bullets = events.iter().filter_map(|event| match event {
        Event::Structured(update) => match &update.op {
            StructuredOp::Append { path, items } if path == "bullets" => Some(items.len()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(bullets.sum::<usize>(), 3, "{streamed:?}");
    assert_eq!(result(&events), json!({ "subject": "Beta is open", "bullets": ["Faster setup"] }));
}

#[tokio::test]
async fn model_routes_to_the_node_with_the_order_tool() {
    let agent = support();
    let run = agent.start(Start::new("Where is my order?")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert!(outcome.text().starts_with("Your order is on its way: "), "{}", outcome.text());
    let events = run.recorded().await.unwrap();
    let called = events.iter().any(
        |event| matches!(event, Event::ToolOutput(ToolOutput { name: Some(name), .. }) if name == "orders"),
    );
    assert!(called, "{events:?}");
    // The router's own reply is hidden.
    assert!(!outcome.text().contains("route"));
}

#[tokio::test]
async fn only_large_refunds_need_an_approval() {
    let agent = support();
    let outcome = agent.start(Start::new("refund please")).await.unwrap().outcome().await.unwrap();
    assert_eq!(question(&outcome), "Which order shall we refund?");
    let (run, outcome) = answer(&agent, &outcome, "B-1").await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert_eq!(outcome.text(), "We refunded 12 for order B-1.");
    let events = run.recorded().await.unwrap();
    assert!(events.iter().any(|event| event.kind() == EventKind::Transition));
    assert_eq!(result(&events), json!({ "order": "B-1", "total": 12 }));

    let outcome = agent.start(Start::new("refund please")).await.unwrap().outcome().await.unwrap();
    let (_, outcome) = answer(&agent, &outcome, "A-7").await;
    assert_eq!(question(&outcome), "Refund 120.5 for order A-7? (refund please)");
    let (_, outcome) = answer(&agent, &outcome, "no").await;
    assert_eq!(outcome.text(), "We cannot refund order A-7.");
}

#[tokio::test]
async fn other_requests_are_declined() {
    let outcome = support().start(Start::new("hello")).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "I can only help with orders and refunds.");
}

#[test]
fn missing_parts_of_the_program_are_reported_with_their_position() {
    let error = example("support.yaml").build(FileOptions::new(Arc::new(Memory::new()))).unwrap_err();
    assert_eq!(error.code(), "file.missing");
    let message = error.message();
    assert!(
        message.ends_with("support.yaml:9:9: the program has no tool `orders`: it supplied none"),
        "{message}"
    );
}

#[test]
fn schema_of_the_docs_is_current_and_accepts_the_examples() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent.schema.json");
    let schema = AgentFile::json_schema();
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        std::fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let written: Value = serde_json::from_str(&written).unwrap_or_default();
    assert_eq!(written, schema, "write it with `headwater schema > docs/agent.schema.json`");
    let schema = headwater_tools::Schema::new(schema).unwrap();
    for name in ["email.yaml", "support.yaml", "support-models.yaml"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(name);
        let value: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        schema.check(&value).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    }
}
