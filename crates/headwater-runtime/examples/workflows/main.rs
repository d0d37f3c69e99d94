//! Workflows of each shape, run with a scripted model: `cargo run -p headwater-runtime --example workflows`.
#![allow(clippy::print_stdout)]

mod flows;

use std::sync::Arc;

use headwater_models::scripted::{Rule, Script, ScriptedModel};
use headwater_protocol::RunStatus;
use headwater_runtime::{Agent, AgentBuilder, Answer, Start};
use headwater_store::Memory;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let draft = json!({ "subject": "Beta", "body": "Beta access is open.", "bullets": ["Faster setup"] });
    let writer = ScriptedModel::new(Script::new("email").rule(Rule::always().json(draft).chunk(6)));
    let builder = Agent::builder().model("writer", writer).store(Arc::new(Memory::new()));
    let agent = flows::workflows()?.into_iter().fold(builder, AgentBuilder::workflow).build()?;

    for name in ["morning", "careful", "front-desk"] {
        let run = agent.start(Start::new("Oslo").workflow(name)).await?;
        println!("{name}: {}", run.outcome().await?.text());
    }

    let mut run = agent.start(Start::new("the beta").workflow("email")).await?;
    for answer in ["revise", "send"] {
        let outcome = run.outcome().await?;
        let Some(question) = outcome.state.interrupts().last() else { break };
        println!("email: {} {answer}", question.question.as_deref().unwrap_or_default());
        let token = question.token.clone().unwrap_or_default();
        run = agent.answer(Answer::given(question.request.clone(), answer).token(token)).await?;
    }
    assert_eq!(run.outcome().await?.status(), RunStatus::Finished);
    Ok(())
}
