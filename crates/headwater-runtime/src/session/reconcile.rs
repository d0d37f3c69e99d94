//! Bringing a session up to date: what a change of its head left to be done, the turn that has ended, the next one.
//!
//! Every step can be done by any process and twice, and only a compare-and-set of the head makes it count. Mostly nothing is
//! left to be done: the process that sends a turn begins it, and the one that drove it writes what it leaves.

use std::{collections::BTreeSet, pin::Pin, sync::Arc};

use headwater_protocol::{CheckpointEvent, Event, Message, RequestId, RunId};
use headwater_store::{Expect, JournalId, WriteOp, together};

use super::{
    checkpoint::{Change, Checkpoint, CheckpointStatus, Input, Link, Node, fresh_checkpoint},
    head::{Active, Chore, Doing, Head, Said, VersionedHead, head_write},
    kept::largest_node_writes,
    position::HistoryHash,
    progress::Progress,
};
use crate::{
    Agent, Answer, Error, Result,
    agent::{AgentInner, Seat, taken_back},
    error::ErrorKind,
    journal::Begun,
    keys::{self, SESSION_QUEUES, SessionKey},
    run::{RunShared, RunTrace},
    value_pages::ValuePages,
};

/// What came of writing a head with a new turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnBegin {
    /// Another head was there, and nothing was written.
    Conflict,
    /// It is durable, and begins as soon as it can.
    Written,
    /// Its run has begun.
    Begun,
}

impl AgentInner {
    /// Brings a session up to date, and gives how it stands. `None` if there is none of that name, or none any more.
    pub(crate) async fn reconcile(self: &Arc<Self>, session: &SessionKey) -> Result<Option<VersionedHead>> {
        let mut waited = false;
        loop {
            let Some(loaded) = self.load_head(session).await? else { return Ok(None) };
            let VersionedHead { mut head, version } = loaded.clone();
            if !head.chores.is_empty() {
                for chore in std::mem::take(&mut head.chores) {
                    self.do_chore(session, &head.tree, chore).await?;
                }
                self.swap(head, version).await?;
                continue;
            }
            if head.deleted {
                return Ok(None);
            }
            if let Some(active) = head.active.clone() {
                // The driver of a run that is driven here does what is left.
                if self.begun_turn_of(&active.run).is_some() {
                    if !self.is_settling(&active.run) {
                        return Ok(Some(loaded));
                    }
                    if !std::mem::replace(&mut waited, true) {
                        self.wait_until_settled(&active.run).await;
                        continue;
                    }
                }
                if !self.advance(head, version, &active).await? {
                    return Ok(Some(loaded));
                }
                continue;
            }
            if let Some(live) = &head.live {
                let info = self.store.info(&JournalId::from(live.run.as_str())).await?;
                if info.is_some_and(|info| info.tail.last > live.seq) {
                    self.adopt(head, version).await?;
                    continue;
                }
            }
            if !head.activate_next() {
                return Ok(Some(loaded));
            }
            self.swap(head, version).await?;
        }
    }

    /// Notes that turns of a session wait for the one that is going.
    pub(crate) async fn note_queue(&self, session: &SessionKey) -> Result<()> {
        let bytes = self.name.clone().into();
        self.store.put(&keys::session_queue(session), bytes, Expect::Any, None).await?;
        Ok(())
    }

    pub(super) async fn unnote_queue(&self, session: &SessionKey) -> Result<()> {
        self.store.remove(&keys::session_queue(session), Expect::Any).await?;
        Ok(())
    }

    /// Looks at the sessions whose turns wait or that are being deleted, because the process that would do it may have died.
    pub(crate) async fn tend_queues(self: &Arc<Self>) -> Result<()> {
        let mut pages = ValuePages::new(&*self.store, SESSION_QUEUES);
        while let Some(page) = pages.next().await? {
            for (key, value) in page.iter().filter(|(_, value)| value.bytes == self.name.as_bytes()) {
                let Some(session) = keys::read_session_queue(key) else { continue };
                if self.skipped("session", key).is_some() {
                    continue;
                }
                match self.tend_queue(&session, key, value.version).await {
                    Err(error) if error.is_store_down() => return Err(error),
                    Err(error) => self.skip("session", key, &error),
                    Ok(()) => {}
                }
            }
        }
        self.tend_trees().await
    }

