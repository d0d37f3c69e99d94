//! Every hook in a small workflow of its own, run with a scripted model: `cargo run -p headwater-runtime --example hooks`.
//!
//! With a name it runs that one alone: `-- email-draft`.
#![allow(clippy::print_stdout)]

mod answers;
mod objects;
mod people;
mod state;

use std::sync::Arc;

use headwater_models::scripted::{Script, ScriptedModel};
use headwater_protocol::{InterruptKind, RunStatus};
use headwater_runtime::{Agent, Answer, END, NodeFunction, OpenQuestion, Run, START, Start, Workflow};
use headwater_store::Memory;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A workflow of one node.
fn single<T: DeserializeOwned + 'static>(
    id: &str,
    node: impl NodeFunction<T>,
) -> headwater_runtime::Result<Workflow> {
    Workflow::new(id).node(id, node).edge(START, id).edge(id, END).build()
}

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let writer = ScriptedModel::new(Script::from_yaml(include_str!("script.yaml"))?);
    let mut builder = Agent::builder()
        .model("writer", writer.clone())
        .model("second", writer)
        .store(Arc::new(Memory::new()));
    for group in [answers::workflows()?, objects::workflows()?, people::workflows()?, state::workflows()?] {
        builder = group.into_iter().fold(builder, headwater_runtime::AgentBuilder::workflow);
    }
    let agent = builder.build()?;
    let wanted = std::env::args().nth(1);
    let mut names: Vec<_> = agent.workflows().map(|workflow| workflow.id().to_owned()).collect();
    names.sort_unstable();
    for name in names.iter().filter(|name| wanted.as_ref().is_none_or(|wanted| wanted == *name)) {
        println!("\n== {name}");
        let start = Start::new("What is a journal?").workflow(name);
        run(&agent, agent.start(start.runtime_context(json!({ "userId": "ada" }))).await?).await?;
    }
    Ok(())
}

/// Follows a run to its end, and answers what it asks.
async fn run(agent: &Agent, mut run: Run) -> Result<(), Failure> {
    while run.outcome().await?.status() == RunStatus::Waiting {
        let open = agent.questions(None, 100).await?;
        let Some(question) = open.iter().find(|question| question.run == *run.id()) else { break };
        run = agent.answer(answer(question).token(question.token().unwrap_or_default())).await?;
    }
    for event in run.recorded().await? {
        println!("{}", serde_json::to_string(&event)?);
    }
    Ok(())
}

/// The first option, the word "yes", or an approval.
fn answer(question: &OpenQuestion) -> Answer {
    let request = question.request.clone();
    let Some(interrupt) = question.interrupt() else { return Answer::approved(request) };
    let first = interrupt.options.first().map(|option| Value::from(option.id.as_str()));
    match interrupt.kind {
        InterruptKind::Text => Answer::given(request, "yes"),
        _ => Answer::given(request, first.unwrap_or_default()),
    }
}
