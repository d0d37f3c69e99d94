//! The position of a page in a conversation, derived from the messages that it shows.
//!
//! Every checkpoint has a hash of all user messages up to it. A page that shows the same messages is at that
//! checkpoint, whatever ids it uses, and one comparison shows whether the session is at the same one.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, Role};

use super::{
    Session,
    checkpoint::Node,
    head::{Head, TurnWork},
    history_hash::HistoryHash,
};
use crate::{Result, keys};

/// The position of a page.
#[derive(Debug)]
pub(super) enum Position {
    /// The position of the session, with its active and queued turns.
    Newest,
    /// At an earlier checkpoint, or at the start.
    Earlier(Option<Arc<Node>>),
    /// Diverged after a checkpoint or the start, with further messages of its own.
    Diverged(Option<Arc<Node>>, Vec<Message>),
    /// At a turn that was repeated since.
    Variant(CheckpointId),
}

impl Session {
    /// Where a page stands that shows these messages.
    /// `newest` is the newest checkpoint, if it was loaded before.
    pub(super) async fn position(
        &self,
        head: &Head,
        newest: Option<&Arc<Node>>,
        shown: &[Message],
    ) -> Result<Position> {
        let sessions = &self.sessions;
        let stands = match newest.filter(|newest| head.checkpoint.as_ref() == Some(newest.id())) {
            Some(newest) => Some(newest.clone()),
            None => sessions.newest(head).await?,
        };
        let history = stands.as_ref().map(|node| node.history.clone()).unwrap_or_default();
        let coming = head.active.iter().chain(&head.queue).filter_map(|turn| match &turn.work {
            TurnWork::Message(said) => Some(&said.message),
            TurnWork::Answer { .. } | TurnWork::Copy { .. } => None,
        });
        // The hash before each user message, with its index, and last the hash of all messages.
        let mut before = Vec::new();
        let mut hash = HistoryHash::default();
        for (at, message) in shown.iter().enumerate().filter(|(_, message)| message.role == Role::User) {
            before.push((hash.clone(), at));
            hash = hash.then(message);
        }
        if hash == history.then_all(coming) {
            let variant = match (&stands, &head.active) {
                (Some(node), None) => self.variant_shown(node, shown).await?,
                _ => None,
            };
            return Ok(variant.map_or(Position::Newest, Position::Variant));
        }
        if hash.is_empty() {
            return Ok(Position::Earlier(None));
        }
        let mut next = stands;
        while let Some(node) = next.filter(|node| node.turn() > head.retired && !node.history.is_empty()) {
            if node.history == hash {
                return Ok(Position::Earlier(Some(node)));
            }
            if let Some((_, at)) = before.iter().find(|(before, _)| *before == node.history) {
                return Ok(Position::Diverged(Some(node), shown.get(*at..).unwrap_or_default().to_vec()));
            }
            next = match &node.checkpoint.parent {
                Some(parent) => Some(sessions.tree.node(parent).await?),
                None => None,
            };
        }
        Ok(Position::Diverged(None, shown.to_vec()))
    }

    /// The variant that a page shows instead of the newest turn, if that was repeated since.
    async fn variant_shown(&self, newest: &Node, shown: &[Message]) -> Result<Option<CheckpointId>> {
        let sessions = &self.sessions;
        let answer = shown.iter().rev().find(|message| message.role == Role::Assistant && message.id != "");
        let Some(answer) = answer else { return Ok(None) };
        let has = |node: &Node| node.messages.iter().any(|change| change.message.id == answer.id);
        if has(newest) {
            return Ok(None);
        }
        let prefix = keys::branches_at(&self.key, newest.checkpoint.parent.as_ref());
        for (key, _) in sessions.env.store.list(&prefix, None, 100).await? {
            let Some((_, child)) = keys::read_branch(&self.key, &key) else { continue };
            if sessions
                .tree
                .find_node(&child)
                .await?
                .is_some_and(|node| has(&node) && node.history == newest.history)
            {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }
}
