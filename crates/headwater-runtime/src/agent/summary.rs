//! The summary of a run: a small value beside its journal, so that runs are listed without reading journals.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use headwater_protocol::{RunId, RunStatus, SessionId, Usage};
use headwater_store::{Expect, WriteOp};
use serde::{Deserialize, Serialize};

use super::{Agent, AgentInner, Run, run::unknown};
use crate::{
    Error, Result,
    error::ErrorKind,
    keys::{self, OwnerTag},
    run::RunShared,
};

/// How many active runs are counted with one access of the store.
const PAGE: usize = 1_000;

/// What is known about a run without reading its journal. It is written whenever the status changes. The journal is the
/// truth: a process that died may have left an older summary behind, until the run is recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// The agent that executes it.
    pub agent: String,
    /// The workflow that it began with.
    pub workflow: String,
    /// The version of the workflow.
    pub version: String,
    /// Its status when this was written.
    pub status: RunStatus,
    /// The code of the error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The model that answers, if it is known before a node asks one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens that its models used.
    #[serde(default)]
    pub usage: Usage,
    /// The principal that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its session.
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
    /// When it stops waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why it cannot continue, although it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Since when it cannot continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_since: Option<u64>,
    /// The epoch of the lease under which this was written. A driver that was fenced out never replaces what a newer one
    /// wrote.
    #[serde(default)]
    pub epoch: u64,
}

/// A summary, and its version in the store.
#[derive(Debug, Clone)]
pub(super) struct StoredSummary {
    pub(super) summary: RunSummary,
    pub(super) version: u64,
}

impl Run {
    /// Its summary.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn summary(&self) -> Result<RunSummary> {
        self.agent().0.load_summary(self.id()).await?.ok_or_else(|| unknown(self.id()))
    }
}

impl AgentInner {
    /// Writes the summary of a run that is being driven, and lists it where its driver has not yet.
    pub(super) async fn note_running(&self, shared: &RunShared) -> Result<()> {
        let summary = self.summarise(shared, RunStatus::Running);
        if !shared.summary.list() {
            return self.put_summary(shared, &summary).await;
        }
        let (listed, active) = (self.listed_run(&summary), active_run(&summary));
        let put = self.put_summary(shared, &summary);
        let list = async { Ok(self.store.put(&listed, Bytes::new(), Expect::Any, None).await?) };
        let count = async {
            let keep = Some(self.options.keep);
            Ok(self.store.put(&active, self.name.clone().into(), Expect::Any, keep).await?)
        };
        futures_util::try_join!(put, list, count).map(drop)
    }

    /// Writes the summary of a run that waits.
    pub(super) async fn note_wait(&self, shared: &RunShared, until: u64) -> Result<()> {
        let summary = RunSummary { until: Some(until), ..self.summarise(shared, RunStatus::Waiting) };
        futures_util::try_join!(self.put_summary(shared, &summary), self.uncount(&summary)).map(drop)
    }

    /// The summary of a run that has ended.
    fn end_summary(&self, shared: &RunShared) -> RunSummary {
        let (status, code) = shared.journal.with_state(|state| {
            let run = state.run();
            (run.status, run.error.as_ref().and_then(|error| error.code.clone()))
        });
        let (status, error) = match status {
            RunStatus::Failed => (status, Some(code.unwrap_or_else(|| "node.failed".to_owned()))),
            // Its journal was too full for an event that says how it ended.
            RunStatus::Running | RunStatus::Waiting => (RunStatus::Failed, Some("run.too-large".to_owned())),
            ended => (ended, None),
        };
        let summary = self.summarise(shared, status);
        RunSummary { error, ended: Some(summary.updated), ..summary }
    }

    /// What writes the summary of a run that has ended, if no other process has written one.
    pub(super) fn end_writes(&self, shared: &RunShared) -> Result<[WriteOp; 3]> {
        let summary = self.end_summary(shared);
        let ttl = Some(self.options.keep);
        let (key, bytes) = (keys::run(&summary.run), encode(&summary)?);
        Ok([
            WriteOp::Put { key, bytes, expect: shared.summary.expect(), ttl },
            WriteOp::Put { key: self.listed_run(&summary), bytes: Bytes::new(), expect: Expect::Any, ttl },
            WriteOp::Remove { key: active_run(&summary), expect: Expect::Any },
        ])
    }

    /// Writes the summary of a run that has ended.
    pub(super) async fn note_end(&self, shared: &RunShared) -> Result<()> {
        let summary = self.end_summary(shared);
        let listed = self.listed_run(&summary);
        let keep = Some(self.options.keep);
        let list = async { Ok(self.store.put(&listed, Bytes::new(), Expect::Any, keep).await?) };
        futures_util::try_join!(self.put_summary(shared, &summary), list, self.uncount(&summary)).map(drop)
    }

    /// Counts a run as active no longer.
    pub(super) async fn uncount(&self, summary: &RunSummary) -> Result<()> {
        self.store.remove(&active_run(summary), Expect::Any).await?;
        Ok(())
    }

