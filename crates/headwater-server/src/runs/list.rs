//! Listing runs: one list over the stores of all agents, newest first.

use std::cmp::Ordering;

use axum::{Extension, Json, extract::State};
use headwater_protocol::RunId;
use headwater_runtime::{Owners, RunFilter, RunPlace, RunSummary, open_page, seal_page};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunDocument, StatusDocument};
use crate::{
    ApiError, Principal, Server,
    audit::{self, Subject},
    extract::{QueryParams, page_size},
    limits::ids,
    timestamp::Timestamp,
};

/// Filter for the list of runs.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RunQuery {
    /// Those with this status.
    status: Option<StatusDocument>,
    /// Those of this agent.
    agent: Option<String>,
    /// Those of this session.
    session: Option<String>,
    /// Only runs whose input has this text within the first 200 characters.
    q: Option<String>,
    /// Those that were started at this time or later.
    since: Option<Timestamp>,
    /// The `next` of the page before.
    after: Option<String>,
    /// Maximum number of entries: 50, at most 500.
    limit: Option<usize>,
}

/// A page of runs, newest first. It may hold fewer than asked for, even none, and still have a `next`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RunList {
    runs: Vec<RunDocument>,
    /// The `after` of the next page; null at the end of the list.
    next: Option<String>,
    /// Runs in between that cannot be read.
    unreadable: Vec<String>,
}

/// `GET /v1/runs`.
pub(crate) async fn list(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Json<RunList>, ApiError> {
    ids::check_all([("agent", query.agent.as_deref()), ("session", query.session.as_deref())])?;
    let all = server.agents().served();
    let agent = match &query.agent {
        // Runs of a retired agent are listed too.
        Some(name) => match all.iter().find(|served| served.name == *name) {
            Some(served) => Some(served.agent.name().to_owned()),
            None => return Err(server.agents().unknown(Some(name))),
        },
        None => None,
    };
    let Some(first) = all.first() else {
        return Ok(Json(RunList { runs: Vec::new(), next: None, unreadable: Vec::new() }));
    };
    let (owner, limit) = (owner_of_list(&principal), page_size(query.limit));
    let owners = if principal.is_operator() { Owners::All } else { Owners::One(owner) };
    audit::access(&principal, None, Subject { run: None, session: query.session.as_deref() });
    let filter = RunFilter {
        status: query.status.map(StatusDocument::status),
        agent,
        session: query.session.map(Into::into),
        since: query.since.map(|Timestamp(since)| since),
        text: query.q.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        // A text that is hidden from readers must not be found either, nor show in where a page ends.
        hidden_inputs: server.agents().with_hidden_inputs(),
    };
    let secret = first.agent.secret().await?;
    let after: Option<RunPlace> = match &query.after {
        Some(after) => {
            let (created, run) = open_page(secret, "runs", owner, after)?;
            Some((created, RunId::from(run)))
        }
        None => None,
    };
    let mut seen: Vec<usize> = Vec::new();
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut unreadable: Vec<RunId> = Vec::new();
    let mut unread: Option<RunPlace> = None;
    for served in &all {
        let store = std::sync::Arc::as_ptr(served.agent.store()).cast::<()>().addr();
        if seen.contains(&store) {
            continue;
        }
        seen.push(store);
        let page = match filter.is_selective() {
            true => {
                server.run_index(store).find(&served.agent, owners, &filter, after.as_ref(), limit).await?
            }
            false => served.agent.runs_of(owners, &filter, after.as_ref(), limit).await?,
        };
        runs.extend(page.runs);
        unreadable.extend(page.unreadable);
        // A page ends where the first store has more to read; later runs of the other stores are in the next
        // page.
        unread = match (unread, page.next) {
            (Some(one), Some(other)) => Some(if newest_first(&one, &other).is_le() { one } else { other }),
            (one, other) => one.or(other),
        };
    }
    if let Some(unread) = &unread {
        runs.retain(|run| newest_first(&place(run), unread).is_le());
    }
    runs.sort_by(|one, other| newest_first(&place(one), &place(other)));
    let more = runs.len() > limit;
    runs.truncate(limit);
    let end = if more { runs.last().map(place) } else { unread };
    let next = end.map(|(created, run)| seal_page(secret, "runs", owner, created, run.as_str()));
    let runs = runs.into_iter().map(|run| RunDocument::from(server.agents().visible(run))).collect();
    Ok(Json(RunList { runs, next, unreadable: unreadable.iter().map(ToString::to_string).collect() }))
}

/// The owner of the list; `None` for the list of all owners.
pub(super) fn owner_of_list(principal: &Principal) -> Option<&str> {
    (!principal.is_operator()).then(|| principal.id())
}

fn place(run: &RunSummary) -> RunPlace {
    (run.created, run.run.clone())
}

/// The order of runs in each store.
fn newest_first((created, run): &RunPlace, (other_created, other): &RunPlace) -> Ordering {
    other_created.cmp(created).then_with(|| run.cmp(other))
}
