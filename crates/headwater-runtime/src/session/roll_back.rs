//! Rollback to an earlier checkpoint: one compare-and-set of the head, for any number of turns.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, RequestId};

use super::{
    Session,
    checkpoint::{Node, fresh_checkpoint, unknown},
    head::{ActiveTurn, Chore, Head, TurnWork, VersionedHead},
};
use crate::{Result, id::fresh_run, journal::InvalidatedStream};

/// The effects of a rollback.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RollbackSummary {
    /// The retracted structured streams. The next run of the session retracts them for its readers.
    pub streams: Vec<String>,
    /// Requests of the removed turns. An answer to one of them fails with `request.retracted`.
    pub requests: Vec<RequestId>,
}

impl Session {
    /// Rolls back to a checkpoint: removes the turns after it, with their variants. If its run waited for an
    /// answer, a new run sends the request again, with a new id and token.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`](crate::ErrorKind::SessionBusy) while a run is active, [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint) when it is not on the way to
    /// where the session stands.
    pub async fn roll_back(&self, to: &CheckpointId) -> Result<RollbackSummary> {
        self.back_to(|_| Ok(Some(to.clone()))).await
    }

    /// Rolls back to the start of the session.
    ///
    /// # Errors
    /// As [`Session::roll_back`].
    pub async fn roll_back_to_start(&self) -> Result<RollbackSummary> {
        match self.reconcile().await?.head.checkpoint {
            Some(_) => self.back_to(|_| Ok(None)).await,
            None => Ok(RollbackSummary::default()),
        }
    }

    /// Rolls back by one turn.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint) at the beginning.
    pub async fn undo(&self) -> Result<RollbackSummary> {
        self.back_to(|head: &Node| Ok(head.checkpoint.parent.clone())).await
    }

    async fn back_to(&self, to: impl Fn(&Node) -> Result<Option<CheckpointId>>) -> Result<RollbackSummary> {
        let sessions = &self.sessions;
        loop {
            let VersionedHead { mut head, version } = self.idle().await?;
            let tip = self.tip(&head).await?;
            let to = match to(&tip)? {
                Some(to) => Some(sessions.tree.on_chain(&head, &to).await?),
                None => None,
            };
            if to.as_ref().is_some_and(|to| to.id() == tip.id() && (head.live.is_some() || !to.waits())) {
                return Ok(RollbackSummary::default());
            }
            if to.as_deref().map(Node::id) != Some(tip.id()) {
                head.chores.push(Chore::Forget { after: to.as_ref().map(|to| to.id().clone()) });
            }
            let undone = self.stand_at(&mut head, tip, to.as_deref()).await?;
            reopen(&mut head, to.as_deref())?;
            if sessions.heads.swap(head, version).await? {
                sessions.reconcile(&self.key).await?;
                return Ok(undone);
            }
        }
    }

    /// The head, if no run is active.
    pub(super) async fn idle(&self) -> Result<VersionedHead> {
        let seen = self.reconcile().await?;
        if seen.head.active.is_some() { Err(self.busy()) } else { Ok(seen) }
    }

    pub(super) async fn tip(&self, head: &Head) -> Result<Arc<Node>> {
        match &head.checkpoint {
            Some(id) => self.sessions.tree.node(id).await,
            None => Err(unknown(&CheckpointId::from("at the beginning"))),
        }
    }

    /// Moves a head back, and records the streams and requests that become invalid.
    pub(super) async fn stand_at(
        &self,
        head: &mut Head,
        tip: Arc<Node>,
        to: Option<&Node>,
    ) -> Result<RollbackSummary> {
        let turn = to.map_or(0, Node::turn);
        let mut streams: Vec<String> = Vec::new();
        let sessions = &self.sessions;
        let mut next = Some(tip);
        while let Some(node) = next.filter(|node| node.turn() > turn) {
            let jump = node.jump.id.as_ref().filter(|_| node.base.is_none() && node.jump.turn >= turn);
            let far = match jump {
                Some(id) => sessions.tree.find_node(id).await?,
                None => None,
            };
            next = match (far, &node.checkpoint.parent) {
                (Some(far), _) => {
                    streams.extend(node.touched.iter().cloned());
                    Some(far)
                }
                // The jump target was merged, or lies too far back.
                (None, Some(parent)) => {
                    streams.extend(node.structured.keys().cloned());
                    Some(sessions.tree.node(parent).await?)
                }
                (None, None) => {
                    streams.extend(node.structured.keys().cloned());
                    None
                }
            };
        }
        streams.sort_unstable();
        streams.dedup();
        let checkpoint = to.map(|to| to.id().clone());
        let requests = head.leave_waiting();
        head.invalidated.retain(|gone| !streams.contains(&gone.stream));
        head.invalidated.extend(
            streams
                .iter()
                .map(|stream| InvalidatedStream { stream: stream.clone(), checkpoint: checkpoint.clone() }),
        );
        head.checkpoint = checkpoint;
        head.turn = turn;
        if turn == 0 {
            head.label = None;
        }
        Ok(RollbackSummary { streams, requests })
    }
}

/// Schedules a new run that sends the requests of a waiting checkpoint again.
pub(super) fn reopen(head: &mut Head, at: Option<&Node>) -> Result<()> {
    if let Some(node) = at.filter(|node| node.waits()) {
        let work = TurnWork::Copy { of: node.id().clone(), answers: Vec::new(), keys: Vec::new() };
        head.active = Some(ActiveTurn { run: fresh_run()?, checkpoint: fresh_checkpoint(&head.tree)?, work });
    }
    Ok(())
}
