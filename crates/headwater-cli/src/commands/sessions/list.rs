//! `headwater sessions list`.

use clap::Args;
use headwater_client::{SessionFilter, SessionPage, SessionSummary};

use crate::{
    commands::remote::{ListArgs, age, gather, show_list},
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, DIM},
    text_table::{TableCell, TextTable},
};

/// List sessions, the newest first.
#[derive(Debug, Args)]
pub(super) struct ListSessions {
    /// Those of this agent. Default: those of the default agent.
    #[arg(long)]
    agent: Option<String>,

    /// Archived sessions too.
    #[arg(long)]
    archived: bool,

    #[command(flatten)]
    list: ListArgs,
}

impl ListSessions {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        show_list(
            &self.list,
            "sessions",
            async |client| {
                let request = async |after, limit| client.sessions(&self.filter(after, limit)).await;
                gather(self.list.limit(), request).await
            },
            table,
        )
    }

    fn filter(&self, after: Option<String>, limit: usize) -> SessionFilter {
        SessionFilter { agent: self.agent.clone(), archived: self.archived, after, limit: Some(limit) }
    }
}

fn table(page: &SessionPage) -> TextTable {
    let mut table = TextTable::new(&["SESSION", "TURNS", "AGE", "(STATE)", "(OWNER)", "LABEL"]);
    for session in &page.sessions {
        table.row([
            TableCell::styled(BOLD, &session.id),
            session.turns.to_string().into(),
            TableCell::styled(DIM, age(&session.updated_at)),
            state(session).into(),
            session.owner.clone().unwrap_or_default().into(),
            session.label.clone().unwrap_or_default().into(),
        ]);
    }
    table
}

/// What a session does, in one word.
pub(super) fn state(session: &SessionSummary) -> &'static str {
    if session.active_run.is_some() {
        "running"
    } else if session.waiting_run.is_some() {
        "waiting"
    } else if session.archived {
        "archived"
    } else {
        ""
    }
}
