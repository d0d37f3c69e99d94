//! Repeated requests: the key of a request names one turn of its session, for as long as runs are kept.
//!
//! The key is claimed with the ids of a run and a checkpoint before the head is written, in the same commit
//! if the store supports that. So a process that dies between the two leaves ids that the same request
//! reuses, and two concurrent requests start one turn.

use headwater_protocol::{CheckpointId, RunId};
use headwater_store::{Expect, WriteOp};
use serde::{Deserialize, Serialize};

use super::{
    Session, Sessions,
    checkpoint::fresh_checkpoint,
    head::Head,
    turn::{Turn, TurnHandle},
};
use crate::{
    Error, Result,
    error::ErrorKind,
    id::fresh_run,
    keys::{self, SessionKey},
};

/// The ids of a requested turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) run: RunId,
    pub(super) checkpoint: CheckpointId,
}

impl Claim {
    /// A claim with fresh ids.
    pub(super) fn fresh(tree: &str) -> Result<Self> {
        Ok(Self { run: fresh_run()?, checkpoint: fresh_checkpoint(tree)? })
    }

    fn is_of(&self, tree: &str) -> bool {
        self.checkpoint.as_str().rsplit_once('.').is_some_and(|(of, _)| of == tree)
    }
}

/// The plan for a request with keys.
#[derive(Debug)]
pub(super) struct ClaimPlan {
    /// The ids of the turn: those that an earlier copy of the request got, or fresh ones.
    pub(super) claim: Claim,
    /// The turn, if it has started.
    pub(super) begun: Option<TurnHandle>,
    /// The writes that claim the ids, to be done before the head is written.
    pub(super) writes: Vec<WriteOp>,
}

impl Session {
    /// Claims the ids of the requested turn. The second value is the turn, if it has started.
    pub(super) async fn claim(&self, head: &Head, turn: &Turn) -> Result<(Claim, Option<TurnHandle>)> {
        loop {
            let ClaimPlan { claim, begun, writes } = self.plan_claim(head, turn).await?;
            if begun.is_some() || writes.is_empty() {
                return Ok((claim, begun));
            }
            match self.sessions.env.store.write(None, writes).await {
                // The same request arrived concurrently.
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                written => return written.map(|_| (claim, None)).map_err(Error::from),
            }
        }
    }

    /// The ids of the requested turn, and the writes that claim them.
    pub(super) async fn plan_claim(&self, head: &Head, turn: &Turn) -> Result<ClaimPlan> {
        let sessions = &self.sessions;
        let (mut known, mut unclaimed) = (None::<Claim>, Vec::new());
        for request in turn.requests() {
            let Some((claim, version)) = sessions.find_claim(&self.key, request).await? else {
                unclaimed.push((request, Expect::Absent));
                continue;
            };
            if let Some(begun) = self.begun_turn(head, &claim).await? {
                return Ok(ClaimPlan { claim, begun: Some(begun), writes: Vec::new() });
            }
            if claim.is_of(&head.tree) {
                // The first known key decides.
                known.get_or_insert(claim);
            } else {
                // Another process created the session concurrently, or this one died before it did.
                unclaimed.push((request, Expect::Version(version)));
            }
        }
        let claim = match known {
            Some(claim) => claim,
            None => Claim::fresh(&head.tree)?,
        };
        let writes = unclaimed
            .into_iter()
            .map(|(request, expect)| sessions.claim_write(&self.key, request, &claim, expect));
        Ok(ClaimPlan { writes: writes.collect(), claim, begun: None })
    }

    /// The turn of an earlier request with one of these keys, if it has started.
    pub(super) async fn requested(&self, head: &Head, keys: &[String]) -> Result<Option<TurnHandle>> {
        for key in keys {
            if let Some(claim) = self.sessions.find_request(&self.key, key).await? {
                return self.begun_turn(head, &claim).await;
            }
        }
        Ok(None)
    }

    /// A turn by its ids, if it has started or is queued.
    pub(super) async fn begun_turn(&self, head: &Head, claim: &Claim) -> Result<Option<TurnHandle>> {
        let sessions = &self.sessions;
        let queued = head.queue.iter().any(|turn| turn.run == claim.run);
        let known = queued
            || head.active.as_ref().is_some_and(|turn| turn.run == claim.run)
            || sessions.env.store.info(&claim.run.as_str().into()).await?.is_some()
            || sessions.tree.find_node(&claim.checkpoint).await?.is_some();
        Ok(known.then(|| TurnHandle {
            run: claim.run.clone(),
            checkpoint: claim.checkpoint.clone(),
            queued,
            repeated: true,
            named: false,
            has_begun: false,
            session: self.clone(),
        }))
    }
}

impl Sessions {
    /// The write that claims the ids of a turn for a request.
    pub(super) fn claim_write(
        &self,
        session: &SessionKey,
        request: &str,
        claim: &Claim,
        expect: Expect,
    ) -> WriteOp {
        let bytes = serde_json::to_vec(claim).unwrap_or_default().into();
        let key = keys::session_request(session, request);
        WriteOp::Put { key, bytes, expect, ttl: Some(self.env.options.keep) }
    }

    async fn find_request(&self, session: &SessionKey, request: &str) -> Result<Option<Claim>> {
        Ok(self.find_claim(session, request).await?.map(|(claim, _)| claim))
    }

    async fn find_claim(&self, session: &SessionKey, request: &str) -> Result<Option<(Claim, u64)>> {
        let Some(value) = self.env.store.get(&keys::session_request(session, request)).await? else {
            return Ok(None);
        };
        let claim = crate::codec::decode(&value.bytes);
        claim.map(|claim| Some((claim, value.version))).map_err(|error| {
            let message = format!("the turn of a request in session {session} cannot be read: {error}");
            Error::new(ErrorKind::Store, message)
        })
    }
}
