//! Ending a turn: writes its checkpoint and the next head.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use headwater_protocol::{CheckpointEvent, Event, RunId};
use headwater_store::{Expect, WriteOp};

use super::{
    Sessions,
    checkpoint::{AncestorLink, Checkpoint, CheckpointStatus, MessageChange, Node, StoredInput},
    checkpoint_store::largest_node_writes,
    head::{ActiveTurn, Head, TurnWork, VersionedHead, head_write},
    history_hash::HistoryHash,
    label::{label, label_of, short},
    turn_progress::TurnProgress,
};
use crate::{Result, error::ErrorKind, journal::Fold, node::ActiveRun, run::BegunTurn};

/// A turn started by this process, with its head as written then.
#[derive(Debug)]
pub(super) struct LocalTurn {
    pub(super) sessions: Arc<Sessions>,
    pub(super) loaded: VersionedHead,
}

impl BegunTurn for LocalTurn {
    fn checkpoint_event(&self) -> Option<Event> {
        let active = self.loaded.head.active.as_ref()?;
        checkpoint_event(&self.loaded.head, &active.run)
    }

    fn end_writes<'a>(&'a self, run: &'a ActiveRun) -> BoxFuture<'a, Result<Option<Vec<WriteOp>>>> {
        Box::pin(self.sessions.end_writes(&self.loaded, run))
    }
}

impl Sessions {
    /// Writes the checkpoint of a turn that has ended or waits, and moves the head to it.
    pub(super) async fn end_turn(
        &self,
        head: Head,
        version: u64,
        active: &ActiveTurn,
        status: CheckpointStatus,
        progress: &TurnProgress,
    ) -> Result<()> {
        let (mut after, node) = self.after_turn(head.clone(), active, status, progress).await?;
        if let Some(node) = node {
            match self.tree.put_node(&node).await {
                Err(error) if error.kind() == ErrorKind::Limit => {
                    // A turn that cannot be stored must not block the session.
                    let Head { checkpoint, turn, label, .. } = head;
                    let mut left = Head { checkpoint, turn, label, ..after };
                    left.leave_waiting();
                    self.heads.swap(left, version).await?;
                    return Err(error);
                }
                put => put?,
            }
            if self.garbage.has_retired(&head) {
                self.garbage.record_sweep(&head.tree).await?;
            }
        }
        // In the same write: a reader must never find a session without an active turn while messages are queued.
        after.activate_next();
        self.heads.swap(after, version).await?;
        Ok(())
    }

    /// The head after a turn that has ended or waits, with its checkpoint; `None` if it does not count as a
    /// turn.
    async fn after_turn(
        &self,
        mut head: Head,
        active: &ActiveTurn,
        status: CheckpointStatus,
        progress: &TurnProgress,
    ) -> Result<(Head, Option<Node>)> {
        head.active = None;
        head.live = progress.live(&active.run);
        if !matches!(active.work, TurnWork::Answer { .. }) {
            head.invalidated.clear();
        }
        let given = || progress.answers.iter().map(|(_, given)| given.clone()).collect::<Vec<_>>();
        let input = match &active.work {
            TurnWork::Message(said) => StoredInput::Message(said.clone()),
            // No answer was applied: the run was stopped, or only repeats its requests.
            TurnWork::Answer { .. } | TurnWork::Copy { .. } if progress.answers.is_empty() => {
                return Ok((head, None));
            }
            TurnWork::Answer { .. } | TurnWork::Copy { .. } => StoredInput::Answers(given()),
        };
        let parent = match &head.checkpoint {
            Some(id) => Some(self.tree.node(id).await?),
            None => None,
        };
        let mut messages = progress.changes();
        if let StoredInput::Message(said) = &input {
            messages.insert(0, MessageChange { keep: 0, message: said.message.clone() });
        }
        let mut node = Node {
            history: HistoryHash::default(),
            jump: AncestorLink::default(),
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
            summarised: self.budget.summarised_at(parent.as_deref()).await?,
            base: None,
            instructed: parent.as_ref().is_some_and(|parent| parent.instructed),
            imported: false,
            input,
            keys: match &active.work {
                TurnWork::Copy { keys, .. } => keys.clone(),
                TurnWork::Message(_) | TurnWork::Answer { .. } => Vec::new(),
            },
            messages,
            structured: progress.structured(),
            state: progress.state(),
        };
        self.tree.link(parent.as_deref(), &mut node).await?;
        head.checkpoint = Some(active.checkpoint.clone());
        head.turn += 1;
        if head.turn == 1 {
            head.label = node.checkpoint.label.clone().map(short);
        }
        Ok((head, Some(node)))
    }

    /// The writes that end the turn of a run driven by this process from start to end, without reading it
    /// back. `None` if the run was not.
    async fn end_writes(&self, loaded: &VersionedHead, run: &ActiveRun) -> Result<Option<Vec<WriteOp>>> {
        let VersionedHead { head, version } = loaded;
        let Some(active) = head.active.as_ref().filter(|active| active.run == run.id) else {
            return Ok(None);
        };
        let progress = TurnProgress::new(Fold::default(), &run.fold(), self.env.now());
        let Some(status) = progress.status else { return Ok(None) };
        let (mut after, node) = self.after_turn(head.clone(), active, status, &progress).await?;
        let mut writes = match &node {
            Some(node) => largest_node_writes(node)?,
            None => Vec::new(),
        };
        if self.garbage.has_retired(head) {
            writes.push(self.garbage.sweep_write(&head.tree));
        }
        after.updated = self.env.now();
        writes.push(head_write(&after, Expect::Version(*version))?);
        Ok(Some(writes))
    }
}

/// The checkpoint event of a run, if it is the active turn of the session.
pub(super) fn checkpoint_event(head: &Head, run: &RunId) -> Option<Event> {
    let active = head.active.as_ref().filter(|active| active.run == *run && !head.deleted)?;
    let label = match &active.work {
        work if work.asks_again() => return None,
        TurnWork::Message(said) => label_of(said),
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
