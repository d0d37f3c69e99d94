//! Requests that come again: a key of a request names one turn of its session, for as long as runs are kept.
//!
//! The key is claimed with the names of a run and a checkpoint before the head is swapped. So a process that dies between
//! the two leaves names that the same request takes up, and two of them at once begin one turn.

use headwater_protocol::{CheckpointId, RunId};
use headwater_store::Expect;
use serde::{Deserialize, Serialize};

use super::{
    Session,
    checkpoint::fresh_checkpoint,
    head::Head,
    turn::{Sent, Turn},
};
use crate::{
    Error, Result,
    agent::AgentInner,
    error::ErrorKind,
    id::fresh_run,
    keys::{self, SessionKey},
};

/// The names of a turn that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) run: RunId,
    pub(super) checkpoint: CheckpointId,
}

impl Claim {
    /// Names that nobody has.
    pub(super) fn fresh(tree: &str) -> Result<Self> {
        Ok(Self { run: fresh_run()?, checkpoint: fresh_checkpoint(tree)? })
    }
}

impl Session {
    /// The names of the turn that a request asks for: those that the same request got before, or fresh ones. The second
    /// is the turn, if it has begun.
    pub(super) async fn claim(&self, head: &Head, turn: &Turn) -> Result<(Claim, Option<Sent>)> {
        let fresh = Claim::fresh(&head.tree)?;
        let claim = self.agent.0.claim_requests(&self.key, turn.requests(), fresh.clone()).await?;
        let begun = if claim == fresh { None } else { self.begun_turn(head, &claim).await? };
        Ok((claim, begun))
    }

    /// The turn that an earlier request with one of these keys asked for, if it has begun.
    pub(super) async fn requested(&self, head: &Head, keys: &[String]) -> Result<Option<Sent>> {
        for key in keys {
            if let Some(claim) = self.agent.0.find_request(&self.key, key).await? {
                return self.begun_turn(head, &claim).await;
            }
        }
        Ok(None)
    }

    /// A turn by its names, if it has begun or waits for its turn.
    pub(super) async fn begun_turn(&self, head: &Head, claim: &Claim) -> Result<Option<Sent>> {
        let agent = &self.agent.0;
        let queued = head.queue.iter().any(|turn| turn.run == claim.run);
        let known = queued
            || head.active.as_ref().is_some_and(|turn| turn.run == claim.run)
            || agent.store.info(&claim.run.as_str().into()).await?.is_some()
            || agent.find_node(&claim.checkpoint).await?.is_some();
        Ok(known.then(|| Sent {
            run: claim.run.clone(),
            checkpoint: claim.checkpoint.clone(),
            queued,
            repeated: true,
            has_begun: false,
            session: self.clone(),
        }))
    }
}

impl AgentInner {
    async fn claim_requests(&self, session: &SessionKey, requests: &[String], fresh: Claim) -> Result<Claim> {
        let mut claim = fresh.clone();
        for request in requests {
            let bytes = serde_json::to_vec(&claim).unwrap_or_default();
            let key = keys::session_request(session, request);
            match self.store.put(&key, bytes.into(), Expect::Absent, Some(self.options.keep)).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                    // The first key that is known decides.
                    if claim == fresh
                        && let Some(known) = self.find_request(session, request).await?
                    {
                        claim = known;
                    }
                }
                put => drop(put?),
            }
        }
        Ok(claim)
    }

    async fn find_request(&self, session: &SessionKey, request: &str) -> Result<Option<Claim>> {
        let Some(value) = self.store.get(&keys::session_request(session, request)).await? else {
            return Ok(None);
        };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            let message = format!("the turn of a request in session {session} cannot be read: {error}");
            Error::new(ErrorKind::Store, message)
        })
    }
}
