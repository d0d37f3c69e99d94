//! The agents that are served when none is given: three that look like products, and one for each feature
//! that a page must be able to show.
//!
//! They need no key and no network. The same input always gives the same text, in any dialect and at any
//! speed.

mod chat;
mod email;
mod improvised;
mod research;
mod support;
mod table;
#[cfg(test)]
mod tests;
mod tools;
mod travel;

use std::{sync::Arc, time::Duration};

use headwater_models::Models;
use headwater_runtime::{Agent, AgentFile, AgentOptions, FileOptions, Functions, Result};
use headwater_store::Store;

use improvised::ImprovisedModel;

/// The agent for requests that name no agent: it answers any text and asks nothing.
pub(crate) const DEFAULT: &str = "chat";

/// The demo agents by name, in the order in which pages list them.
///
/// `pace` is the delay of their models before each word.
pub(crate) fn agents(
    store: &Arc<dyn Store>,
    options: &AgentOptions,
    pace: Duration,
) -> Result<Vec<(String, Agent)>> {
    let models = Models::new()
        .add("demo:chat", ImprovisedModel::new("demo:chat", pace, chat::answer))
        .add("demo:writer", ImprovisedModel::new("demo:writer", pace, email::draft))
        .add("demo:clerk", ImprovisedModel::new("demo:clerk", pace, table::fill))
        .add("demo:assistant", ImprovisedModel::new("demo:assistant", pace, tools::answer))
        .add("demo:dying", ImprovisedModel::new("demo:dying", pace, chat::die))
        .add("demo:steady", ImprovisedModel::new("demo:steady", pace, chat::take_over));
    let with = FileOptions::new(store.clone())
        .models(models)
        .tools(tools::tools()?)?
        .functions(Functions::new().add("begin", chat::begin).add("finish", chat::finish))
        .options(options.clone());
    let files = [
        ("demo/chat.yaml", include_str!("demo/chat.yaml")),
        ("demo/email.yaml", include_str!("demo/email.yaml")),
        ("demo/tools.yaml", include_str!("demo/tools.yaml")),
        ("demo/table.yaml", include_str!("demo/table.yaml")),
        ("demo/flaky.yaml", include_str!("demo/flaky.yaml")),
    ];
    let mut agents = vec![
        travel::agent(store, options, pace)?,
        research::agent(store, options, pace)?,
        support::agent(store, options, pace)?,
    ];
    for (name, text) in files {
        agents.push(AgentFile::parse(name, text)?.build(with.clone())?);
    }
    Ok(agents.into_iter().map(|agent| (agent.name().to_owned(), agent)).collect())
}

/// The demo agent with this name, without any delay.
pub(crate) fn agent(name: &str, store: &Arc<dyn Store>) -> Result<Option<Agent>> {
    let agents = agents(store, &AgentOptions::default(), Duration::ZERO)?;
    Ok(agents.into_iter().find(|(known, _)| known == name).map(|(_, agent)| agent))
}
