//! Finding one's way in the tree of checkpoints, in steps that grow with the logarithm of its depth.

use headwater_protocol::{CheckpointId, SessionId};
use headwater_store::Expect;
use serde::{Deserialize, Serialize};

use super::{
    checkpoint::{Link, Node, unknown},
    head::Head,
};
use crate::{Result, agent::AgentInner};

/// A branch that was left, and may be selected again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// Where the session stood when it was left.
    pub(crate) tip: CheckpointId,
}

/// Where the branches of a session at a checkpoint are kept.
pub(crate) fn branches(session: &SessionId, parent: Option<&CheckpointId>) -> String {
    format!("branch/{session}/{}/", parent.map_or("-", CheckpointId::as_str))
}

impl AgentInner {
    /// The jump of a new node, from the node before it: as far as makes every ancestor near.
    pub(crate) async fn jump_after(&self, parent: Option<&Node>) -> Result<Link> {
        let Some(parent) = parent else { return Ok(Link::default()) };
        let next = match &parent.jump.id {
            Some(id) => self.node(id).await?.jump,
            None => Link::default(),
        };
        if parent.turn() - parent.jump.turn == parent.jump.turn - next.turn {
            Ok(next)
        } else {
            Ok(Link { id: Some(parent.id().clone()), turn: parent.turn() })
        }
    }

    /// The ancestor with the number of a turn, or the node itself; none is the beginning.
    pub(crate) async fn ancestor(&self, mut node: Node, turn: u64) -> Result<Option<Node>> {
        while node.turn() > turn {
            let link = if node.jump.turn >= turn { node.jump.clone() } else { node.parent() };
            match link.id {
                Some(id) => node = self.node(&id).await?,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// The nearest node that two have in common; none is the beginning.
    pub(crate) async fn common(&self, one: Node, other: Node) -> Result<Option<Node>> {
        let turn = one.turn().min(other.turn());
        let (one, other) = (self.ancestor(one, turn).await?, self.ancestor(other, turn).await?);
        let (Some(mut one), Some(mut other)) = (one, other) else { return Ok(None) };
        while one.id() != other.id() {
            // Nodes of one depth jump equally far.
            let (left, right) = if one.jump.id == other.jump.id {
                (one.parent(), other.parent())
            } else {
                (one.jump, other.jump)
            };
            let (Some(left), Some(right)) = (left.id, right.id) else { return Ok(None) };
            one = self.node(&left).await?;
            other = self.node(&right).await?;
        }
        Ok(Some(one))
    }

    /// A checkpoint on the way to where the session stands.
    pub(crate) async fn on_chain(&self, head: &Head, id: &CheckpointId) -> Result<Node> {
        let Some(at) = &head.checkpoint else { return Err(unknown(id)) };
        let turn = self.node(id).await?.turn();
        match self.ancestor(self.node(at).await?, turn).await? {
            Some(node) if node.id() == id => Ok(node),
            _ => Err(unknown(id)),
        }
    }

    /// A checkpoint of the session, also of a branch that was left; with the tip of that branch.
    pub(crate) async fn reach(&self, head: &Head, id: &CheckpointId) -> Result<(Node, CheckpointId)> {
        let node = self.node(id).await?;
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
            let turn = common.as_ref().map_or(0, Node::turn) + 1;
            let Some(child) = self.ancestor(node.clone(), turn).await? else { return Err(unknown(id)) };
            let parent = common.as_ref().map(Node::id);
            match self.branch(&head.id, parent, child.id()).await? {
                // A branch that was left twice has one tip, so each step goes deeper.
                Some(branch) if tip.as_ref() != Some(&branch.tip) => tip = Some(branch.tip),
                _ => return Err(unknown(id)),
            }
        }
    }

    async fn branch(
        &self,
        session: &SessionId,
        parent: Option<&CheckpointId>,
        child: &CheckpointId,
    ) -> Result<Option<Branch>> {
        let value = self.store.get(&format!("{}{child}", branches(session, parent))).await?;
        Ok(value.and_then(|value| serde_json::from_slice(&value.bytes).ok()))
    }

    /// Notes where a branch was left, so that it can be selected again.
    pub(crate) async fn note_branch(
        &self,
        session: &SessionId,
        parent: Option<&CheckpointId>,
        child: &CheckpointId,
        tip: &CheckpointId,
    ) -> Result<()> {
        let bytes = serde_json::to_vec(&Branch { tip: tip.clone() }).unwrap_or_default();
        self.store
            .put(&format!("{}{child}", branches(session, parent)), bytes.into(), Expect::Any, None)
            .await?;
        Ok(())
    }
}
