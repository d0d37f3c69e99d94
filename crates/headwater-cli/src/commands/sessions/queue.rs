//! `headwater sessions queue`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::{
    commands::remote::{RemoteArgs, age},
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, DIM, note, printable, terminal_width},
    text_table::{TableCell, TextTable},
};

/// List and change the messages that wait behind the active run of a session.
#[derive(Debug, Args)]
pub(super) struct QueueCommand {
    #[command(subcommand)]
    action: QueueAction,
}

#[derive(Debug, Subcommand)]
enum QueueAction {
    /// List the queued messages, the next one first.
    List(QueueList),
    Edit(EditMessage),
    /// Remove a queued message: its run never begins.
    Remove(QueuedArgs),
    /// Stop the active run and send a queued message next.
    Send(QueuedArgs),
}

#[derive(Debug, Args)]
struct QueueList {
    /// The id of the session.
    session: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// A queued message.
#[derive(Debug, Args)]
struct QueuedArgs {
    /// The id of the session.
    session: String,

    /// The run that will answer the message.
    run: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Change the text of a queued message.
#[derive(Debug, Args)]
struct EditMessage {
    #[command(flatten)]
    queued: QueuedArgs,

    /// The new text.
    text: String,
}

impl QueueCommand {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        match &self.action {
            QueueAction::List(list) => list.run(),
            QueueAction::Edit(edit) => edit.run(),
            QueueAction::Remove(queued) => queued.remove(),
            QueueAction::Send(queued) => queued.send(),
        }
    }
}

impl QueueList {
    fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        if self.remote.json {
            let queue = async { Ok(json!({ "queue": session.queue().await? })) };
            return self.remote.print(queue, |_: &Value, _| Ok(()));
        }
        self.remote.print(async { Ok(session.queue().await?) }, |queue, out| {
            let mut table = TextTable::new(&["RUN", "AGE", "TEXT"]);
            for queued in queue {
                table.row([
                    TableCell::styled(BOLD, &queued.run),
                    TableCell::styled(DIM, age(&queued.queued_at)),
                    queued.text.clone().into(),
                ]);
            }
            if queue.is_empty() {
                note("no queued messages");
            }
            for line in table.lines(terminal_width()) {
                writeln!(out, "{line}")?;
            }
            Ok(())
        })
    }
}

impl EditMessage {
    fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let QueuedArgs { session, run, remote } = &self.queued;
        let session = remote.client().session(session);
        remote.print(async { Ok(session.edit_queued(run, &self.text).await?) }, |queued, out| {
            Ok(writeln!(out, "{BOLD}{}{BOLD:#}  {}", printable(&queued.run), printable(&queued.text))?)
        })
    }
}

impl QueuedArgs {
    fn remove(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        let request = async {
            session.remove_queued(&self.run).await?;
            Ok(json!({ "run": self.run }))
        };
        self.remote.print(request, |_, out| Ok(writeln!(out, "{} was removed", self.run)?))
    }

    fn send(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        let request = async {
            let run = session.send_queued(&self.run).await?;
            Ok(json!({ "run": run.id() }))
        };
        self.remote.print(request, |_, out| Ok(writeln!(out, "{} is next", self.run)?))
    }
}
