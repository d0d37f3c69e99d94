//! `headwater interrupts`: what the runs of a server wait for.

use clap::{Args, Subcommand};
use headwater_client::InterruptPage;
use serde_json::json;

use super::remote::{AnswerArgs, ListArgs, RemoteArgs, age, gather, kind_of, show_list, summary_of};
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, DIM, YELLOW},
    text_table::{TableCell, TextTable},
};

/// List and answer the questions, approvals and calls of client tools that runs wait for.
#[derive(Debug, Args)]
pub(crate) struct InterruptsCommand {
    #[command(subcommand)]
    action: InterruptsAction,
}

#[derive(Debug, Subcommand)]
enum InterruptsAction {
    /// List what waits for an answer, in all runs.
    List(ListArgs),
    Answer(Box<AnswerInterrupt>),
}

/// Answer a request by its id.
#[derive(Debug, Args)]
struct AnswerInterrupt {
    /// The id of the request.
    request: String,

    #[command(flatten)]
    answer: AnswerArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl InterruptsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        match &self.action {
            InterruptsAction::List(list) => show_list(
                list,
                "open requests",
                async |client| {
                    // The server decides about the size of its pages.
                    let mut page =
                        gather(list.limit(), async |after, _| client.interrupts(after.as_deref()).await)
                            .await?;
                    page.interrupts.truncate(list.limit());
                    Ok(page)
                },
                table,
            ),
            InterruptsAction::Answer(answer) => answer.run(),
        }
    }
}

impl AnswerInterrupt {
    fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let client = self.remote.client();
        let request = async {
            let run = client.answer(&self.request, &self.answer.answer()).await?;
            Ok(json!({ "run": run.id() }))
        };
        self.remote.print(request, |response, out| {
            let run = response.get("run").and_then(|run| run.as_str()).unwrap_or_default();
            Ok(writeln!(out, "{} continues", crate::style::printable(run))?)
        })
    }
}

fn table(page: &InterruptPage) -> TextTable {
    let mut table = TextTable::new(&["REQUEST", "KIND", "AGE", "(RUN)", "(OWNER)", "WHAT"]);
    for open in &page.interrupts {
        table.row([
            TableCell::styled(BOLD, &open.request),
            TableCell::styled(YELLOW, kind_of(open)),
            TableCell::styled(DIM, age(&open.asked_at)),
            open.run.clone().into(),
            open.owner.clone().unwrap_or_default().into(),
            summary_of(open).into(),
        ]);
    }
    table
}
