//! An agent of one node, served to every chat page.

use headwater::{
    prelude::*,
    server::{Agents, router},
};

/// Asks a model. Its text is streamed to the reader while it is written.
async fn answer(cx: Cx, input: String) -> NodeResult {
    cx.reason("assistant").system("You are a friendly assistant.").input(input).await?;
    Ok(Next::go())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workflow =
        Workflow::new("chat").node("answer", answer).edge(START, "answer").edge("answer", END).build()?;
    let agent = Agent::builder()
        .workflow(workflow)
        // A script stands for a model and needs no key. For a real one enable the feature `providers`.
        .model(
            "assistant",
            ScriptedModel::new(Script::new("chat").rule(Rule::always().text("You said: {input}"))),
        )
        .store(Embedded::open("data")?)
        .build()?;
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("POST http://{}/v1/ai-sdk/chat, or another dialect", listener.local_addr()?);
    axum::serve(listener, router(Agents::new().add("chat", agent))).await?;
    Ok(())
}
