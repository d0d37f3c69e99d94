//! Errors between the client and a server.

use std::{error::Error as StdError, fmt, time::Duration};

use serde::Deserialize;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Something went wrong between the client and the server.
///
/// [`code`](Self::code) is stable and for programs: the server's own code (`session.busy`, `run.unknown`; they are listed
/// in `docs/http.md`), or one of the client's: `network`, `timeout`, `url.invalid`, `http.<status>`, `http.invalid`,
/// `stream.html`, `stream.json`, `stream.invalid`, `stream.too-large`, `stream.cut`, `stream.stalled`, `stream.lost`.
/// The text is for people.
///
/// ```
/// # async fn example(client: headwater_client::Client) {
/// if let Err(error) = client.send("Hello").session("s1").await {
///     match error.code() {
///         "session.busy" => eprintln!("one at a time, please"),
///         _ if error.is_retryable() => eprintln!("try again later: {error}"),
///         _ => eprintln!("{error}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Error(Box<ErrorDetails>);

#[derive(Debug)]
struct ErrorDetails {
    code: String,
    message: String,
    status: Option<u16>,
    retryable: bool,
    retry_after: Option<Duration>,
    source: Option<reqwest::Error>,
}

impl Error {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            code: code.into(),
            message: message.into(),
            status: None,
            retryable: false,
            retry_after: None,
            source: None,
        }))
    }

    /// An error after which the same request may succeed.
    pub(crate) fn retryable(code: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::new(code, message);
        error.0.retryable = true;
        error
    }

    /// The error for a response without a success status.
    ///
    /// Its body is the server's `{error, code}`, or the text of a proxy on the way, which does not help
    /// people.
    pub(crate) fn of_response(status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Refusal {
            error: String,
            code: Option<String>,
        }
        let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
        let (code, message) = match refusal {
            Some(Refusal { error, code }) => (code, error),
            None => (None, format!("the server responded with {status}{}", advice(status))),
        };
        let mut error = Self::new(code.unwrap_or_else(|| format!("http.{status}")), message);
        error.0.status = Some(status);
        error.0.retryable = status == 408 || status == 429 || status >= 500;
        // Headwater sends seconds. A date, which a proxy may send, is ignored in favour of the usual delays.
        error.0.retry_after = retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        error
    }

    /// The error of a request that got no response, or only part of one.
    pub(crate) fn of_network(error: reqwest::Error) -> Self {
        // A URL may contain a secret.
        let error = error.without_url();
        let mut out = if error.is_builder() {
            Self::new("url.invalid", format!("invalid URL or header: {}", causes(&error)))
        } else {
            Self::retryable("network", format!("cannot reach the server: {}", causes(&error)))
        };
        out.0.source = Some(error);
        out
    }

    /// An error for a response that does not come from a Headwater server.
    pub(crate) fn unexpected(detail: impl fmt::Display) -> Self {
        Self::new("http.invalid", format!("unexpected response ({detail}): check the URL"))
    }

    /// The error of the last attempt, once there is no further one.
    pub(crate) fn lost(last: &Self, after: Duration) -> Self {
        let message = format!("the connection was lost, and {after:?} of reconnecting did not help: {last}");
        Self::retryable("stream.lost", message)
    }

    /// The stable code of the error.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The status of the response, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The pause requested by the server.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        401 | 403 => ": check the key",
        404 | 405 => ": check the URL",
        _ => "",
    }
}

fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let part = deeper.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = deeper.source();
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
