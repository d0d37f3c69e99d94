//! An in-memory index of runs, so that a filter does not read every summary.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
    time::{Duration, Instant},
};

use headwater_protocol::{RunId, RunStatus, SessionId};
use tokio::sync::Mutex;

use super::Agent;
use crate::{
    Owners, Result, RunFilter, RunPage, RunPlace, RunSummary,
    keys::{self, OwnerTag, RUNS},
};

/// Number of summaries read per store call.
const PAGE: usize = 1_000;
/// Assumed clock skew between servers that share a store: another server's run may be listed behind newer
/// ones.
const CLOCK_SKEW_MS: u64 = 60_000;
/// Age at which the index is rebuilt, to drop runs that are no longer kept.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The filtered fields of all runs of a store, in memory. It is built by the first search and updated by each
/// one: from the list of new runs, and from the summaries of those that had not ended. Matching runs are read
/// from the store, so that the index never decides what a caller sees.
#[derive(Debug, Default)]
pub struct RunIndex(Mutex<RunTable>);

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

impl IndexedRun {
    fn matches(&self, owners: Owners<'_>, filter: &RunFilter, text: Option<&str>) -> bool {
        owners.includes(self.owner.as_deref())
            && filter.status.is_none_or(|status| self.status == status)
            && filter.agent.as_ref().is_none_or(|agent| *self.agent == **agent)
            && filter.session.as_ref().is_none_or(|session| self.session.as_ref() == Some(session))
            && text.is_none_or(|text| self.text.contains(text))
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
        let mut indexed = self.0.lock().await;
        indexed.refresh(agent).await?;
        let mut page = RunPage::default();
        let mut after = after.map(|(created, run)| (Reverse(*created), run.clone()));
        // Removed and changed runs are replaced by further ones.
        while page.runs.len() < limit {
            let wanted = limit - page.runs.len();
            let found = indexed.next(owners, filter, after.as_ref(), wanted + 1);
            page.next = found.get(wanted).and_then(|_| found.get(wanted - 1)).map(place);
            for key in found.into_iter().take(wanted) {
                match agent.runs.summaries.load(&key.1).await {
                    Ok(Some(summary)) if owners.includes(summary.owner.as_deref()) => {
                        page.runs.extend(Some(summary).filter(|summary| filter.matches(summary)));
                    }
                    Ok(None) => indexed.remove(&key),
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
}

fn place(key: &IndexKey) -> RunPlace {
    (key.0.0, key.1.clone())
}

impl RunTable {
    fn next(
        &self,
        owners: Owners<'_>,
        filter: &RunFilter,
        after: Option<&IndexKey>,
        limit: usize,
    ) -> Vec<IndexKey> {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.runs
            .range((start, Bound::Unbounded))
            .take_while(|((created, _), _)| filter.since.is_none_or(|since| created.0 >= since))
            .filter(|(_, run)| run.matches(owners, filter, text.as_deref()))
            .take(limit)
            .map(|(key, _)| key.clone())
            .collect()
    }

    async fn refresh(&mut self, agent: &Agent) -> Result<()> {
        match self.built {
            Some(built) if built.elapsed() < MAX_AGE => {
                self.read_new(agent).await?;
                self.read_not_ended(agent).await
            }
            _ => self.build(agent).await,
        }
    }

    async fn build(&mut self, agent: &Agent) -> Result<()> {
        *self = Self::default();
        let mut after = None::<String>;
        loop {
            let page = agent.store().list(RUNS, after.as_deref(), PAGE).await?;
            // Filtered lists omit unreadable runs.
            let summaries = page.iter().filter_map(|(_, value)| crate::codec::decode(&value.bytes).ok());
            summaries.for_each(|summary| self.add(&summary));
            match page.into_iter().next_back() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        self.built = Some(Instant::now());
        Ok(())
    }

    /// Reads the runs started since the last update.
    async fn read_new(&mut self, agent: &Agent) -> Result<()> {
        let newest = self.runs.first_key_value().map_or(0, |((created, _), _)| created.0);
        let prefix = keys::runs_of(&OwnerTag::all());
        let mut after = None::<String>;
        loop {
            let page = agent.store().list(&prefix, after.as_deref(), PAGE).await?;
            for (key, _) in &page {
                let Some((created, run)) = keys::read_listed(&prefix, key) else { continue };
                if created.saturating_add(CLOCK_SKEW_MS) < newest {
                    return Ok(());
                }
                let key = (Reverse(created), RunId::from(run));
                if !self.runs.contains_key(&key)
                    && let Ok(Some(summary)) = agent.runs.summaries.load(&key.1).await
                {
                    self.add(&summary);
                }
            }
            match page.into_iter().next_back() {
                Some((key, _)) => after = Some(key),
                None => return Ok(()),
            }
        }
    }

    async fn read_not_ended(&mut self, agent: &Agent) -> Result<()> {
        for key in self.not_ended.clone() {
            match agent.runs.summaries.load(&key.1).await {
                Ok(Some(summary)) => self.add(&summary),
                Ok(None) => self.remove(&key),
                Err(error) if error.code() == "run.unreadable" => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
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
