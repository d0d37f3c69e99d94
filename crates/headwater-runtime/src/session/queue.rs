//! The queue of a session: messages behind the active turn. They can be listed, edited, removed and moved
//! ahead of the others until their turn starts.
//!
//! The queue is part of the head, so every change is one compare-and-set: a message starts either unedited or
//! edited, and is never both started and removed.

use headwater_protocol::{CheckpointId, Message, Part, RunId, TextPart};

use super::{
    Session, TurnHandle,
    head::{ActiveTurn, Chore, Head, TurnWork, VersionedHead},
    turn_message::TurnMessage,
};
use crate::{Error, Result, error::ErrorKind, run::unknown_run};

/// A queued message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueuedMessage {
    /// The run that will answer it, and its key for edit, remove and send.
    pub run: RunId,
    /// The checkpoint that its turn will write.
    pub checkpoint: CheckpointId,
    /// The message. It can be edited until its turn starts.
    pub message: Message,
    /// A label for people.
    pub label: Option<String>,
    /// When it was queued, in milliseconds since 1970.
    pub queued: u64,
}

impl Session {
    /// The queued messages, the next one first.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn queue(&self) -> Result<Vec<QueuedMessage>> {
        Ok(self.load().await?.head.queue.iter().filter_map(queued).collect())
    }

    /// Replaces the text of a queued message. Its files and its place stay.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRun`] when no such message waits, [`ErrorKind::SessionBusy`] when its turn has begun, and as
    /// [`Session::info`].
    pub async fn edit_queued(&self, run: &RunId, text: &str) -> Result<QueuedMessage> {
        self.change_queue(run, |head, at| {
            let turn = head.queue.get_mut(at)?;
            if let TurnWork::Message(said) = &mut turn.work {
                replace_text(said, text);
            }
            queued(turn)
        })
        .await
    }

    /// Removes a queued message: its turn never starts.
    ///
    /// # Errors
    /// As [`Session::edit_queued`].
    pub async fn remove_queued(&self, run: &RunId) -> Result<QueuedMessage> {
        self.change_queue(run, |head, at| queued(&head.queue.remove(at)?)).await
    }

    /// Moves a queued message ahead of the others, and stops the active turn. The output of that turn is
    /// kept. Both are durable when this returns.
    ///
    /// # Errors
    /// As [`Session::edit_queued`].
    pub async fn send_queued(&self, run: &RunId) -> Result<TurnHandle> {
        let checkpoint = self
            .change_queue(run, |head, at| {
                let turn = head.queue.remove(at)?;
                let checkpoint = turn.checkpoint.clone();
                head.queue.push_front(turn);
                // Done by the next reconcile, in this process or another: it cannot be lost between the two.
                head.chores.extend(head.active.iter().map(|active| Chore::Stop { run: active.run.clone() }));
                Some(checkpoint)
            })
            .await?;
        let head = self.reconcile().await?.head;
        let queued = head.queue.iter().any(|turn| turn.run == *run);
        Ok(TurnHandle {
            run: run.clone(),
            checkpoint,
            queued,
            repeated: false,
            named: false,
            has_begun: false,
            session: self.clone(),
        })
    }

    /// Changes the queue at the place of a message.
    async fn change_queue<T>(
        &self,
        run: &RunId,
        change: impl Fn(&mut Head, usize) -> Option<T>,
    ) -> Result<T> {
        loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            let at = head.queue.iter().position(|turn| turn.run == *run);
            let Some(changed) = at.and_then(|at| change(&mut head, at)) else {
                return Err(self.not_queued(&head, run).await?);
            };
            if self.sessions.heads.swap(head, version).await? {
                return Ok(changed);
            }
        }
    }

    /// The error for a run that is not in the queue. It does not disclose whether a run of another session
    /// exists.
    async fn not_queued(&self, head: &Head, run: &RunId) -> Result<Error> {
        let active = head.active.as_ref().is_some_and(|active| active.run == *run);
        let begun = active
            || match self.sessions.runs.handle(run.clone()).summary().await {
                Ok(known) => known.session.as_ref() == Some(&self.id) && known.owner == self.owner,
                Err(error) if error.kind() == ErrorKind::UnknownRun => false,
                Err(error) => return Err(error),
            };
        Ok(if begun {
            let message = format!("the turn of run {run} has begun: stop it, or edit it when it has ended");
            Error::new(ErrorKind::SessionBusy, message).with_code("queue.begun")
        } else {
            unknown_run(run)
        })
    }
}

fn queued(turn: &ActiveTurn) -> Option<QueuedMessage> {
    let TurnWork::Message(said) = &turn.work else { return None };
    Some(QueuedMessage {
        run: turn.run.clone(),
        checkpoint: turn.checkpoint.clone(),
        message: said.message.clone(),
        label: said.label.clone(),
        queued: said.spec.created,
    })
}

/// Replaces the text of a message: the first text part gets it, further text parts are removed, and other
/// parts stay.
fn replace_text(said: &mut TurnMessage, text: &str) {
    let mut first = true;
    said.message.parts.retain_mut(|part| match part {
        Part::Text(part) if first => {
            first = false;
            text.clone_into(&mut part.text);
            true
        }
        Part::Text(_) => false,
        _ => true,
    });
    if first {
        let part = TextPart { text: text.to_owned(), ..TextPart::done("text") };
        said.message.parts.insert(0, Part::Text(part));
    }
    text.clone_into(&mut said.spec.input);
}
