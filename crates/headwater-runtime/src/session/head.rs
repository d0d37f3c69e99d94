//! The head of a session: one value, changed only by compare-and-set, so that two processes never interleave.

use std::{collections::VecDeque, sync::Arc};

use headwater_protocol::{CheckpointId, RequestId, RunId, SessionId};
use headwater_store::{Expect, WriteOp};
use serde::{Deserialize, Serialize};

use super::turn_message::{GivenAnswer, TurnMessage};
use crate::{
    Error, Result,
    environment::Environment,
    error::ErrorKind,
    journal::{AnswerValue, InvalidatedStream},
    keys::{self, SessionKey},
};

/// The current state of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) id: SessionId,
    pub(crate) agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    pub(crate) created: u64,
    pub(crate) updated: u64,
    /// The tree of checkpoints that it shares with its forks.
    pub(crate) tree: String,
    /// The label of its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// The label set by its owner, which takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) own_label: Option<String>,
    /// Whether lists leave it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) archived: bool,
    /// Whether it was deleted: it counts as unknown, and its checkpoints and runs are being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) deleted: bool,
    /// The session and checkpoint that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forked: Option<(SessionId, CheckpointId)>,
    /// The newest checkpoint and its turn number; `None` and 0 in a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) turn: u64,
    /// The newest retired turn: a rollback to it or an earlier one is refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) retired: u64,
    /// The run that waits at the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) live: Option<WaitingRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) active: Option<ActiveTurn>,
    /// The turns queued behind the active one.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(crate) queue: VecDeque<ActiveTurn>,
    /// The structured streams that the next run retracts for its readers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) invalidated: Vec<InvalidatedStream>,
    /// Tasks left by a change of the head. Reconciling does them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) chores: Vec<Chore>,
}

/// A run that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WaitingRun {
    pub(crate) run: RunId,
    /// Sequence number of its last record.
    pub(crate) seq: u64,
    /// The newest snapshot in it; 0 without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) snapshot: u64,
    /// Its open requests.
    pub(crate) requests: Vec<RequestId>,
}

/// The active turn. All ids are assigned before it starts, so that any process can start and end it, exactly
/// once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ActiveTurn {
    pub(crate) run: RunId,
    pub(crate) checkpoint: CheckpointId,
    pub(crate) work: TurnWork,
}

/// The work of a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum TurnWork {
    /// A run for a message of a person.
    Message(Box<TurnMessage>),
    /// The run resumes with answers; its journal ended at `from`, and its newest snapshot was `snapshot`.
    Answer {
        from: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        snapshot: u64,
        answers: Vec<(RequestId, AnswerValue)>,
    },
    /// A copy of the run that waited at a checkpoint, with the same or other answers. Without answers it is
    /// not a turn: it only sends the requests again.
    Copy {
        of: CheckpointId,
        answers: Vec<GivenAnswer>,
        /// A request with one of these keys returns this turn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
    },
}

impl TurnWork {
    /// Whether it only sends the requests of a run again, and is not a turn.
    pub(crate) fn asks_again(&self) -> bool {
        matches!(self, Self::Copy { answers, .. } if answers.is_empty())
    }
}

/// A task to do after a change of the head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Chore {
    /// Closes the requests of an abandoned waiting run, and stops it.
    Close(WaitingRun),
    /// Stops the active turn to make room for another one.
    Stop { run: RunId },
    /// Removes the turns after a checkpoint, with their variants.
    Forget { after: Option<CheckpointId> },
}

/// Error code for a session that cannot be read, but can be deleted.
pub(super) const UNREADABLE: &str = "session.unreadable";

/// The fields of a head that deleting an unreadable session needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HeadOutline {
    pub(super) agent: Option<String>,
    pub(super) tree: Option<String>,
    pub(super) created: Option<u64>,
    pub(super) live: Option<RunOutline>,
    pub(super) active: Option<RunOutline>,
}

