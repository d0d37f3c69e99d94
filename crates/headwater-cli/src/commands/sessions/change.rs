//! `headwater sessions rename`, `archive` and `delete`.

use clap::Args;
use serde_json::json;

use super::show::write;
use crate::{
    commands::remote::RemoteArgs,
    failure::{CommandFailure, ExitVerdict},
};

/// Give a session another label.
#[derive(Debug, Args)]
pub(super) struct RenameSession {
    /// The id of the session.
    session: String,

    /// The label.
    label: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl RenameSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        self.remote.print(async { Ok(session.rename(&self.label).await?) }, write)
    }
}

/// Leave a session out of lists. It works as before.
#[derive(Debug, Args)]
pub(super) struct ArchiveSession {
    /// The id of the session.
    session: String,

    /// List it again.
    #[arg(long)]
    undo: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ArchiveSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        self.remote.print(async { Ok(session.archive(!self.undo).await?) }, write)
    }
}

/// Delete a session and all that belongs to it, without asking.
#[derive(Debug, Args)]
pub(super) struct DeleteSession {
    /// The id of the session.
    session: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl DeleteSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        let request = async {
            session.delete().await?;
            Ok(json!({ "session": self.session }))
        };
        self.remote.print(request, |_, out| Ok(writeln!(out, "{} was deleted", self.session)?))
    }
}
