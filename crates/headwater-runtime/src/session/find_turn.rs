//! Finds an earlier turn by the keys of its request, or by the page's id of the message.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, MessageId, RunId};
use headwater_store::ValuePages;

use super::{
    Session, Sessions,
    checkpoint::{Node, StoredInput},
    head::{Head, TurnWork},
    history_hash::says_the_same,
    turn::TurnHandle,
    turn_message::TurnMessage,
};
use crate::{Result, keys};

/// A turn found by the id of its message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundTurn {
    /// The run and the checkpoint of the turn, as `send` returned them.
    pub turn: TurnHandle,
    /// Whether its checkpoint is written, so that it can be repeated.
    pub over: bool,
    /// Whether the message has the same content as then.
    pub same: bool,
}

impl Session {
    /// The session's last turn, if it was sent with one of these [keys](crate::Turn::key), or the turn
    /// created by a request with [one of them](crate::Turn::request_key). Sending it again starts nothing.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn sent_before(&self, keys: &[String]) -> Result<Option<TurnHandle>> {
        if keys.is_empty() {
            return Ok(None);
        }
        self.find_sent(&self.load().await?.head, keys).await
    }

    pub(super) async fn find_sent(&self, head: &Head, keys: &[String]) -> Result<Option<TurnHandle>> {
        match self.last_turn_of(head, keys, None).await? {
            Some(last) => Ok(Some(last)),
            None => self.requested(head, keys).await,
        }
    }

    /// The newest turn started by a message: among the queued turns, the active one, and the turns of the
    /// selected branch.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn turn_of(&self, message: &Message) -> Result<Option<FoundTurn>> {
        self.find_turn(&self.load().await?.head, message).await
    }

    pub(super) async fn find_turn(&self, head: &Head, message: &Message) -> Result<Option<FoundTurn>> {
        let found = |run: &RunId, checkpoint: &CheckpointId, queued: bool, over: bool, said: &TurnMessage| {
            FoundTurn {
                turn: TurnHandle {
                    run: run.clone(),
                    checkpoint: checkpoint.clone(),
                    queued,
                    repeated: true,
                    named: false,
                    has_begun: false,
                    session: self.clone(),
                },
                over,
                same: says_the_same(&said.message, message),
            }
        };
        let coming = head.queue.iter().rev().map(|turn| (turn, true));
        for (turn, queued) in coming.chain(head.active.iter().map(|turn| (turn, false))) {
            if let TurnWork::Message(said) = &turn.work
                && said.message.id == message.id
            {
                return Ok(Some(found(&turn.run, &turn.checkpoint, queued, false, said)));
            }
        }
        let node = self.sessions.turn_begun_by(head, &message.id).await?;
        Ok(node.and_then(|node| match &node.input {
            StoredInput::Message(said) => Some(found(&node.checkpoint.run, node.id(), false, true, said)),
            _ => None,
        }))
    }

    /// The session's last turn, if it has one of the keys and, where a message is given, the same content. An
    /// answer belongs to the turn of the run that it resumes.
    pub(super) async fn last_turn_of(
        &self,
        head: &Head,
        keys: &[String],
        message: Option<&Message>,
    ) -> Result<Option<TurnHandle>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let shares = |known: &[String]| known.iter().any(|key| keys.contains(key));
        let is = |said: &TurnMessage| {
            shares(&said.keys) && message.is_none_or(|message| says_the_same(&said.message, message))
        };
        let sent = |run: &RunId, checkpoint: &CheckpointId| TurnHandle {
            run: run.clone(),
            checkpoint: checkpoint.clone(),
            queued: !head.queue.is_empty(),
            repeated: true,
            named: false,
            has_begun: false,
            session: self.clone(),
        };
        let newest = head.queue.back().or(head.active.as_ref());
        let from = match newest.map(|turn| (turn, &turn.work)) {
            Some((turn, TurnWork::Message(said))) => {
                return Ok(is(said).then(|| sent(&turn.run, &turn.checkpoint)));
            }
            Some((turn, TurnWork::Copy { keys, .. })) if message.is_none() && shares(keys) => {
                return Ok(Some(sent(&turn.run, &turn.checkpoint)));
            }
            Some((_, TurnWork::Copy { of, .. })) => Some(of),
            Some((_, TurnWork::Answer { .. })) | None => head.checkpoint.as_ref(),
        };
        let (Some(from), Some(stands)) = (from, &head.checkpoint) else { return Ok(None) };
        let last = self.sessions.tree.node(from).await?;
        let run = newest.map(|turn| &turn.run).or(head.live.as_ref().map(|live| &live.run));
        let run = run.unwrap_or(&last.checkpoint.run).clone();
        // A request that is only sent again is not a turn.
        let checkpoint =
            newest.filter(|turn| !turn.work.asks_again()).map_or(stands, |turn| &turn.checkpoint);
        let mut node = last;
        while let (false, Some(parent)) = (node.begins(), &node.checkpoint.parent) {
            if message.is_none() && shares(&node.keys) {
                return Ok(Some(sent(&run, checkpoint)));
            }
            node = self.sessions.tree.node(parent).await?;
        }
        match &node.input {
            StoredInput::Message(said) if is(said) => Ok(Some(sent(&run, checkpoint))),
            _ => Ok(None),
        }
    }
}

impl Sessions {
    /// The newest checkpoint on the way to where a session stands whose turn a message began. The index also leads to
    /// variants and to turns of forks, which do not count.
    async fn turn_begun_by(&self, head: &Head, message: &MessageId) -> Result<Option<Arc<Node>>> {
        let Some(at) = &head.checkpoint else { return Ok(None) };
        let mut newest: Option<Arc<Node>> = None;
        let mut pages = ValuePages::new(&*self.env.store, keys::message_turns(&head.tree, message));
        while let Some(page) = pages.next().await? {
            for id in page.iter().filter_map(|(key, _)| keys::read_message_turn(&head.tree, message, key)) {
                // It is being written or removed.
                let Some(node) = self.tree.find_node(&id).await? else { continue };
                let begins = matches!(&node.input, StoredInput::Message(said) if said.message.id == *message);
                let may_be = begins && node.turn() > head.retired && node.turn() <= head.turn;
                if !may_be || newest.as_ref().is_some_and(|newest| newest.turn() >= node.turn()) {
                    continue;
                }
                let on_the_way = self.tree.ancestor(self.tree.node(at).await?, node.turn()).await?;
                if on_the_way.is_some_and(|there| there.id() == node.id()) {
                    newest = Some(node);
                }
            }
        }
        Ok(newest)
    }
}
