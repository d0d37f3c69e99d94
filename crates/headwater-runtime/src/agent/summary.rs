//! The summary of a run: a small value beside its journal, so that runs are listed without reading journals.

use headwater_protocol::{RunId, RunStatus, SessionId, Usage};
use headwater_store::Expect;
use serde::{Deserialize, Serialize};

use super::{AgentInner, Run, run::unknown};
use crate::{
    Error, Result,
    error::ErrorKind,
    keys::{self, OwnerTag},
    run::RunShared,
};

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
    /// Writes the summary of a run that is being driven.
    pub(super) async fn note_running(&self, shared: &RunShared) -> Result<()> {
        self.put_summary(&self.summarise(shared, RunStatus::Running)).await
    }

    /// Writes the summary of a run that waits.
    pub(super) async fn note_wait(&self, shared: &RunShared, until: u64) -> Result<()> {
        let summary = RunSummary { until: Some(until), ..self.summarise(shared, RunStatus::Waiting) };
        self.put_summary(&summary).await
    }

    /// Writes the summary of a run that has ended.
    pub(super) async fn note_end(&self, shared: &RunShared) -> Result<()> {
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
        self.put_summary(&RunSummary { error, ended: Some(summary.updated), ..summary }).await
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
        }
    }

    async fn put_summary(&self, summary: &RunSummary) -> Result<()> {
        let bytes = serde_json::to_vec(summary).map_err(|error| {
            Error::new(ErrorKind::State, format!("the summary of a run does not serialise: {error}"))
        })?;
        let ttl = summary.ended.is_some().then_some(self.options.keep);
        let key = keys::run(&summary.run);
        let put = self.store.put(&key, bytes.into(), Expect::Any, ttl);
        if summary.status == RunStatus::Waiting {
            // It is listed since it began.
            put.await?;
        } else {
            let listed = self.listed_run(summary);
            let list = self.store.put(&listed, bytes::Bytes::new(), Expect::Any, ttl);
            futures_util::try_join!(put, list)?;
        }
        Ok(())
    }

    /// The key by which a run is listed for its owner.
    pub(super) fn listed_run(&self, summary: &RunSummary) -> String {
        keys::listed_run(&OwnerTag::new(summary.owner.as_deref()), summary.created, &summary.run)
    }

    /// Notes why a run cannot continue.
    pub(super) async fn note_stuck(&self, run: &RunId, why: &Error) -> Result<()> {
        let why = Some(why.to_string());
        if let Some(mut summary) = self.load_summary(run).await?
            && summary.stuck != why
        {
            summary.stuck = why;
            self.put_summary(&summary).await?;
        }
        Ok(())
    }

    pub(super) async fn load_summary(&self, run: &RunId) -> Result<Option<RunSummary>> {
        let value = self.store.get(&keys::run(run)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable("run.unreadable"))?;
        let Some(value) = value else { return Ok(None) };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("the summary of {run} cannot be read: {error}"))
                .with_code("run.unreadable")
        })
    }
}
