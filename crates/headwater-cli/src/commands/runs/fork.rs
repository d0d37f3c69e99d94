//! `headwater runs fork`.

use clap::Args;
use headwater_client::{Client, SessionHandle, SessionSummary};

use crate::{
    commands::remote::RemoteArgs,
    failure::{CommandFailure, ExitVerdict},
    server_args::{CONFLICT, OWNER},
    style::printable,
};

/// Fork the session of a run: the new session continues from the end of the run's turn.
#[derive(Debug, Args)]
pub(super) struct ForkRun {
    /// The id of the run.
    run: String,

    /// The id of the new session. Default: the server picks one.
    #[arg(long = "as", value_name = "SESSION")]
    session: Option<String>,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ForkRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        self.remote.print(self.fork(self.remote.client()), |session, out| {
            let turns = crate::style::count(session.turns, "turn");
            Ok(writeln!(out, "{}  {turns}", printable(&session.id))?)
        })
    }

    async fn fork(&self, client: Client) -> Result<SessionSummary, CommandFailure> {
        let run = client.run(&self.run).show().await?.run;
        let Some(session) = run.session else {
            let message = format!("run {} belongs to no session: it cannot be forked", run.id);
            return Err(CommandFailure::with_exit_code(message, CONFLICT));
        };
        let own = client.session(&session);
        if let Some(checkpoint) = self.checkpoint(&own).await? {
            return Ok(own.fork_as(&checkpoint, self.session.as_deref()).await?);
        }
        // Another principal's session may have the same name as one of the operator's own: only its owner tells them apart.
        if let Some(owner) = run.owner {
            let session = client.header(OWNER, owner).session(session);
            if let Some(checkpoint) = self.checkpoint(&session).await? {
                return Ok(session.fork_as(&checkpoint, self.session.as_deref()).await?);
            }
        }
        let message = format!("run {} has no checkpoint: it has one when it has ended or waits", run.id);
        Err(CommandFailure::with_exit_code(message, CONFLICT))
    }

    /// The checkpoint of the run's turn.
    async fn checkpoint(&self, session: &SessionHandle) -> Result<Option<String>, CommandFailure> {
        let mut before = None;
        loop {
            let page = match session.checkpoints(before).await {
                Err(error) if matches!(error.code(), "session.unknown" | "operator.needed") => {
                    return Ok(None);
                }
                page => page?,
            };
            if let Some(checkpoint) = page.checkpoints.iter().find(|checkpoint| checkpoint.run == self.run) {
                return Ok(Some(checkpoint.id.clone()));
            }
            match page.before {
                Some(_) if page.before == before => return Ok(None),
                Some(next) => before = Some(next),
                None => return Ok(None),
            }
        }
    }
}
