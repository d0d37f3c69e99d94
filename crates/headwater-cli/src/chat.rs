//! A chat in the terminal, over the Rust client.
//!
//! [`app`](self::app) is the chat without I/O: inputs and updates go in, actions and frames come out. [`terminal`] reads keys,
//! carries the actions out and draws the frames; [`plain`] is the chat in a pipe.

mod action;
mod app;
mod editor;
mod form;
mod key;
mod markdown;
mod object;
mod parts;
mod plain;
mod raw;
mod request;
mod run_view;
mod screen;
mod server;
mod signals;
mod slash;
mod styled;
mod terminal;

use std::io::{self, IsTerminal as _};

use headwater_client::Client;

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

pub(crate) use app::ChatTarget;

/// Chats until the person quits or the input ends.
pub(crate) async fn run(client: Client, mut target: ChatTarget) -> Result<ExitVerdict, CommandFailure> {
    let agents = client.agents().await?;
    if let Some(wanted) = &target.agent
        && !agents.agents.iter().any(|agent| agent.name == *wanted)
    {
        let known: Vec<_> = agents.agents.iter().map(|agent| agent.name.as_str()).collect();
        let message = format!("unknown agent `{wanted}`: use one of {}", known.join(", "));
        return Err(CommandFailure::new(message));
    }
    target.agent = target.agent.or_else(|| agents.default.clone());
    if !raw::IS_AVAILABLE || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return plain::run(client, target).await;
    }
    let colour = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let (url, is_kept) = (client.url().to_owned(), target.is_kept);
    let session = terminal::run(client, target, agents, colour).await?;
    if let (Some(session), true) = (session, is_kept) {
        style::note(&format!("headwater chat {url} --session {session} continues this session"));
    }
    Ok(ExitVerdict::Sound)
}
