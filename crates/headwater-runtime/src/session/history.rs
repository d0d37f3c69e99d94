//! What was said, from any checkpoint: folded from what each turn added.

use headwater_protocol::{CheckpointId, Message, StructuredStreams};
use serde_json::{Map, Value};

use super::{
    checkpoint::{Checkpoint, Node},
    head::Head,
};
use crate::{Result, agent::AgentInner};

/// A page of what was said, oldest first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HistoryPage {
    /// The messages.
    pub messages: Vec<Message>,
    /// The checkpoints of their turns, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// The turn at which the page before this one ends; none if this one begins with the session.
    pub before: Option<u64>,
}

/// All that a session holds at a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionState {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The structured streams.
    pub structured: StructuredStreams,
    /// The state of the workflow at its end.
    pub workflow_state: Map<String, Value>,
    /// The checkpoint; none at the beginning.
    pub checkpoint: Option<Checkpoint>,
}

impl AgentInner {
    /// The nodes from a turn back to where enough are there and a run begins, oldest first.
    pub(super) async fn nodes_back(
        &self,
        from: Option<CheckpointId>,
        mut enough: impl FnMut(&Node) -> bool + Send,
    ) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        let mut next = from;
        let mut done = false;
        while let Some(id) = next.take() {
            let node = self.node(&id).await?;
            next.clone_from(&node.checkpoint.parent);
            done |= enough(&node);
            let begins = node.begins();
            nodes.push(node);
            // A message that spans several turns is whole only with the first of them.
            if done && begins {
                break;
            }
        }
        nodes.reverse();
        Ok(nodes)
    }

    pub(super) async fn history(&self, from: Option<Node>, turns: usize) -> Result<HistoryPage> {
        let mut left = turns.max(1);
        let nodes = self
            .nodes_back(from.map(|node| node.id().clone()), |_| {
                left = left.saturating_sub(1);
                left == 0
            })
            .await?;
        let before = nodes.first().map(|first| first.turn() - 1).filter(|turn| *turn > 0);
        let checkpoints = nodes.iter().map(|node| node.checkpoint.clone()).collect();
        Ok(HistoryPage { messages: messages(nodes), checkpoints, before })
    }

    pub(super) async fn state_at(&self, at: Option<CheckpointId>) -> Result<SessionState> {
        let nodes = self.nodes_back(at, |_| false).await?;
        let mut state = SessionState {
            checkpoint: nodes.last().map(|node| node.checkpoint.clone()),
            ..Default::default()
        };
        for node in &nodes {
            if node.begins() {
                state.workflow_state.clear();
            }
            state.workflow_state.extend(node.state.clone());
            for (stream, updates) in &node.structured {
                state.structured.invalidate(stream);
                for update in updates {
                    // What was kept is what a state of the same limits gave.
                    let _ = state.structured.apply(update);
                }
            }
        }
        state.messages = messages(nodes);
        Ok(state)
    }

    /// The conversation before a turn, as far as the budget goes: the newest messages.
    pub(super) async fn prior_messages(&self, head: &Head) -> Result<Vec<Message>> {
        let options = &self.sessions;
        let (mut count, mut tokens) = (0, 0);
        let nodes = self
            .nodes_back(head.checkpoint.clone(), |node| {
                count += node.messages.iter().filter(|change| change.keep == 0).count();
                tokens += node.messages.iter().map(|change| about_tokens(&change.message)).sum::<usize>();
                count >= options.last_messages || options.last_tokens.is_some_and(|limit| tokens > limit)
            })
            .await?;
        let mut all = messages(nodes);
        let mut tokens = 0;
        let fits = all.iter().rev().take(options.last_messages).take_while(|message| {
            tokens += about_tokens(message);
            options.last_tokens.is_none_or(|limit| tokens <= limit)
        });
        let keep = fits.count();
        Ok(all.split_off(all.len() - keep))
    }
}

fn messages(nodes: Vec<Node>) -> Vec<Message> {
    let mut messages = Vec::new();
    for change in nodes.into_iter().flat_map(|node| node.messages) {
        change.apply(&mut messages);
    }
    messages
}

/// Four bytes of text are about one token.
fn about_tokens(message: &Message) -> usize {
    message.parts.iter().map(|part| serde_json::to_string(part).map_or(0, |text| text.len() / 4)).sum()
}
