//! Navigation in the tree of checkpoints, in a number of steps logarithmic in its depth.

use std::sync::Arc;

use headwater_protocol::CheckpointId;
use headwater_store::Expect;
use serde::{Deserialize, Serialize};

use super::{
    checkpoint::{AncestorLink, Node, unknown},
    checkpoint_store::CheckpointTree,
    head::Head,
};
use crate::{
    Error, Result,
    error::ErrorKind,
    keys::{self, SessionKey},
};

/// An abandoned branch, which may be selected again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// The last checkpoint of the branch.
    pub(crate) tip: CheckpointId,
}

impl CheckpointTree {
    /// Links a new node to its parent: computes the history hash and the jump link, which keeps every
    /// ancestor within a logarithmic number of steps. The streams touched between node and jump target are
    /// recorded too, so that a rollback need not read each turn.
    pub(crate) async fn link(&self, parent: Option<&Node>, node: &mut Node) -> Result<()> {
        let before = parent.map(|parent| parent.history.clone()).unwrap_or_default();
        node.history = before.then_all(node.messages.iter().map(|change| &change.message));
        node.touched = node.structured.keys().cloned().collect();
        node.jump = AncestorLink::default();
        let Some(parent) = parent else { return Ok(()) };
        let middle = match &parent.jump.id {
            Some(id) => self.find_node(id).await?,
            None => None,
        };
        // A missing middle node was merged. Its own jump is not needed: the distance follows from the turn
        // number.
        let next = match (&middle, &parent.jump.id) {
            (Some(middle), _) => middle.jump.clone(),
            (None, Some(gone)) => AncestorLink { id: Some(gone.clone()), turn: jump_turn(parent.jump.turn) },
            (None, None) => AncestorLink::default(),
        };
        if parent.turn() - parent.jump.turn == parent.jump.turn - next.turn {
            node.jump = next;
            node.touched.extend(parent.touched.iter().cloned());
            node.touched.extend(middle.iter().flat_map(|middle| middle.touched.iter().cloned()));
        } else {
            node.jump = AncestorLink { id: Some(parent.id().clone()), turn: parent.turn() };
        }
        Ok(())
    }

    /// The ancestor with the number of a turn, or the node itself; none is the beginning.
    pub(crate) async fn ancestor(&self, mut node: Arc<Node>, turn: u64) -> Result<Option<Arc<Node>>> {
        // Of turns that were merged there is only the last.
        while node.first_turn() > turn {
            let far = match &node.jump {
                AncestorLink { id: Some(id), turn: far } if *far >= turn => self.find_node(id).await?,
                _ => None,
            };
            node = match (far, &node.checkpoint.parent) {
                (Some(far), _) => far,
                (None, Some(parent)) => self.node(parent).await?,
                (None, None) => return Ok(None),
            };
        }
        Ok(Some(node))
    }

    /// The first node on the way to one.
    pub(crate) async fn first(&self, mut node: Arc<Node>) -> Result<Arc<Node>> {
        loop {
            let far = match &node.jump.id {
                Some(id) => self.find_node(id).await?,
                None => None,
            };
            node = match (far, &node.checkpoint.parent) {
                (Some(far), _) => far,
                (None, Some(parent)) => self.node(parent).await?,
                (None, None) => return Ok(node),
            };
        }
    }

    /// The nearest node that two have in common; none is the beginning.
    pub(crate) async fn common(&self, one: Arc<Node>, other: Arc<Node>) -> Result<Option<Arc<Node>>> {
        let turn = one.turn().min(other.turn());
        let (one, other) = (self.ancestor(one, turn).await?, self.ancestor(other, turn).await?);
        let (Some(mut one), Some(mut other)) = (one, other) else { return Ok(None) };
        while one.id() != other.id() {
            // Nodes of equal depth jump equally far, unless the turns before them were merged.
            if one.jump.id != other.jump.id
                && one.jump.turn == other.jump.turn
                && let (Some(left), Some(right)) = (&one.jump.id, &other.jump.id)
                && let (Some(left), Some(right)) = (self.find_node(left).await?, self.find_node(right).await?)
            {
                (one, other) = (left, right);
                continue;
            }
            let (Some(left), Some(right)) = (one.parent().id, other.parent().id) else { return Ok(None) };
            one = self.node(&left).await?;
            other = self.node(&right).await?;
        }
        Ok(Some(one))
    }

