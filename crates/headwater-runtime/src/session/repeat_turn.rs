//! Repeating a turn: with the same input, another message, or another answer.

use headwater_protocol::{CheckpointId, Message, RunId};
use headwater_store::Expect;

use super::{
    Session,
    begin_turn::TurnBegin,
    checkpoint::{Node, StoredInput, unknown},
    head::{ActiveTurn, TurnWork, VersionedHead},
    idempotency::Claim,
    turn::{Turn, TurnHandle},
    turn_message::GivenAnswer,
};
use crate::{AnswerValue, Error, Result, error::ErrorKind};

impl Session {
    /// Repeats a turn with the same input: a message is run again, and an answer is given again as an answer.
    /// The original turn is kept as a variant.
    ///
    /// # Errors
    /// As [`Session::roll_back`].
    pub async fn regenerate(&self, turn: &CheckpointId) -> Result<TurnHandle> {
        self.regenerate_as(turn, Turn::new("")).await
    }

    /// Repeats a turn with the same input, as part of a request: the approvals and page tools of `now` apply;
    /// fields that it does not set keep their old values. Its text and message are ignored. If it has a
    /// [key](Turn::key) of the session's last turn, that turn is returned and nothing starts.
    ///
    /// ```
    /// # use headwater_protocol::CheckpointId;
    /// # use headwater_runtime::{Result, TurnHandle, Session, Start, Turn};
    /// # use serde_json::json;
    /// async fn once_more(session: &Session, turn: &CheckpointId) -> Result<TurnHandle> {
    ///     let now = Start::new("").runtime_context(json!({ "plan": "free" }));
    ///     session.regenerate_as(turn, Turn::from(now).key("request-18")).await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the tool choice is invalid.
    pub async fn regenerate_as(&self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<TurnHandle> {
        self.regenerate_from(None, turn, now.into()).await
    }

    /// As [`Session::regenerate_as`], from a head that was loaded before.
    pub(super) async fn regenerate_from(
        &self,
        seen: Option<VersionedHead>,
        turn: &CheckpointId,
        now: Turn,
    ) -> Result<TurnHandle> {
        now.check(&self.sessions.runs)?;
        self.again(seen, turn, &now, None, |_, node| match &node.input {
            StoredInput::Message(said) => {
                Ok(TurnWork::Message(Box::new(now.clone().repeated((**said).clone()))))
            }
            StoredInput::Answers(answers) => copy_of(node, answers.clone(), now.keys()),
            StoredInput::Seed => Err(seeded(node)),
        })
        .await
    }

    /// Repeats a turn with another message. The original turn is kept as a variant. Fields that `now` does
    /// not set keep their old values. If the session's last turn has one of its [keys](Turn::key) and the
    /// same content, that turn is returned and nothing starts.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the turn was an answer, or the tool choice is invalid.
    pub async fn edit(&self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<TurnHandle> {
        self.edit_from(None, turn, now.into()).await
    }

    /// As [`Session::edit`], from a head that was loaded before.
    pub(super) async fn edit_from(
        &self,
        seen: Option<VersionedHead>,
        turn: &CheckpointId,
        now: Turn,
    ) -> Result<TurnHandle> {
        now.check(&self.sessions.runs)?;
        let says = now.says();
        self.again(seen, turn, &now, Some(&says), |run, node| match &node.input {
            StoredInput::Message(said) => {
                Ok(TurnWork::Message(Box::new(now.clone().edited(run, (**said).clone()))))
            }
            StoredInput::Answers(_) => {
                let message = format!("turn {} was an answer: answer it again instead", node.turn());
                Err(Error::new(ErrorKind::Input, message).with_code("turn.answer"))
            }
            StoredInput::Seed => Err(seeded(node)),
        })
        .await
    }

    /// Repeats a turn with another answer. The original turn is kept as a variant.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the turn was no single answer.
    pub async fn answer_again(&self, turn: &CheckpointId, answer: AnswerValue) -> Result<TurnHandle> {
        self.again(None, turn, &Turn::new(""), None, |_, node| match &node.input {
            StoredInput::Answers(answers) if let [given] = &**answers => {
                copy_of(node, vec![GivenAnswer { key: given.key.clone(), answer: answer.clone() }], &[])
            }
            _ => {
                let message = format!("turn {} was not one answer: edit it, or do it again", node.turn());
                Err(Error::new(ErrorKind::Input, message).with_code("turn.no-answer"))
            }
        })
        .await
    }

    /// Repeats a turn, unless the last turn has one of the keys, and sends the new message.
    async fn again(
        &self,
        mut seen: Option<VersionedHead>,
        turn: &CheckpointId,
        now: &Turn,
        says: Option<&Message>,
        work: impl Fn(&RunId, &Node) -> Result<TurnWork>,
    ) -> Result<TurnHandle> {
        let sessions = &self.sessions;
        loop {
            let VersionedHead { mut head, version } = self.reconcile_from(seen.take()).await?;
            if let Some(sent) = self.last_turn_of(&head, now.keys(), says).await? {
                return Ok(sent);
            }
            let (Claim { run, checkpoint }, begun) = self.claim(&head, now).await?;
            if let Some(sent) = begun {
                return Ok(sent);
            }
            if head.active.is_some() {
                return Err(self.busy());
            }
            let tip = self.tip(&head).await?;
            let node = sessions.tree.on_chain(&head, turn).await?;
            let work = work(&run, &node)?;
            let active = ActiveTurn { run, checkpoint, work };
            let parent = match &node.checkpoint.parent {
                Some(parent) => Some(sessions.tree.node(parent).await?),
                None => None,
            };
            sessions
                .tree
                .record_branch(&self.key, parent.as_deref().map(Node::id), node.id(), tip.id())
                .await?;
            self.stand_at(&mut head, tip, parent.as_deref()).await?;
            let (run, checkpoint) = (active.run.clone(), active.checkpoint.clone());
            head.active = Some(active);
            match sessions.begin_turn(Vec::new(), head, Expect::Version(version)).await? {
                TurnBegin::Conflict => {}
                begin => return Ok(self.sent_as(run, checkpoint, begin)),
            }
        }
    }
}

/// The work that answers the requests of the checkpoint before a turn again.
fn copy_of(node: &Node, answers: Vec<GivenAnswer>, keys: &[String]) -> Result<TurnWork> {
    match &node.checkpoint.parent {
        Some(parent) => Ok(TurnWork::Copy { of: parent.clone(), answers, keys: keys.to_vec() }),
        None => Err(unknown(node.id())),
    }
}

fn seeded(node: &Node) -> Error {
    let message = format!("turn {} came with the session and has no run to do again", node.turn());
    Error::new(ErrorKind::Input, message).with_code("turn.seeded")
}
