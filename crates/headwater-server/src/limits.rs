//! Limits for one principal, and on the duration of a run.
//!
//! Active runs are counted, not started ones: the agents know the runs driven in this process, with owner and
//! start time. So a waiting or ended run no longer counts, one that was answered or taken over does, and
//! there is no counter to release. If several servers share a store, each has a share of a principal's limit;
//! a principal that exceeds the share at one server is counted at all of them, by an index in the store.

pub(crate) mod ids;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use axum::http::StatusCode;
use headwater_runtime::ErrorKind;
use headwater_store::Store;

use crate::{Agents, ApiError, Limits, Principal, background::BackgroundTask};

/// `Retry-After` in seconds for a principal over its limit.
const RETRY: u64 = 2;

/// How long the cleanup of an ended run may take.
const PUT_AWAY: Duration = Duration::from_millis(100);

/// The memory of a parsed value: an object with one number in it, the most expensive pair, takes about 560 bytes.
const VALUE_BYTES: usize = 300;

/// The resources in use by principals.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    beginning: Counts,
    streams: Counts,
    /// Bytes of bodies that are read, and of the values that are parsed from them.
    bodies: Counts,
    /// Stops runs that take too long.
    run_time_watch: BackgroundTask,
}

type Counts = Arc<Mutex<HashMap<Principal, usize>>>;

/// Counts for as long as it lives.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Counts,
    principal: Principal,
    amount: usize,
}

impl Permit {
    /// One more, unless the limit is reached together with `going`.
    fn take(counts: &Counts, principal: &Principal, going: usize, limit: usize) -> Option<Self> {
        let mut held = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(principal.clone()).or_default();
        if count.saturating_add(going) >= limit {
            if *count == 0 {
                held.remove(principal);
            }
            return None;
        }
        *count += 1;
        Some(Self { counts: counts.clone(), principal: principal.clone(), amount: 1 })
    }

    /// Reserves bytes, unless the principal's limit or the total is reached.
    fn hold(
        counts: &Counts,
        principal: &Principal,
        bytes: usize,
        limits: &Limits,
    ) -> Result<Self, BodyBudgetError> {
        let mut held = counts.lock().unwrap_or_else(PoisonError::into_inner);
        // A body of the allowed size always fits when there is no other.
        let fits = |held: usize, limit: usize| held.saturating_add(bytes) <= limit.max(limits.body);
        if !fits(held.values().sum(), limits.bodies_total) {
            return Err(BodyBudgetError::ByAll);
        }
        if !fits(held.get(principal).copied().unwrap_or(0), limits.bodies) {
            return Err(BodyBudgetError::ByPrincipal);
        }
        *held.entry(principal.clone()).or_default() += bytes;
        Ok(Self { counts: counts.clone(), principal: principal.clone(), amount: bytes })
    }

    /// Reserves more bytes for the same body. The only body of a principal, or of all, is always let through, so
    /// that no setting makes a request impossible.
    fn grow(&mut self, bytes: usize, limits: &Limits) -> Result<(), BodyBudgetError> {
        let mut held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |held: usize, limit: usize| held == self.amount || held.saturating_add(bytes) <= limit;
        if !fits(held.values().sum(), limits.bodies_total) {
            return Err(BodyBudgetError::ByAll);
        }
        let count = held.entry(self.principal.clone()).or_default();
        if !fits(*count, limits.bodies) {
            return Err(BodyBudgetError::ByPrincipal);
        }
        *count = count.saturating_add(bytes);
        drop(held);
        self.amount = self.amount.saturating_add(bytes);
        Ok(())
    }

    /// The principal's current use of this resource.
    fn held(&self) -> usize {
        let held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&self.principal).copied().unwrap_or(0)
    }

    /// The expiry of the principal's token, if any.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.principal.expiry()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.principal) {
            *count = count.saturating_sub(self.amount);
            if *count == 0 {
                held.remove(&self.principal);
            }
        }
    }
}

/// The byte limit that was reached.
enum BodyBudgetError {
    ByPrincipal,
    ByAll,
}

impl From<BodyBudgetError> for ApiError {
    fn from(held: BodyBudgetError) -> Self {
        let (status, code, message) = match held {
            BodyBudgetError::ByPrincipal => (
                StatusCode::TOO_MANY_REQUESTS,
                "bodies.too-many",
                "too many bytes of your requests are being read: wait until some are answered",
            ),
            BodyBudgetError::ByAll => (
                StatusCode::SERVICE_UNAVAILABLE,
                "server.busy",
                "the server is reading as much as it may: send the request again",
            ),
        };
        Self::new(status, code, message).retry_after(RETRY)
    }
}

