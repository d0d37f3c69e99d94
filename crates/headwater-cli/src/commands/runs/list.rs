//! `headwater runs list`.

use anstyle::Style;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use headwater_client::{RunFilter, RunPage, RunSummary};
use headwater_protocol::{RunStatus, parse_rfc3339, rfc3339};

use crate::{
    commands::remote::{ListArgs, age, gather, now, show_list},
    config,
    failure::{CommandFailure, ExitVerdict},
    style::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW},
    text_table::{TableCell, TextTable},
};

const STATUSES: [RunStatus; 5] =
    [RunStatus::Running, RunStatus::Waiting, RunStatus::Finished, RunStatus::Failed, RunStatus::Cancelled];

/// List runs, the newest first.
#[derive(Debug, Args)]
pub(super) struct ListRuns {
    /// Those with this status.
    #[arg(long, value_parser = status())]
    status: Option<RunStatus>,

    /// Those of this agent.
    #[arg(long)]
    agent: Option<String>,

    /// Those of this session.
    #[arg(long)]
    session: Option<String>,

    /// Those that were started at this time or later: `2026-01-31T10:00:00Z`, or how long ago, such as `30m` or `7d`.
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<String>,

    /// Those whose input has this text, within the beginning that lists show.
    #[arg(long, short, value_name = "TEXT")]
    query: Option<String>,

    #[command(flatten)]
    list: ListArgs,
}

impl ListRuns {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        show_list(
            &self.list,
            "runs",
            async |client| {
                gather(self.list.limit(), async |after, limit| client.runs(&self.filter(after, limit)).await)
                    .await
            },
            table,
        )
    }

    fn filter(&self, after: Option<String>, limit: usize) -> RunFilter {
        RunFilter {
            status: self.status,
            agent: self.agent.clone(),
            session: self.session.clone(),
            since: self.since.clone(),
            q: self.query.clone(),
            after,
            limit: Some(limit),
        }
    }
}

fn table(page: &RunPage) -> TextTable {
    let mut table =
        TextTable::new(&["RUN", "STATUS", "(AGENT)", "AGE", "(OWNER)", "(TOKENS)", "(COST)", "INPUT"]);
    for run in &page.runs {
        let input = match &run.error {
            Some(error) => TableCell::styled(RED, error),
            None => run.input.clone().unwrap_or_default().into(),
        };
        table.row([
            TableCell::styled(BOLD, &run.id),
            TableCell::styled(style_of(run.status), run.status.as_str()),
            run.agent.clone().into(),
            TableCell::styled(DIM, age(&run.created_at)),
            run.owner.clone().unwrap_or_default().into(),
            tokens(run).map(|tokens| tokens.to_string()).unwrap_or_default().into(),
            run.cost.map(cost).unwrap_or_default().into(),
            input,
        ]);
    }
    table
}

pub(super) fn tokens(run: &RunSummary) -> Option<u64> {
    let counted = [run.usage.input_tokens, run.usage.output_tokens];
    let sum = || counted.iter().flatten().sum::<u64>();
    run.usage.total_tokens.or_else(|| counted.iter().any(Option::is_some).then(sum))
}

pub(super) fn cost(cost: f64) -> String {
    format!("{cost:.4}")
}

pub(super) fn style_of(status: RunStatus) -> Style {
    match status {
        RunStatus::Running => PLAIN,
        RunStatus::Waiting | RunStatus::Cancelled => YELLOW,
        RunStatus::Finished => GREEN,
        RunStatus::Failed => RED,
    }
}

fn status() -> impl TypedValueParser<Value = RunStatus> {
    PossibleValuesParser::new(STATUSES.map(RunStatus::as_str)).map(|name| {
        let named = STATUSES.into_iter().find(|status| status.as_str() == name);
        named.unwrap_or_default()
    })
}

/// A time as the server takes it.
fn since(text: &str) -> Result<String, String> {
    if let Some(time) = parse_rfc3339(text) {
        return Ok(rfc3339(time));
    }
    let ago = config::length(text).map_err(|_| {
        format!("`{text}` is neither a time such as `2026-01-31T10:00:00Z` nor a duration such as `30m`")
    })?;
    let ago = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
    Ok(rfc3339(now().saturating_sub(ago)))
}
