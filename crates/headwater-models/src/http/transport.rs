//! Opens an answer: the HTTP client, timeouts, and retries before the first byte.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Client, header::CONTENT_TYPE};
use tokio::time::{sleep, timeout};

use super::{
    Player, Provider, Recorder,
    cassette::{OutgoingRequest, Tape},
    reply::{Body, HttpReply, causes},
};
use crate::{
    ModelError, ModelErrorKind,
    wire::{self, EncodedRequest, HttpMethod},
};

/// Maximum size of an error body.
const LARGEST_REFUSAL: usize = 1024 * 1024;

/// Time limits of a model call. Exceeding one fails the call with `model.timeout`. The transport does not
/// retry it, so the caller sees the error after that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// To establish the connection: 10 seconds.
    pub connect: Duration,
    /// From the request to the response head: 60 seconds. Without streaming, `progress` applies instead,
    /// because the head arrives when the model has finished.
    pub headers: Duration,
    /// Between two bytes: 90 seconds.
    pub silence: Duration,
    /// Between two events: 5 minutes. Comments and pings do not count.
    pub progress: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(60),
            silence: Duration::from_secs(90),
            progress: Duration::from_secs(300),
        }
    }
}

/// Retries of a request. A request is never retried once a byte of the answer has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retries {
    /// Maximum number of attempts: 3.
    pub attempts: u32,
    /// Delay before the second attempt: half a second, doubled each time. A delay requested by the provider
    /// takes precedence.
    pub first_wait: Duration,
    /// Maximum delay: one minute. If the provider requests a longer one, the call fails and the caller
    /// decides.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 3, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(60) }
    }
}

/// Connections to providers, shared by all models that use them.
#[derive(Clone)]
pub struct Transport {
    client: Client,
    timeouts: Timeouts,
    retries: Retries,
    tape: Tape,
}

impl Transport {
    /// A transport with default time limits.
    ///
    /// # Errors
    /// If TLS cannot be set up on this system.
    pub fn new() -> Result<Self, ModelError> {
        Self::with(Timeouts::default(), Retries::default())
    }