    /// A checkpoint on the way to where the session stands.
    pub(crate) async fn on_chain(&self, head: &Head, id: &CheckpointId) -> Result<Arc<Node>> {
        let Some(at) = &head.checkpoint else { return Err(unknown(id)) };
        let turn = self.kept_node(head, id).await?.turn();
        match self.ancestor(self.node(at).await?, turn).await? {
            Some(node) if node.id() == id => Ok(node),
            _ => Err(unknown(id)),
        }
    }

    /// A checkpoint of the session, also of a branch that was left; with the tip of that branch.
    pub(crate) async fn reach(&self, head: &Head, id: &CheckpointId) -> Result<(Arc<Node>, CheckpointId)> {
        let node = self.kept_node(head, id).await?;
        let mut tip = head.checkpoint.clone();
        loop {
            let common = match &tip {
                Some(tip) => self.common(node.clone(), self.node(tip).await?).await?,
                None => None,
            };
            if let (Some(common), Some(tip)) = (&common, &tip)
                && common.id() == id
            {
                return Ok((node, tip.clone()));
            }
            let turn = common.as_ref().map_or(0, |common| common.turn()) + 1;
            let Some(child) = self.ancestor(node.clone(), turn).await? else { return Err(unknown(id)) };
            let parent = common.as_ref().map(|common| common.id());
            match self.branch(&head.key(), parent, child.id()).await? {
                // A branch abandoned twice has one tip, so each step goes deeper.
                Some(branch) if tip.as_ref() != Some(&branch.tip) => tip = Some(branch.tip),
                _ => return Err(unknown(id)),
            }
        }
    }

    /// A checkpoint that can be gone back to, as far as its age goes.
    async fn kept_node(&self, head: &Head, id: &CheckpointId) -> Result<Arc<Node>> {
        // A checkpoint of another session must look like one that never was, also where turns of this one are retired.
        if !id.as_str().strip_prefix(head.tree.as_str()).is_some_and(|rest| rest.starts_with('.')) {
            return Err(unknown(id));
        }
        let node = self.find_node(id).await?;
        let merged = match (&node, &head.checkpoint) {
            (Some(node), _) => node.turn() <= head.retired,
            (None, Some(at)) if head.retired > 0 => {
                let at = self.node(at).await?;
                let newest = self.ancestor(at, head.retired).await?.map(|node| node.id().clone());
                let nodes = self.nodes_back(newest, |node| node.has_merged(id)).await?;
                nodes.iter().any(|node| node.has_merged(id))
            }
            _ => false,
        };
        match node {
            Some(node) if !merged => Ok(node),
            None if !merged => Err(unknown(id)),
            _ => {
                let message = format!(
                    "checkpoint {id} is too old to roll back to: only the messages of its turn are stored"
                );
                Err(Error::new(ErrorKind::UnknownCheckpoint, message).with_code("checkpoint.retired"))
            }
        }
    }

    async fn branch(
        &self,
        session: &SessionKey,
        parent: Option<&CheckpointId>,
        child: &CheckpointId,
    ) -> Result<Option<Branch>> {
        let value = match self.env.store.get(&keys::branch(session, parent, child)).await {
            Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => None,
            value => value?,
        };
        Ok(value.and_then(|value| crate::codec::decode(&value.bytes).ok()))
    }

    /// Records the tip of an abandoned branch, so that it can be selected again.
    pub(crate) async fn record_branch(
        &self,
        session: &SessionKey,
        parent: Option<&CheckpointId>,
        child: &CheckpointId,
        tip: &CheckpointId,
    ) -> Result<()> {
        let bytes = serde_json::to_vec(&Branch { tip: tip.clone() }).unwrap_or_default();
        self.env.store.put(&keys::branch(session, parent, child), bytes.into(), Expect::Any, None).await?;
        Ok(())
    }
}

/// The turn that the node of `turn` jumps to. It depends on the turn number alone.
fn jump_turn(turn: u64) -> u64 {
    // Repeats the rule of `link` from the first turn.
    let (mut at, mut jumps) = (0, vec![0]);
    while at < turn {
        let jump = jumps.last().copied().unwrap_or(0);
        let next = jumps.get(usize::try_from(jump).unwrap_or(0)).copied().unwrap_or(0);
        jumps.push(if at > 0 && at - jump == jump - next { next } else { at });
        at += 1;
    }
    jumps.last().copied().unwrap_or(0)
}
