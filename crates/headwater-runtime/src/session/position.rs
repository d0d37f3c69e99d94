//! Where a page stands in a conversation, by the messages that it shows.
//!
//! Every checkpoint has a hash of all that people said up to it. A page that shows the same stands there, whatever ids it
//! gave its messages, and one comparison tells whether that is where the session stands.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{CheckpointId, Message, Role};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    Session,
    checkpoint::Node,
    head::{Doing, Head},
    repeat::shown_parts,
};
use crate::{Result, keys};

/// A hash of all that people said in a conversation, in order; empty at its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HistoryHash(String);

impl HistoryHash {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hash after a message. What is not a person's changes nothing.
    pub(crate) fn then(&self, message: &Message) -> Self {
        if message.role != Role::User {
            return self.clone();
        }
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.0.as_bytes());
        add(message.plain_text().as_bytes());
        for (name, data) in shown_parts(message) {
            add(name.as_bytes());
            add(data.map(ToString::to_string).unwrap_or_default().as_bytes());
        }
        let hash = hash.finalize();
        Self(URL_SAFE_NO_PAD.encode(hash.get(..16).unwrap_or_default()))
    }

    /// The hash after several messages.
    pub(crate) fn then_all<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> Self {
        messages.into_iter().fold(self.clone(), |hash, message| hash.then(message))
    }
}

/// Where a page stands.
#[derive(Debug)]
pub(super) enum Position {
    /// Where the session stands, with the turn that is going and those that wait.
    Newest,
    /// At an earlier checkpoint, or at the beginning.
    Earlier(Option<Node>),
    /// After a checkpoint or the beginning, with messages of its own from there on.
    Apart(Option<Node>, Vec<Message>),
    /// At a turn that was done again since.
    Variant(CheckpointId),
}

impl Session {
    /// Whether a page that shows these messages stands where the session does.
    ///
    /// ```
    /// # use headwater_protocol::Message;
    /// # use headwater_runtime::{Result, Session};
    /// async fn has_seen_all(session: &Session, shown: &[Message]) -> Result<bool> {
    ///     session.is_at(shown).await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn is_at(&self, shown: &[Message]) -> Result<bool> {
        let head = self.load().await?.head;
        Ok(matches!(self.position(&head, shown).await?, Position::Newest))
    }

    /// Where a page stands that shows these messages.
    pub(super) async fn position(&self, head: &Head, shown: &[Message]) -> Result<Position> {
        let agent = &self.agent.0;
        let stands = match &head.checkpoint {
            Some(id) => Some(agent.node(id).await?),
            None => None,
        };
        let history = stands.as_ref().map(|node| node.history.clone()).unwrap_or_default();
        let coming = head.active.iter().chain(&head.queue).filter_map(|turn| match &turn.doing {
            Doing::Message(said) => Some(&said.message),
            Doing::Answer { .. } | Doing::Copy { .. } => None,
        });
        // The hash before each message of a person, with its place, and in the end that of all.
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
                return Ok(Position::Apart(Some(node), shown.get(*at..).unwrap_or_default().to_vec()));
            }
            next = match &node.checkpoint.parent {
                Some(parent) => Some(agent.node(parent).await?),
                None => None,
            };
        }
        Ok(Position::Apart(None, shown.to_vec()))
    }

    /// The turn that a page shows in the place of the newest one, if that was done again since.
    async fn variant_shown(&self, newest: &Node, shown: &[Message]) -> Result<Option<CheckpointId>> {
        let agent = &self.agent.0;
        let answer = shown.iter().rev().find(|message| message.role == Role::Assistant && message.id != "");
        let Some(answer) = answer else { return Ok(None) };
        let has = |node: &Node| node.messages.iter().any(|change| change.message.id == answer.id);
        if has(newest) {
            return Ok(None);
        }
        let prefix = keys::branches_at(&self.key, newest.checkpoint.parent.as_ref());
        for (key, _) in agent.store.list(&prefix, None, 100).await? {
            let Some((_, child)) = keys::read_branch(&self.key, &key) else { continue };
            if agent.find_node(&child).await?.is_some_and(|node| has(&node) && node.history == newest.history)
            {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> HistoryHash {
        let messages: Vec<_> = texts.iter().map(|text| Message::text("any", Role::User, *text)).collect();
        HistoryHash::default().then_all(&messages)
    }

    #[test]
    fn history_is_what_people_said_in_order() {
        assert_eq!(said(&["one", "two"]), said(&["one", "two"]));
        assert_ne!(said(&["one", "two"]), said(&["two", "one"]));
        assert_ne!(said(&["one", "two"]), said(&["onetwo"]));
        assert_ne!(said(&["one"]), said(&["one", "one"]));
        assert!(said(&[]).is_empty());
    }

    #[test]
    fn answers_are_no_part_of_what_people_said() {
        let answer = Message::text("a1", Role::Assistant, "yes");
        assert_eq!(said(&["one"]).then(&answer), said(&["one"]));
    }
}
