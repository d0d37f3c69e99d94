//! An in-memory index of runs, so that a filter does not read every summary.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use headwater_protocol::{RunId, RunStatus, SessionId};
use headwater_store::ValuePages;

use super::Agent;
use crate::{
    Owners, Result, RunFilter, RunPage, RunPlace, RunSummary,
    keys::{self, OwnerTag, RUNS},
};

/// Number of summaries read per store call.
const PAGE: usize = 1_000;
/// How many summaries are read at once.
const AT_ONCE: usize = 32;
/// The clocks of servers that share a store may differ by so much: a run of another server may be listed behind newer ones.
const CLOCK_SKEW_MS: u64 = 60_000;
/// Age at which the index is rebuilt, to drop runs that are no longer kept.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// What filters look at of all runs of a store, in memory. It is built with the first search, and brought up to date with
/// each: by the list of new runs, and by the summaries of those that had not ended and may match. A run that is found is read
/// from the store, so that the index never decides what a caller sees. The store is never read under the lock of the index.
#[derive(Debug, Default)]
pub struct RunIndex {
    runs: Mutex<RunTable>,
    /// Held by the search that builds it.
    building: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct RunTable {
    runs: BTreeMap<IndexKey, IndexedRun>,
    not_ended: BTreeSet<IndexKey>,
    /// Names of owners and agents, each stored once.
    names: BTreeSet<Arc<str>>,
    built: Option<Instant>,
}

/// The order of lists: newest first.
type IndexKey = (Reverse<u64>, RunId);

#[derive(Debug)]
struct IndexedRun {
    owner: Option<Arc<str>>,
    agent: Arc<str>,
    session: Option<SessionId>,
    status: RunStatus,
    /// The preview of the input in lower case.
    text: Box<str>,
}

/// A search, with the text in lower case.
#[derive(Debug, Clone, Copy)]
struct Search<'a> {
    owners: Owners<'a>,
    filter: &'a RunFilter,
    text: Option<&'a str>,
}

impl IndexedRun {
    fn matches(&self, search: Search<'_>) -> bool {
        search.filter.status.is_none_or(|status| self.status == status) && self.may_match(search)
    }

    /// Whether it matches but for its status, which is all that changes.
    fn may_match(&self, Search { owners, filter, text }: Search<'_>) -> bool {
        owners.includes(self.owner.as_deref())
            && filter.agent.as_ref().is_none_or(|agent| *self.agent == **agent)
            && filter.session.as_ref().is_none_or(|session| self.session.as_ref() == Some(session))
            && text.is_none_or(|text| filter.sees_input(&self.agent) && self.text.contains(text))
    }
}

impl RunIndex {
    /// The runs of an agent's store that match a filter, newest first, after a position.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(
        &self,
        agent: &Agent,
        owners: Owners<'_>,
        filter: &RunFilter,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<RunPage> {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let search = Search { owners, filter, text: text.as_deref() };
        self.refresh(agent, search).await?;
        let mut page = RunPage::default();
        let mut after = after.map(|(created, run)| (Reverse(*created), run.clone()));
        // Removed and changed runs are replaced by further ones.
        while page.runs.len() < limit {
            let wanted = limit - page.runs.len();
            let mut found = self.table().next(search, after.as_ref(), wanted + 1);
            page.next = found.get(wanted).and_then(|_| found.get(wanted - 1)).map(place);
            found.truncate(wanted);
            for (key, loaded) in load(agent, found).await {
                match loaded {
                    Ok(Some(summary)) if owners.includes(summary.owner.as_deref()) => {
                        page.runs.extend(Some(summary).filter(|summary| filter.matches(summary)));
                    }
                    Ok(None) => self.table().remove(&key),
                    Ok(Some(_)) => {}
                    Err(error) if error.code() == "run.unreadable" => {
                        agent.env().skipped.unlisted("run", key.1.as_str(), &error);
                        page.unreadable.push(key.1.clone());
                    }
                    Err(error) => return Err(error),
                }
                after = Some(key);
            }
            if page.next.is_none() {
                break;
            }
        }
        Ok(page)
    }

