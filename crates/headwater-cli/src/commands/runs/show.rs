//! `headwater runs show`.

use std::io::Write;

use clap::Args;
use headwater_client::{RunDetails, RunSummary};

use super::list::{cost, style_of, tokens};
use crate::{
    commands::remote::{RemoteArgs, age, write_waiting},
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, printable, terminal_width, thousands, wrap},
};

/// Show a run and what it waits for.
#[derive(Debug, Args)]
pub(super) struct ShowRun {
    /// The id of the run.
    run: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ShowRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let run = self.remote.client().run(&self.run);
        self.remote.print(async { Ok(run.show().await?) }, write)
    }
}

fn write(details: &RunDetails, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let run = &details.run;
    let style = style_of(run.status);
    writeln!(out, "{BOLD}{:<9}{BOLD:#}{}", "run", printable(&run.id))?;
    writeln!(out, "{BOLD}{:<9}{BOLD:#}{style}{}{style:#}", "status", run.status.as_str())?;
    for (name, value) in facts(run) {
        for (at, line) in value.iter().flat_map(|value| wrap(value, terminal_width() - 9)).enumerate() {
            let name = if at == 0 { name } else { "" };
            writeln!(out, "{BOLD}{name:<9}{BOLD:#}{line}")?;
        }
    }
    for open in &details.waits_for {
        writeln!(out)?;
        write_waiting(open, out)?;
    }
    Ok(())
}

fn facts(run: &RunSummary) -> [(&'static str, Option<String>); 12] {
    let time = |time: &String| format!("{time}, {} ago", age(time));
    [
        ("error", run.error.clone()),
        ("stuck", run.stuck.clone()),
        ("agent", Some(format!("{}, workflow {} {}", run.agent, run.workflow, run.version))),
        ("model", run.model.clone()),
        ("session", run.session.clone()),
        ("owner", run.owner.clone()),
        ("input", run.input.clone()),
        ("began", Some(time(&run.created_at))),
        ("ended", run.ended_at.as_ref().map(time)),
        ("expires", run.expires_at.clone()),
        ("tokens", tokens(run).map(thousands)),
        ("cost", run.cost.map(cost)),
    ]
}