    async fn tend_queue(self: &Arc<Self>, session: &SessionKey, key: &str, version: u64) -> Result<()> {
        let over = match self.reconcile(session).await? {
            Some(found) => found.head.active.is_none() && found.head.queue.is_empty(),
            None => self.bury(session).await?,
        };
        if over {
            // One that was noted anew meanwhile stays.
            match self.store.remove(key, Expect::Version(version)).await {
                Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The run that waited was moved by something else than an answer: what it waited for has expired, or it was
    /// stopped.
    async fn adopt(&self, mut head: Head, version: u64) -> Result<()> {
        if let Some(live) = head.live.take() {
            let doing = Doing::Answer { from: live.seq, answers: Vec::new() };
            head.active = Some(Active { run: live.run, checkpoint: fresh_checkpoint(&head.tree)?, doing });
            self.swap(head, version).await?;
        }
        Ok(())
    }

    async fn do_chore(self: &Arc<Self>, session: &SessionKey, tree: &str, chore: Chore) -> Result<()> {
        match chore {
            Chore::Close(live) => {
                for request in &live.requests {
                    self.take_back(request).await?;
                }
                self.stop_unless_ended(&live.run, "its session left it behind").await
            }
            Chore::Stop { run } => self.stop_unless_ended(&run, "another message came").await,
            Chore::Forget { after } => {
                self.note_sweep(tree).await?;
                self.remove_all(&keys::branches_at(session, after.as_ref())).await
            }
        }
    }

    async fn stop_unless_ended(self: &Arc<Self>, run: &RunId, reason: &str) -> Result<()> {
        match Agent(self.clone()).stop(run, Some(reason)).await {
            Err(error) if !matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the turn that is going one step further. Gives whether the head has changed.
    async fn advance(self: &Arc<Self>, head: Head, version: u64, active: &Active) -> Result<bool> {
        let from = match &active.doing {
            Doing::Answer { from, .. } => *from,
            Doing::Message(_) | Doing::Copy { .. } => 0,
        };
        let progress = Progress::read(&*self.store, &active.run, from).await?;
        if let Doing::Answer { answers, .. } = &active.doing {
            let ended = progress.status.is_some_and(|status| status != CheckpointStatus::Waiting);
            if !ended && !progress.has(answers) {
                for (request, answer) in answers {
                    self.send_again(&active.run, request, answer.clone(), from).await?;
                }
                self.go_on(&active.run).await;
                return Ok(false);
            }
        } else if progress.begun.is_none() || progress.half {
            let begun = match &active.doing {
                Doing::Message(said) => match self.run_of_turn(&head, said).await {
                    Ok(begun) => self.begin(active.run.clone(), begun).await,
                    Err(error) => Err(error),
                },
                Doing::Copy { of, answers, .. } => self.copy_run(&head, of, &active.run, answers).await,
                Doing::Answer { .. } => Ok(()),
            };
            return self.check_begun(begun, head, version).await.map(|()| false);
        }
        if progress.untouched {
            self.go_on(&active.run).await;
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

    /// What came of beginning the turn of a head.
    async fn check_begun(&self, begun: Result<()>, head: Head, version: u64) -> Result<()> {
        match begun {
            // Another process begins it.
            Err(error) if matches!(error.kind(), ErrorKind::Exists | ErrorKind::Busy) => Ok(()),
            // A turn that can never begin must not keep the session from others.
            Err(error) if error.kind() != ErrorKind::Store => {
                self.swap(Head { active: None, ..head }, version).await?;
                Err(match error.kind() {
                    ErrorKind::TooLarge => error.with_code("session.too-large"),
                    _ => error,
                })
            }
            begun => begun,
        }
    }

    /// Writes a head with a turn that is to begin now, and begins it: with [`Expect::Absent`] if there is no session of that
    /// name, else if it has that version.
    ///
    /// The journal of the run is made at the same time. Should the head not be written, or this process die in between, an
    /// empty journal is left, which means nothing.
    pub(super) async fn begin_turn(self: &Arc<Self>, mut head: Head, expect: Expect) -> Result<TurnBegin> {
        head.updated = self.now();
        let write = async {
            match expect {
                Expect::Version(version) => self.put_head(&head, version).await,
                _ => self.create_head(&head).await,
            }
        };
        let Some((seat, run, begun)) = self.prepare_turn(&head).await? else {
            if write.await?.is_none() {
                return Ok(TurnBegin::Conflict);
            }
            self.reconcile(&head.key()).await?;
            return Ok(TurnBegin::Written);
        };
        let made = self.fresh_journal(&run);
        let (written, made) = together(&*self.store, futures_util::future::join(write, made)).await;
        let (version, lease) = match (written, made) {
            (Ok(Some(version)), Ok(lease)) => (version, lease),
            (Ok(Some(version)), Err(error)) => {
                drop(seat);
                return self.check_begun(Err(error), head, version).await.map(|()| TurnBegin::Written);
            }
            (written, made) => {
                if let Ok(lease) = made {
                    self.discard_journal(&lease).await;
                }
                return written.map(|_| TurnBegin::Conflict);
            }
        };
        let turn = VersionedHead { head: head.clone(), version };
        match self.begin_in(seat, lease, begun, Some(turn)).await {
            Ok(()) => Ok(TurnBegin::Begun),
            failed => self.check_begun(failed, head, version).await.map(|()| TurnBegin::Written),
        }
    }

    /// What begins the turn of a head that is about to be written; none where something else has to be done first, or
    /// another process has to do it.
    async fn prepare_turn(&self, head: &Head) -> Result<Option<(Seat, RunId, Begun)>> {
        let Some(Active { run, doing: Doing::Message(said), .. }) = &head.active else { return Ok(None) };
        // To sum up takes a model, and the message must not wait for that to be durable.
        if !head.chores.is_empty() || !head.queue.is_empty() || self.sessions.summarise.is_some() {
            return Ok(None);
        }
        let Ok(Some(seat)) = self.seat(run) else { return Ok(None) };
        Ok(Some((seat, run.clone(), self.run_of_turn(head, said).await?)))
    }

    /// Writes the checkpoint of a turn that has ended or waits, and moves the head to it.
    async fn end_turn(
        &self,
        head: Head,
        version: u64,
        active: &Active,
        status: CheckpointStatus,
        progress: &Progress,
    ) -> Result<()> {
        let (mut after, node) = self.after_turn(head.clone(), active, status, progress).await?;
        if let Some(node) = node {
            match self.put_node(&node).await {
                Err(error) if error.kind() == ErrorKind::Limit => {
                    // A turn that cannot be kept must not keep the session from others.
                    let Head { checkpoint, turn, label, .. } = head;
                    let mut left = Head { checkpoint, turn, label, ..after };
                    left.leave_waiting();
                    self.swap(left, version).await?;
                    return Err(error);
                }
                put => put?,
            }
            if self.has_retired(&head) {
                self.note_sweep(&head.tree).await?;
            }
        }
        // In the same write: a reader must never find a session without an active turn while messages are queued.
        after.activate_next();
        self.swap(after, version).await?;
        Ok(())
    }

    /// What ends the turn of a run that this process has begun and driven to its end: all of it is known here. `None` where it
    /// is not.
    pub(crate) async fn turn_end_writes(
        &self,
        run: &RunShared,
        last: u64,
        trace: RunTrace,
    ) -> Result<Option<Vec<WriteOp>>> {
        let Some(turn) = self.begun_turn_of(&run.id) else { return Ok(None) };
        let VersionedHead { head, version } = &*turn;
        let Some(active) = head.active.as_ref().filter(|active| active.run == run.id) else {
            return Ok(None);
        };
        let progress = run.journal.with_state(|state| Progress::of_ended(state, last, self.now(), trace));
        let Some(status) = progress.status else { return Ok(None) };
        let (mut after, node) = self.after_turn(head.clone(), active, status, &progress).await?;
        let mut writes = match &node {
            Some(node) => largest_node_writes(node)?,
            None => Vec::new(),
        };
        if self.has_retired(head) {
            writes.push(self.sweep_write(&head.tree));
        }
        after.updated = self.now();
        writes.push(head_write(&after, Expect::Version(*version))?);
        Ok(Some(writes))
    }

    /// The head after a turn that has ended or waits, and the checkpoint of the turn; none if it is no turn.
    async fn after_turn(
        &self,
        mut head: Head,
        active: &Active,
        status: CheckpointStatus,
        progress: &Progress,
    ) -> Result<(Head, Option<Node>)> {
        head.active = None;
        head.live = progress.live(&active.run);
        if !matches!(active.doing, Doing::Answer { .. }) {
            head.invalidated.clear();
        }
        let given = || progress.answers.iter().map(|(_, given)| given.clone()).collect::<Vec<_>>();
        let input = match &active.doing {
            Doing::Message(said) => Input::Message(said.clone()),
            // Nothing was answered: it was stopped, or asked again.
            Doing::Answer { .. } | Doing::Copy { .. } if progress.answers.is_empty() => {
                return Ok((head, None));
            }
            Doing::Answer { .. } | Doing::Copy { .. } => Input::Answers(given()),
        };
        let parent = match &head.checkpoint {
            Some(id) => Some(self.node(id).await?),
            None => None,
        };
        let mut messages = progress.changes();
        if let Input::Message(said) = &input {
            messages.insert(0, Change { keep: 0, message: said.message.clone() });
        }
        let mut node = Node {
            history: HistoryHash::default(),
            jump: Link::default(),
            touched: BTreeSet::new(),
            checkpoint: Checkpoint {
                id: active.checkpoint.clone(),
                session: head.id.clone(),
                turn: head.turn + 1,
                label: label(&input),
                created_at: progress.time,
                run: active.run.clone(),
                seq: progress.last,
                parent: head.checkpoint.take(),
                status,
                workflow: progress.workflow.clone(),
                position: progress.position.clone(),
                questions: progress.open.clone(),
            },
            summarised: self.summarised_at(parent.as_ref()).await?,
            base: None,
            instructed: parent.as_ref().is_some_and(|parent| parent.instructed),
            imported: false,
            input,
            keys: match &active.doing {
                Doing::Copy { keys, .. } => keys.clone(),
                Doing::Message(_) | Doing::Answer { .. } => Vec::new(),
            },
            messages,
            structured: progress.structured(),
            state: progress.state(),
        };
        self.link(parent.as_ref(), &mut node).await?;
        head.checkpoint = Some(active.checkpoint.clone());
        head.turn += 1;
        if head.turn == 1 {
            head.label = node.checkpoint.label.clone().map(short);
        }
        Ok((head, Some(node)))
    }

    /// What the run of a turn begins with.
    async fn run_of_turn(&self, head: &Head, said: &Said) -> Result<Begun> {
        let workflow = self.chosen_workflow(said.workflow.as_deref())?;
        Ok(Begun {
            agent: self.name.clone(),
            workflow: workflow.id().to_owned(),
            version: workflow.version().to_owned(),
            messages: self.prior_messages(head).await?,
            created: self.now(),
            owner: head.owner.clone(),
            session: Some(head.id.clone()),
            invalidated: head.invalidated.clone(),
            ..said.begun.clone()
        })
    }

    /// The workflow of a turn.
    pub(crate) fn chosen_workflow(&self, id: Option<&str>) -> Result<crate::Workflow> {
        match id.or(self.default_workflow.as_deref()) {
            Some(id) => self.workflow(id),
            None => {
                let message = "the agent has several workflows and no default: name one";
                Err(Error::new(ErrorKind::UnknownWorkflow, message))
            }
        }
    }

    /// A run has ended or waits: so has its turn, and the next one may begin.
    ///
    /// It is boxed because this may stop a run that waits, at whose end a session is reconciled again.
    pub(crate) fn turn_over<'a>(
        self: &'a Arc<Self>,
        run: &'a RunShared,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(async move {
            let Some(session) = run.begun.session_key() else { return Ok(()) };
            // From here on the journal says how far the run is.
            self.forget_turn(&run.id);
            match self.reconcile(&session).await {
                Err(error) if !error.is_store_down() => {
                    // The run is as it should be; the next request for the session is told.
                    self.skip("session", &keys::session_queue(&session), &error);
                    Ok(())
                }
                reconciled => reconciled.map(drop),
            }
        })
    }

    /// What readers of a run are told before it ends or waits: the checkpoint that its turn will leave.
    pub(crate) async fn checkpoint_to_be(self: &Arc<Self>, run: &RunShared) -> Result<Option<Event>> {
        let Some(session) = run.begun.session_key() else { return Ok(None) };
        if let Some(turn) = self.begun_turn_of(&run.id) {
            return Ok(checkpoint_event(&turn.head, &run.id));
        }
        let loaded = self.load_head(&session).await?;
        Ok(loaded.and_then(|loaded| checkpoint_event(&loaded.head, &run.id)))
    }

    /// Answers are about to be sent to a run: if it is of a session, a turn begins.
    pub(crate) async fn answering(
        self: &Arc<Self>,
        session: Option<&SessionKey>,
        run: &RunId,
        answers: &[(RequestId, Answer)],
    ) -> Result<()> {
        let Some(session) = session else { return Ok(()) };
        loop {
            let Some(VersionedHead { mut head, version }) = self.reconcile(session).await? else {
                return Ok(());
            };
            match (&head.active, &head.live) {
                // Another branch of the run goes on: these answers are part of the same turn.
                (Some(active), _) if active.run == *run => return Ok(()),
                (None, Some(live)) if live.run == *run => {
                    let doing = Doing::Answer { from: live.seq, answers: answers.to_vec() };
                    let checkpoint = fresh_checkpoint(&head.tree)?;
                    let active = Active { run: run.clone(), checkpoint, doing };
                    (head.active, head.live) = (Some(active), None);
                    if self.swap(head, version).await? {
                        return Ok(());
                    }
                }
                _ => match answers {
                    [(request, _), ..] => return Err(taken_back(request)),
                    [] => return Ok(()),
                },
            }
        }
    }
}

/// The checkpoint that the turn of a run will leave, if the run is the turn of the session.
fn checkpoint_event(head: &Head, run: &RunId) -> Option<Event> {
    let active = head.active.as_ref().filter(|active| active.run == *run && !head.deleted)?;
    let label = match &active.doing {
        doing if doing.asks_again() => return None,
        Doing::Message(said) => label_of(said),
        _ => None,
    };
    Some(Event::Checkpoint(CheckpointEvent {
        checkpoint: active.checkpoint.clone(),
        session: head.id.clone(),
        turn: head.turn + 1,
        label,
        ..Default::default()
    }))
}

/// What people call a session is no longer than this.
pub(super) fn short(label: String) -> String {
    match label.char_indices().nth(80) {
        Some((end, _)) => label.get(..end).unwrap_or_default().to_owned(),
        None => label,
    }
}

/// What people call a turn: the beginning of what was written.
pub(super) fn label(input: &Input) -> Option<String> {
    let Input::Message(said) = input else { return None };
    label_of(said)
}

fn label_of(said: &Said) -> Option<String> {
    said.label.clone().or_else(|| beginning(&said.message))
}

/// The beginning of what a message says.
pub(super) fn beginning(message: &Message) -> Option<String> {
    let text = message.plain_text();
    let line: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    Some(line).filter(|line| !line.is_empty())
}
