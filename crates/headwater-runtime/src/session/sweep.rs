//! Letting go of checkpoints that no session can reach any more: what is reachable is marked from the heads, the rest goes.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use headwater_protocol::{CheckpointId, RunId, SessionId};
use headwater_store::Expect;

use super::{
    chain::Branch,
    head::{Doing, Head, key},
    list::tree as sessions_of,
};
use crate::{Result, agent::AgentInner};

/// Where trees are noted that have something to let go.
const SWEEPS: &str = "session-sweep/";
/// How long after it was left something is let go: whoever was just reading or forking it comes to an end.
const GRACE: u64 = 60_000;

/// What is reachable in a tree.
#[derive(Debug, Default)]
struct Marked {
    nodes: HashSet<CheckpointId>,
    runs: HashSet<RunId>,
    /// Branches that were left by turns that are gone themselves.
    loose: Vec<String>,
}

impl AgentInner {
    /// Notes that a tree has something to let go.
    pub(super) async fn note_sweep(&self, tree: &str) -> Result<()> {
        let value = format!("{}/{}", self.now().saturating_add(GRACE), self.name);
        self.store.put(&format!("{SWEEPS}{tree}"), value.into(), Expect::Any, None).await?;
        Ok(())
    }

    pub(super) async fn unnote_sweep(&self, tree: &str) -> Result<()> {
        self.store.remove(&format!("{SWEEPS}{tree}"), Expect::Any).await?;
        Ok(())
    }

    /// Lets go of what was left in the noted trees long enough ago.
    pub(super) async fn tend_trees(self: &Arc<Self>) -> Result<()> {
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(SWEEPS, after.as_deref(), 100).await?;
            for (noted, value) in &page {
                let text = String::from_utf8_lossy(&value.bytes);
                let due = text.split_once('/').filter(|(_, agent)| *agent == self.name);
                let due = due.and_then(|(due, _)| due.parse::<u64>().ok());
                let tree = noted.strip_prefix(SWEEPS).unwrap_or(noted);
                if due.is_some_and(|due| due <= self.now()) && self.sweep_tree(tree, &[]).await? {
                    // One that was noted anew meanwhile stays.
                    match self.store.remove(noted, Expect::Version(value.version)).await {
                        Err(error)
                            if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) =>
                        {
                            return Err(error.into());
                        }
                        _ => {}
                    }
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(()),
            }
        }
    }

    /// Removes the checkpoints of a tree that no session reaches, with the journals of their runs and of these runs. Gives
    /// whether all of that could be done.
    pub(super) async fn sweep_tree(&self, tree: &str, runs: &[RunId]) -> Result<bool> {
        // In this order: a checkpoint that is added meanwhile is not among the nodes, or is named by a head.
        let nodes = self.nodes_of(tree).await?;
        let heads = self.heads_of(tree).await?;
        let parents: HashMap<_, _> =
            nodes.iter().map(|node| (node.id(), node.checkpoint.parent.as_ref())).collect();
        let mut marked = Marked::default();
        for (head, _) in heads.iter().filter(|(head, _)| !head.deleted) {
            self.mark(head, &parents, &mut marked).await?;
        }
        for node in nodes.iter().filter(|node| marked.nodes.contains(node.id())) {
            marked.runs.insert(node.checkpoint.run.clone());
        }
        let versions = |heads: &[(Head, u64)]| -> Vec<(SessionId, u64)> {
            heads.iter().map(|(head, version)| (head.id.clone(), *version)).collect()
        };
        if versions(&heads) != versions(&self.heads_of(tree).await?) {
            return Ok(false);
        }
        let mut all = true;
        for node in nodes.iter().filter(|node| !marked.nodes.contains(node.id())) {
            let run = &node.checkpoint.run;
            let gone = marked.runs.contains(run) || self.forget_run(run).await?;
            if gone {
                self.remove_node(node.id()).await?;
            }
            all &= gone;
        }
        for run in runs.iter().filter(|run| !marked.runs.contains(*run)) {
            all &= self.forget_run(run).await?;
        }
        for branch in &marked.loose {
            self.store.remove(branch, Expect::Any).await?;
        }
        Ok(all)
    }

    async fn heads_of(&self, tree: &str) -> Result<Vec<(Head, u64)>> {
        let prefix = sessions_of(tree);
        let mut heads = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(&prefix, after.as_deref(), 100).await?;
            for (listed, _) in &page {
                let session = SessionId::from(listed.strip_prefix(&prefix).unwrap_or(listed));
                let Some(value) = self.store.get(&key(&session)).await? else { continue };
                let Ok(head) = serde_json::from_slice::<Head>(&value.bytes) else { continue };
                if head.tree == tree {
                    heads.push((head, value.version));
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(heads),
            }
        }
    }

    /// Marks what a session can reach: where it stands, what it is about to do, and the branches that it left.
    async fn mark(
        &self,
        head: &Head,
        parents: &HashMap<&CheckpointId, Option<&CheckpointId>>,
        marked: &mut Marked,
    ) -> Result<()> {
        let mut mine: HashSet<CheckpointId> = HashSet::new();
        let mut climb = |from: Option<&CheckpointId>, mine: &mut HashSet<CheckpointId>| {
            let mut next = from;
            while let Some(id) = next.filter(|id| mine.insert((*id).clone())) {
                marked.nodes.insert(id.clone());
                next = parents.get(id).copied().flatten();
            }
        };
        climb(head.checkpoint.as_ref(), &mut mine);
        for turn in head.active.iter().chain(&head.queue) {
            climb(Some(&turn.checkpoint), &mut mine);
            if let Doing::Copy { of, .. } = &turn.doing {
                climb(Some(of), &mut mine);
            }
            marked.runs.insert(turn.run.clone());
        }
        marked.runs.extend(head.live.iter().map(|live| live.run.clone()));
        let prefix = format!("branch/{}/", head.id);
        let mut branches: Vec<(String, String, CheckpointId)> = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(&prefix, after.as_deref(), 100).await?;
            for (key, value) in &page {
                let place = key.strip_prefix(&prefix).and_then(|key| key.split_once('/'));
                let branch = serde_json::from_slice::<Branch>(&value.bytes);
                if let (Some((parent, _)), Ok(branch)) = (place, branch) {
                    branches.push((key.clone(), parent.to_owned(), branch.tip));
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => break,
            }
        }
        // A branch may have been left within another one, so marking one can make others reachable.
        loop {
            let before = branches.len();
            branches.retain(|(_, parent, tip)| {
                let reachable = parent == "-" || mine.contains(&CheckpointId::from(parent.as_str()));
                if reachable {
                    climb(Some(tip), &mut mine);
                }
                !reachable
            });
            if branches.len() == before {
                break;
            }
        }
        marked.loose.extend(branches.into_iter().map(|(key, ..)| key));
        Ok(())
    }
}
