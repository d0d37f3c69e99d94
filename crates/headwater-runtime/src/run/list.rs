//! Listing runs by their summaries.

use headwater_protocol::{RunId, RunStatus, SessionId};

use super::summary::{RunSummary, Summaries};
use crate::{
    Result,
    keys::{self, OwnerTag, RUNS},
};

/// Number of summaries read by one call: a filter without matches must not read every summary of an owner at
/// once.
const MAX_SCANNED: usize = 1_000;

/// Filter for an owner's runs. Unset fields match everything.
///
/// ```
/// use headwater_protocol::RunStatus;
/// use headwater_runtime::RunFilter;
///
/// let failed = RunFilter { status: Some(RunStatus::Failed), ..RunFilter::default() };
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Their status.
    pub status: Option<RunStatus>,
    /// Their agent, by its [name](crate::Agent::name).
    pub agent: Option<String>,
    /// Their session.
    pub session: Option<SessionId>,
    /// The earliest start, in milliseconds since 1970.
    pub since: Option<u64>,
    /// A text in the [beginning of their input](RunSummary::input), ignoring case.
    pub text: Option<String>,
    /// The agents, by name, whose inputs the caller does not see: no text is found in them.
    pub hidden_inputs: Vec<String>,
}

/// The owners whose runs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owners<'a> {
    /// One owner, or runs without an owner.
    One(Option<&'a str>),
    /// All owners, for operators.
    All,
}

impl Owners<'_> {
    pub(crate) fn includes(self, owner: Option<&str>) -> bool {
        match self {
            Self::One(one) => one == owner,
            Self::All => true,
        }
    }

    fn tag(self) -> OwnerTag {
        match self {
            Self::One(owner) => OwnerTag::new(owner),
            Self::All => OwnerTag::all(),
        }
    }
}

impl RunFilter {
    /// Whether it filters by more than time: then a [`RunIndex`](crate::RunIndex) finds the runs.
    #[must_use]
    pub fn is_selective(&self) -> bool {
        self.status.is_some() || self.agent.is_some() || self.session.is_some() || self.text.is_some()
    }

    pub(crate) fn matches(&self, summary: &RunSummary) -> bool {
        let has_text = |text: &String| {
            self.sees_input(&summary.agent) && summary.input.to_lowercase().contains(&text.to_lowercase())
        };
        self.status.is_none_or(|status| summary.status == status)
            && self.agent.as_ref().is_none_or(|agent| summary.agent == *agent)
            && self.session.as_ref().is_none_or(|session| summary.session.as_ref() == Some(session))
            && self.text.as_ref().is_none_or(has_text)
    }

    /// Whether the caller sees the inputs of an agent's runs.
    pub(crate) fn sees_input(&self, agent: &str) -> bool {
        !self.hidden_inputs.iter().any(|hidden| hidden == agent)
    }
}

/// A position in a list of runs: start time and id.
pub type RunPlace = (u64, RunId);

/// A page of runs, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Where to continue; `None` at the end of the list. A page with a `next` may hold fewer runs than
    /// requested, even none, if the filter matched few of the runs that were read.
    pub next: Option<RunPlace>,
    /// Unreadable runs within the page.
    pub unreadable: Vec<RunId>,
}

impl Summaries {
    /// The stored runs, ordered by id, after an id.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn list(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<RunSummary>> {
        let after = after.map(keys::run);
        let values = self.env.store.list(RUNS, after.as_deref(), limit).await?;
        Ok(values.iter().filter_map(|(_, value)| crate::codec::decode(&value.bytes).ok()).collect())
    }

    /// The runs of one owner or all, of all agents that share the store, newest first, after a position. No
    /// journal is read. Unreadable runs are returned separately, and logged once.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn list_of(
        &self,
        owners: Owners<'_>,
        filter: &RunFilter,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<RunPage> {
        let tag = owners.tag();
        let prefix = keys::runs_of(&tag);
        let mut after = after.map(|(created, run)| keys::listed_run(&tag, *created, run));
        let mut page = RunPage::default();
        let mut scanned = 0;
        while page.runs.len() < limit && scanned < MAX_SCANNED {
            let wanted = (limit - page.runs.len()).min(100);
            // One extra entry shows whether this is the end of the list.
            let entries = self.env.store.list(&prefix, after.as_deref(), wanted + 1).await?;
            let more = entries.len() > wanted;
            for (key, _) in entries.into_iter().take(wanted) {
                scanned += 1;
                if let Some((created, run)) = keys::read_listed(&prefix, &key) {
                    let run = RunId::from(run);
                    if filter.since.is_some_and(|since| created < since) {
                        // All further entries are older.
                        page.next = None;
                        return Ok(page);
                    }
                    match self.load(&run).await {
                        Ok(summary) => {
                            let wanted = |summary: &RunSummary| {
                                owners.includes(summary.owner.as_deref()) && filter.matches(summary)
                            };
                            page.runs.extend(summary.filter(wanted));
                        }
                        Err(error) if error.code() == "run.unreadable" => {
                            self.env.skipped.unlisted("run", run.as_str(), &error);
                            page.unreadable.push(run.clone());
                        }
                        Err(error) => return Err(error),
                    }
                    page.next = Some((created, run));
                }
                after = Some(key);
            }
            if !more {
                page.next = None;
                break;
            }
        }
        Ok(page)
    }
}