    /// A transport with these time limits and retries.
    ///
    /// # Errors
    /// If TLS cannot be set up on this system.
    pub fn with(timeouts: Timeouts, retries: Retries) -> Result<Self, ModelError> {
        let broken = |error: &dyn fmt::Display| {
            let message = format!("cannot set up TLS on this system ({error})");
            ModelError::new(ModelErrorKind::Unreachable, message)
        };
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| broken(&error))?)
            .connect_timeout(timeouts.connect)
            // A redirect must not forward the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| broken(&error))?;
        Ok(Self { client, timeouts, retries, tape: Tape::None })
    }

    /// Records every exchange.
    #[must_use]
    pub fn recording(mut self, recorder: Recorder) -> Self {
        self.tape = Tape::Record(recorder);
        self
    }

    /// Answers from a cassette; the network is never used.
    #[must_use]
    pub fn playing(mut self, player: Player) -> Self {
        self.tape = Tape::Play(player);
        self
    }

    /// Whether it answers from a cassette, so that no key is needed.
    pub(crate) fn is_playing(&self) -> bool {
        matches!(self.tape, Tape::Play(_))
    }

    /// Whether an answer can be continued. A cassette has one exchange for an answer.
    pub(super) fn can_resume(&self) -> bool {
        matches!(self.tape, Tape::None)
    }

    pub(super) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Sends the request, with retries, until the first byte of the answer arrives.
    pub(super) async fn open(
        &self,
        provider: &Provider,
        encoded: &EncodedRequest,
        is_whole: bool,
    ) -> Result<AnswerStart, ModelError> {
        let mut attempt = 1;
        loop {
            let failed = match self.try_open(provider, encoded, is_whole).await {
                Ok(opened) => return Ok(opened),
                Err(failed) => failed,
            };
            let wait = failed.wait().unwrap_or_else(|| self.backoff(attempt));
            // After a timeout the caller has waited long enough; a retry could double that.
            let is_final = !failed.is_retryable() || failed.kind() == ModelErrorKind::Timeout;
            if is_final || attempt >= self.retries.attempts || wait > self.retries.longest_wait {
                return Err(failed);
            }
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn try_open(
        &self,
        provider: &Provider,
        encoded: &EncodedRequest,
        is_whole: bool,
    ) -> Result<AnswerStart, ModelError> {
        let Timeouts { headers, silence, progress, .. } = self.timeouts;
        let limit = if is_whole { progress } else { headers };
        let late = |what: &str, limit| too_slow(provider.name(), what, limit);
        let reply = timeout(limit, self.reply(provider, encoded)).await;
        let reply = reply.map_err(|_| late("the provider did not answer", limit))??;
        let begin = async {
            match reply.status {
                200..300 => AnswerStart::read(provider.name(), reply).await,
                _ => Err(refusal(provider.name(), reply).await),
            }
        };
        timeout(silence, begin).await.unwrap_or_else(|_| Err(late("the answer did not begin", silence)))
    }

    async fn reply(&self, provider: &Provider, encoded: &EncodedRequest) -> Result<HttpReply, ModelError> {
        let recording = match &self.tape {
            Tape::None => None,
            Tape::Play(player) => return player.reply(provider.name(), encoded),
            Tape::Record(recorder) => {
                let (provider, key) = (provider.name(), provider.secret());
                Some(recorder.begin(OutgoingRequest { provider, key, encoded })?)
            }
        };
        let address = provider.address(&encoded.path)?;
        let mut request = match encoded.method {
            HttpMethod::Get => self.client.get(address),
            HttpMethod::Post => {
                let request = self.client.post(address).header(CONTENT_TYPE, "application/json");
                request.body(encoded.body.to_string())
            }
        };
        for (name, value) in &encoded.headers {
            request = request.header(*name, value);
        }
        if let Some((name, value)) = provider.key_header()? {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| unreachable(provider.name(), error))?;
        let reply = HttpReply::new(provider.name(), response);
        Ok(match recording {
            Some(recording) => recording.of(reply),
            None => reply,
        })
    }

    /// Half of the delay is random, so that callers that failed together do not retry together.
    pub(super) fn backoff(&self, attempt: u32) -> Duration {
        let wait = self.retries.first_wait.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        wait.mul_f64(0.5 + chance / 2.0)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("timeouts", &self.timeouts)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

/// An answer whose first bytes have arrived.
pub(super) struct AnswerStart {
    pub(super) first: Bytes,
    pub(super) rest: Body,
    /// The response is one JSON document, even if a stream was requested.
    pub(super) is_json: bool,
}

impl AnswerStart {
    async fn read(provider: &str, mut reply: HttpReply) -> Result<Self, ModelError> {
        let is_json = reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        let Some(first) = reply.next().await.transpose()? else {
            return Err(ModelError::new(ModelErrorKind::Cut, "the answer is empty: retry").provider(provider));
        };
        Ok(Self { first, rest: reply.body, is_json })
    }
}

/// Uses ring for this client only, not as the process default, which belongs to the application.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let builder = || {
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
    };
    // A system without CA certificates can still reach a local model over plain HTTP.
    let mut config = match builder()?.with_platform_verifier() {
        Ok(verified) => verified.with_no_client_auth(),
        Err(_) => builder()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The error for a response without a success status.
async fn refusal(provider: &str, mut reply: HttpReply) -> ModelError {
    let mut body = Vec::new();
    // A truncated error body is still an error body.
    while body.len() < LARGEST_REFUSAL
        && let Some(Ok(piece)) = reply.next().await
    {
        body.extend_from_slice(&piece);
    }
    wire::failure(provider, reply.status, |name| reply.header(name), &body)
}

pub(super) fn too_slow(provider: &str, what: &str, limit: Duration) -> ModelError {
    let message = format!("{what} within {limit:?}: retry, or raise the time limit");
    ModelError::new(ModelErrorKind::Timeout, message).provider(provider)
}

/// The error for a request that failed before a byte arrived.
fn unreachable(provider: &str, error: reqwest::Error) -> ModelError {
    let (kind, what) = if error.is_timeout() {
        (ModelErrorKind::Timeout, "the connection took too long")
    } else if error.is_builder() {
        (ModelErrorKind::InvalidRequest, "cannot build the request: check the address")
    } else {
        (ModelErrorKind::Unreachable, "cannot reach the provider")
    };
    ModelError::new(kind, format!("{what} ({})", causes(error))).provider(provider)
}
