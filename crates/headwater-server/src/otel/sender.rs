//! How OTLP is sent: by the HTTP client that the models use too, on Tokio's runtime.

use std::{env, pin::Pin, time::Duration};

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use rustls::crypto::CryptoProvider;
use tokio::runtime::Handle;

use super::ExportError;

/// The timeout of the collector, unless `OTEL_EXPORTER_OTLP_TIMEOUT` sets another.
const LONGEST: Duration = Duration::from_secs(10);

/// The most of a collector's answer that is read.
const LARGEST: usize = 64 << 10;

/// Sends requests of the SDK's threads. These are not Tokio threads, so each request is a task that they wait for.
#[derive(Debug, Clone)]
pub(super) struct OtlpSender {
    client: reqwest::Client,
    runtime: Handle,
}

type SendFuture<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl OtlpSender {
    pub(super) fn new(runtime: Handle) -> Result<Self, ExportError> {
        // Without a provider the HTTP client panics when it is built. Another one that is installed already will do.
        if CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .timeout(longest())
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ExportError::new("the HTTP client cannot be made", error))?;
        Ok(Self { client, runtime })
    }
}

impl HttpClient for OtlpSender {
    fn send_bytes<'life0, 'async_trait>(&'life0 self, request: Request<Bytes>) -> SendFuture<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        let client = self.client.clone();
        let task = self.runtime.spawn(async move { send(&client, request).await });
        Box::pin(async move { task.await? })
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let mut answer = client.execute(request.try_into()?).await?;
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await? {
        if body.len() + bytes.len() > LARGEST {
            return Err("the collector's answer is too long".into());
        }
        body.extend_from_slice(&bytes);
    }
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}

fn longest() -> Duration {
    let set = env::var("OTEL_EXPORTER_OTLP_TIMEOUT").ok().and_then(|text| text.parse().ok());
    set.map_or(LONGEST, Duration::from_millis)
}
