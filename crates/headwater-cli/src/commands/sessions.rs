//! `headwater sessions`: the sessions of a server.

mod change;
mod document;
mod list;
mod messages;
mod queue;
mod show;

use clap::{Args, Subcommand};

use crate::failure::{CommandFailure, ExitVerdict};

/// List, show, change, export and import the sessions of a server.
///
/// Two principals may use the same name for a session: an operator names the principal with --owner.
#[derive(Debug, Args)]
pub(crate) struct SessionsCommand {
    #[command(subcommand)]
    action: SessionsAction,
}

#[derive(Debug, Subcommand)]
enum SessionsAction {
    List(list::ListSessions),
    Show(show::ShowSession),
    Messages(messages::ShowMessages),
    Rename(change::RenameSession),
    Archive(change::ArchiveSession),
    Delete(change::DeleteSession),
    Export(document::ExportSession),
    Import(document::ImportSession),
    Queue(queue::QueueCommand),
}

impl SessionsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        match &self.action {
            SessionsAction::List(list) => list.run(),
            SessionsAction::Show(show) => show.run(),
            SessionsAction::Messages(messages) => messages.run(),
            SessionsAction::Rename(rename) => rename.run(),
            SessionsAction::Archive(archive) => archive.run(),
            SessionsAction::Delete(delete) => delete.run(),
            SessionsAction::Export(export) => export.run(),
            SessionsAction::Import(import) => import.run(),
            SessionsAction::Queue(queue) => queue.run(),
        }
    }
}
