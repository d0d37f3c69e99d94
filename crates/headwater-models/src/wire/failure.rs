//! Classifies providers' error responses.

use std::time::Duration;

use serde_json::Value;

use super::json_access;
use crate::{ModelError, ModelErrorKind};

/// How much of a body an error keeps.
const KEPT_BODY: usize = 2048;

/// The beginning of a body as text.
pub(super) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..KEPT_BODY).unwrap_or(body)).into_owned();
    text.trim_end_matches('\u{fffd}').to_owned()
}

/// The error for a response without a success status.
///
/// ```
/// use headwater_models::{ModelErrorKind, wire};
///
/// let body = br#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
/// let error = wire::failure("openai", 429, |name| (name == "retry-after").then_some("2"), body);
/// assert_eq!(error.kind(), ModelErrorKind::RateLimit);
/// assert_eq!(error.wait(), Some(std::time::Duration::from_secs(2)));
/// ```
#[must_use]
pub fn failure<'h>(
    provider: &str,
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
) -> ModelError {
    let parsed = serde_json::from_slice::<Value>(body).ok();
    let said = parsed
        .as_ref()
        .and_then(|body| ProviderErrorFields::read(body).or_else(|| ProviderErrorFields::read(body.get(0)?)));
    let mut error = match said {
        Some(said) => said.into_error(provider, Some(status)),
        None => {
            let message = if (300..400).contains(&status) {
                "redirects are not followed: check the address".to_owned()
            } else if body.iter().all(u8::is_ascii_whitespace) {
                "the provider rejected the request without a reason".to_owned()
            } else {
                "the provider rejected the request with an error in an unknown format".to_owned()
            };
            ModelError::new(kind_of(Some(status), "", ""), message).provider(provider)
        }
    }
    .status(status)
    .body(beginning(body));
    let request =
        ["x-request-id", "request-id", "x-goog-request-id", "cf-ray"].iter().find_map(|name| header(name));
    if let Some(request) = request {
        error = error.request(request);
    }
    let wait = milliseconds(header("retry-after-ms")).or_else(|| seconds(header("retry-after")));
    if let Some(wait) = wait.or_else(|| error.wait()) {
        error = error.retry_after(wait);
    }
    error
}

/// The error in the body of a successful response, if there is one.
pub(super) fn in_body(provider: &str, body: &Value) -> Option<ModelError> {
    let is_error = json_access::given(body, "error")
        .is_some_and(|error| error.is_object() || error.is_string())
        || json_access::text(body, "type") == Some("error");
    if !is_error {
        return None;
    }
    Some(
        ProviderErrorFields::read(body)?
            .into_error(provider, None)
            .body(beginning(body.to_string().as_bytes())),
    )
}

/// The fields of an error body in any provider's format.
struct ProviderErrorFields<'v> {
    message: String,
    /// Machine-readable words: type, code, status.
    words: Vec<&'v str>,
    status: Option<u16>,
    wait: Option<Duration>,
    request: Option<&'v str>,
}

impl<'v> ProviderErrorFields<'v> {
    fn read(body: &'v Value) -> Option<Self> {
        let error = match body.get("error") {
            Some(Value::String(message)) => {
                return Some(Self {
                    message: message.clone(),
                    words: Vec::new(),
                    status: None,
                    wait: None,
                    request: None,
                });
            }
            Some(error) if error.is_object() => error,
            _ => body,
        };
        let message =
            match json_access::given(error, "message").or_else(|| json_access::given(error, "detail")) {
                Some(Value::String(message)) => message.clone(),
                Some(other) => other.to_string(),
                None => return None,
            };
        let words =
            ["type", "code", "status"].iter().filter_map(|key| json_access::text(error, key)).collect();
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let wait = json_access::items(error, "details")
            .iter()
            .find_map(|detail| seconds(json_access::text(detail, "retryDelay")));
        let status = code.filter(|code| (400..600).contains(code));
        Some(Self { message, words, status, wait, request: json_access::text(body, "request_id") })
    }

    fn into_error(self, provider: &str, status: Option<u16>) -> ModelError {
        let kind = kind_of(
            status.or(self.status),
            &self.words.join(" ").to_lowercase(),
            &self.message.to_lowercase(),
        );
        let mut error = ModelError::new(kind, self.message).provider(provider);
        if let Some(status) = self.status {
            error = error.status(status);
        }
        if let Some(wait) = self.wait {
            error = error.retry_after(wait);
        }
        if let Some(request) = self.request {
            error = error.request(request);
        }
        error
    }
}

/// Phrases for a conversation that is too long. Most providers have no error code for it.
const TOO_LONG: [&str; 10] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "token count exceeds",
    "tokens exceed",
    "reduce the length",
];

/// The error's category: by the machine-readable words first, then the status, then the message.
fn kind_of(status: Option<u16>, words: &str, message: &str) -> ModelErrorKind {
    let says = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    if TOO_LONG.iter().any(|way| words.contains(way) || message.contains(way)) {
        return ModelErrorKind::ContextLength;
    }
    // Shares its status with rate limits, but waiting does not refill an account.
    if says(&["insufficient_quota", "billing", "insufficient_balance", "credit"]) {
        return ModelErrorKind::Auth;
    }
    if says(&["content_filter", "content_policy", "safety", "prohibited_content"]) {
        return ModelErrorKind::ContentFilter;
    }
    if says(&["model_not_found", "model_decommissioned"]) {
        return ModelErrorKind::UnknownModel;
    }
    if says(&["rate_limit", "resource_exhausted", "too_many_requests"]) {
        return ModelErrorKind::RateLimit;
    }
    if says(&["overloaded", "unavailable", "server_is_busy"]) {
        return ModelErrorKind::Overloaded;
    }
    if says(&["authentication", "permission", "invalid_api_key", "unauthenticated", "unauthorized"]) {
        return ModelErrorKind::Auth;
    }
    match status {
        Some(401..=403) => ModelErrorKind::Auth,
        Some(404) if words.contains("model") || message.contains("model") => ModelErrorKind::UnknownModel,
        Some(408 | 504) => ModelErrorKind::Timeout,
        Some(413) => ModelErrorKind::ContextLength,
        Some(429) => ModelErrorKind::RateLimit,
        Some(502 | 503 | 529) => ModelErrorKind::Overloaded,
        Some(500..=599) => ModelErrorKind::Provider,
        // Redirects are not followed, so the address is wrong.
        Some(300..=499) => ModelErrorKind::InvalidRequest,
        _ if says(&["not_found"]) => ModelErrorKind::UnknownModel,
        _ if says(&["timeout", "deadline_exceeded"]) => ModelErrorKind::Timeout,
        _ if says(&["invalid"]) => ModelErrorKind::InvalidRequest,
        _ => ModelErrorKind::Provider,
    }
}

fn milliseconds(text: Option<&str>) -> Option<Duration> {
    seconds_of(text?.trim().parse::<f64>().ok()? / 1000.0)
}

/// `2`, `2.5` or `34.4s`. HTTP dates are not supported: no provider sends them.
fn seconds(text: Option<&str>) -> Option<Duration> {
    seconds_of(text?.trim().trim_end_matches('s').parse().ok()?)
}

fn seconds_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait <= Duration::from_secs(24 * 60 * 60))
}
