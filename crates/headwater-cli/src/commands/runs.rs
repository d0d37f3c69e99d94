//! `headwater runs`: the runs of a server.

mod control;
mod export;
mod fork;
mod list;
mod show;
mod tail;

use clap::{Args, Subcommand};

use crate::failure::{CommandFailure, ExitVerdict};

/// List, show, follow, stop, fork, answer and export the runs of a server.
///
/// A run is repeated with today's code by `headwater replay`, which reads the store of the server: the results of
/// models and tools that it needs are not part of the HTTP API.
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
}

impl RunsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        match &self.action {
            RunsAction::List(list) => list.run(),
            RunsAction::Show(show) => show.run(),
            RunsAction::Tail(tail) => tail.run(),
            RunsAction::Stop(stop) => stop.run(),
            RunsAction::Fork(fork) => fork.run(),
            RunsAction::Answer(answer) => answer.run(),
            RunsAction::Export(export) => export.run(),
        }
    }
}
