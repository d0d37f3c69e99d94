//! Subscriptions: a webhook is called, or a worker is woken, when streams have data that was not acknowledged.
//!
//! A subscription is a value of the store. Each step compares and swaps it, so of several servers one calls the webhook.

mod glob;
mod keys;
mod model;
pub(crate) mod routes;
mod steps;
mod token;
mod webhook;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use headwater_store::{Store, ValuePages, Watch};

use crate::{DurableStreams, StreamError, streams::StreamEngine, streams::StreamId};
use model::Subscription;

/// The kind of the values that are subscriptions.
const KIND: &str = "durable-subscription";

/// The owners with subscriptions, so that other owners' appends have no extra cost.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    owners: Mutex<BTreeSet<String>>,
    /// Whether the owners must be listed again.
    stale: AtomicBool,
    /// Woken when a subscription is created or removed, here or elsewhere.
    watch: Mutex<Watch>,
    webhooks: Option<webhook::WebhookClient>,
}

impl Subscriptions {
    pub(crate) fn new(store: &dyn Store, webhooks: bool) -> Self {
        let watch = store.watch(&format!("{KIND}/"));
        let webhooks = webhooks.then(webhook::WebhookClient::new);
        Self { owners: Mutex::default(), stale: AtomicBool::new(true), watch: Mutex::new(watch), webhooks }
    }

    fn watch(&self) -> Watch {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn owners(&self) -> BTreeSet<String> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl DurableStreams {
    /// Wakes the subscriptions of a stream, after the response to the request that wrote to it.
    pub(crate) fn notify_append(&self, id: &StreamId) {
        let (engine, id) = (self.0.clone(), id.clone());
        tokio::spawn(async move {
            if let Err(error) = engine.wake_subscriptions(&id).await {
                tracing::warn!(
                    code = error.code(),
                    "subscriptions could not be woken: they are when they are attended to"
                );
            }
        });
    }
}

impl StreamEngine {
    async fn wake_subscriptions(self: &Arc<Self>, id: &StreamId) -> Result<(), StreamError> {
        self.refresh_owners().await?;
        if !self.subscriptions.owners().contains(&id.owner) {
            return Ok(());
        }
        for subscription in self.list_subscriptions(&id.owner).await? {
            self.wake(&subscription.owner, &subscription.id, Some(&id.path)).await?;
        }
        Ok(())
    }

    /// Lists the owners of subscriptions again if one was created or removed.
    async fn refresh_owners(&self) -> Result<(), StreamError> {
        let mut watch = self.subscriptions.watch();
        // Without waiting: only past changes count.
        let changed = tokio::time::timeout(std::time::Duration::ZERO, watch.changed()).await.is_ok();
        if !(self.subscriptions.stale.swap(false, Ordering::AcqRel) || changed) {
            return Ok(());
        }
        let mut owners = BTreeSet::new();
        let mut pages = ValuePages::new(&*self.store, format!("{KIND}/"));
        while let Some(page) = pages.next().await? {
            let decoded = page.iter().filter_map(|(_, value)| serde_json::from_slice(&value.bytes).ok());
            owners.extend(decoded.map(|subscription: Subscription| subscription.owner));
        }
        *self.subscriptions.owners.lock().unwrap_or_else(PoisonError::into_inner) = owners;
        Ok(())
    }

    async fn list_subscriptions(&self, owner: &str) -> Result<Vec<Subscription>, StreamError> {
        let prefix = headwater_store::key::join(KIND, &[owner]);
        let page = self.store.list(&prefix, None, model::MOST).await?;
        Ok(page.iter().filter_map(|(_, value)| serde_json::from_slice(&value.bytes).ok()).collect())
    }

    /// Ends leases that ran out, and tries webhooks again that failed.
    pub(crate) async fn attend_subscriptions(self: &Arc<Self>) {
        if let Err(error) = self.refresh_owners().await {
            tracing::debug!(code = error.code(), "subscriptions could not be listed");
            self.subscriptions.stale.store(true, Ordering::Release);
        }
        for owner in self.subscriptions.owners() {
            for subscription in self.list_subscriptions(&owner).await.unwrap_or_default() {
                if subscription.wants_attention()
                    && let Err(error) = self.attend(&subscription.owner, &subscription.id).await
                {
                    tracing::debug!(code = error.code(), "a subscription could not be attended to");
                }
            }
        }
    }

    /// Forgets a stream that was deleted.
    pub(crate) async fn unlink_stream(self: &Arc<Self>, id: &StreamId) -> Result<(), StreamError> {
        self.refresh_owners().await?;
        if !self.subscriptions.owners().contains(&id.owner) {
            return Ok(());
        }
        for subscription in self.list_subscriptions(&id.owner).await? {
            if subscription.links.contains_key(&id.path) {
                self.change(&subscription.owner, &subscription.id, |subscription| {
                    subscription.links.remove(&id.path);
                    Ok(())
                })
                .await?;
            }
        }
        Ok(())
    }
}
