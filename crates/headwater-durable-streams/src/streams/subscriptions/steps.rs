//! State changes of a subscription: wake, claim, acknowledge, release.

use std::{collections::BTreeMap, sync::Arc};

use headwater_store::{Expect, key};
use serde_json::json;

use super::{
    KIND, glob,
    keys::SigningKey,
    model::{LINKS, Subscription, SubscriptionKind, Wake},
    token,
};
use crate::{
    StreamError, clock,
    streams::{AppendRequest, StreamEngine, StreamId},
};

/// The longest pause before a webhook is called again.
const LONGEST_PAUSE: u64 = 60_000;

/// The follow-up work of a step.
enum WakeAnnouncement {
    Webhook,
    WakeStream { stream: String },
}

impl StreamEngine {
    pub(super) fn subscription_key(owner: &str, id: &str) -> String {
        key::join(KIND, &[owner, id])
    }

    pub(super) async fn subscription(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<Option<(Subscription, u64)>, StreamError> {
        let Some(value) = self.store.get(&Self::subscription_key(owner, id)).await? else { return Ok(None) };
        let subscription = serde_json::from_slice(&value.bytes).map_err(|_| StreamError::internal())?;
        Ok(Some((subscription, value.version)))
    }

    /// Stores a subscription if it is as it was read. False if it is not.
    pub(super) async fn swap(
        &self,
        subscription: &Subscription,
        expect: Expect,
    ) -> Result<bool, StreamError> {
        let bytes = serde_json::to_vec(subscription).map_err(|_| StreamError::internal())?;
        let key = Self::subscription_key(&subscription.owner, &subscription.id);
        match self.store.put(&key, bytes.into(), expect, None).await {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes a subscription. Returns the result of the change, or `None` for an unknown subscription.
    pub(super) async fn change<T>(
        &self,
        owner: &str,
        id: &str,
        mut change: impl FnMut(&mut Subscription) -> Result<T, StreamError>,
    ) -> Result<Option<T>, StreamError> {
        loop {
            let Some((mut subscription, version)) = self.subscription(owner, id).await? else {
                return Ok(None);
            };
            let given = change(&mut subscription)?;
            if self.swap(&subscription, Expect::Version(version)).await? {
                return Ok(Some(given));
            }
        }
    }

    /// The ends of a subscription's streams. One that does not exist has none.
    pub(super) async fn tails(
        &self,
        subscription: &Subscription,
    ) -> Result<BTreeMap<String, u64>, StreamError> {
        let mut tails = BTreeMap::new();
        for path in subscription.links.keys() {
            tails.insert(path.clone(), self.tail_of(&subscription.owner, path).await?);
        }
        Ok(tails)
    }

    pub(super) async fn tail_of(&self, owner: &str, path: &str) -> Result<u64, StreamError> {
        let id = StreamId { owner: owner.to_owned(), path: path.to_owned() };
        match self.find(&id).await {
            Ok(meta) => self.tail(&meta).await,
            Err(error) if matches!(error.code(), "stream.unknown" | "stream.gone") => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Announces work of a subscription, unless some is announced already. `written` is the stream that was written to.
    pub(super) async fn wake(
        self: &Arc<Self>,
        owner: &str,
        id: &str,
        written: Option<&str>,
    ) -> Result<bool, StreamError> {
        loop {
            let Some((mut subscription, version)) = self.subscription(owner, id).await? else {
                return Ok(false);
            };
            if let Some(path) = written {
                let matched =
                    subscription.settings.pattern.as_deref().is_some_and(|it| glob::matches(it, path));
                if matched && (subscription.links.len() < LINKS || subscription.links.contains_key(path)) {
                    subscription.links.entry(path.to_owned()).or_default().matched = true;
                }
                if !subscription.links.contains_key(path) {
                    return Ok(false);
                }
            }
            if subscription.wake.is_some() {
                return Ok(false);
            }
            let Some(announcement) = self.begin_wake(&mut subscription).await? else { return Ok(false) };
            if self.swap(&subscription, Expect::Version(version)).await? {
                self.announce(subscription, announcement);
                return Ok(true);
            }
        }
    }

    /// A new wake, if there is work.
    async fn begin_wake(
        &self,
        subscription: &mut Subscription,
    ) -> Result<Option<WakeAnnouncement>, StreamError> {
        let tails = self.tails(subscription).await?;
        let Some(stream) = subscription.first_pending(&tails) else { return Ok(None) };
        subscription.generation += 1;
        let lease_until = clock::now() + subscription.settings.lease_ttl_ms;
        let is_webhook = subscription.settings.kind == SubscriptionKind::Webhook;
        subscription.wake = Some(Wake {
            id: format!("w_{}", clock::random_hex::<12>()?),
            tails,
            holder: None,
            lease_until: is_webhook.then_some(lease_until),
            failures: 0,
            next_attempt: None,
        });
        Ok(Some(if is_webhook { WakeAnnouncement::Webhook } else { WakeAnnouncement::WakeStream { stream } }))
    }

    /// Performs announced steps, in the background.
    fn announce(self: &Arc<Self>, subscription: Subscription, announcement: WakeAnnouncement) {
        let engine = self.clone();
        tokio::spawn(async move {
            let done = match announcement {
                WakeAnnouncement::Webhook => engine.call_webhook(&subscription).await,
                WakeAnnouncement::WakeStream { stream } => engine.write_wake(&subscription, &stream).await,
            };
            if let Err(error) = done {
                tracing::warn!(
                    code = error.code(),
                    "a subscription could not be woken: it is woken again later"
                );
            }
        });
    }

    /// Notifies workers through the wake stream.
    async fn write_wake(&self, subscription: &Subscription, stream: &str) -> Result<(), StreamError> {
        let Some(path) = subscription.settings.wake_stream.clone() else { return Ok(()) };
        let event = json!({
            "type": "wake", "subscription_id": subscription.id, "stream": stream,
            "generation": subscription.generation, "ts": clock::now(),
        });
        let request = AppendRequest {
            body: event.to_string().into(),
            content_type: Some("application/json".to_owned()),
            seq: None,
            producer: None,
            closes: false,
        };
        self.append(&StreamId { owner: subscription.owner.clone(), path }, request).await.map(drop)
    }

    async fn call_webhook(self: &Arc<Self>, subscription: &Subscription) -> Result<(), StreamError> {
        let (Some(client), Some(webhook), Some(wake)) =
            (&self.subscriptions.webhooks, &subscription.settings.webhook, &subscription.wake)
        else {
            return Ok(());
        };
        let Subscription { owner, id, generation, .. } = subscription;
        let tails = self.tails(subscription).await?;
        let body = json!({
            "subscription_id": id,
            "wake_id": wake.id,
            "generation": generation,
            "streams": subscription.streams(&tails),
            "callback_url": subscription.action_url("callback"),
            "callback_token": token::issue(self.store.as_ref(), owner, id, *generation).await?,
        })
        .to_string();
        let signature = SigningKey::of(self.store.as_ref()).await?.sign(&body);
        let local = is_local(&subscription.base_url);
        let called = client.call(&webhook.url, local, body, &signature).await;
        let is_done = match &called {
            Ok(body) => {
                let response = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
                response.get("done") == Some(&true.into())
            }
            Err(why) => {
                tracing::warn!(subscription = ?id, why, "a webhook failed: it is called again later");
                false
            }
        };
        let failed = called.is_err();
        self.change(owner, id, |current| {
            let same = current.generation == *generation;
            if let Some(wake) = current.wake.as_mut().filter(|_| same) {
                if failed {
                    wake.failures = wake.failures.saturating_add(1);
                    let pause = 1_000_u64.saturating_mul(1 << wake.failures.min(7).saturating_sub(1));
                    wake.next_attempt = Some(clock::now() + pause.min(LONGEST_PAUSE));
                    wake.lease_until = None;
                } else {
                    (wake.failures, wake.next_attempt) = (0, None);
                }
                if is_done {
                    current.acknowledge_wake();
                }
            }
            Ok(())
        })
        .await?;
        if is_done {
            self.wake(owner, id, None).await?;
        }
        Ok(())
    }

    /// Ends a lease that has run out, or calls a webhook again.
    pub(super) async fn attend(self: &Arc<Self>, owner: &str, id: &str) -> Result<(), StreamError> {
        let Some((mut subscription, version)) = self.subscription(owner, id).await? else { return Ok(()) };
        if !subscription.wants_attention() {
            return Ok(());
        }
        let until = clock::now() + subscription.settings.lease_ttl_ms;
        let Some(wake) = subscription.wake.as_mut() else { return Ok(()) };
        if wake.next_attempt.take().is_some() {
            wake.lease_until = Some(until);
            if self.swap(&subscription, Expect::Version(version)).await? {
                self.announce(subscription, WakeAnnouncement::Webhook);
            }
            return Ok(());
        }
        subscription.wake = None;
        let announcement = self.begin_wake(&mut subscription).await?;
        if self.swap(&subscription, Expect::Version(version)).await?
            && let Some(announcement) = announcement
        {
            self.announce(subscription, announcement);
        }
        Ok(())
    }

    /// Work for a worker that asks for it, if there is some.
    pub(super) async fn ensure_wake(&self, subscription: &mut Subscription) -> Result<bool, StreamError> {
        let tails = self.tails(subscription).await?;
        if subscription.first_pending(&tails).is_none() {
            return Ok(false);
        }
        if subscription.wake.is_none() {
            self.begin_wake(subscription).await?;
        }
        Ok(true)
    }
}

impl Subscription {
    /// All that a wake announced is done.
    fn acknowledge_wake(&mut self) {
        let Some(wake) = self.wake.take() else { return };
        for (path, tail) in wake.tails {
            if let Some(link) = self.links.get_mut(&path) {
                link.acknowledged = Some(tail.max(link.acknowledged.unwrap_or(0)));
            }
        }
    }
}

/// Whether a server is used from its own machine.
pub(super) fn is_local(base_url: &str) -> bool {
    let host = reqwest::Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| {
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}
