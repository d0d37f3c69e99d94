//! Webhooks: notify other servers of runs that end or start to wait.
//!
//! The runtime writes a notice with the end or the wait of a run. `webhook_delivery` turns it into a delivery
//! for each target, which stays in the store until the target has accepted it, so that no delivery is lost
//! when a server dies. Requests are signed as in [Standard Webhooks](https://www.standardwebhooks.com), so
//! that receivers can use existing libraries.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use headwater_protocol::RunStatus;
use ring::hmac;

/// Prefix of a secret in base64.
const BASE64_SECRET: &str = "whsec_";
/// The shortest secret, in bytes.
const SHORTEST_SECRET: usize = 16;

/// The events that are reported to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookEvent {
    /// A run has finished.
    Finished,
    /// A run has failed.
    Failed,
    /// A run was stopped.
    Cancelled,
    /// A run waits for a person or a page.
    Waiting,
}

impl WebhookEvent {
    /// All events.
    pub const ALL: [Self; 4] = [Self::Finished, Self::Failed, Self::Cancelled, Self::Waiting];

    /// Its name in requests and settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "run.finished",
            Self::Failed => "run.failed",
            Self::Cancelled => "run.cancelled",
            Self::Waiting => "run.waiting",
        }
    }

    /// The event of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    pub(crate) fn of(status: RunStatus) -> Option<Self> {
        match status {
            RunStatus::Running => None,
            RunStatus::Waiting => Some(Self::Waiting),
            RunStatus::Finished => Some(Self::Finished),
            RunStatus::Failed => Some(Self::Failed),
            RunStatus::Cancelled => Some(Self::Cancelled),
        }
    }
}

/// A server to notify about runs.
#[derive(Clone)]
pub struct WebhookTarget {
    pub(crate) name: String,
    url: String,
    secret: hmac::Key,
    events: Vec<WebhookEvent>,
    agents: Vec<String>,
}

impl WebhookTarget {
    /// A target with a stable name, which identifies its stored deliveries. The secret is `whsec_` and
    /// base64, or any text of at least 16 bytes. It gets all events of all agents, unless
    /// [`events`](Self::events) or [`agents`](Self::agents) restrict them.
    ///
    /// # Errors
    /// When the secret is invalid.
    pub fn new(name: impl Into<String>, url: impl Into<String>, secret: &str) -> Result<Self, &'static str> {
        let secret = match secret.strip_prefix(BASE64_SECRET) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .map_err(|_| "a secret that begins with `whsec_` must go on in base64")?,
            None => secret.as_bytes().to_vec(),
        };
        if secret.len() < SHORTEST_SECRET {
            return Err(
                "the secret is too short: use at least 16 bytes, such as the output of `openssl rand -hex 24`",
            );
        }
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Ok(Self { name: name.into(), url: url.into(), secret, events: Vec::new(), agents: Vec::new() })
    }

    /// Reports these events only.
    #[must_use]
    pub fn events(mut self, events: impl IntoIterator<Item = WebhookEvent>) -> Self {
        self.events.extend(events);
        self
    }

    /// Reports the runs of these agents only.
    #[must_use]
    pub fn agents<T: Into<String>>(mut self, agents: impl IntoIterator<Item = T>) -> Self {
        self.agents.extend(agents.into_iter().map(Into::into));
        self
    }

    pub(crate) fn wants(&self, event: WebhookEvent, agent: &str) -> bool {
        (self.events.is_empty() || self.events.contains(&event))
            && (self.agents.is_empty() || self.agents.iter().any(|wanted| wanted == agent))
    }

    /// The request that delivers a body, signed at a time in seconds since 1970.
    pub(crate) fn request(&self, id: &str, seconds: u64, body: Bytes) -> WebhookRequest {
        let mut signed = hmac::Context::with_key(&self.secret);
        for part in [id.as_bytes(), b".", seconds.to_string().as_bytes(), b".", &body] {
            signed.update(part);
        }
        let signature = format!("v1,{}", STANDARD.encode(signed.sign()));
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ];
        WebhookRequest { url: self.url.clone(), headers, body }
    }
}

/// Without the secret.
impl fmt::Debug for WebhookTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A request to a target: a POST.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WebhookRequest {
    /// The URL of the target.
    pub url: String,
    /// Its headers.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Bytes,
}

/// The response of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookReply {
    /// The status.
    pub status: u16,
    /// The pause requested by the target.
    pub retry_after: Option<Duration>,
}

/// The outcome of a request: a reply, or the reason for its absence.
pub type WebhookSent = Pin<Box<dyn Future<Output = Result<WebhookReply, String>> + Send>>;

/// Sends requests to targets: an HTTP client that follows no redirects.
pub trait WebhookSender: fmt::Debug + Send + Sync {
    /// Sends one request. The server bounds its time, and drops it when that is over.
    fn send(&self, request: WebhookRequest) -> WebhookSent;
}

/// The targets of a server, and how they are called. Its agents must [write
/// notices](headwater_runtime::AgentOptions::notices).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Webhooks {
    /// The targets.
    pub targets: Vec<WebhookTarget>,
    /// Sends the requests.
    pub sender: Arc<dyn WebhookSender>,
    /// Time limit of a request: 10 s.
    pub timeout: Duration,
    /// The pause after the first failure, which doubles with each further one up to 10 minutes: 2 s.
    pub first_pause: Duration,
    /// How long a delivery is retried: 3 days.
    pub give_up: Duration,
}

impl Webhooks {
    /// Webhooks that are sent by a client.
    pub fn new(targets: Vec<WebhookTarget>, sender: impl WebhookSender + 'static) -> Self {
        Self {
            targets,
            sender: Arc::new(sender),
            timeout: Duration::from_secs(10),
            first_pause: Duration::from_secs(2),
            give_up: Duration::from_secs(3 * 24 * 60 * 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_signed_as_standard_webhooks_says() {
        // The example of the specification.
        let target = WebhookTarget::new("t", "http://x", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = Bytes::from_static(br#"{"test": 2432232314}"#);
        let request = target.request("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        let signature = request.headers.iter().find(|(name, _)| *name == "webhook-signature").unwrap();
        assert_eq!(signature.1, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn target_gets_the_events_and_agents_that_it_wants() {
        let target = WebhookTarget::new("t", "http://x", &"x".repeat(16)).unwrap();
        assert!(target.wants(WebhookEvent::Finished, "mail"));
        let target = target.events([WebhookEvent::Failed]).agents(["mail"]);
        assert!(target.wants(WebhookEvent::Failed, "mail"));
        assert!(!target.wants(WebhookEvent::Finished, "mail") && !target.wants(WebhookEvent::Failed, "chat"));
        assert!(WebhookTarget::new("t", "http://x", "short").is_err());
        assert!(WebhookTarget::new("t", "http://x", "whsec_!").is_err());
    }
}
