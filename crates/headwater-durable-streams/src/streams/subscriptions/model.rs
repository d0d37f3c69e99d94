//! A subscription, in its stored and its public form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{clock, streams::Offset};

/// The subscriptions that one owner may have.
pub(super) const MOST: usize = 1_000;

/// The streams that one subscription may have.
pub(super) const LINKS: usize = 10_000;

/// A subscription.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) settings: SubscriptionSettings,
    /// Where clients reach the server that created it.
    pub(super) base_url: String,
    pub(super) created: u64,
    pub(super) links: BTreeMap<String, StreamLink>,
    /// Counts the wakes: requests with an earlier generation are refused.
    pub(super) generation: u64,
    pub(super) wake: Option<Wake>,
}

/// The settings from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SubscriptionSettings {
    #[serde(rename = "type")]
    pub(super) kind: SubscriptionKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pattern: Option<String>,
    #[serde(default)]
    pub(super) streams: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) webhook: Option<WebhookSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wake_stream: Option<String>,
    #[serde(default = "default_lease")]
    pub(super) lease_ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SubscriptionKind {
    Webhook,
    PullWake,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WebhookSettings {
    pub(super) url: String,
}

fn default_lease() -> u64 {
    30_000
}

/// How a stream belongs to a subscription, and its acknowledged position.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StreamLink {
    pub(super) explicit: bool,
    pub(super) matched: bool,
    /// `None` is before the first append.
    pub(super) acknowledged: Option<u64>,
}

/// Work that was announced and is not yet acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Wake {
    pub(super) id: String,
    /// The ends of the streams when it was announced.
    pub(super) tails: BTreeMap<String, u64>,
    /// The worker that has claimed it.
    pub(super) holder: Option<String>,
    /// When it is announced again; `None` while it waits for a worker.
    pub(super) lease_until: Option<u64>,
    /// Number of failures of its webhook, and the time of the next call.
    pub(super) failures: u32,
    pub(super) next_attempt: Option<u64>,
}

impl Subscription {
    /// Whether its streams have more than was acknowledged.
    pub(super) fn first_pending(&self, tails: &BTreeMap<String, u64>) -> Option<String> {
        let pending = |(path, link): (&String, &StreamLink)| {
            let tail = tails.get(path).copied().unwrap_or(0);
            link.acknowledged.is_none_or(|acknowledged| tail > acknowledged).then(|| path.clone())
        };
        self.links.iter().find_map(pending)
    }

    /// Whether a lease has run out, or a webhook is to be called again.
    pub(super) fn wants_attention(&self) -> bool {
        let now = clock::now();
        self.wake.as_ref().is_some_and(|wake| {
            wake.lease_until.is_some_and(|until| until <= now)
                || wake.next_attempt.is_some_and(|at| at <= now)
        })
    }

    /// The public form of the streams.
    pub(super) fn streams(&self, tails: &BTreeMap<String, u64>) -> Value {
        let stream = |(path, link): (&String, &StreamLink)| {
            let tail = tails.get(path).copied().unwrap_or(0);
            json!({
                "path": path,
                "link_type": if link.explicit { "explicit" } else { "glob" },
                "acked_offset": link.acknowledged.map_or("-1".to_owned(), |at| Offset::at(at).to_string()),
                "tail_offset": Offset::at(tail).to_string(),
                "has_pending": link.acknowledged.is_none_or(|acknowledged| tail > acknowledged),
            })
        };
        self.links.iter().map(stream).collect()
    }

    /// The public form of the subscription.
    pub(super) fn document(&self, tails: &BTreeMap<String, u64>, key_id: &str) -> Value {
        let settings = &self.settings;
        let mut document = json!({
            "id": self.id,
            "subscription_id": self.id,
            "type": settings.kind,
            "streams": self.streams(tails),
            "lease_ttl_ms": settings.lease_ttl_ms,
            "created_at": headwater_protocol::rfc3339(self.created),
            "status": if self.wake.as_ref().is_some_and(|wake| wake.failures > 0) { "failed" } else { "active" },
        });
        if let Some(document) = document.as_object_mut() {
            let mut add =
                |name: &str, value: Option<Value>| value.map(|value| document.insert(name.into(), value));
            add("pattern", settings.pattern.clone().map(Into::into));
            add("wake_stream", settings.wake_stream.clone().map(Into::into));
            add("description", settings.description.clone().map(Into::into));
            let jwks = format!("{}/v1/stream/__ds/jwks.json", self.base_url);
            let signing = json!({ "alg": "ed25519", "kid": key_id, "jwks_url": jwks });
            add(
                "webhook",
                settings.webhook.as_ref().map(|webhook| json!({ "url": webhook.url, "signing": signing })),
            );
        }
        document
    }

    /// The URL of an action.
    pub(super) fn action_url(&self, action: &str) -> String {
        format!("{}/v1/stream/__ds/subscriptions/{}/{action}", self.base_url, self.id)
    }
}
