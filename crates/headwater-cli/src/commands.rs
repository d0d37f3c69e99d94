//! The commands, one file each.

mod check;
mod config;
mod convert;
mod dialects;
mod extract;
mod health;
mod inspect;
mod lint;
mod models;
mod new;
mod proxy;
mod reason;
mod reduce;
mod replay;
mod schema;
mod serve;
mod store;

use clap::Subcommand;

use crate::{
    ProgramAgents,
    failure::{CommandFailure, ExitVerdict},
};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve agents to chat pages, in every dialect.
    Serve(serve::ServeCommand),
    /// Put Headwater before a server that you have.
    Proxy(Box<proxy::ProxyCommand>),
    /// Show a stream in readable form.
    Inspect(inspect::InspectCommand),
    /// Convert a stream to another dialect.
    Convert(convert::ConvertCommand),
    /// Print the final state of a stream as one JSON object.
    Reduce(reduce::ReduceCommand),
    /// Check a stream against the rules of its dialect.
    Lint(lint::LintCommand),
    /// Extract fields from a JSON document while it arrives.
    Extract(extract::ExtractCommand),
    /// List the dialects and the events they support.
    Dialects(dialects::DialectsCommand),
    /// Call a model and stream its answer.
    Reason(reason::ReasonCommand),
    /// List the model providers and whether each one can be used.
    Models(models::ModelsCommand),
    /// Replay a recorded run with today's code and report the first difference.
    Replay(replay::ReplayCommand),
    /// Check agent files and draw their workflows.
    Check(check::CheckCommand),
    /// Write a starter agent file.
    New(new::NewCommand),
    /// Print the JSON Schema of agent files, for editors.
    Schema(schema::SchemaCommand),
    /// Check a store, count its contents, copy it to another store, or delete a run.
    Store(store::StoreCommand),
    /// Print the settings of the server and where each value comes from.
    Config(config::ConfigCommand),
    /// Ask a running server whether it can serve.
    Health(health::HealthCommand),
}

impl Command {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        match self {
            Self::Serve(command) => command.run(agents),
            Self::Proxy(command) => command.run(),
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
            Self::Health(command) => command.run(),
        }
    }
}
