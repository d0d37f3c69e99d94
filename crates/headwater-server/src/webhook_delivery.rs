//! Delivering: notices become deliveries, one for each target, and each target has a loop that sends its own.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::{future::join_all, stream, stream::StreamExt as _};
use headwater_runtime::{Agent, RunSummary};
use headwater_store::{Expect, Store, ValuePages, WriteOp, key};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    Agents, ApiError, Server,
    runs::RunDocument,
    server::WeakServer,
    webhooks::{WebhookEvent, WebhookReply, WebhookTarget, Webhooks},
};

/// Number of notices read at once.
const NOTICES: usize = 1_000;
/// Number of deliveries of a target read at once.
const PAGE: usize = 200;
/// Number of concurrent requests to a target.
const CONCURRENCY: usize = 4;
/// A notification may get lost between processes, so the store is read again after this time.
const POLL: Duration = Duration::from_secs(5);
/// The longest pause of a target.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// A delivery to one target, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Delivery {
    /// The id of the event for its receiver, equal in each attempt.
    id: String,
    run: RunSummary,
    /// When the event was noticed, in milliseconds since 1970.
    created: u64,
    attempts: u32,
    /// When it may be sent: while it is being sent, when another server may assume that this one has died.
    due: u64,
}

/// A delivery with its place in the store.
struct StoredDelivery {
    key: String,
    version: u64,
    delivery: Delivery,
}

/// The outcome of a request.
enum DeliveryOutcome {
    Taken,
    /// The target is fine, and does not take this one.
    Refused(String),
    /// The target does not respond, or asks for a pause.
    Unreachable(String, Option<Duration>),
    GivenUp(String),
}

/// Delivers for as long as the server lives.
pub(crate) async fn keep_delivering(server: WeakServer) {
    let (stores, targets) = {
        let Some(server) = server.upgrade() else { return };
        let Some(webhooks) = server.options().webhooks.clone() else { return };
        warn_of_silent_agents(server.agents());
        (distinct_stores(server.agents()), webhooks.targets)
    };
    let takers = stores.iter().map(|agent| take_notices(&server, agent));
    let senders = stores.iter().flat_map(|agent| {
        targets.iter().map(|target| send_deliveries(&server, agent.store().clone(), target))
    });
    futures_util::join!(join_all(takers), join_all(senders));
}

fn warn_of_silent_agents(agents: &Agents) {
    for agent in agents.all().iter().filter(|agent| !agent.writes_notices()) {
        tracing::warn!(
            agent = agent.name(),
            "webhooks get no events of this agent: set `AgentOptions::notices`"
        );
    }
}

/// An agent for each store.
fn distinct_stores(agents: &Agents) -> Vec<Agent> {
    let mut distinct: Vec<Agent> = Vec::new();
    for agent in agents.all() {
        if !distinct.iter().any(|known| Arc::ptr_eq(known.store(), agent.store())) {
            distinct.push(agent);
        }
    }
    distinct
}

/// Turns the notices of a store into deliveries.
async fn take_notices(server: &WeakServer, agent: &Agent) {
    loop {
        // Watched first, so that a notice written in between wakes it again.
        let mut watch = agent.watch_notices();
        let Some(server) = server.upgrade().filter(|server| !server.is_leaving()) else { return };
        if let Err(error) = take_all(&server, agent).await {
            tracing::warn!(error = error.message(), "cannot read the notices for webhooks");
        }
        drop(server);
        let _ = tokio::time::timeout(POLL, watch.changed()).await;
    }
}

async fn take_all(server: &Server, agent: &Agent) -> Result<(), ApiError> {
    let Some(webhooks) = &server.options().webhooks else { return Ok(()) };
    for notice in agent.notices(NOTICES).await? {
        // A server with this agent takes it.
        let Some(name) = server.agents().name_of(&notice.run.agent) else { continue };
        let Some(event) = WebhookEvent::of(notice.run.status) else { continue };
        let delivery =
            Delivery { id: notice.id.clone(), run: notice.run.clone(), created: now(), attempts: 0, due: 0 };
        let bytes = encode(&delivery)?;
        let wanted = webhooks.targets.iter().filter(|target| target.wants(event, &name));
        let puts = wanted.map(|target| WriteOp::Put {
            key: key::join("webhook", &[&target.name, &notice.id]),
            bytes: bytes.clone(),
            expect: Expect::Any,
            // Of a target that is configured no more.
            ttl: Some(webhooks.give_up * 2),
        });
        agent.take_notice(&notice, puts.collect()).await?;
    }
    Ok(())
}

/// Sends the deliveries of one target. It waits for no other target, so that a slow or dead one delays only its own.
async fn send_deliveries(server: &WeakServer, store: Arc<dyn Store>, target: &WebhookTarget) {
    let prefix = key::join("webhook", &[&target.name]);
    let mut failures = 0;
    loop {
        let mut watch = store.watch(&prefix);
        let Some(server) = server.upgrade().filter(|server| !server.is_leaving()) else { return };
        let Some(webhooks) = server.options().webhooks.clone() else { return };
        let (due, next) = match due_deliveries(&*store, &prefix).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(target_name = target.name, %error, "cannot read the deliveries of a webhook");
                (Vec::new(), None)
            }
        };
        // A target that failed gets one request, to find out whether it is back.
        let count = if failures > 0 { 1 } else { due.len() };
        let rest = due.len() > count;
        let sends =
            due.into_iter().take(count).map(|stored| deliver(&server, &*store, &webhooks, target, stored));
        let outcomes: Vec<Option<Duration>> =
            stream::iter(sends).buffer_unordered(CONCURRENCY).collect().await;
        drop(server);
        let unreachable = outcomes.iter().flatten().max();
        if let Some(asked) = unreachable {
            failures = (failures + 1).min(30);
            tokio::time::sleep(pause(webhooks.first_pause, failures).max(*asked).min(LONGEST_PAUSE)).await;
            continue;
        }
        if !outcomes.is_empty() {
            failures = 0;
        }
        if !rest {
            let wait = next.map_or(POLL, |next| Duration::from_millis(next.saturating_sub(now())).min(POLL));
            let _ = tokio::time::timeout(wait.max(Duration::from_millis(10)), watch.changed()).await;
        }
    }
}

