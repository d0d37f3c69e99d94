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
    /// Show a stream in readable form.
    Inspect(inspect::Inspect),
    /// Convert a stream to another dialect.
    Convert(convert::Convert),
    /// Print the final state of a stream as one JSON object.
    Reduce(reduce::Reduce),
    /// Check a stream against the rules of its dialect.
    Lint(lint::Lint),
    /// Extract fields from a JSON document while it arrives.
    Extract(extract::Extract),
    /// List the dialects and the events they support.
    Dialects(dialects::Dialects),
    /// Call a model and stream its answer.
    Reason(reason::Reason),
    /// List the model providers and whether each one can be used.
    Models(models::Models),
    /// Replay a recorded run with today's code and report the first difference.
    Replay(replay::Replay),
    /// Check agent files and draw their workflows.
    Check(check::Check),
    /// Write a starter agent file.
    New(new::New),
    /// Print the JSON Schema of agent files, for editors.
    Schema(schema::Schema),
    /// Check a store, count its contents, copy it to another store, or delete a run.
    Store(store::StoreCommand),
    /// Print the settings of the server and where each value comes from.
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