impl InUse {
    /// Allows a principal to start a run, unless too many of its runs are active here. The permit is held until the run
    /// has started. The second value is whether the principal is over its share of the limit, with this many servers.
    pub(crate) fn run(
        &self,
        agents: &Agents,
        limits: &Limits,
        principal: &Principal,
        servers: usize,
    ) -> Result<(Permit, bool), ApiError> {
        // Usually all runs together are fewer than the limit of one principal.
        let driven = agents.all().iter().map(headwater_runtime::Agent::driving).sum();
        if driven >= limits.active_runs {
            let message = "the server has as many runs as it may have: send the request again";
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server.busy", message);
            return Err(error.retry_after(RETRY));
        }
        let share = limits.runs / servers.max(1);
        if let Some(permit) = Permit::take(&self.beginning, principal, driven, share) {
            return Ok((permit, false));
        }
        let going: HashSet<_> = agents
            .all()
            .iter()
            .flat_map(headwater_runtime::Agent::local_runs)
            .filter(|run| run.owner.as_deref() == Some(principal.id()))
            .map(|run| run.run)
            .collect();
        if let Some(permit) = Permit::take(&self.beginning, principal, going.len(), share) {
            return Ok((permit, false));
        }
        let permit = Permit::take(&self.beginning, principal, going.len(), limits.runs);
        permit.map(|permit| (permit, true)).ok_or_else(|| too_many_runs(limits))
    }

    /// Allows a principal to open a stream, unless too many are open. The permit is held until it is closed.
    pub(crate) fn stream(&self, limits: &Limits, principal: &Principal) -> Result<Permit, ApiError> {
        Permit::take(&self.streams, principal, 0, limits.streams).ok_or_else(|| {
            let message =
                format!("you have {} open streams, the maximum: close one, then retry", limits.streams);
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "streams.too-many", message).retry_after(RETRY)
        })
    }

    /// Admits a body of this size, unless too many bytes are being read. The permit is held until the request
    /// is answered.
    pub(crate) fn body(
        &self,
        limits: &Limits,
        principal: &Principal,
        bytes: usize,
    ) -> Result<Permit, ApiError> {
        Permit::hold(&self.bodies, principal, bytes, limits).map_err(ApiError::from)
    }

    /// Reserves memory for parsing a body: parsed, it takes many times its bytes.
    pub(crate) fn parse(limits: &Limits, permit: &mut Permit, values: usize) -> Result<(), ApiError> {
        permit.grow(values.saturating_mul(VALUE_BYTES), limits).map_err(ApiError::from)
    }

    /// Starts the task that enforces the time limit of runs, once.
    pub(crate) fn watch_time(&self, agents: &Agents, limits: &Limits) {
        let Some(limit) = limits.run_time else { return };
        self.run_time_watch.ensure_started(|| stop_late(agents.clone(), limit));
    }
}

/// Refuses a run if too many of its principal are active at all servers together. Runs being started by other
/// servers at the same time do not count yet.
pub(crate) async fn check_everywhere(
    agents: &Agents,
    limits: &Limits,
    principal: &Principal,
    permit: &Permit,
) -> Result<(), ApiError> {
    for patience in [PUT_AWAY, Duration::ZERO] {
        let beginning = permit.held().saturating_sub(1);
        let mut active = 0;
        let mut stores: Vec<Arc<dyn Store>> = Vec::new();
        for agent in agents.all() {
            if !stores.iter().any(|store| Arc::ptr_eq(store, agent.store())) {
                stores.push(agent.store().clone());
                active += agent.active_runs(principal.id(), limits.runs).await?;
            }
        }
        if active.saturating_add(beginning) < limits.runs {
            return Ok(());
        }
        // A run that has just ended still counts until its driver is gone.
        tokio::time::sleep(patience).await;
    }
    Err(too_many_runs(limits))
}

fn too_many_runs(limits: &Limits) -> ApiError {
    let message =
        format!("you have {} active runs, the maximum: wait until one has ended, or stop one", limits.runs);
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "runs.too-many", message).retry_after(RETRY)
}

/// Stops runs that take too long, until it is aborted.
async fn stop_late(agents: Agents, limit: Duration) {
    let mut step =
        tokio::time::interval((limit / 10).clamp(Duration::from_millis(10), Duration::from_secs(1)));
    step.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut reported = HashSet::new();
    loop {
        step.tick().await;
        let mut late = HashSet::new();
        for agent in agents.all() {
            for run in agent.local_runs().into_iter().filter(|run| run.active >= limit) {
                let first = !reported.contains(&run.run);
                late.insert(run.run.clone());
                if !first {
                    continue;
                }
                let reason =
                    format!("the run took longer than {limit:?}, which is the most that is allowed here");
                match agent.stop(&run.run, Some(&reason)).await {
                    Ok(_) => tracing::warn!(run = %run.run, "{reason}"),
                    Err(error) if error.kind() == ErrorKind::Ended => {}
                    Err(error) => {
                        late.remove(&run.run);
                        tracing::error!(run = %run.run, error = ?error.message(), "a run that takes too long cannot be stopped");
                    }
                }
            }
        }
        reported = late;
    }
}