    fn table(&self) -> MutexGuard<'_, RunTable> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the index, or brings it up to date. While one search builds it anew, the others use the old one.
    async fn refresh(&self, agent: &Agent, search: Search<'_>) -> Result<()> {
        let built = self.table().built;
        let building = match built {
            None => Some(self.building.lock().await),
            Some(built) if built.elapsed() >= MAX_AGE => self.building.try_lock().ok(),
            Some(_) => None,
        };
        if building.is_some() && self.table().built == built {
            let table = RunTable::read(agent).await?;
            *self.table() = table;
            return Ok(());
        }
        drop(building);
        self.read_new(agent).await?;
        self.read_not_ended(agent, search).await
    }

    /// Reads the runs that were begun since.
    async fn read_new(&self, agent: &Agent) -> Result<()> {
        let newest = self.table().runs.first_key_value().map_or(0, |((created, _), _)| created.0);
        let prefix = keys::runs_of(&OwnerTag::all());
        let mut pages = ValuePages::new(&**agent.store(), prefix.as_str());
        let mut all_known = false;
        while !all_known && let Some(page) = pages.next().await? {
            let listed = page.iter().filter_map(|(key, _)| keys::read_listed(&prefix, key));
            let listed: Vec<_> = listed.collect();
            let is_recent = |created: u64| created.saturating_add(CLOCK_SKEW_MS) >= newest;
            all_known = listed.iter().any(|(created, _)| !is_recent(*created));
            let recent = listed.into_iter().filter(|(created, _)| is_recent(*created));
            let new = {
                let table = self.table();
                let keys = recent.map(|(created, run)| (Reverse(created), RunId::from(run)));
                keys.filter(|key| !table.runs.contains_key(key)).collect()
            };
            for (_, loaded) in load(agent, new).await {
                if let Ok(Some(summary)) = loaded {
                    self.table().add(&summary);
                }
            }
        }
        Ok(())
    }

    /// Reads how far the runs are that had not ended and may match.
    async fn read_not_ended(&self, agent: &Agent, search: Search<'_>) -> Result<()> {
        let not_ended = {
            let table = self.table();
            let may_match = |key: &&IndexKey| table.runs.get(*key).is_some_and(|run| run.may_match(search));
            table.not_ended.iter().filter(may_match).cloned().collect()
        };
        for (key, loaded) in load(agent, not_ended).await {
            match loaded {
                Ok(Some(summary)) => self.table().add(&summary),
                Ok(None) => self.table().remove(&key),
                Err(error) if error.code() == "run.unreadable" => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads the summaries of runs, several at once, in their order.
async fn load(agent: &Agent, keys: Vec<IndexKey>) -> Vec<(IndexKey, Result<Option<RunSummary>>)> {
    let loads = keys.into_iter().map(|key| async move {
        let loaded = agent.runs.summaries.load(&key.1).await;
        (key, loaded)
    });
    stream::iter(loads).buffered(AT_ONCE).collect().await
}

fn place(key: &IndexKey) -> RunPlace {
    (key.0.0, key.1.clone())
}

impl RunTable {
    fn next(&self, search: Search<'_>, after: Option<&IndexKey>, limit: usize) -> Vec<IndexKey> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.runs
            .range((start, Bound::Unbounded))
            .take_while(|((created, _), _)| search.filter.since.is_none_or(|since| created.0 >= since))
            .filter(|(_, run)| run.matches(search))
            .take(limit)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// The index of all runs that are kept.
    async fn read(agent: &Agent) -> Result<Self> {
        let mut table = Self { built: Some(Instant::now()), ..Self::default() };
        let mut pages = ValuePages::new(&**agent.store(), RUNS).size(PAGE);
        while let Some(page) = pages.next().await? {
            // One that cannot be read is in no filtered list.
            let summaries = page.iter().filter_map(|(_, value)| crate::codec::decode(&value.bytes).ok());
            summaries.for_each(|summary| table.add(&summary));
        }
        Ok(table)
    }

    fn add(&mut self, summary: &RunSummary) {
        let key = (Reverse(summary.created), summary.run.clone());
        match summary.ended {
            Some(_) => self.not_ended.remove(&key),
            None => self.not_ended.insert(key.clone()),
        };
        if let Some(run) = self.runs.get_mut(&key) {
            run.status = summary.status;
            return;
        }
        let run = IndexedRun {
            owner: summary.owner.as_deref().map(|owner| self.name(owner)),
            agent: self.name(&summary.agent),
            session: summary.session.clone(),
            status: summary.status,
            text: summary.input.to_lowercase().into(),
        };
        self.runs.insert(key, run);
    }

    fn remove(&mut self, key: &IndexKey) {
        self.runs.remove(key);
        self.not_ended.remove(key);
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }
}
