//! Sending a turn to a session.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{CheckpointId, RunId};
use headwater_store::Expect;

use super::{
    Session, Sessions,
    begin_turn::TurnBegin,
    check_name,
    checkpoint::{Node, fresh_tree},
    head::{ActiveTurn, Head, TurnWork, VersionedHead},
    idempotency::{Claim, ClaimPlan},
    options::WhenBusy,
    position::Position,
    turn::{POLL, Turn, TurnHandle},
};
use crate::{Error, Result, error::ErrorKind, id::fresh_id, keys, run::Run};

/// How long a stopped run may take to end before a message that needs its place is refused.
const ROOM: Duration = Duration::from_secs(30);

impl Session {
    /// Sends a turn, which is durable when this returns and proceeds by itself. If a run of the session is
    /// active, [`WhenBusy`] decides; if one waits for an answer, its request is retracted. A turn with a
    /// [key](Turn::key) of the session's last turn, or the [key of a request](Turn::request_key) that started
    /// any turn, returns that turn, whatever its state.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], [`ErrorKind::SessionBusy`] where it is refused or too
    /// many wait already, and as [`Agent::check_turn`](crate::Agent::check_turn).
    pub async fn send(&self, turn: impl Into<Turn>) -> Result<TurnHandle> {
        self.send_from(None, None, turn.into()).await
    }

    /// As [`Session::send`], from a head and a checkpoint that were loaded before.
    pub(super) async fn send_from(
        &self,
        mut seen: Option<VersionedHead>,
        newest: Option<Arc<Node>>,
        given: Turn,
    ) -> Result<TurnHandle> {
        self.sessions.check_turn(&given)?;
        let sessions = &self.sessions;
        let when_busy = given.when_busy.or(sessions.options.when_busy).unwrap_or_default();
        let (busy, run, checkpoint) = loop {
            let VersionedHead { mut head, version } = self.reconcile_from(seen.take()).await?;
            if let Some(sent) = self.last_turn_of(&head, given.keys(), None).await? {
                return Ok(sent);
            }
            let plan = self.plan_claim(&head, &given).await?;
            if let Some(sent) = plan.begun {
                return Ok(sent);
            }
            let ClaimPlan { claim: Claim { run, checkpoint }, writes: mut first, .. } = plan;
            if let Some(after) = &given.after {
                match self.position(&head, newest.as_ref(), &after.messages).await? {
                    Position::Newest => {}
                    Position::Variant(variant) => {
                        self.select(&variant).await?;
                        continue;
                    }
                    // A page whose message is queued has not seen the turns before it yet.
                    _ if head.active.is_some() && when_busy == WhenBusy::Queue => {}
                    _ if head.active.is_some() && when_busy == WhenBusy::Refuse => return Err(self.busy()),
                    _ if head.active.is_some() => {
                        self.make_room().await?;
                        continue;
                    }
                    Position::Earlier(to) => self.branch_at(&mut head, to.as_deref(), Vec::new()).await?,
                    Position::Diverged(..) if after.known => {
                        let message = format!(
                            "the page shows messages that session {} does not have: load the conversation again",
                            self.id
                        );
                        return Err(Error::new(ErrorKind::Input, message).with_code("history.differs"));
                    }
                    Position::Diverged(to, messages) => {
                        self.branch_at(&mut head, to.as_deref(), messages).await?;
                    }
                }
            }
            let mut said = given.clone().said(&run);
            // Until the turn starts, this is the time of sending.
            said.spec.created = sessions.env.now();
            let work = TurnWork::Message(Box::new(said));
            let turn = ActiveTurn { run: run.clone(), checkpoint: checkpoint.clone(), work };
            let busy = head.active.as_ref().map(|active| active.run.clone());
            match busy {
                None => {
                    head.leave_waiting();
                    head.active = Some(turn);
                }
                Some(_) if when_busy == WhenBusy::Refuse => return Err(self.busy()),
                Some(_) if head.queue.len() >= sessions.options.max_queue => {
                    let message =
                        format!("{} messages wait in session {} already", head.queue.len(), self.id);
                    return Err(Error::new(ErrorKind::SessionBusy, message).with_code("session.queue-full"));
                }
                Some(_) => {
                    // Before the send is confirmed: if this process dies, another one finds the session.
                    sessions.record_queue(&self.key).await?;
                    head.queue.push_back(turn);
                }
            }
            if busy.is_none() {
                first.extend(given.name_write(&run));
                match sessions.begin_turn(first, head, Expect::Version(version)).await? {
                    TurnBegin::Conflict => continue,
                    begin => {
                        let sent = self.sent_as(run, checkpoint, begin);
                        return Ok(TurnHandle { named: given.run_name.is_some(), ..sent });
                    }
                }
            }
            head.updated = sessions.env.now();
            if sessions.heads.put_after(first, &head, version).await?.is_some() {
                break (busy, run, checkpoint);
            }
        };
        sessions.reconcile(&self.key).await?;
        if let (Some(going), WhenBusy::Stop) = (&busy, when_busy) {
            self.stop_run(going, Some("another message came")).await?;
        }
        Ok(TurnHandle { queued: true, ..self.sent_as(run, checkpoint, TurnBegin::Written) })
    }