    fn summarise(&self, shared: &RunShared, status: RunStatus) -> RunSummary {
        let begun = &shared.begun;
        RunSummary {
            run: shared.id.clone(),
            agent: begun.agent.clone(),
            workflow: begun.workflow.clone(),
            version: begun.version.clone(),
            status,
            error: None,
            model: shared.journal.with_state(|state| state.run().started.model.clone()),
            usage: shared.journal.usage(),
            owner: begun.owner.clone(),
            session: begun.session.clone(),
            created: begun.created,
            updated: self.now(),
            ended: None,
            snapshot: shared.journal.last_snapshot(),
            until: None,
            stuck: None,
            stuck_since: None,
            epoch: shared.journal.lease().epoch,
        }
    }

    /// Writes a summary in the name of a driver, unless a newer driver has written one.
    async fn put_summary(&self, shared: &RunShared, summary: &RunSummary) -> Result<()> {
        let (key, bytes) = (keys::run(&summary.run), encode(summary)?);
        let ttl = summary.ended.is_some().then_some(self.options.keep);
        loop {
            let expect = shared.summary.expect();
            match self.store.put(&key, bytes.clone(), expect, ttl).await {
                Ok(version) => {
                    shared.summary.set_version(version);
                    return Ok(());
                }
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    let stored = match self.load_stored_summary(&summary.run).await {
                        // It is replaced by one that can be read.
                        Err(error) if error.code() == "run.unreadable" => {
                            self.store.remove(&key, Expect::Any).await?;
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

    /// The key by which a run is listed for its owner.
    pub(super) fn listed_run(&self, summary: &RunSummary) -> String {
        keys::listed_run(&OwnerTag::new(summary.owner.as_deref()), summary.created, &summary.run)
    }

    /// Notes why a run cannot continue. Returns since when that is known.
    pub(super) async fn note_stuck(&self, run: &RunId, why: &Error) -> Result<u64> {
        let now = self.now();
        let Some(StoredSummary { mut summary, version }) = self.load_stored_summary(run).await? else {
            return Ok(now);
        };
        let since = *summary.stuck_since.get_or_insert(now);
        let why = Some(why.to_string());
        if summary.stuck != why {
            summary.stuck = why;
            let key = keys::run(run);
            match self.store.put(&key, encode(&summary)?, Expect::Version(version), None).await {
                // Another process has noted it, or drives the run.
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                put => drop(put?),
            }
        }
        Ok(since)
    }

    pub(super) async fn load_summary(&self, run: &RunId) -> Result<Option<RunSummary>> {
        Ok(self.load_stored_summary(run).await?.map(|stored| stored.summary))
    }

    pub(super) async fn load_stored_summary(&self, run: &RunId) -> Result<Option<StoredSummary>> {
        let value = self.store.get(&keys::run(run)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable("run.unreadable"))?;
        let Some(value) = value else { return Ok(None) };
        let summary = crate::codec::decode(&value.bytes).map_err(|error| {
            Error::new(ErrorKind::Store, format!("the summary of {run} cannot be read: {error}"))
                .with_code("run.unreadable")
        })?;
        Ok(Some(StoredSummary { summary, version: value.version }))
    }
}

impl Agent {
    /// How many runs of an owner are active, in all processes and of all agents that share the store. It counts no further
    /// than `limit`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_runs(&self, owner: &str, limit: usize) -> Result<usize> {
        let prefix = keys::active_runs(&OwnerTag::new(Some(owner)));
        let (mut count, mut after) = (0, None::<String>);
        while count < limit {
            let page = (limit - count).min(PAGE);
            let listed = self.0.store.list(&prefix, after.as_deref(), page).await?;
            count += listed.len();
            match listed.into_iter().next_back() {
                Some((key, _)) if count < limit => after = Some(key),
                _ => break,
            }
        }
        Ok(count)
    }
}

/// The key by which an active run counts for its owner.
fn active_run(summary: &RunSummary) -> String {
    keys::active_run(&OwnerTag::new(summary.owner.as_deref()), &summary.run)
}

fn encode(summary: &RunSummary) -> Result<Bytes> {
    let bytes = serde_json::to_vec(summary).map_err(|error| {
        Error::new(ErrorKind::State, format!("the summary of a run does not serialise: {error}"))
    })?;
    Ok(bytes.into())
}

/// What a driver knows about the summary of its run.
#[derive(Debug, Default)]
pub(crate) struct SummaryState {
    /// The version that it wrote or found; 0 before the first.
    version: AtomicU64,
    /// Whether it has listed the run.
    listed: AtomicBool,
}

impl SummaryState {
    fn expect(&self) -> Expect {
        match self.version.load(Ordering::Relaxed) {
            0 => Expect::Absent,
            version => Expect::Version(version),
        }
    }

    pub(super) fn set_version(&self, version: u64) {
        self.version.store(version, Ordering::Relaxed);
    }

    /// Whether this is the first time that the run is to be listed.
    fn list(&self) -> bool {
        !self.listed.swap(true, Ordering::Relaxed)
    }
}
