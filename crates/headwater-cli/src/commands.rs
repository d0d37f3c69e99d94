//! The commands, one file each.

mod chat;
mod check;
mod completions;
mod config;
mod convert;
mod dialects;
mod doctor;
mod extract;
mod health;
mod inspect;
mod interrupts;
mod lint;
mod models;
mod new;
mod proxy;
mod reason;
mod reduce;
mod remote;
mod replay;
mod runs;
mod schema;
mod serve;
mod sessions;
mod store;

use clap::Subcommand;

use crate::{
    ProgramAgents,
    failure::{CommandFailure, ExitVerdict},
};

/// What to do. The help of a command is the documentation of its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Serve(serve::ServeCommand),
    Chat(chat::ChatCommand),
    Proxy(Box<proxy::ProxyCommand>),
    Inspect(inspect::InspectCommand),
    Convert(convert::ConvertCommand),
    Reduce(reduce::ReduceCommand),
    Lint(lint::LintCommand),
    Extract(extract::ExtractCommand),
    Dialects(dialects::DialectsCommand),
    Reason(reason::ReasonCommand),
    Models(models::ModelsCommand),
    Replay(replay::ReplayCommand),
    Check(check::CheckCommand),
    New(new::NewCommand),
    Schema(schema::SchemaCommand),
    Runs(runs::RunsCommand),
    Sessions(sessions::SessionsCommand),
    Interrupts(interrupts::InterruptsCommand),
    Store(store::StoreCommand),
    Config(config::ConfigCommand),
    Doctor(doctor::DoctorCommand),
    Completions(completions::CompletionsCommand),
    Health(health::HealthCommand),
}

impl CliCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        match self {
            Self::Serve(command) => command.run(agents),
            Self::Chat(command) => command.run(agents),
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
            Self::Runs(command) => command.run(agents),
            Self::Sessions(command) => command.run(),
            Self::Interrupts(command) => command.run(),
            Self::Store(command) => command.run(),
            Self::Config(command) => command.run(),
            Self::Doctor(command) => command.run(agents),
            Self::Completions(command) => command.run(),
            Self::Health(command) => command.run(),
        }
    }
}
