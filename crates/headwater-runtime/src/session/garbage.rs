//! Garbage collection of checkpoints: marks everything reachable from the heads and removes the rest.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use headwater_protocol::{CheckpointId, RunId};
use headwater_store::{Expect, ValuePages, WriteOp, remove_all};

use super::{
    SessionOptions,
    ancestry::Branch,
    budget::{remove_summary, summaries_of},
    checkpoint::Node,
    checkpoint_store::CheckpointTree,
    head::{Head, Heads, TurnWork},
};
use crate::{
    Result,
    environment::Environment,
    keys::{self, SessionKey, TREE_SWEEPS},
    run::Runs,
};

/// Minimum age of garbage before removal, so that readers and forks that have just started can finish.
const GRACE: u64 = 60_000;

/// The reachable part of a tree.
#[derive(Debug, Default)]
pub(super) struct ReachableNodes {
    pub(super) nodes: HashSet<CheckpointId>,
    /// The nodes that a session may go back to.
    pub(super) kept: HashSet<CheckpointId>,
    runs: HashSet<RunId>,
    /// The nodes merged into others.
    merged: HashSet<CheckpointId>,
    /// The nodes after which unfinished runs began: each needs the conversation up to there.
    pub(super) begun_after: HashSet<CheckpointId>,
    /// The nodes whose summaries are needed.
    summaries: HashSet<CheckpointId>,
    /// The abandoned branches that can be selected again: their keys and tips.
    pub(super) branches: Vec<(String, CheckpointId)>,
    /// Branches abandoned by turns that no longer exist.
    loose: Vec<String>,
}

impl ReachableNodes {
    /// Notes where the runs of the nodes began that a session may go back to. A run that was answered several times has
    /// several, of which the first may be too old to go back to.
    fn record_beginnings(&mut self, known: &HashMap<&CheckpointId, &Node>) {
        for id in &self.kept {
            let mut next = known.get(id);
            while let Some(node) = next {
                let parent = node.checkpoint.parent.as_ref();
                if node.begins() {
                    self.begun_after.extend(parent.cloned());
                    break;
                }
                next = parent.and_then(|parent| known.get(parent));
            }
        }
    }
}

/// Removes what no session can reach any more, and merges what is too old to be gone back to.
#[derive(Debug)]
pub(super) struct Garbage {
    pub(super) env: Arc<Environment>,
    pub(super) options: SessionOptions,
    pub(super) tree: Arc<CheckpointTree>,
    pub(super) heads: Heads,
    runs: Arc<Runs>,
}

impl Garbage {
    pub(super) fn new(
        env: Arc<Environment>,
        options: SessionOptions,
        tree: Arc<CheckpointTree>,
        heads: Heads,
        runs: Arc<Runs>,
    ) -> Self {
        Self { env, options, tree, heads, runs }
    }

    /// Schedules a tree for garbage collection.
    pub(super) async fn record_sweep(&self, tree: &str) -> Result<()> {
        self.env.store.write(None, vec![self.sweep_write(tree)]).await?;
        Ok(())
    }

    /// The write that schedules a tree for garbage collection.
    pub(super) fn sweep_write(&self, tree: &str) -> WriteOp {
        let value = format!("{}/{}", self.env.now().saturating_add(GRACE), self.env.agent);
        WriteOp::Put { key: keys::tree_sweep(tree), bytes: value.into(), expect: Expect::Any, ttl: None }
    }

    pub(super) async fn forget_sweep(&self, tree: &str) -> Result<()> {
        self.env.store.remove(&keys::tree_sweep(tree), Expect::Any).await?;
        Ok(())
    }

