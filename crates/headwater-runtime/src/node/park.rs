//! State that survives a wait.
//!
//! A node is run again from the top when it was answered. Node state written before the wait is restored, so
//! that `if !started { …; started.set(true) }` runs once. A re-run may skip hooks that ran before the wait.
//! After the wait, state, counters and emits are as they were when it started.

use headwater_protocol::RequestId;

use super::{DivergenceKind, NodeVisit, visit::VisitState};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{Effect, ParkRecord},
};

impl NodeVisit {
    /// Records the progress of the visit, if it has written node state since the last record.
    pub(crate) fn park(&self, requests: &[RequestId]) -> Result<()> {
        let parked = {
            let mut waits: Vec<_> = {
                let fold = self.run.fold();
                let waits = fold.asked.iter().filter(|(_, wait)| requests.contains(&wait.request));
                waits.map(|(key, _)| key.clone()).collect()
            };
            waits.sort_unstable();
            let state = self.state();
            if !state.node_state_written {
                return Ok(());
            }
            ParkRecord {
                visit: self.visit.clone(),
                waits,
                node_state: state.node_state.clone(),
                workflow_state: state.workflow_writes.clone(),
                uses: state.uses.iter().map(|(id, uses)| (id.clone(), *uses)).collect(),
                updates: state.updates.iter().map(|(key, updates)| (key.clone(), *updates)).collect(),
                emitted: state.emitted,
                concurrent: state.concurrent,
            }
        };
        let size = [&parked.node_state, &parked.workflow_state]
            .map(|state| serde_json::to_string(state).map_or(0, |text| text.len()));
        let (size, limit) = (size.iter().sum::<usize>(), self.run.options().max_state_bytes);
        if size > limit {
            let message = format!(
                "node `{}` waits with {size} bytes of state, a run may have {limit}: keep large things elsewhere and \
                 store their names",
                self.visit.node
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        drop(self.run.journal.effect(Effect::Parked(Box::new(parked)))?);
        Ok(())
    }

    /// The wait was answered: restores state, counters and emits as of the start of the wait.
    pub(crate) fn wait_is_over(&self, key: &str) -> Result<()> {
        let Some(park) = self.park.as_deref().filter(|park| park.parked.waits.iter().any(|wait| wait == key))
        else {
            return Ok(());
        };
        let parked = &park.parked;
        let mut state = self.state();
        if std::mem::replace(&mut state.wait_over, true) {
            return Ok(());
        }
        state.node_state.clone_from(&parked.node_state);
        state.node_state_written = false;
        state.workflow_state.extend(parked.workflow_state.clone());
        state.workflow_writes.clone_from(&parked.workflow_state);
        if parked.concurrent {
            // A parallel hook may still need its record, so nothing counts as skipped.
            return Ok(());
        }
        state.reemitted = parked.emitted;
        for (id, before) in &parked.uses {
            let uses = state.uses.entry(id.clone()).or_insert(0);
            let now = std::mem::replace(uses, (*uses).max(*before));
            if now > 0 && now < *before {
                drop(state);
                let what = format!(
                    "`{id}` was used {before} times before the wait and {now} times now, so that it cannot be told \
                     which of them the node state leads around"
                );
                return Err(self.differs(DivergenceKind::Missing, key, None, None, &what));
            }
        }
        for (name, before) in &parked.updates {
            let updates = state.updates.entry(name.clone()).or_insert(0);
            *updates = (*updates).max(*before);
        }
        Ok(())
    }

    /// Whether a hook without an id could be one of several from before the wait.
    pub(super) fn is_ambiguous(&self, state: &VisitState, kind: &str) -> bool {
        // Other hooks take no id; their counts are compared after the wait.
        let can_have_id = matches!(kind, "reason" | "interrupt");
        let before = self.park.as_ref().and_then(|park| park.parked.uses.get(kind).copied()).unwrap_or(0);
        can_have_id && before > 1 && !state.wait_over
    }

    /// Whether this emit repeats one from before the wait. Skipped emits are passed over.
    pub(super) fn was_emitted_before_the_wait(&self, now: &str) -> bool {
        let Some(park) = &self.park else { return false };
        let fold = self.run.fold();
        let mut state = self.state();
        let Some(emits) = fold.emits.get(&self.name).filter(|_| state.reemitted < park.parked.emitted) else {
            return false;
        };
        let before = emits.range(state.reemitted..park.parked.emitted).find(|(_, before)| *before == now);
        match before {
            Some((number, _)) => {
                state.reemitted = number + 1;
                true
            }
            None => false,
        }
    }

    /// Counts an update of a state. Returns whether the state includes it already.
    pub(crate) fn was_updated(&self, name: &str, survives: bool) -> bool {
        let mut state = self.state();
        let updates = state.updates.entry(name.to_owned()).or_insert(0);
        *updates += 1;
        let number = *updates;
        let before = self.park.as_ref().and_then(|park| park.parked.updates.get(name).copied()).unwrap_or(0);
        number <= before && (survives || state.wait_over)
    }
}
