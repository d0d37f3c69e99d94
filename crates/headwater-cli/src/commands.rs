//! The commands, one file each.

mod check;
mod config;
mod convert;
mod dialects;
mod extract;
mod inspect;
mod lint;
mod models;
mod new;
mod reason;
mod reduce;
mod replay;
mod schema;
mod serve;
mod store;

use clap::Subcommand;

use crate::{
    Agents,
    failure::{Failure, Verdict},
};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve agents to chat pages, in every dialect.
    Serve(serve::Serve),
    /// Show a stream as a person would read it.
    Inspect(inspect::Inspect),
    /// Say a stream in another dialect.
    Convert(convert::Convert),
    /// Print the state that a stream leaves behind, as one JSON object.
    Reduce(reduce::Reduce),
    /// Check whether a stream keeps the contract of its dialect.
    Lint(lint::Lint),
    /// Show the fields of a JSON document as they become known.
    Extract(extract::Extract),
    /// List the dialects and what they can say.
    Dialects(dialects::Dialects),
    /// Ask a model, and show what it says as it is said.
    Reason(reason::Reason),
    /// List the providers of models, and say what is missing to ask them.
    Models(models::Models),
    /// Run a recorded run again with today's code, and say where the two first differ.
    Replay(replay::Replay),
    /// Check agents' files, and draw their workflows.
    Check(check::Check),
    /// Write a small agent to begin with.
    New(new::New),
    /// Print the JSON Schema of agents' files, for editors.
    Schema(schema::Schema),
    /// Check a store, count what is in it, copy it into another, and remove a run from it.
    Store(store::StoreCommand),
    /// Print the settings of the server, and where each came from.
    Config(config::Config),
}

impl Command {
    pub(crate) fn run(&self, agents: &Agents) -> Result<Verdict, Failure> {
        match self {
            Self::Serve(command) => command.run(agents),
            Self::Inspect(command) => command.run(),
            Self::Convert(command) => command.run(),
            Self::Reduce(command) => command.run(),
            Self::Lint(command) => command.run(),
            Self::Extract(command) => command.run(),
            Self::Dialects(command) => command.run(),
            Self::Reason(command) => command.run(),
            Self::Models(command) => command.run(),
            Self::Replay(command) => command.run(agents),
            Self::Check(command) => command.run(),
            Self::New(command) => command.run(),
            Self::Schema(command) => command.run(),
            Self::Store(command) => command.run(),
            Self::Config(command) => command.run(),
        }
    }
}
