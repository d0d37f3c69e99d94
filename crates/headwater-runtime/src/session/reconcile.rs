//! Reconciling a session: pending chores, the turn that has ended, and the next one.
//!
//! Any process can do any step, more than once; only a compare-and-set of the head makes it count. Usually
//! nothing is pending: the process that sends a turn starts it, and its driver writes the result.

use futures_util::future::BoxFuture;
use headwater_protocol::{Event, Message, RequestId, RunId};
use headwater_store::{Expect, JournalId, ValuePages, remove_all};

use super::{
    Sessions,
    checkpoint::{CheckpointStatus, fresh_checkpoint},
    end_turn::checkpoint_event,
    head::{ActiveTurn, Chore, Head, TurnWork, VersionedHead},
};
use crate::{
    AnswerValue, Result,
    error::ErrorKind,
    journal::HistoryRange,
    keys::{self, SESSION_QUEUES, SessionKey},
    node::ActiveRun,
    question::retracted,
    run::TurnHost,
};

impl Sessions {
    /// Reconciles a session, and returns its head. `None` if it does not exist or was deleted.
    pub(crate) async fn reconcile(&self, session: &SessionKey) -> Result<Option<VersionedHead>> {
        self.reconcile_after(session, None, None).await
    }

    /// As [`reconcile`](Self::reconcile), from a head that was loaded before. It is loaded again only where it leaves something
    /// to be done, which may have been done since.
    pub(super) async fn reconcile_from(
        &self,
        session: &SessionKey,
        seen: Option<VersionedHead>,
    ) -> Result<Option<VersionedHead>> {
        self.reconcile_after(session, seen, None).await
    }

    /// As [`reconcile`](Self::reconcile), with the run that this process has just driven to its end or to a
    /// wait. Its known results are not read back.
    async fn reconcile_after(
        &self,
        session: &SessionKey,
        mut seen: Option<VersionedHead>,
        driven: Option<&ActiveRun>,
    ) -> Result<Option<VersionedHead>> {
        let mut waited = false;
        loop {
            let loaded = match seen.take().filter(|seen| seen.head.is_idle()) {
                Some(seen) => Some(seen),
                None => self.heads.load(session).await?,
            };
            let Some(loaded) = loaded else { return Ok(None) };
            let VersionedHead { mut head, version } = loaded.clone();
            if !head.chores.is_empty() {
                // Done before the head forgets them: if this process dies in between, another one repeats
                // them, which is harmless.
                for chore in std::mem::take(&mut head.chores) {
                    self.do_chore(session, &head.tree, chore).await?;
                }
                self.heads.swap(head, version).await?;
                continue;
            }
            if head.deleted {
                return Ok(None);
            }
            if let Some(active) = head.active.clone() {
                // The local driver of a run does the remaining steps.
                if self.runs.registry.turn_of(&active.run).is_some() {
                    if !self.runs.registry.is_settling(&active.run) {
                        return Ok(Some(loaded));
                    }
                    if !std::mem::replace(&mut waited, true) {
                        self.runs.registry.wait_until_settled(&active.run).await;
                        continue;
                    }
                }
                if !self.step(head, version, &active, driven).await? {
                    return Ok(Some(loaded));
                }
                continue;
            }
            if let Some(live) = &head.live {
                let info = self.env.store.info(&JournalId::from(live.run.as_str())).await?;
                if info.is_some_and(|info| info.tail.last > live.seq) {
                    self.attach(head, version).await?;
                    continue;
                }
            }
            if !head.activate_next() {
                return Ok(Some(loaded));
            }
            self.heads.swap(head, version).await?;
        }
    }

    /// Whether another process drives the run of a turn and has written its end or its wait, but not yet the
    /// head. Stores over a network write them one after the other.
    pub(super) async fn is_settling_elsewhere(&self, active: &ActiveTurn) -> Result<bool> {
        let begins_after = match &active.work {
            TurnWork::Message(_) => 0,
            TurnWork::Answer { from, .. } => *from,
            // Its journal starts with the copied wait.
            TurnWork::Copy { .. } => return Ok(false),
        };
        if self.runs.registry.drives(&active.run) {
            return Ok(false);
        }
        let stopped = self.runs.journals.stopped_at(&active.run).await?;
        Ok(stopped.is_some_and(|stopped| stopped > begins_after))
    }

    /// Records that the session has turns queued behind the active one.
    pub(crate) async fn record_queue(&self, session: &SessionKey) -> Result<()> {
        let bytes = self.env.agent.clone().into();
        self.env.store.put(&keys::session_queue(session), bytes, Expect::Any, None).await?;
        Ok(())
    }

    pub(super) async fn unnote_queue(&self, session: &SessionKey) -> Result<()> {
        self.env.store.remove(&keys::session_queue(session), Expect::Any).await?;
        Ok(())
    }

    /// Reconciles sessions with queued turns or a pending delete, because the process in charge may have
    /// died.
    pub(crate) async fn recover_all(&self) -> Result<()> {
        let mut pages = ValuePages::new(&*self.env.store, SESSION_QUEUES);
        while let Some(page) = pages.next().await? {
            for (key, value) in page.iter().filter(|(_, value)| value.bytes == self.env.agent.as_bytes()) {
                let Some(session) = keys::read_session_queue(key) else { continue };
                if self.env.skipped.reason("session", key).is_some() {
                    continue;
                }
                match self.recover_session(&session, key, value.version).await {
                    Err(error) if error.is_store_down() => return Err(error),
                    Err(error) => self.env.skipped.skip("session", key, &error),
                    Ok(()) => {}
                }
            }
        }
        self.garbage.sweep_due().await
    }

