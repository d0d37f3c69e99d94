//! Beginning a turn: the head that names it, the journal of its run, and the run.

use std::sync::Arc;

use headwater_protocol::RunId;
use headwater_store::{Expect, WriteOp, together};

use super::{
    Sessions,
    budget::PriorMessages,
    end_turn::LocalTurn,
    head::{ActiveTurn, Head, TurnWork, VersionedHead},
    turn_message::TurnMessage,
};
use crate::{
    Result,
    error::ErrorKind,
    journal::RunSpec,
    run::{DriverSeat, RunBeginning},
};

/// Outcome of writing a head with a new turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnBegin {
    /// The head had changed; nothing was written.
    Conflict,
    /// The turn is durable and starts as soon as it can.
    Written,
    /// Its run has started.
    Begun,
}

impl Sessions {
    /// Handles the result of starting the turn of a head.
    pub(super) async fn check_begun(&self, begun: Result<()>, head: Head, version: u64) -> Result<()> {
        match begun {
            // Another process starts it.
            Err(error) if matches!(error.kind(), ErrorKind::Exists | ErrorKind::Busy) => Ok(()),
            // A turn that can never start must not block the session.
            Err(error) if error.kind() != ErrorKind::Store => {
                self.heads.swap(Head { active: None, ..head }, version).await?;
                Err(match error.kind() {
                    ErrorKind::TooLarge => error.with_code("session.too-large"),
                    _ => error,
                })
            }
            begun => begun,
        }
    }

    /// Writes a head with a turn to start now, and starts it. [`Expect::Absent`] creates the session;
    /// otherwise the head must have the given version. The writes of `first` precede it.
    ///
    /// The journal of the run is created in the same call. If the head is not written, or this process dies
    /// in between, an empty journal remains, which readers ignore.
    pub(super) async fn begin_turn(
        self: &Arc<Self>,
        first: Vec<WriteOp>,
        mut head: Head,
        expect: Expect,
    ) -> Result<TurnBegin> {
        head.updated = self.env.now();
        let write = async {
            match expect {
                Expect::Version(version) => self.heads.put_after(first, &head, version).await,
                _ => self.heads.create_after(first, &head).await,
            }
        };
        let Some((seat, run, beginning)) = self.prepare_turn(&head).await? else {
            if write.await?.is_none() {
                return Ok(TurnBegin::Conflict);
            }
            self.reconcile(&head.key()).await?;
            return Ok(TurnBegin::Written);
        };
        let made = self.runs.journals.create(&run);
        let (written, made) = together(&*self.env.store, futures_util::future::join(write, made)).await;
        let (version, lease) = match (written, made) {
            (Ok(Some(version)), Ok(lease)) => (version, lease),
            (Ok(Some(version)), Err(error)) => {
                drop(seat);
                return self.check_begun(Err(error), head, version).await.map(|()| TurnBegin::Written);
            }
            (written, made) => {
                if let Ok(lease) = made {
                    let _ = self.runs.journals.discard(&lease).await;
                }
                return written.map(|_| TurnBegin::Conflict);
            }
        };
        let turn =
            LocalTurn { sessions: self.clone(), loaded: VersionedHead { head: head.clone(), version } };
        match self.runs.begin_in(seat, lease, beginning, Some(Arc::new(turn))).await {
            Ok(()) => Ok(TurnBegin::Begun),
            failed => self.check_begun(failed, head, version).await.map(|()| TurnBegin::Written),
        }
    }

    /// What begins the turn of a head that is about to be written; none where something else has to be done first, or
    /// another process has to do it.
    async fn prepare_turn(&self, head: &Head) -> Result<Option<(DriverSeat, RunId, RunBeginning)>> {
        let Some(ActiveTurn { run, work: TurnWork::Message(said), .. }) = &head.active else {
            return Ok(None);
        };
        // A summary needs a model call, and the message must become durable without waiting for it.
        if !head.chores.is_empty() || !head.queue.is_empty() || self.options.summarise.is_some() {
            return Ok(None);
        }
        let Ok(Some(seat)) = self.runs.registry.seat(run) else { return Ok(None) };
        Ok(Some((seat, run.clone(), self.run_of_turn(head, said).await?)))
    }

    /// What the run of a turn begins with.
    pub(super) async fn run_of_turn(&self, head: &Head, said: &TurnMessage) -> Result<RunBeginning> {
        let workflow = self.runs.workflows.choose(said.workflow.as_deref())?;
        let PriorMessages { messages, history } = self.budget.prior_messages(head).await?;
        let (copy, prior) = match &history {
            Some(_) => (Vec::new(), Some(messages)),
            None => (messages, None),
        };
        let spec = RunSpec {
            agent: self.env.agent.clone(),
            workflow: workflow.id().to_owned(),
            version: workflow.version().to_owned(),
            user_message: Some(said.without_input()),
            messages: copy,
            history,
            created: self.env.now(),
            owner: head.owner.clone(),
            session: Some(head.id.clone()),
            invalidated: head.invalidated.clone(),
            ..said.spec.clone()
        };
        Ok(RunBeginning { spec, prior })
    }
}
