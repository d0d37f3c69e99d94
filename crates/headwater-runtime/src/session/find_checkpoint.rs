//! Finds the checkpoint of a turn by a message id.

use headwater_protocol::{CheckpointId, RunId};

use super::{Checkpoint, Session, StoredInput, checkpoint::unknown, head::Head};
use crate::Result;

/// Selects among the checkpoints of a run. A run that waited for answers has several: one for its message,
/// and one for each answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOfRun {
    /// The checkpoint of the message: to edit it, or to answer it again.
    First,
    /// The newest one: to roll back to, or to fork from.
    Last,
}

/// Number of turns searched for the checkpoints of a run.
const TURNS_BACK: usize = 200;

impl Session {
    /// The checkpoints of a run among the latest turns of the selected branch, newest first.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn checkpoints_of(&self, run: &RunId) -> Result<Vec<Checkpoint>> {
        self.find_checkpoints(&self.load().await?.head, run).await
    }

    pub(super) async fn find_checkpoints(&self, head: &Head, run: &RunId) -> Result<Vec<Checkpoint>> {
        let mut found: Vec<Checkpoint> = Vec::new();
        let mut next = head.checkpoint.clone();
        for _ in 0..TURNS_BACK {
            let Some(id) = next else { break };
            let node = self.sessions.tree.node(&id).await?;
            let is_of_run = node.checkpoint.run == *run;
            // The turns of a run are adjacent.
            if node.turn() <= head.retired || (!found.is_empty() && !is_of_run) {
                break;
            }
            next = node.checkpoint.parent.clone();
            found.extend(is_of_run.then(|| node.checkpoint.clone()));
        }
        Ok(found)
    }

    /// Resolves a name to a checkpoint on the selected branch: the id of a checkpoint, the id of a message of
    /// its turn, or `latest`.
    ///
    /// A user message is found by its own id, also after its turn was regenerated; an answer by its run,
    /// which is the suffix of its id. The id of a checkpoint is not looked up: it may belong to a variant.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint) when no kept turn has it, and as [`Session::info`].
    pub async fn find_checkpoint(&self, name: &str, turn: TurnOfRun) -> Result<CheckpointId> {
        if name.starts_with("cp_") {
            return Ok(name.into());
        }
        let head = self.load().await?.head;
        let mut next = head.checkpoint;
        // The newest checkpoint of the current run, and the oldest one found so far.
        let mut newest: Option<(RunId, CheckpointId)> = None;
        let mut oldest = None;
        let mut found = false;
        while let Some(id) = next.take() {
            let node = self.sessions.tree.node(&id).await?;
            let run = &node.checkpoint.run;
            if newest.as_ref().is_none_or(|(held, _)| held != run) {
                if found || node.turn() <= head.retired {
                    break;
                }
                newest = Some((run.clone(), id.clone()));
            }
            let is_message =
                matches!(&node.input, StoredInput::Message(said) if said.message.id.as_str() == name);
            found |= name == "latest" || is_message || name.ends_with(run.as_str());
            oldest = Some(id);
            next.clone_from(&node.checkpoint.parent);
        }
        let newest = newest.map(|(_, id)| id);
        let checkpoint = if turn == TurnOfRun::First { oldest } else { newest };
        checkpoint.filter(|_| found).ok_or_else(|| unknown(&name.into()))
    }
}
