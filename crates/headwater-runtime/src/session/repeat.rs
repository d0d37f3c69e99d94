//! Finding what was sent before: by the keys of its request, or by the page's id of the message.

use headwater_protocol::{CheckpointId, Message, MessageId, Part, RunId};
use serde_json::Value;

use super::{
    Session,
    checkpoint::{Input, Node},
    head::{Doing, Head, Said, VersionedHead},
    turn::Sent,
};
use crate::{Result, agent::AgentInner, keys, value_pages::ValuePages};

/// A turn that was found by the id of the message that began it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundTurn {
    /// The turn.
    pub turn: Sent,
    /// Whether it has left its checkpoint, so that it can be done again.
    pub over: bool,
    /// Whether the message says what it said then.
    pub same: bool,
}

impl Session {
    /// The session's last turn, if it was sent with one of these [keys](crate::Turn::key), or the turn that one of them
    /// asked for [as a request](crate::Turn::request_key): to send it again begins nothing.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn sent_before(&self, keys: &[String]) -> Result<Option<Sent>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let VersionedHead { head, .. } = self.load().await?;
        match self.last_turn_of(&head, keys, None).await? {
            Some(last) => Ok(Some(last)),
            None => self.requested(&head, keys).await,
        }
    }

    /// The newest turn that a message began, among those that wait for their turn, the one that is active, and those on the
    /// way to where the session stands.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn turn_of(&self, message: &Message) -> Result<Option<FoundTurn>> {
        let agent = &self.agent.0;
        let VersionedHead { head, .. } = self.load().await?;
        let found =
            |run: &RunId, checkpoint: &CheckpointId, queued: bool, over: bool, said: &Said| FoundTurn {
                turn: Sent {
                    run: run.clone(),
                    checkpoint: checkpoint.clone(),
                    queued,
                    repeated: true,
                    has_begun: false,
                    session: self.clone(),
                },
                over,
                same: says_the_same(&said.message, message),
            };
        let coming = head.queue.iter().rev().map(|turn| (turn, true));
        for (turn, queued) in coming.chain(head.active.iter().map(|turn| (turn, false))) {
            if let Doing::Message(said) = &turn.doing
                && said.message.id == message.id
            {
                return Ok(Some(found(&turn.run, &turn.checkpoint, queued, false, said)));
            }
        }
        let node = agent.turn_begun_by(&head, &message.id).await?;
        Ok(node.and_then(|node| match &node.input {
            Input::Message(said) => Some(found(&node.checkpoint.run, node.id(), false, true, said)),
            _ => None,
        }))
    }

    /// The session's last turn, if it has one of some keys, and says what a message says, if one is given. Answers belong
    /// to the turn whose run they go on with.
    pub(super) async fn last_turn_of(
        &self,
        head: &Head,
        keys: &[String],
        message: Option<&Message>,
    ) -> Result<Option<Sent>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let shares = |known: &[String]| known.iter().any(|key| keys.contains(key));
        let is = |said: &Said| {
            shares(&said.keys) && message.is_none_or(|message| says_the_same(&said.message, message))
        };
        let sent = |run: &RunId, checkpoint: &CheckpointId| Sent {
            run: run.clone(),
            checkpoint: checkpoint.clone(),
            queued: !head.queue.is_empty(),
            repeated: true,
            has_begun: false,
            session: self.clone(),
        };
        let newest = head.queue.back().or(head.active.as_ref());
        let from = match newest.map(|turn| (turn, &turn.doing)) {
            Some((turn, Doing::Message(said))) => {
                return Ok(is(said).then(|| sent(&turn.run, &turn.checkpoint)));
            }
            Some((turn, Doing::Copy { keys, .. })) if message.is_none() && shares(keys) => {
                return Ok(Some(sent(&turn.run, &turn.checkpoint)));
            }
            Some((_, Doing::Copy { of, .. })) => Some(of),
            Some((_, Doing::Answer { .. })) | None => head.checkpoint.as_ref(),
        };
        let (Some(from), Some(stands)) = (from, &head.checkpoint) else { return Ok(None) };
        let last = self.agent.0.node(from).await?;
        let run = newest.map(|turn| &turn.run).or(head.live.as_ref().map(|live| &live.run));
        let run = run.unwrap_or(&last.checkpoint.run).clone();
        // A question that is asked again is no turn.
        let checkpoint =
            newest.filter(|turn| !turn.doing.asks_again()).map_or(stands, |turn| &turn.checkpoint);
        let mut node = last;
        while let (false, Some(parent)) = (node.begins(), &node.checkpoint.parent) {
            if message.is_none() && shares(&node.keys) {
                return Ok(Some(sent(&run, checkpoint)));
            }
            node = self.agent.0.node(parent).await?;
        }
        match &node.input {
            Input::Message(said) if is(said) => Ok(Some(sent(&run, checkpoint))),
            _ => Ok(None),
        }
    }
}

impl AgentInner {
    /// The newest checkpoint on the way to where a session stands whose turn a message began. The index also leads to
    /// variants and to turns of forks, which do not count.
    async fn turn_begun_by(&self, head: &Head, message: &MessageId) -> Result<Option<Node>> {
        let Some(at) = &head.checkpoint else { return Ok(None) };
        let mut newest: Option<Node> = None;
        let mut pages = ValuePages::new(&*self.store, keys::message_turns(&head.tree, message));
        while let Some(page) = pages.next().await? {
            for id in page.iter().filter_map(|(key, _)| keys::read_message_turn(&head.tree, message, key)) {
                // One that is being written, or removed.
                let Some(node) = self.find_node(&id).await? else { continue };
                let begins = matches!(&node.input, Input::Message(said) if said.message.id == *message);
                let may_be = begins && node.turn() > head.retired && node.turn() <= head.turn;
                if !may_be || newest.as_ref().is_some_and(|newest| newest.turn() >= node.turn()) {
                    continue;
                }
                let on_the_way = self.ancestor(self.node(at).await?, node.turn()).await?;
                if on_the_way.is_some_and(|there| there.id() == node.id()) {
                    newest = Some(node);
                }
            }
        }
        Ok(newest)
    }
}

/// Whether two messages say the same: their text, their files and their data. What a page notes beside them may change.
pub(super) fn says_the_same(one: &Message, other: &Message) -> bool {
    one.plain_text() == other.plain_text() && shown_parts(one).eq(shown_parts(other))
}

/// What a message shows beside its text: its files by their addresses, and its data.
pub(super) fn shown_parts(message: &Message) -> impl Iterator<Item = (&str, Option<&Value>)> {
    message.parts.iter().filter_map(|part| match part {
        Part::File(file) => Some((file.url.as_str(), None)),
        Part::Data(data) => Some((data.name.as_str(), Some(&data.data))),
        _ => None,
    })
}