/// The run of a turn.
#[derive(Debug, Deserialize)]
pub(super) struct RunOutline {
    pub(super) run: RunId,
}

/// A head as read or written, with its version.
#[derive(Debug, Clone)]
pub(crate) struct VersionedHead {
    pub(crate) head: Head,
    pub(crate) version: u64,
}

impl Head {
    pub(crate) fn new(id: SessionId, tree: String, env: &Environment, owner: Option<String>) -> Self {
        let now = env.now();
        Self {
            id,
            agent: env.agent.clone(),
            owner,
            created: now,
            updated: now,
            tree,
            label: None,
            own_label: None,
            archived: false,
            deleted: false,
            forked: None,
            checkpoint: None,
            turn: 0,
            retired: 0,
            live: None,
            active: None,
            queue: VecDeque::new(),
            invalidated: Vec::new(),
            chores: Vec::new(),
        }
    }

    /// Its owner and its name.
    pub(crate) fn key(&self) -> SessionKey {
        SessionKey::new(self.owner.as_deref(), &self.id)
    }

    /// Whether it has no turn and leaves nothing to be done.
    pub(crate) fn is_idle(&self) -> bool {
        !self.deleted && self.active.is_none() && self.queue.is_empty() && self.chores.is_empty()
    }

    /// Makes the first queued message the active turn. Returns whether there was one.
    pub(crate) fn activate_next(&mut self) -> bool {
        let Some(next) = self.queue.pop_front() else { return false };
        self.leave_waiting();
        self.active = Some(next);
        true
    }

    /// Abandons the waiting run. Returns its open requests.
    pub(crate) fn leave_waiting(&mut self) -> Vec<RequestId> {
        let Some(live) = self.live.take() else { return Vec::new() };
        let requests = live.requests.clone();
        self.chores.push(Chore::Close(live));
        requests
    }
}

/// The heads of an agent's sessions.
#[derive(Debug, Clone)]
pub(crate) struct Heads {
    env: Arc<Environment>,
}

impl Heads {
    pub(crate) fn new(env: Arc<Environment>) -> Self {
        Self { env }
    }