    async fn recover_session(&self, session: &SessionKey, key: &str, version: u64) -> Result<()> {
        let over = match self.reconcile(session).await? {
            Some(found) => found.head.active.is_none() && found.head.queue.is_empty(),
            None => self.bury(session).await?,
        };
        if over {
            // An entry written again in the meantime stays.
            match self.env.store.remove(key, Expect::Version(version)).await {
                Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles a waiting run that moved without an answer: its requests have expired, or it was stopped.
    async fn attach(&self, mut head: Head, version: u64) -> Result<()> {
        if let Some(live) = head.live.take() {
            let work = TurnWork::Answer { from: live.seq, snapshot: live.snapshot, answers: Vec::new() };
            head.active = Some(ActiveTurn { run: live.run, checkpoint: fresh_checkpoint(&head.tree)?, work });
            self.heads.swap(head, version).await?;
        }
        Ok(())
    }

    async fn do_chore(&self, session: &SessionKey, tree: &str, chore: Chore) -> Result<()> {
        match chore {
            Chore::Close(live) => {
                for request in &live.requests {
                    self.runs.questions.retract(request).await?;
                }
                self.stop_unless_ended(&live.run, "its session left it behind").await
            }
            Chore::Stop { run } => self.stop_unless_ended(&run, "another message came").await,
            Chore::Forget { after } => {
                self.garbage.record_sweep(tree).await?;
                Ok(remove_all(&*self.env.store, &keys::branches_at(session, after.as_ref())).await?)
            }
        }
    }

    async fn stop_unless_ended(&self, run: &RunId, reason: &str) -> Result<()> {
        match self.runs.stop(run, Some(reason)).await {
            Err(error) if !matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => Err(error),
            _ => Ok(()),
        }
    }

    /// Advances the active turn by one step. Returns whether the head has changed.
    async fn step(
        &self,
        head: Head,
        version: u64,
        active: &ActiveTurn,
        driven: Option<&ActiveRun>,
    ) -> Result<bool> {
        let progress = self.progress(&active.run, &active.work, driven).await?;
        if let TurnWork::Answer { answers, from, .. } = &active.work {
            let ended = progress.status.is_some_and(|status| status != CheckpointStatus::Waiting);
            if !ended && !progress.has(answers) {
                for (request, answer) in answers {
                    self.runs.questions.send_again(&active.run, request, answer.clone(), *from).await?;
                }
                self.runs.wake_or_resume(&active.run).await;
                return Ok(false);
            }
        } else if !progress.begun || progress.half {
            let begun = match &active.work {
                TurnWork::Message(said) => match self.run_of_turn(&head, said).await {
                    Ok(begun) => self.runs.begin(active.run.clone(), begun).await,
                    Err(error) => Err(error),
                },
                TurnWork::Copy { of, answers, .. } => self.copy_run(&head, of, &active.run, answers).await,
                TurnWork::Answer { .. } => Ok(()),
            };
            return self.check_begun(begun, head, version).await.map(|()| false);
        }
        if progress.untouched {
            self.runs.wake_or_resume(&active.run).await;
            return Ok(false);
        }
        match progress.status {
            Some(status) => {
                self.end_turn(head, version, active, status, &progress).await?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Starts the turn for answers that are about to be sent to a run.
    async fn begin_answers(
        &self,
        session: &SessionKey,
        run: &RunId,
        answers: &[(RequestId, AnswerValue)],
    ) -> Result<()> {
        loop {
            let Some(VersionedHead { mut head, version }) = self.reconcile(session).await? else {
                return Ok(());
            };
            match (&head.active, &head.live) {
                // Another branch of the run is active: these answers are part of the same turn.
                (Some(active), _) if active.run == *run => return Ok(()),
                (None, Some(live)) if live.run == *run => {
                    let (from, snapshot) = (live.seq, live.snapshot);
                    let work = TurnWork::Answer { from, snapshot, answers: answers.to_vec() };
                    let checkpoint = fresh_checkpoint(&head.tree)?;
                    let active = ActiveTurn { run: run.clone(), checkpoint, work };
                    (head.active, head.live) = (Some(active), None);
                    if self.heads.swap(head, version).await? {
                        return Ok(());
                    }
                }
                _ => match answers {
                    [(request, _), ..] => return Err(retracted(request)),
                    [] => return Ok(()),
                },
            }
        }
    }
}

impl TurnHost for Sessions {
    fn before_answers<'a>(
        &'a self,
        session: &'a SessionKey,
        run: &'a RunId,
        answers: &'a [(RequestId, AnswerValue)],
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.begin_answers(session, run, answers))
    }

    fn checkpoint_event<'a>(
        &'a self,
        session: &'a SessionKey,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Event>>> {
        Box::pin(async move {
            let loaded = self.heads.load(session).await?;
            Ok(loaded.and_then(|loaded| checkpoint_event(&loaded.head, run)))
        })
    }

    fn messages_of<'a>(&'a self, history: &'a HistoryRange) -> BoxFuture<'a, Result<Vec<Message>>> {
        Box::pin(self.budget.messages_of(history))
    }

    fn turn_over<'a>(&'a self, session: SessionKey, run: &'a ActiveRun) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            // From here on the journal holds the progress of the run.
            self.runs.registry.forget_turn(&run.id);
            match self.reconcile_after(&session, None, Some(run)).await {
                Err(error) if !error.is_store_down() => {
                    // The run itself is correct; the next request for the session gets the error.
                    self.env.skipped.skip("session", &keys::session_queue(&session), &error);
                    Ok(())
                }
                reconciled => reconciled.map(drop),
            }
        })
    }
}
