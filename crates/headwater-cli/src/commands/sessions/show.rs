//! `headwater sessions show`.

use std::io::Write;

use clap::Args;
use headwater_client::SessionSummary;

use super::list::state;
use crate::{
    commands::remote::{RemoteArgs, age},
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, terminal_width, wrap},
};

/// Show a session.
#[derive(Debug, Args)]
pub(super) struct ShowSession {
    /// The id of the session.
    session: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ShowSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        self.remote.print(async { Ok(session.show().await?) }, write)
    }
}

/// Writes the facts of a session, a line each.
pub(super) fn write(session: &SessionSummary, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let time = |time: &str| format!("{time}, {} ago", age(time));
    let forked = session.forked_from.as_ref();
    let facts = [
        ("session", Some(session.id.clone())),
        ("label", session.label.clone()),
        ("state", Some(state(session).to_owned()).filter(|state| !state.is_empty())),
        ("owner", session.owner.clone()),
        ("turns", Some(session.turns.to_string())),
        ("queued", Some(session.queued.to_string()).filter(|_| session.queued > 0)),
        ("began", Some(time(&session.created_at))),
        ("changed", Some(time(&session.updated_at))),
        ("fork of", forked.map(|origin| format!("{} at {}", origin.session, origin.checkpoint))),
        (
            "run",
            session
                .active_run
                .clone()
                .or_else(|| session.waiting_run.clone())
                .or_else(|| session.last_run.clone()),
        ),
    ];
    for (name, value) in facts {
        for (at, line) in value.iter().flat_map(|value| wrap(value, terminal_width() - 9)).enumerate() {
            let name = if at == 0 { name } else { "" };
            writeln!(out, "{BOLD}{name:<9}{BOLD:#}{line}")?;
        }
    }
    Ok(())
}
