//! `headwater runs`: the runs of a server.

mod control;
mod export;
mod fork;
mod list;
mod show;
mod tail;

use clap::{Args, Subcommand};

use super::replay::ReplayCommand;
use crate::{
    ProgramAgents,
    failure::{CommandFailure, ExitVerdict},
};

/// List, show, follow, stop, fork, answer and export the runs of a server, or replay one from its store.
#[derive(Debug, Args)]
pub(crate) struct RunsCommand {
    #[command(subcommand)]
    action: RunsAction,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    List(list::ListRuns),
    Show(show::ShowRun),
    Tail(tail::TailRun),
    Stop(control::StopRun),
    Fork(fork::ForkRun),
    Answer(Box<control::AnswerRun>),
    Export(export::ExportRun),
    /// The same as `headwater replay`. It reads the store, which has the results of models and tools; the HTTP API has
    /// not.
    Replay(ReplayCommand),
}

impl RunsCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        match &self.action {
            RunsAction::List(list) => list.run(),
            RunsAction::Show(show) => show.run(),
            RunsAction::Tail(tail) => tail.run(),
            RunsAction::Stop(stop) => stop.run(),
            RunsAction::Fork(fork) => fork.run(),
            RunsAction::Answer(answer) => answer.run(),
            RunsAction::Export(export) => export.run(),
            RunsAction::Replay(replay) => replay.run(agents),
        }
    }
}
