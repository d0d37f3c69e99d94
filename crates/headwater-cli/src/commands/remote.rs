//! What the commands that talk to a running server share.

mod answer;
mod document;
mod list;
mod waiting;
mod watch;

use std::io::Write as _;

use clap::Args;
use headwater_client::Client;
use headwater_protocol::parse_rfc3339;
use serde::Serialize;

pub(super) use answer::AnswerArgs;
pub(super) use document::NewDocument;
pub(super) use list::{ListArgs, gather, show_list};
pub(super) use waiting::{kind_of, summary_of, write_waiting};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    server_args::{ServerArgs, block_on},
    style,
};

/// The server, and the form of the output.
#[derive(Debug, Clone, Args)]
pub(super) struct RemoteArgs {
    /// Print JSON, as the server gives it.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    server: ServerArgs,
}

impl RemoteArgs {
    pub(super) fn client(&self) -> Client {
        self.server.client()
    }

    /// Sends a request and prints its response: as JSON, or with the function.
    pub(super) fn print<T: Serialize>(
        &self,
        request: impl Future<Output = Result<T, CommandFailure>>,
        text: impl FnOnce(&T, &mut dyn std::io::Write) -> Result<(), CommandFailure>,
    ) -> Result<ExitVerdict, CommandFailure> {
        let response = block_on(request)?;
        let mut out = style::stdout(self.json);
        if self.json {
            serde_json::to_writer_pretty(&mut out, &response)?;
            writeln!(out)?;
        } else {
            text(&response, &mut out)?;
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

/// How long ago a time of the server was: `42s`, `3m`, `5h`, `12d`.
pub(super) fn age(time: &str) -> String {
    let Some(time) = parse_rfc3339(time) else { return time.to_owned() };
    let seconds = now().saturating_sub(time) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
