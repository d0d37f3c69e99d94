//! The summary of a run: a small value beside its journal, for listing runs without reading journals.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_protocol::{RunId, RunStatus, SessionId, Usage};
use headwater_store::{Expect, ValuePages, WriteOp};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    environment::Environment,
    error::ErrorKind,
    keys::{self, OwnerTag},
    node::ActiveRun,
};

/// Number of active runs counted per store access.
const PAGE: usize = 1_000;
/// Characters of the input in a summary.
const PREVIEW: usize = 200;

/// The summary of a run, written whenever the status changes. The journal is authoritative: a process that
/// died may have left an outdated summary, until the run is recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunSummary {
    /// Its id, the argument of `Agent::run`.
    pub run: RunId,
    /// The agent that executes it.
    pub agent: String,
    /// The workflow that it started with.
    pub workflow: String,
    /// The version of the workflow.
    pub version: String,
    /// Its status at the time of writing.
    pub status: RunStatus,
    /// The code of the error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The model that answers, if known before a node calls one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens that its models used.
    #[serde(default)]
    pub usage: Usage,
    /// Cost of its models by the [prices](crate::AgentBuilder::price) of the agent, in billionths of the
    /// currency; `None` if a model without a price was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
    /// The beginning of the input, in one line of at most 200 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// The principal that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The session that it is a turn of, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it was started, in milliseconds since 1970.
    pub created: u64,
    /// When this was written.
    pub updated: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// The newest snapshot in its journal; 0 without one.
    #[serde(default)]
    pub snapshot: u64,
    /// When its wait expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why it cannot continue, if it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Since when it cannot continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_since: Option<u64>,
    /// The epoch of the lease under which this was written. A driver that lost its lease never replaces the
    /// summary of a newer one.
    #[serde(default)]
    pub epoch: u64,
}

/// A summary, and its version in the store.
#[derive(Debug, Clone)]
pub(crate) struct StoredSummary {
    pub(crate) summary: RunSummary,
    pub(crate) version: u64,
}

/// The summaries of runs.
#[derive(Debug, Clone)]
pub(crate) struct Summaries {
    pub(super) env: Arc<Environment>,
}

impl Summaries {
    pub(crate) fn new(env: Arc<Environment>) -> Self {
        Self { env }
    }

    /// Writes the summary of a driven run, and lists it if its driver has not done so.
    pub(crate) async fn record_running(&self, shared: &ActiveRun) -> Result<()> {
        let summary = self.summarise(shared, RunStatus::Running);
        if !shared.summary.list() {
            return self.put_summary(shared, &summary).await;
        }
        let ([own, all], active) = (listed_keys(&summary), active_run(&summary));
        let put = self.put_summary(shared, &summary);
        let list = self.list_run(&own, None);
        let list_for_all = self.list_run(&all, None);
        let count = async {
            let keep = Some(self.env.options.keep);
            Ok(self.env.store.put(&active, self.env.agent.clone().into(), Expect::Any, keep).await?)
        };
        futures_util::try_join!(put, list, list_for_all, count).map(drop)
    }

    /// Writes the summary of a run that waits.
    pub(crate) async fn record_wait(&self, shared: &ActiveRun, until: u64) -> Result<()> {
        let summary = RunSummary { until: Some(until), ..self.summarise(shared, RunStatus::Waiting) };
        let notice = self.put_notice(shared, &summary);
        futures_util::try_join!(self.put_summary(shared, &summary), self.uncount(&summary), notice).map(drop)
    }

    /// The summary of an ended run.
    fn end_summary(&self, shared: &ActiveRun) -> RunSummary {
        let (status, code) = shared.journal.with_state(|state| {
            let run = state.run();
            (run.status, run.error.as_ref().and_then(|error| error.code.clone()))
        });
        let (status, error) = match status {
            RunStatus::Failed => (status, Some(code.unwrap_or_else(|| "node.failed".to_owned()))),
            // Its journal was too full for a final event.
            RunStatus::Running | RunStatus::Waiting => (RunStatus::Failed, Some("run.too-large".to_owned())),
            ended => (ended, None),
        };
        let summary = self.summarise(shared, status);
        RunSummary { error, ended: Some(summary.updated), ..summary }
    }

    /// The writes for the summary of an ended run, unless another process has written one.
    pub(crate) fn end_writes(&self, shared: &ActiveRun) -> Result<Vec<WriteOp>> {
        let summary = self.end_summary(shared);
        let notice = self.notice_write(shared, &summary)?;
        let ttl = Some(self.env.options.keep);
        let (key, bytes) = (keys::run(&summary.run), encode(&summary)?);
        let [own, all] = listed_keys(&summary).map(|key| WriteOp::Put {
            key,
            bytes: Bytes::new(),
            expect: Expect::Any,
            ttl,
        });
        let writes = [
            WriteOp::Put { key, bytes, expect: shared.summary.expect(), ttl },
            own,
            all,
            WriteOp::Remove { key: active_run(&summary), expect: Expect::Any },
        ];
        Ok(writes.into_iter().chain(notice).collect())
    }

    /// Writes the summary of an ended run.
    pub(crate) async fn record_end(&self, shared: &ActiveRun) -> Result<()> {
        let summary = self.end_summary(shared);
        let [own, all] = listed_keys(&summary);
        let keep = Some(self.env.options.keep);
        let (list, list_for_all) = (self.list_run(&own, keep), self.list_run(&all, keep));
        let (put, notice) = (self.put_summary(shared, &summary), self.put_notice(shared, &summary));
        futures_util::try_join!(put, list, list_for_all, self.uncount(&summary), notice).map(drop)
    }

