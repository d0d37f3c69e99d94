//! `headwater runs stop` and `headwater runs answer`.

use clap::Args;
use serde_json::json;

use crate::{
    commands::remote::{AnswerArgs, RemoteArgs},
    failure::{CommandFailure, ExitVerdict},
};

/// Stop a run. What it wrote so far is kept.
///
/// A run that has ended already is not an error.
#[derive(Debug, Args)]
pub(super) struct StopRun {
    /// The id of the run.
    run: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl StopRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let run = self.remote.client().run(&self.run);
        let request = async {
            let result = run.stop().await?;
            Ok(json!({ "run": run.id(), "stopped": result.stopped }))
        };
        self.remote.print(request, |response, out| {
            let stopped = response.get("stopped").is_some_and(|stopped| *stopped == true);
            writeln!(out, "{} {}", self.run, if stopped { "was stopped" } else { "had ended already" })?;
            Ok(())
        })
    }
}

/// Answer what a run waits for: a question, an approval, or the call of a client tool.
#[derive(Debug, Args)]
pub(super) struct AnswerRun {
    /// The id of the run.
    run: String,

    /// The id of the request, if the run waits for several things.
    #[arg(long, value_name = "ID")]
    request: Option<String>,

    #[command(flatten)]
    answer: AnswerArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl AnswerRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let run = self.remote.client().run(&self.run);
        let request = async {
            run.answer(self.request.as_deref(), &self.answer.answer()).await?;
            Ok(json!({ "run": run.id() }))
        };
        self.remote.print(request, |_, out| Ok(writeln!(out, "{} continues", self.run)?))
    }
}
