//! The checkpoint of a turn: an immutable node of a tree, holding the changes of that turn.

use std::collections::{BTreeMap, BTreeSet};

use headwater_protocol::{CheckpointId, Message, RequestId, RunId, RunState, SessionId, StructuredUpdate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    history_hash::HistoryHash,
    turn_message::{GivenAnswer, TurnMessage},
};
use crate::{AnswerValue, Error, Result, error::ErrorKind, id::fresh_id};

/// The state of a session at the end of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Checkpoint {
    /// Argument of `rollback`, `fork` and `edit`. Forks keep the same id.
    pub id: CheckpointId,
    /// The session that created it. Forks of that session share it.
    #[serde(rename = "sessionId")]
    pub session: SessionId,
    /// The number of the turn, from 1.
    #[serde(rename = "turnIndex")]
    pub turn: u64,
    /// A label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When the turn ended, in milliseconds since 1970.
    pub created_at: u64,
    /// The run of the turn. For an imported turn, the id of a run that never existed.
    #[serde(rename = "runId")]
    pub run: RunId,
    /// Where in the journal of the run the turn ended.
    pub seq: u64,
    /// The parent checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// How the turn ended.
    pub status: CheckpointStatus,
    /// The workflow that the run was in, with its version.
    pub workflow: String,
    /// The node visits that were in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub position: Vec<String>,
    /// The requests that the run waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<RequestId>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckpointStatus {
    /// Its run finished.
    Finished,
    /// Its run waits for an answer.
    Waiting,
    /// Its run failed. The output up to then is kept.
    Failed,
    /// Its run was stopped. The output up to then is kept.
    Cancelled,
}

impl CheckpointStatus {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The input of a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnInput {
    /// A message of a person.
    Message(Box<Message>),
    /// Answers to the open requests of the run, in order.
    Answers(Vec<AnswerValue>),
    /// No input: the session was created from an existing conversation.
    Seed,
}

/// A checkpoint as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    #[serde(flatten)]
    pub(crate) checkpoint: Checkpoint,
    /// Hash of all user messages up to here.
    #[serde(default, skip_serializing_if = "HistoryHash::is_empty")]
    pub(crate) history: HistoryHash,
    /// A distant ancestor with its turn number, so that any ancestor is found in few steps.
    #[serde(default, skip_serializing_if = "AncestorLink::is_beginning")]
    pub(crate) jump: AncestorLink,
    /// The structured streams touched after the turn of `jump`, up to this one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) touched: BTreeSet<String>,
    /// Checkpoint of the newest summary of messages beyond the run's budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summarised: Option<CheckpointId>,
    /// Set if this node merges several turns, of which this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<MergedTurns>,
    /// Whether the conversation starts with instructions, which every run receives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) instructed: bool,
    /// Whether it comes from an imported document, without a run in this store.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) imported: bool,
    pub(crate) input: StoredInput,
    /// Idempotency keys of a turn that repeated an answer. A message turn keeps its keys in the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<String>,
    /// The messages that the turn added or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<MessageChange>,
    /// The structured streams touched by the turn, in their new state; an empty list means removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) structured: BTreeMap<String, Vec<StructuredUpdate>>,
    /// The workflow state that it wrote.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) state: Map<String, Value>,
}

/// Remains of turns that retention has merged into this node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergedTurns {
    /// The first of the turns.
    pub(crate) first: u64,
    /// Whether the first turn starts new messages, rather than continuing an earlier run.
    pub(crate) begins: bool,
    /// Whether a run started in one of them, so that earlier workflow state no longer applies.
    pub(crate) clears: bool,
    /// The older checkpoints merged into this one, with their runs.
    pub(crate) merged: Vec<(CheckpointId, RunId)>,
}

/// An ancestor, or the start of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AncestorLink {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<CheckpointId>,
    #[serde(default)]
    pub(crate) turn: u64,
}

impl AncestorLink {
    fn is_beginning(&self) -> bool {
        *self == Self::default()
    }
}