    /// Stops counting a run as active.
    pub(crate) async fn uncount(&self, summary: &RunSummary) -> Result<()> {
        self.env.store.remove(&active_run(summary), Expect::Any).await?;
        Ok(())
    }

    fn summarise(&self, shared: &ActiveRun, status: RunStatus) -> RunSummary {
        let spec = &shared.spec;
        RunSummary {
            run: shared.id.clone(),
            agent: spec.agent.clone(),
            workflow: spec.workflow.clone(),
            version: spec.version.clone(),
            status,
            error: None,
            model: shared.journal.with_state(|state| state.run().started.model.clone()),
            usage: shared.journal.usage(),
            cost_nanos: self.env.options.prices.cost_nanos(&shared.journal.usage_by_model()),
            input: preview(&spec.input),
            owner: spec.owner.clone(),
            session: spec.session.clone(),
            created: spec.created,
            updated: self.env.now(),
            ended: None,
            snapshot: shared.journal.last_snapshot(),
            until: None,
            stuck: None,
            stuck_since: None,
            epoch: shared.journal.lease().epoch,
        }
    }

    /// Writes a summary on behalf of a driver, unless a newer driver has written one.
    async fn put_summary(&self, shared: &ActiveRun, summary: &RunSummary) -> Result<()> {
        let (key, bytes) = (keys::run(&summary.run), encode(summary)?);
        let ttl = summary.ended.is_some().then_some(self.env.options.keep);
        loop {
            let expect = shared.summary.expect();
            match self.env.store.put(&key, bytes.clone(), expect, ttl).await {
                Ok(version) => {
                    shared.summary.set_version(version);
                    return Ok(());
                }
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    let stored = match self.load_stored(&summary.run).await {
                        // It is replaced by a readable one.
                        Err(error) if error.code() == "run.unreadable" => {
                            self.env.store.remove(&key, Expect::Any).await?;
                            None
                        }
                        stored => stored?,
                    };
                    match stored {
                        Some(stored) if stored.summary.epoch > summary.epoch => return Ok(()),
                        stored => shared.summary.set_version(stored.map_or(0, |stored| stored.version)),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn list_run(&self, key: &str, keep: Option<Duration>) -> Result<()> {
        self.env.store.put(key, Bytes::new(), Expect::Any, keep).await?;
        Ok(())
    }

    /// Removes a run from the lists.
    pub(crate) async fn delist(&self, summary: &RunSummary) -> Result<()> {
        for key in listed_keys(summary) {
            self.env.store.remove(&key, Expect::Any).await?;
        }
        Ok(())
    }

    /// Records why a run cannot continue. Returns since when that is known.
    pub(crate) async fn record_stuck(&self, run: &RunId, why: &Error) -> Result<u64> {
        let now = self.env.now();
        let Some(StoredSummary { mut summary, version }) = self.load_stored(run).await? else {
            return Ok(now);
        };
        let since = *summary.stuck_since.get_or_insert(now);
        let why = Some(why.to_string());
        if summary.stuck != why {
            summary.stuck = why;
            let key = keys::run(run);
            match self.env.store.put(&key, encode(&summary)?, Expect::Version(version), None).await {
                // Another process has recorded it, or drives the run.
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                put => drop(put?),
            }
        }
        Ok(since)
    }

    pub(crate) async fn load(&self, run: &RunId) -> Result<Option<RunSummary>> {
        Ok(self.load_stored(run).await?.map(|stored| stored.summary))
    }

    pub(crate) async fn load_stored(&self, run: &RunId) -> Result<Option<StoredSummary>> {
        let value = self.env.store.get(&keys::run(run)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable("run.unreadable"))?;
        let Some(value) = value else { return Ok(None) };
        let summary = crate::codec::decode(&value.bytes).map_err(|error| {
            Error::new(ErrorKind::Store, format!("the summary of {run} cannot be read: {error}"))
                .with_code("run.unreadable")
        })?;
        Ok(Some(StoredSummary { summary, version: value.version }))
    }

    /// Number of active runs of an owner, in all processes and of all agents that share the store. Counts up
    /// to `limit`.
    pub(crate) async fn count_active(&self, owner: &str, limit: usize) -> Result<usize> {
        let prefix = keys::active_runs(&OwnerTag::new(Some(owner)));
        let mut pages = ValuePages::new(&*self.env.store, prefix).size(limit.min(PAGE));
        let mut count = 0;
        while count < limit
            && let Some(page) = pages.next().await?
        {
            count += page.len();
        }
        Ok(count.min(limit))
    }
}

/// The keys that list a run for its owner and for operators.
fn listed_keys(summary: &RunSummary) -> [String; 2] {
    let owners = [OwnerTag::new(summary.owner.as_deref()), OwnerTag::all()];
    owners.map(|owner| keys::listed_run(&owner, summary.created, &summary.run))
}

/// The key that counts an active run for its owner.
fn active_run(summary: &RunSummary) -> String {
    keys::active_run(&OwnerTag::new(summary.owner.as_deref()), &summary.run)
}

/// The beginning of an input, in one line.
fn preview(input: &str) -> String {
    let mut line = String::new();
    for word in input.split_whitespace() {
        let room = PREVIEW.saturating_sub(line.chars().count() + usize::from(!line.is_empty()));
        if room == 0 {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(room));
    }
    line
}

pub(crate) fn encode(summary: &RunSummary) -> Result<Bytes> {
    let bytes = serde_json::to_vec(summary).map_err(|error| {
        Error::new(ErrorKind::State, format!("the summary of a run does not serialise: {error}"))
    })?;
    Ok(bytes.into())
}