    /// Collects the scheduled trees whose grace period is over.
    pub(super) async fn sweep_due(&self) -> Result<()> {
        let mut pages = ValuePages::new(&*self.env.store, TREE_SWEEPS);
        while let Some(page) = pages.next().await? {
            for (noted, value) in &page {
                let text = String::from_utf8_lossy(&value.bytes);
                let due = text.split_once('/').filter(|(_, agent)| *agent == self.env.agent);
                let due = due.and_then(|(due, _)| due.parse::<u64>().ok());
                let Some(tree) = keys::read_tree_sweep(noted) else { continue };
                if due.is_none_or(|due| due > self.env.now())
                    || self.env.skipped.reason("session tree", &tree).is_some()
                {
                    continue;
                }
                match self.sweep_noted(&tree, noted, value.version).await {
                    Err(error) if error.is_store_down() => return Err(error),
                    Err(error) => self.env.skipped.skip("session tree", &tree, &error),
                    Ok(()) => {}
                }
            }
        }
        Ok(())
    }

    async fn sweep_noted(&self, tree: &str, noted: &str, version: u64) -> Result<()> {
        if self.sweep_tree(tree, &[]).await? {
            // A tree scheduled again in the meantime keeps its entry.
            match self.env.store.remove(noted, Expect::Version(version)).await {
                Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the unreachable checkpoints of a tree, with the journals of their runs and of `runs`, and
    /// merges the old ones. Returns whether everything was done.
    pub(super) async fn sweep_tree(&self, tree: &str, runs: &[RunId]) -> Result<bool> {
        // In this order: a checkpoint added in between is either not listed here or named by a head.
        let (nodes, unreadable) = self.tree.nodes_of(tree).await?;
        let Some(heads) = self.heads_of(tree).await? else { return Ok(false) };
        let known: HashMap<_, _> = nodes.iter().map(|(node, _)| (node.id(), &**node)).collect();
        let mut marked = ReachableNodes::default();
        for (head, _) in heads.iter().filter(|(head, _)| !head.deleted) {
            self.mark(head, &known, &mut marked).await?;
        }
        marked.record_beginnings(&known);
        let (reached, lost): (Vec<_>, Vec<_>) =
            nodes.iter().partition(|(node, _)| marked.nodes.contains(node.id()));
        for (node, _) in &reached {
            marked.runs.insert(node.checkpoint.run.clone());
            marked.merged.extend(node.merged().map(|(id, _)| id.clone()));
            marked.summaries.extend(node.summarised.clone());
        }
        let versions = |heads: &[(Head, u64)]| -> Vec<(SessionKey, u64)> {
            heads.iter().map(|(head, version)| (head.key(), *version)).collect()
        };
        if self.heads_of(tree).await?.is_none_or(|now| versions(&heads) != versions(&now)) {
            return Ok(false);
        }
        let mut all = true;
        // An unreadable checkpoint is kept while any session of its tree exists.
        if heads.iter().all(|(head, _)| head.deleted) {
            for id in &unreadable {
                self.tree.remove_checkpoint(id).await?;
            }
            remove_all(&*self.env.store, &keys::message_turns_in_tree(tree)).await?;
        }
        for (node, _) in lost {
            // The runs of merged turns are kept as long as others.
            if !marked.merged.contains(node.id()) {
                let mut gone = true;
                for run in node.merged().map(|(_, run)| run).chain([&node.checkpoint.run]) {
                    gone &= marked.runs.contains(run) || self.runs.forget_run(run).await?;
                }
                if !gone {
                    all = false;
                    continue;
                }
            }
            self.tree.remove_node(node).await?;
        }
        for id in summaries_of(&*self.env.store, tree).await? {
            if !marked.nodes.contains(&id) && !marked.summaries.contains(&id) {
                remove_summary(&*self.env.store, &id).await?;
            }
        }
        for run in runs.iter().filter(|run| !marked.runs.contains(*run)) {
            all &= self.runs.forget_run(run).await?;
        }
        for branch in &marked.loose {
            self.env.store.remove(branch, Expect::Any).await?;
        }
        let reached: Vec<_> = reached.iter().map(|(node, version)| (&**node, *version)).collect();
        if self.merge_old(&reached, &marked).await? | self.retire_old(&heads, &known).await? {
            self.record_sweep(tree).await?;
        }
        Ok(all)
    }

    /// The heads of the sessions that share a tree; `None` if one of them is unreadable, since it may reach
    /// anything.
    async fn heads_of(&self, tree: &str) -> Result<Option<Vec<(Head, u64)>>> {
        let mut heads = Vec::new();
        let mut pages = ValuePages::new(&*self.env.store, keys::sessions_in_tree(tree));
        while let Some(page) = pages.next().await? {
            for (listed, _) in &page {
                let Some(session) = keys::read_session_in_tree(tree, listed) else { continue };
                let value = match self.env.store.get(&keys::session(&session)).await {
                    Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => return Ok(None),
                    value => value?,
                };
                let Some(value) = value else { continue };
                let Ok(head) = crate::codec::decode::<Head>(&value.bytes) else { return Ok(None) };
                if head.tree == tree {
                    heads.push((head, value.version));
                }
            }
        }
        Ok(Some(heads))
    }

    /// Marks everything a session can reach: its checkpoint, its pending work, and its abandoned branches.
    pub(super) async fn mark(
        &self,
        head: &Head,
        known: &HashMap<&CheckpointId, &Node>,
        marked: &mut ReachableNodes,
    ) -> Result<()> {
        let mut mine: HashSet<CheckpointId> = HashSet::new();
        let mut climb = |from: Option<&CheckpointId>, mine: &mut HashSet<CheckpointId>| {
            let mut next = from;
            while let Some(id) = next.filter(|id| mine.insert((*id).clone())) {
                marked.nodes.insert(id.clone());
                let node = known.get(id);
                if node.is_none_or(|node| node.turn() > head.retired) {
                    marked.kept.insert(id.clone());
                }
                next = node.and_then(|node| node.checkpoint.parent.as_ref());
            }
        };
        climb(head.checkpoint.as_ref(), &mut mine);
        for turn in head.active.iter().chain(&head.queue) {
            climb(Some(&turn.checkpoint), &mut mine);
            if let TurnWork::Copy { of, .. } = &turn.work {
                climb(Some(of), &mut mine);
            }
            marked.runs.insert(turn.run.clone());
        }
        marked.runs.extend(head.live.iter().map(|live| live.run.clone()));
        let session = head.key();
        let mut branches: Vec<(String, Option<CheckpointId>, CheckpointId, CheckpointId)> = Vec::new();
        let mut pages = ValuePages::new(&*self.env.store, keys::branches(&session));
        while let Some(page) = pages.next().await? {
            for (key, value) in &page {
                let place = keys::read_branch(&session, key);
                let branch = crate::codec::decode::<Branch>(&value.bytes);
                if let (Some((parent, child)), Ok(branch)) = (place, branch) {
                    branches.push((key.clone(), parent, child, branch.tip));
                }
            }
        }
        let mut reached = Vec::new();
        // A branch may fork off another abandoned one, so marking one can make others reachable.
        loop {
            let before = branches.len();
            branches.retain(|(key, parent, child, tip)| {
                let turn = match parent {
                    Some(parent) => known.get(parent).map(|node| node.turn()),
                    None => Some(0),
                };
                let reachable = turn.is_some_and(|turn| turn >= head.retired)
                    && parent.as_ref().is_none_or(|parent| mine.contains(parent));
                // A branch selected again is no longer abandoned, and its later turns may have been rolled
                // back since.
                if reachable && !mine.contains(child) {
                    climb(Some(tip), &mut mine);
                    reached.push((key.clone(), tip.clone()));
                }
                !reachable
            });
            if branches.len() == before {
                break;
            }
        }
        marked.branches.extend(reached);
        marked.loose.extend(branches.into_iter().map(|(key, ..)| key));
        Ok(())
    }
}
