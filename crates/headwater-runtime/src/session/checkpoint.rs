//! What a turn leaves: a node of a tree that never changes, holding what the turn added.

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
    /// What `rollback`, `fork` and `edit` take. It stays the same in forks.
    pub id: CheckpointId,
    /// The session in which it was made. A fork of that session has it too.
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
    /// The run of the turn. One with which a session was seeded never was.
    #[serde(rename = "runId")]
    pub run: RunId,
    /// Where in the journal of the run the turn ended.
    pub seq: u64,
    /// The checkpoint before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// How the turn ended.
    pub status: CheckpointStatus,
    /// The workflow that the run was in, with its version.
    pub workflow: String,
    /// The visits of nodes that were under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub position: Vec<String>,
    /// What the run waited for.
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
    /// Its run failed. What it had said is kept.
    Failed,
    /// Its run was stopped. What it had said is kept.
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

/// What a turn was given.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnInput {
    /// What a person wrote.
    Message(Box<Message>),
    /// Answers to what the run waited for, in order.
    Answers(Vec<AnswerValue>),
    /// Nothing: the session began with what was said before.
    Seed,
}

/// A checkpoint as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    #[serde(flatten)]
    pub(crate) checkpoint: Checkpoint,
    /// All that people said up to here.
    #[serde(default, skip_serializing_if = "HistoryHash::is_empty")]
    pub(crate) history: HistoryHash,
    /// An ancestor further away with the number of its turn, so that any ancestor is found in few steps.
    #[serde(default, skip_serializing_if = "AncestorLink::is_beginning")]
    pub(crate) jump: AncestorLink,
    /// The structured streams that were touched after the turn that `jump` names, up to this one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) touched: BTreeSet<String>,
    /// Where the newest summary is kept of what the turn's run did not get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summarised: Option<CheckpointId>,
    /// Several turns in one, of which this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<MergedTurns>,
    /// The conversation begins with instructions, which every run gets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) instructed: bool,
    /// It comes from a document, and no run of ours stands behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) imported: bool,
    pub(crate) input: StoredInput,
    /// By what a turn that was an answer is known again, if it was done again: a message has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<String>,
    /// The messages that the turn added or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<MessageChange>,
    /// The structured streams that it touched, as they are now; none are gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) structured: BTreeMap<String, Vec<StructuredUpdate>>,
    /// The workflow state that it wrote.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) state: Map<String, Value>,
}

/// What is left of turns that can no longer be gone back to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergedTurns {
    /// The first of the turns.
    pub(crate) first: u64,
    /// Whether messages begin with the first turn, rather than go on.
    pub(crate) begins: bool,
    /// Whether a run began in one of them, so that the workflow state before them does not count.
    pub(crate) clears: bool,
    /// The checkpoints before this one that are in it, and their runs.
    pub(crate) merged: Vec<(CheckpointId, RunId)>,
}

/// An ancestor, or the beginning of the session.
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

/// What a turn was given, as it is kept: enough to do it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StoredInput {
    Message(Box<TurnMessage>),
    Answers(Vec<GivenAnswer>),
    /// What was said before the session began here. No run stands behind it.
    Seed,
}

/// A message that a turn added, or of which it changed all but the first parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessageChange {
    /// So many parts are as they were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) keep: usize,
    pub(crate) message: Message,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl MessageChange {
    /// What has changed between two states of a run.
    pub(crate) fn between(before: &RunState, after: &RunState) -> Vec<Self> {
        let mut changes = Vec::new();
        for message in after.messages() {
            let old = before.messages().iter().find(|old| old.id == message.id);
            // An object may have grown though its part is as it was.
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

    /// Adds it to the messages of the turns before.
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

    /// The tree that it is in: the name of a checkpoint begins with it.
    pub(crate) fn tree(&self) -> &str {
        self.id().as_str().rsplit_once('.').map_or("", |(tree, _)| tree)
    }

    pub(crate) fn parent(&self) -> AncestorLink {
        AncestorLink { id: self.checkpoint.parent.clone(), turn: self.turn() - 1 }
    }

    /// Whether its run waited, and can be gone back to.
    pub(crate) fn waits(&self) -> bool {
        self.checkpoint.status == CheckpointStatus::Waiting && !self.imported
    }

    /// Whether messages begin with it, rather than go on.
    pub(crate) fn begins(&self) -> bool {
        self.base.as_ref().map_or(!matches!(self.input, StoredInput::Answers(_)), |base| base.begins)
    }

    /// Whether the workflow state before it does not count.
    pub(crate) fn clears(&self) -> bool {
        self.base.as_ref().map_or_else(|| self.begins(), |base| base.clears)
    }

    /// The older checkpoints that are in it, and their runs.
    pub(crate) fn merged(&self) -> impl Iterator<Item = &(CheckpointId, RunId)> {
        self.base.iter().flat_map(|base| &base.merged)
    }

    /// Whether an older checkpoint is in it.
    pub(crate) fn has_merged(&self, id: &CheckpointId) -> bool {
        self.merged().any(|(merged, _)| merged == id)
    }

    /// The first turn that it holds.
    pub(crate) fn first_turn(&self) -> u64 {
        self.base.as_ref().map_or(self.turn(), |base| base.first)
    }
}

/// A name for a new tree of checkpoints.
pub(crate) fn fresh_tree() -> Result<String> {
    fresh_id("cp")
}

/// A name for a new checkpoint in a tree.
pub(crate) fn fresh_checkpoint(tree: &str) -> Result<CheckpointId> {
    let name = fresh_id("")?;
    Ok(format!("{tree}.{}", name.trim_start_matches('_')).into())
}

pub(crate) fn unknown(id: &CheckpointId) -> Error {
    let message = format!("unknown checkpoint {id}: the id is wrong, or the session was rolled back");
    Error::new(ErrorKind::UnknownCheckpoint, message)
}
