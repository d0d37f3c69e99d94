//! Tools of an MCP server in model calls: `cargo run -p headwater-runtime --example issues`. It needs Node.
#![allow(clippy::print_stdout)]

mod tracker;

use std::sync::Arc;

use headwater_models::scripted::{Script, ScriptedModel};
use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, AgentBuilder, Answer, OpenQuestion, Start};
use headwater_store::Memory;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new(Script::from_yaml(include_str!("script.yaml"))?);
    let builder = Agent::builder().model("agent", model).store(Arc::new(Memory::new()));
    let agent = tracker::workflows()?.into_iter().fold(builder, AgentBuilder::workflow).build()?;
    for name in ["find", "approved", "discreet", "tools-then-person", "person-then-tools"] {
        println!("\n== {name}");
        let mut run = agent.start(Start::new("Which bug is the oldest?").workflow(name)).await?;
        while run.outcome().await?.status() == RunStatus::Waiting {
            let open = agent.questions(None, 100).await?;
            let Some(question) = open.iter().find(|question| question.run == *run.id()) else { break };
            run = agent.answer(answer(question).token(question.token().unwrap_or_default())).await?;
        }
        for event in run.recorded().await? {
            println!("{}", serde_json::to_string(&event)?);
        }
    }
    Ok(())
}

/// An approval, the first option, or a text.
fn answer(question: &OpenQuestion) -> Answer {
    let request = question.request.clone();
    let Some(interrupt) = question.interrupt() else { return Answer::approved(request) };
    match interrupt.options.first() {
        Some(option) => Answer::given(request, option.id.as_str()),
        None => Answer::given(request, "the open bugs"),
    }
}
