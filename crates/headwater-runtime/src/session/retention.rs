//! Retention: checkpoints that are too old are merged. Their messages are kept; rollback to them is not.
//!
//! It happens in steps, some time apart: the head refuses rollback to them, then they are merged into the
//! last of them, and they are removed when no reader can need them.

use std::collections::HashMap;

use headwater_protocol::CheckpointId;

use super::{
    checkpoint::{MergedTurns, Node},
    garbage::{Garbage, ReachableNodes},
    head::Head,
};
use crate::Result;

/// Maximum size of a node that others are merged into, in bytes.
const MERGED: usize = 64 << 10;

impl Garbage {
    /// Whether the turn that ends now makes others too old. Checked only every few turns, so that the cost
    /// per turn stays constant.
    pub(super) fn has_retired(&self, head: &Head) -> bool {
        let some = self.options.keep_checkpoints.is_some() || self.options.keep_for.is_some();
        some && head.turn.is_multiple_of(8)
    }

    /// Records for each session which turns are retired. Returns whether there are new ones.
    pub(super) async fn retire_old(
        &self,
        heads: &[(Head, u64)],
        known: &HashMap<&CheckpointId, &Node>,
    ) -> Result<bool> {
        let mut any = false;
        for (head, version) in heads.iter().filter(|(head, _)| !head.deleted) {
            let retired = self.too_old(head, known);
            if retired > head.retired {
                any |= self.heads.retire(head.clone(), *version, retired).await?;
            }
        }
        Ok(any)
    }

    /// The newest turn of a session that is too old for rollback. The current turn never is.
    fn too_old(&self, head: &Head, known: &HashMap<&CheckpointId, &Node>) -> u64 {
        let keep = self.options.keep_checkpoints.map_or(u64::MAX, |keep| keep as u64);
        let by_count = head.turn.saturating_sub(keep);
        let oldest = self
            .options
            .keep_for
            .map(|time| self.env.now().saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        let mut next = head.checkpoint.as_ref();
        let mut by_age = 0;
        while let (Some(oldest), Some(node)) = (oldest, next.and_then(|id| known.get(id))) {
            if node.checkpoint.created_at < oldest {
                by_age = node.turn();
                break;
            }
            next = node.checkpoint.parent.as_ref();
        }
        by_count.max(by_age).min(head.turn.saturating_sub(1))
    }

    /// Merges nodes that are too old to go back to, each into the one after it. Returns whether there were any.
    pub(super) async fn merge_old(&self, nodes: &[(&Node, u64)], marked: &ReachableNodes) -> Result<bool> {
        let mut children: HashMap<&CheckpointId, usize> = HashMap::new();
        for parent in nodes.iter().filter_map(|(node, _)| node.checkpoint.parent.as_ref()) {
            *children.entry(parent).or_default() += 1;
        }
        let mut old: Vec<_> = nodes.iter().filter(|(node, _)| !marked.kept.contains(node.id())).collect();
        old.sort_by_key(|(node, _)| node.turn());
        // Groups by last node, each with its version and merged size.
        let mut rows: HashMap<&CheckpointId, (Vec<&Node>, u64, usize)> = HashMap::new();
        for (node, version) in old {
            let size = serde_json::to_vec(node).map_or(usize::MAX, |bytes| bytes.len());
            let parent = node.checkpoint.parent.as_ref().filter(|parent| children.get(parent) == Some(&1));
            let parent = parent.filter(|parent| !marked.begun_after.contains(*parent));
            let before = parent.and_then(|parent| rows.remove(parent));
            let row = match before {
                Some((mut row, _, sum)) if sum.saturating_add(size) <= MERGED => {
                    row.push(node);
                    (row, *version, sum + size)
                }
                Some(full) => {
                    if let Some(last) = full.0.last() {
                        rows.insert(last.id(), full);
                    }
                    (vec![*node], *version, size)
                }
                None => (vec![*node], *version, size),
            };
            rows.insert(node.id(), row);
        }
        let mut any = false;
        for (row, version, _) in rows.into_values() {
            if let Some(merged) = merged(&row) {
                self.tree.replace_node(&merged, version).await?;
                any = true;
            }
        }
        Ok(any)
    }
}

/// Merges adjacent nodes into one; `None` if there is only one.
fn merged(row: &[&Node]) -> Option<Node> {
    let [first, .., last] = row else { return None };
    let mut merged = (*last).clone();
    merged.checkpoint.parent.clone_from(&first.checkpoint.parent);
    merged.touched.clear();
    merged.messages.clear();
    merged.structured.clear();
    merged.state.clear();
    let mut base =
        MergedTurns { first: first.first_turn(), begins: first.begins(), clears: false, merged: Vec::new() };
    for node in row {
        merged.messages.extend(node.messages.iter().cloned());
        merged.structured.extend(node.structured.clone());
        if node.clears() {
            base.clears = true;
            merged.state.clear();
        }
        merged.state.extend(node.state.clone());
        base.merged.extend(node.merged().cloned());
        if node.id() != last.id() {
            base.merged.push((node.id().clone(), node.checkpoint.run.clone()));
        }
    }
    merged.base = Some(base);
    Some(merged)
}