/// The stored input of a turn, sufficient to repeat it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StoredInput {
    Message(Box<TurnMessage>),
    Answers(Vec<GivenAnswer>),
    /// Conversation from before the session existed. It has no run.
    Seed,
}

/// A message added by a turn, or one of which only the first `keep` parts are unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessageChange {
    /// Number of leading parts that are unchanged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) keep: usize,
    pub(crate) message: Message,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl MessageChange {
    /// The messages that differ between two states of a run.
    pub(crate) fn between(before: &RunState, after: &RunState) -> Vec<Self> {
        let mut changes = Vec::new();
        for message in after.messages() {
            let old = before.messages().iter().find(|old| old.id == message.id);
            // A structured object may have grown although its part is unchanged.
            let old = old.map(|old| before.with_objects(old));
            let mut message = after.with_objects(message);
            if old.as_ref() == Some(&message) {
                continue;
            }
            let keep = old.map_or(0, |old| {
                old.parts.iter().zip(&message.parts).take_while(|(old, new)| old == new).count()
            });
            message.parts.drain(..keep);
            changes.push(Self { keep, message });
        }
        changes
    }

    /// Applies the change to the messages of the earlier turns.
    pub(crate) fn apply(self, messages: &mut Vec<Message>) {
        let Self { keep, mut message } = self;
        match messages.iter_mut().find(|old| old.id == message.id) {
            Some(old) => {
                let mut parts = std::mem::take(&mut old.parts);
                parts.truncate(keep);
                parts.append(&mut message.parts);
                message.parts = parts;
                *old = message;
            }
            None => messages.push(message),
        }
    }
}

impl Node {
    pub(crate) fn id(&self) -> &CheckpointId {
        &self.checkpoint.id
    }

    pub(crate) fn turn(&self) -> u64 {
        self.checkpoint.turn
    }

    /// The tree of the checkpoint, which is the prefix of its id.
    pub(crate) fn tree(&self) -> &str {
        self.id().as_str().rsplit_once('.').map_or("", |(tree, _)| tree)
    }

    pub(crate) fn parent(&self) -> AncestorLink {
        AncestorLink { id: self.checkpoint.parent.clone(), turn: self.turn() - 1 }
    }

    /// Whether its run waited and can be copied from here.
    pub(crate) fn waits(&self) -> bool {
        self.checkpoint.status == CheckpointStatus::Waiting && !self.imported
    }

    /// Whether its messages start a new run, rather than continuing one.
    pub(crate) fn begins(&self) -> bool {
        self.base.as_ref().map_or(!matches!(self.input, StoredInput::Answers(_)), |base| base.begins)
    }

    /// Whether workflow state from before it no longer applies.
    pub(crate) fn clears(&self) -> bool {
        self.base.as_ref().map_or_else(|| self.begins(), |base| base.clears)
    }

    /// The older checkpoints merged into it, with their runs.
    pub(crate) fn merged(&self) -> impl Iterator<Item = &(CheckpointId, RunId)> {
        self.base.iter().flat_map(|base| &base.merged)
    }

    /// Whether an older checkpoint is merged into it.
    pub(crate) fn has_merged(&self, id: &CheckpointId) -> bool {
        self.merged().any(|(merged, _)| merged == id)
    }

    /// The first turn that it holds.
    pub(crate) fn first_turn(&self) -> u64 {
        self.base.as_ref().map_or(self.turn(), |base| base.first)
    }
}

/// A new id for a tree of checkpoints.
pub(crate) fn fresh_tree() -> Result<String> {
    fresh_id("cp")
}

/// A new id for a checkpoint in a tree.
pub(crate) fn fresh_checkpoint(tree: &str) -> Result<CheckpointId> {
    let name = fresh_id("")?;
    Ok(format!("{tree}.{}", name.trim_start_matches('_')).into())
}

pub(crate) fn unknown(id: &CheckpointId) -> Error {
    let message = format!("there is no checkpoint {id} in the session: it never was, or was rolled back");
    Error::new(ErrorKind::UnknownCheckpoint, message)
}
