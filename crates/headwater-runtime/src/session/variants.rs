//! Variants, which are alternative turns after the same checkpoint, and forks: other branches of the tree.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, SessionId};
use headwater_store::ValuePages;

use super::{
    RollbackSummary, Session,
    checkpoint::{Checkpoint, Node},
    head::{Head, VersionedHead},
    history_hash::says_the_same,
    roll_back::reopen,
    session_exists,
};
use crate::{Result, id::fresh_id, keys};

/// One of several alternative turns after the same checkpoint.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Variant {
    /// The last checkpoint of the variant: the argument of `select`.
    pub checkpoint: Checkpoint,
    /// Whether it is on the selected branch.
    pub selected: bool,
}

impl Session {
    /// Creates a session that continues from a checkpoint. This session is unchanged, and nothing is copied.
    /// Open requests of the checkpoint's run are sent again there.
    ///
    /// # Errors
    /// [`ErrorKind::SessionExists`](crate::ErrorKind::SessionExists) when there is a session of that name, [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint).
    pub async fn fork(&self, at: &CheckpointId, name: Option<&str>) -> Result<Session> {
        let sessions = &self.sessions;
        let seen = self.reconcile().await?;
        let (node, _) = sessions.tree.reach(&seen.head, at).await?;
        let id: SessionId = match name {
            Some(name) => name.into(),
            None => fresh_id("session")?.into(),
        };
        let mut head = Head::new(id.clone(), seen.head.tree.clone(), &sessions.env, seen.head.owner.clone());
        sessions.check_free(&head.key()).await?;
        head.label.clone_from(&seen.head.label);
        head.own_label.clone_from(&seen.head.own_label);
        head.forked = Some((self.id.clone(), at.clone()));
        head.checkpoint = Some(at.clone());
        head.turn = node.turn();
        reopen(&mut head, Some(&node))?;
        if sessions.heads.create(&head).await?.is_none() {
            return Err(session_exists(&id));
        }
        sessions.reconcile(&head.key()).await?;
        Ok(self.sessions.session(id, self.owner.as_deref()))
    }

    /// The alternatives of this turn, itself included, oldest first.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint).
    pub async fn variants(&self, of: &CheckpointId) -> Result<Vec<Variant>> {
        let sessions = &self.sessions;
        let head = self.load().await?.head;
        let (node, _) = sessions.tree.reach(&head, of).await?;
        let mut ids: Vec<CheckpointId> = Vec::new();
        let branches = keys::branches_at(&self.key, node.checkpoint.parent.as_ref());
        let mut pages = ValuePages::new(&*sessions.env.store, branches);
        while let Some(page) = pages.next().await? {
            let children = page.iter().filter_map(|(key, _)| keys::read_branch(&self.key, key));
            ids.extend(children.map(|(_, child)| child));
        }
        let current = match &head.checkpoint {
            Some(at) => sessions.tree.ancestor(sessions.tree.node(at).await?, node.turn()).await?,
            None => None,
        };
        let current = current.filter(|current| {
            current.turn() == node.turn() && current.checkpoint.parent == node.checkpoint.parent
        });
        let selected = current.map(|current| current.id().clone());
        ids.extend(selected.clone().filter(|id| !ids.contains(id)));
        let mut variants = Vec::new();
        for id in ids {
            let checkpoint = sessions.tree.node(&id).await?.checkpoint.clone();
            variants.push(Variant { checkpoint, selected: selected.as_ref() == Some(&id) });
        }
        variants.sort_by(|one, other| {
            let key = |variant: &Variant| (variant.checkpoint.created_at, variant.checkpoint.id.clone());
            key(one).cmp(&key(other))
        });
        Ok(variants)
    }

    /// Switches to a variant, at its last checkpoint.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`](crate::ErrorKind::SessionBusy) while a run is active, [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint).
    pub async fn select(&self, variant: &CheckpointId) -> Result<RollbackSummary> {
        let sessions = &self.sessions;
        loop {
            let VersionedHead { mut head, version } = self.idle().await?;
            let (_, to) = sessions.tree.reach(&head, variant).await?;
            if head.checkpoint.as_ref() == Some(&to) {
                return Ok(RollbackSummary::default());
            }
            let to = sessions.tree.node(&to).await?;
            let mut undone = RollbackSummary::default();
            if let Some(at) = &head.checkpoint {
                let tip = sessions.tree.node(at).await?;
                let common = sessions.tree.common(tip.clone(), to.clone()).await?;
                self.record_left(&tip, common.as_deref()).await?;
                undone = self.stand_at(&mut head, tip, common.as_deref()).await?;
            }
            head.checkpoint = Some(to.id().clone());
            head.turn = to.turn();
            reopen(&mut head, Some(&to))?;
            if sessions.heads.swap(head, version).await? {
                sessions.reconcile(&self.key).await?;
                return Ok(undone);
            }
        }
    }

    /// Moves a head to an earlier turn or to the start, and then appends messages from elsewhere. The
    /// abandoned branch can be selected again.
    pub(super) async fn branch_at(
        &self,
        head: &mut Head,
        to: Option<&Node>,
        messages: Vec<Message>,
    ) -> Result<()> {
        let sessions = &self.sessions;
        let left = head.checkpoint.clone();
        if let Some(at) = &left {
            let tip = sessions.tree.node(at).await?;
            self.record_left(&tip, to).await?;
            self.stand_at(head, tip, to).await?;
        }
        if messages.is_empty() {
            return Ok(());
        }
        let messages = self.known_messages(left, messages).await?;
        // If the head is not swapped after all, garbage collection removes the new nodes.
        sessions.garbage.record_sweep(&head.tree).await?;
        sessions.seed(head, to, messages).await
    }

    /// Replaces messages from elsewhere by the session's own where id and content match: those have tool
    /// calls, which a page cannot vouch for.
    async fn known_messages(&self, at: Option<CheckpointId>, messages: Vec<Message>) -> Result<Vec<Message>> {
        let own = self.sessions.tree.state_at(at).await?.messages;
        let same = |message: &Message| {
            own.iter()
                .find(|own| own.id == message.id && own.role == message.role && says_the_same(own, message))
        };
        let taken = messages.into_iter().map(|mut message| {
            if let Some(own) = same(&message) {
                return Ok(own.clone());
            }
            if message.id == "" || own.iter().any(|own| own.id == message.id) {
                message.id = fresh_id("msg")?.into();
            }
            Ok(message)
        });
        taken.collect()
    }

    /// Records the branch between a node and its tip as abandoned, so that it can be selected again.
    async fn record_left(&self, tip: &Arc<Node>, from: Option<&Node>) -> Result<()> {
        let sessions = &self.sessions;
        let turn = from.map_or(0, Node::turn);
        match sessions.tree.ancestor(tip.clone(), turn + 1).await?.filter(|left| left.turn() > turn) {
            Some(left) => {
                sessions.tree.record_branch(&self.key, from.map(Node::id), left.id(), tip.id()).await
            }
            None => Ok(()),
        }
    }
}
