//! The conversation as of any checkpoint, folded from the changes of each turn.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, StructuredStreams};
use serde_json::{Map, Value};

use super::{
    checkpoint::{Checkpoint, Node},
    checkpoint_store::CheckpointTree,
};
use crate::Result;

/// A page of the conversation, oldest message first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HistoryPage {
    /// The messages.
    pub messages: Vec<Message>,
    /// The checkpoints of their turns, oldest first, unless removed by retention.
    pub checkpoints: Vec<Checkpoint>,
    /// The turn at which the previous page ends; `None` if this page starts with the session.
    pub before: Option<u64>,
}

/// The complete content of a session at a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionState {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The structured streams.
    pub structured: StructuredStreams,
    /// The workflow state at the end of the turn.
    pub workflow_state: Map<String, Value>,
    /// The checkpoint; `None` in a new session.
    pub checkpoint: Option<Checkpoint>,
}

impl CheckpointTree {
    /// The nodes from a turn back to the start of a run, at least as many as requested, oldest first.
    pub(super) async fn nodes_back(
        &self,
        from: Option<CheckpointId>,
        mut enough: impl FnMut(&Node) -> bool + Send,
    ) -> Result<Vec<Arc<Node>>> {
        let mut nodes = Vec::new();
        let mut next = from;
        let mut done = false;
        while let Some(id) = next.take() {
            let node = self.node(&id).await?;
            next.clone_from(&node.checkpoint.parent);
            done |= enough(&node);
            let begins = node.begins();
            nodes.push(node);
            // A message that spans several turns is complete only with the first of them.
            if done && begins {
                break;
            }
        }
        nodes.reverse();
        Ok(nodes)
    }

    pub(super) async fn history(&self, from: Option<Arc<Node>>, turns: usize) -> Result<HistoryPage> {
        let mut left = turns.max(1);
        let nodes = self
            .nodes_back(from.map(|node| node.id().clone()), |_| {
                left = left.saturating_sub(1);
                left == 0
            })
            .await?;
        let before = nodes.first().map(|first| first.first_turn() - 1).filter(|turn| *turn > 0);
        let kept = nodes.iter().filter(|node| node.base.is_none());
        let checkpoints = kept.map(|node| node.checkpoint.clone()).collect();
        Ok(HistoryPage { messages: messages(&nodes), checkpoints, before })
    }

    pub(super) async fn state_at(&self, at: Option<CheckpointId>) -> Result<SessionState> {
        let nodes = self.nodes_back(at, |_| false).await?;
        let mut state = SessionState {
            checkpoint: nodes.last().map(|node| node.checkpoint.clone()),
            ..Default::default()
        };
        for node in &nodes {
            if node.clears() {
                state.workflow_state.clear();
            }
            state.workflow_state.extend(node.state.clone());
            for (stream, updates) in &node.structured {
                state.structured.invalidate(stream);
                for update in updates {
                    // Cannot fail: the stored updates passed the same limits before.
                    let _ = state.structured.apply(update);
                }
            }
        }
        state.messages = messages(&nodes);
        Ok(state)
    }
}

pub(super) fn messages(nodes: &[Arc<Node>]) -> Vec<Message> {
    let mut messages = Vec::new();
    for change in nodes.iter().flat_map(|node| &node.messages) {
        change.clone().apply(&mut messages);
    }
    messages
}