    pub(crate) async fn load(&self, session: &SessionKey) -> Result<Option<VersionedHead>> {
        let value = self.env.store.get(&keys::session(session)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))?;
        let Some(value) = value else { return Ok(None) };
        let head: Head = crate::codec::decode(&value.bytes).map_err(|error| {
            let message = format!("session {session} cannot be read: {error}: delete it, or mend the store");
            Error::new(ErrorKind::Store, message).with_code(UNREADABLE)
        })?;
        if head.agent != self.env.agent {
            let message =
                format!("session {session} belongs to agent `{}`, this is `{}`", head.agent, self.env.agent);
            return Err(Error::new(ErrorKind::Foreign, message).with_code("session.foreign"));
        }
        Ok(Some(VersionedHead { head, version: value.version }))
    }

    /// Creates a session. Returns the version of its head; `None` if a session of that id exists.
    ///
    /// The list entry is written before the head: readers skip an entry without a session, but a session
    /// without an entry would never be found.
    pub(crate) async fn create(&self, head: &Head) -> Result<Option<u64>> {
        self.create_after(Vec::new(), head).await
    }

    /// As [`create`](Self::create), after other writes. Also `None` if one of those conflicts.
    pub(super) async fn create_after(&self, mut writes: Vec<WriteOp>, head: &Head) -> Result<Option<u64>> {
        writes.extend(self.list_writes(head));
        writes.push(head_write(head, Expect::Absent)?);
        if let Some(version) = self.write(head, writes).await? {
            return Ok(Some(version));
        }
        let there = match self.env.store.get(&keys::session(&head.key())).await {
            Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => None,
            there => there?,
        };
        let there = there.and_then(|value| crate::codec::decode::<Head>(&value.bytes).ok());
        self.delist(head, there.as_ref()).await?;
        Ok(None)
    }

    /// Replaces a head, unless it has changed since that version. Returns whether it did.
    pub(crate) async fn swap(&self, mut head: Head, version: u64) -> Result<bool> {
        head.updated = self.env.now();
        Ok(self.put(&head, version).await?.is_some())
    }

    /// Marks turns as retired. Does not count as an update.
    pub(super) async fn retire(&self, mut head: Head, version: u64, retired: u64) -> Result<bool> {
        head.retired = retired;
        Ok(self.put(&head, version).await?.is_some())
    }

    /// Replaces the head of that version. Returns its new version; `None` if the head has changed.
    pub(super) async fn put(&self, head: &Head, version: u64) -> Result<Option<u64>> {
        self.put_after(Vec::new(), head, version).await
    }

    /// As [`put`](Self::put), after other writes. Also `None` if one of those conflicts.
    pub(super) async fn put_after(
        &self,
        mut writes: Vec<WriteOp>,
        head: &Head,
        version: u64,
    ) -> Result<Option<u64>> {
        writes.push(head_write(head, Expect::Version(version))?);
        self.write(head, writes).await
    }

    /// The writes that list a session for its owner, for operators, and for its tree of checkpoints.
    pub(super) fn list_writes(&self, head: &Head) -> Vec<WriteOp> {
        let listed = [
            self.list_key(head),
            keys::listed_session_of_all(&self.env.agent, head.created, &head.key()),
            keys::session_in_tree(&head.tree, &head.key()),
        ];
        let put =
            |key| WriteOp::Put { key, bytes: self.env.agent.clone().into(), expect: Expect::Any, ttl: None };
        listed.map(put).to_vec()
    }

    /// Removes a session from the lists, unless a newer session `there` needs the entries.
    pub(super) async fn delist(&self, head: &Head, there: Option<&Head>) -> Result<()> {
        let listed = self.list_key(head);
        if there.is_none_or(|there| self.list_key(there) != listed) {
            self.env.store.remove(&listed, Expect::Any).await?;
            let listed = keys::listed_session_of_all(&self.env.agent, head.created, &head.key());
            self.env.store.remove(&listed, Expect::Any).await?;
        }
        if there.is_none_or(|there| there.tree != head.tree) {
            self.env.store.remove(&keys::session_in_tree(&head.tree, &head.key()), Expect::Any).await?;
        }
        Ok(())
    }

    fn list_key(&self, head: &Head) -> String {
        keys::listed_session(&self.env.owner_tag(head.owner.as_deref()), head.created, &head.id)
    }

    /// Performs writes, the last of which stores the head.
    async fn write(&self, head: &Head, writes: Vec<WriteOp>) -> Result<Option<u64>> {
        match self.env.store.write(None, writes).await {
            Ok(versions) => Ok(versions.last().copied()),
            Err(error) => match error.kind() {
                headwater_store::ErrorKind::Conflict { .. } => Ok(None),
                headwater_store::ErrorKind::TooLarge => {
                    let message = format!(
                        "session {} cannot take that: with the messages that wait for their turn it is larger than the \
                         store allows; send large things by their addresses",
                        head.id
                    );
                    Err(Error::new(ErrorKind::Limit, message).with_code("session.too-large"))
                }
                _ => Err(error.into()),
            },
        }
    }
}

/// The write that stores the head.
pub(super) fn head_write(head: &Head, expect: Expect) -> Result<WriteOp> {
    let bytes = serde_json::to_vec(head).map_err(|error| {
        Error::new(ErrorKind::State, format!("session {} does not serialise: {error}", head.id))
    })?;
    debug_assert!(crate::codec::decode::<Head>(&bytes).is_ok(), "a head that cannot be read back");
    Ok(WriteOp::Put { key: keys::session(&head.key()), bytes: bytes.into(), expect, ttl: None })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
