//! The runs of an agent.

use headwater_protocol::{Message, RunId, RunStatus};
use headwater_store::{Watch, WriteOp};

use super::Agent;
use crate::{
    LocalRun, Owners, Result, Run, RunFilter, RunNotice, RunPage, RunPlace, RunSummary, Start, TurnInput,
    error::ErrorKind, run::ResumeCause,
};

/// Maximum number of messages returned from a conversation.
const MESSAGES: usize = 1_000;

impl Agent {
    /// Starts a run. It is durable when this returns, and continues by itself.
    ///
    /// # Errors
    /// When there is no such workflow, a run of that id exists, the tool choice is invalid, data or context
    /// exceeds a limit, or the store fails.
    pub async fn start(&self, start: Start) -> Result<Run> {
        self.runs.start(start).await
    }

    /// A handle of a run by id. Does not check that it exists.
    #[must_use]
    pub fn run(&self, id: impl Into<RunId>) -> Run {
        self.runs.handle(id)
    }

    /// The stored runs, ordered by id, after an id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<RunSummary>> {
        self.runs.summaries.list(after, limit).await
    }

    /// The runs of one owner or all, of all agents that share the store, newest first, after a position. No
    /// journal is read. Unreadable runs are returned separately, and logged once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs_of(
        &self,
        owners: Owners<'_>,
        filter: &RunFilter,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<RunPage> {
        self.runs.summaries.list_of(owners, filter, after, limit).await
    }

    /// Whether it [writes notices](crate::AgentOptions::notices).
    #[must_use]
    pub fn writes_notices(&self) -> bool {
        self.env().options.notices
    }

    /// Notices of runs of all agents that share the store, ordered by run.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn notices(&self, limit: usize) -> Result<Vec<RunNotice>> {
        self.runs.summaries.notices(limit).await
    }

    /// Removes a notice from the queue after other writes, in one commit if the store supports that. Returns
    /// `false` if another process has taken it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_notice(&self, notice: &RunNotice, changes: Vec<WriteOp>) -> Result<bool> {
        self.runs.summaries.take_notice(notice, changes).await
    }

    /// Wakes when a notice is written.
    #[must_use]
    pub fn watch_notices(&self) -> Watch {
        self.runs.summaries.watch_notices()
    }

    /// Number of active runs of an owner, in all processes and of all agents that share the store. Counts up
    /// to `limit`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_runs(&self, owner: &str, limit: usize) -> Result<usize> {
        self.runs.summaries.count_active(owner, limit).await
    }

    /// Whether a run's inbox has an answer or a stop request that its driver has not processed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_mail(&self, run: &RunId) -> Result<bool> {
        self.runs.has_mail(run).await
    }

    /// Ensures that an active run has a driver: if its process died, this one takes it over.
    ///
    /// # Errors
    /// When the store fails, or the run needs a version of its workflow that is not registered here.
    pub async fn ensure_driven(&self, run: &RunId) -> Result<()> {
        let runs = &self.runs;
        runs.registry.resuming.over(run).await;
        if runs.registry.drives(run) {
            return Ok(());
        }
        let running =
            runs.summaries.load(run).await?.is_some_and(|summary| summary.status == RunStatus::Running);
        if !running {
            return Ok(());
        }
        let resumed = runs.resume(run, ResumeCause::Addressed).await;
        // Recovery may have been faster.
        runs.registry.resuming.over(run).await;
        match resumed {
            // It is driven already, here or by another process.
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }

    /// Stops a run: its models and tools are cancelled, its output so far is kept, and it ends as cancelled. Durable when this
    /// returns.
    ///
    /// # Errors
    /// When there is no such run, it has ended, or the store fails.
    pub async fn stop(&self, run: &RunId, reason: Option<&str>) -> Result<Run> {
        self.runs.stop(run, reason).await
    }

    /// The runs that are active in this process. Runs that have ended or wait are left out.
    #[must_use]
    pub fn local_runs(&self) -> Vec<LocalRun> {
        self.runs.registry.local_runs()
    }

    /// Number of runs driven by this process.
    #[must_use]
    pub fn driving(&self) -> usize {
        self.runs.registry.lock().count()
    }

    /// Waits until this process drives no run.
    pub async fn idle(&self) {
        self.runs.registry.idle().await;
    }

    /// The conversation before what a run says: the turns before it, and the message that it answers.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn conversation_before(&self, run: &RunId) -> Result<Vec<Message>> {
        let summary = self.run(run.clone()).summary().await?;
        let Some(id) = summary.session else { return Ok(Vec::new()) };
        let session = self.session(id, summary.owner.as_deref());
        if let Some((base, message)) = session.active_turn(run).await? {
            let mut messages = match &base {
                Some(base) => session.history(Some(base), None, MESSAGES).await?.messages,
                None => Vec::new(),
            };
            messages.push(message);
            return Ok(messages);
        }
        let Some(first) = session.checkpoints_of(run).await?.pop() else { return Ok(Vec::new()) };
        let mut messages = match &first.parent {
            Some(parent) => session.history(Some(parent), None, MESSAGES).await?.messages,
            None => Vec::new(),
        };
        if let TurnInput::Message(said) = session.input(&first.id).await? {
            messages.push(*said);
        }
        Ok(messages)
    }
}