    /// Stops the active run of the session, and returns it. Its output is kept, and queued turns proceed.
    /// Readers of the run see the reason.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn stop(&self, reason: Option<&str>) -> Result<Option<Run>> {
        match self.reconcile().await?.head.active {
            Some(active) => self.stop_run(&active.run, reason).await,
            None => Ok(None),
        }
    }

    /// Stops the active run, removes queued turns, and waits until no run is active.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`] when the active run does not end within half a minute, and as [`Session::info`].
    pub async fn make_room(&self) -> Result<()> {
        let sessions = &self.sessions;
        let deadline = tokio::time::Instant::now() + ROOM;
        let mut watch = sessions.env.store.watch(&keys::session(&self.key));
        loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            if !head.queue.is_empty() {
                head.queue.clear();
                sessions.heads.swap(head, version).await?;
                continue;
            }
            let Some(active) = head.active else { return Ok(()) };
            // Its process may have just died, or its workflow may be unknown here.
            if tokio::time::Instant::now() >= deadline {
                return Err(self.busy());
            }
            self.stop_run(&active.run, Some("another message came")).await?;
            let _ = tokio::time::timeout(POLL, watch.changed()).await;
        }
    }

    async fn stop_run(&self, run: &RunId, reason: Option<&str>) -> Result<Option<Run>> {
        match self.sessions.runs.stop(run, reason).await {
            Err(error) if matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => Ok(None),
            stopped => stopped.map(Some),
        }
    }

    /// Waits until no run is active in the session: each turn has ended, or waits for an answer.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn settled(&self) -> Result<()> {
        let mut watch = self.sessions.env.store.watch(&keys::session(&self.key));
        loop {
            let head = self.reconcile().await?.head;
            if head.active.is_none() && head.queue.is_empty() {
                return Ok(());
            }
            let _ = tokio::time::timeout(POLL, watch.changed()).await;
        }
    }

    /// The handle of a turn sent just now.
    pub(super) fn sent_as(&self, run: RunId, checkpoint: CheckpointId, begin: TurnBegin) -> TurnHandle {
        let has_begun = begin == TurnBegin::Begun;
        TurnHandle {
            run,
            checkpoint,
            queued: false,
            repeated: false,
            named: false,
            has_begun,
            session: self.clone(),
        }
    }

    pub(super) fn busy(&self) -> Error {
        let message = format!("session {} has an active run: wait for it, or stop it", self.id);
        Error::new(ErrorKind::SessionBusy, message)
    }
}

impl Sessions {
    /// Creates a session with its first turn. An existing session gets it as its next turn.
    pub(crate) async fn send_to(
        self: &Arc<Self>,
        id: Option<&str>,
        owner: Option<&str>,
        given: Turn,
    ) -> Result<TurnHandle> {
        let id = match id {
            Some(id) => id.to_owned(),
            None => fresh_id("session")?,
        };
        let session = self.session(id, owner);
        check_name(&session.id)?;
        match self.heads.load(&session.key).await? {
            Some(_) => session.send(given).await,
            None => self.begin_session(session, given).await,
        }
    }

    /// Begins a session with its first turn. If it was begun meanwhile, it gets the turn as its next one.
    pub(crate) async fn begin_session(self: &Arc<Self>, session: Session, given: Turn) -> Result<TurnHandle> {
        self.check_turn(&given)?;
        check_name(&session.id)?;
        let mut head = Head::new(session.id.clone(), fresh_tree()?, &self.env, session.owner.clone());
        let claim = Claim::fresh(&head.tree)?;
        let claimed = given.requests.iter();
        let claimed = claimed.map(|key| self.claim_write(&session.key, key, &claim, Expect::Absent));
        let first = claimed.chain(given.name_write(&claim.run)).collect();
        let Claim { run, checkpoint } = claim;
        let mut said = given.clone().said(&run);
        said.spec.created = self.env.now();
        let work = TurnWork::Message(Box::new(said));
        head.active = Some(ActiveTurn { run: run.clone(), checkpoint: checkpoint.clone(), work });
        match self.begin_turn(first, head, Expect::Absent).await? {
            // The same request came at the same time, or before, and its process died.
            TurnBegin::Conflict => {
                self.open(session.id.clone(), session.owner.as_deref()).await?;
                session.send(given).await
            }
            begin => {
                let sent = session.sent_as(run, checkpoint, begin);
                Ok(TurnHandle { named: given.run_name.is_some(), ..sent })
            }
        }
    }

    /// Checks whether a turn could start, before a session is created for it.
    pub(crate) fn check_turn(&self, turn: &Turn) -> Result<()> {
        turn.check(&self.runs)?;
        self.runs.workflows.choose(turn.start.named_workflow()).map(drop)
    }
}