/// The deliveries that may be sent now, and when the next one may.
async fn due_deliveries(
    store: &dyn Store,
    prefix: &str,
) -> headwater_store::Result<(Vec<StoredDelivery>, Option<u64>)> {
    let (mut due, mut next) = (Vec::new(), None::<u64>);
    let now = now();
    let mut pages = ValuePages::new(store, prefix).size(PAGE);
    while due.len() < PAGE
        && let Some(page) = pages.next().await?
    {
        for (key, value) in page {
            let Ok(delivery) = serde_json::from_slice::<Delivery>(&value.bytes) else {
                tracing::error!(%key, "a delivery of a webhook cannot be read and is dropped");
                store.remove(&key, Expect::Any).await?;
                continue;
            };
            match delivery.due > now {
                true => next = Some(next.map_or(delivery.due, |next| next.min(delivery.due))),
                false => due.push(StoredDelivery { key, version: value.version, delivery }),
            }
        }
    }
    Ok((due, next))
}

/// Sends one delivery. Returns a pause if the target could not be reached.
async fn deliver(
    server: &Server,
    store: &dyn Store,
    webhooks: &Webhooks,
    target: &WebhookTarget,
    StoredDelivery { key, version, mut delivery }: StoredDelivery,
) -> Option<Duration> {
    let keep = Some(webhooks.give_up * 2);
    // Claimed, so that no other server sends it at the same time.
    delivery.due = now().saturating_add(millis(webhooks.timeout * 2));
    delivery.attempts += 1;
    let claim = encode(&delivery).ok()?;
    let version = store.put(&key, claim, Expect::Version(version), keep).await.ok()?;
    let outcome = send(server, webhooks, target, &delivery).await;
    let (why, asked) = match outcome {
        DeliveryOutcome::Taken => {
            remove(store, &key, version).await;
            return None;
        }
        DeliveryOutcome::Refused(why) => (why, None),
        DeliveryOutcome::Unreachable(why, asked) => (why, Some(asked.unwrap_or_default())),
        DeliveryOutcome::GivenUp(why) => {
            tracing::error!(webhook = target.name, id = delivery.id, why, "a webhook is given up");
            remove(store, &key, version).await;
            return None;
        }
    };
    tracing::warn!(
        webhook = target.name,
        id = delivery.id,
        attempts = delivery.attempts,
        why,
        "cannot deliver a webhook"
    );
    delivery.due = now().saturating_add(millis(pause(webhooks.first_pause, delivery.attempts)));
    if let Ok(bytes) = encode(&delivery)
        && let Err(error) = store.put(&key, bytes, Expect::Version(version), keep).await
    {
        // It is sent again when its claim has run out.
        tracing::warn!(webhook = target.name, %error, "cannot note that a webhook failed");
    }
    asked
}

/// A delivery that was taken and cannot be removed is sent again: its receiver knows it by its id.
async fn remove(store: &dyn Store, key: &str, version: u64) {
    if let Err(error) = store.remove(key, Expect::Version(version)).await {
        tracing::warn!(key, %error, "cannot remove a webhook that was delivered");
    }
}

async fn send(
    server: &Server,
    webhooks: &Webhooks,
    target: &WebhookTarget,
    delivery: &Delivery,
) -> DeliveryOutcome {
    let event = WebhookEvent::of(delivery.run.status).map_or("run", WebhookEvent::name);
    let document = RunDocument::from(server.agents().visible(delivery.run.clone()));
    let timestamp = headwater_protocol::rfc3339(delivery.run.updated);
    let body = json!({ "type": event, "timestamp": timestamp, "data": document }).to_string();
    let request = target.request(&delivery.id, now() / 1_000, body.into());
    let sent = tokio::time::timeout(webhooks.timeout, webhooks.sender.send(request)).await;
    let is_over = now().saturating_sub(delivery.created) > millis(webhooks.give_up);
    match sent.unwrap_or_else(|_| Err(format!("no answer within {:?}", webhooks.timeout))) {
        Ok(WebhookReply { status: 200..=299, .. }) => DeliveryOutcome::Taken,
        Ok(WebhookReply { status: 410, .. }) => {
            DeliveryOutcome::GivenUp("the target is gone (410)".to_owned())
        }
        Ok(reply) if is_over => DeliveryOutcome::GivenUp(format!("the last answer was {}", reply.status)),
        Err(why) if is_over => DeliveryOutcome::GivenUp(why),
        Ok(WebhookReply { status: status @ (408 | 429 | 500..=599), retry_after }) => {
            DeliveryOutcome::Unreachable(format!("the answer was {status}"), retry_after)
        }
        // A redirect is not followed: its goal was not configured.
        Ok(WebhookReply { status, .. }) => DeliveryOutcome::Refused(format!("the answer was {status}")),
        Err(why) => DeliveryOutcome::Unreachable(why, None),
    }
}

/// The pause after this many failures.
fn pause(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(LONGEST_PAUSE)
}

fn encode(delivery: &Delivery) -> Result<Bytes, ApiError> {
    serde_json::to_vec(delivery).map(Into::into).map_err(|error| ApiError::internal("internal", &error))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}
