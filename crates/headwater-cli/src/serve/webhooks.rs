//! The HTTP client of webhooks.

use std::time::Duration;

use headwater_server::{WebhookReply, WebhookRequest, WebhookSender, WebhookSent, Webhooks};

use crate::{config::ServerSettings, failure::CommandFailure};

/// The webhooks of the settings.
pub(super) fn of(settings: &ServerSettings) -> Result<Option<Webhooks>, CommandFailure> {
    if settings.webhooks.is_empty() {
        return Ok(None);
    }
    super::tokens::ensure_crypto();
    let client = reqwest::Client::builder()
        // The goal of a redirect was not configured, and must not see the events.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(settings.webhook_timeout)
        .timeout(settings.webhook_timeout)
        .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| CommandFailure::new(format!("`webhooks`: {error}")))?;
    let mut webhooks = Webhooks::new(settings.webhooks.clone(), HttpSender(client));
    webhooks.timeout = settings.webhook_timeout;
    Ok(Some(webhooks))
}

#[derive(Debug)]
struct HttpSender(reqwest::Client);

impl WebhookSender for HttpSender {
    fn send(&self, request: WebhookRequest) -> WebhookSent {
        let mut post = self.0.post(&request.url).body(request.body);
        for (name, value) in request.headers {
            post = post.header(name, value);
        }
        Box::pin(async move {
            // The URL may have a secret in it.
            let answer = post.send().await.map_err(|error| error.without_url().to_string())?;
            let retry_after =
                answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            Ok(WebhookReply {
                status: answer.status().as_u16(),
                retry_after: retry_after.map(Duration::from_secs),
            })
        })
    }
}
