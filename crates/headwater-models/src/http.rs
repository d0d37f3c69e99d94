//! Models called over HTTP.
//!
//! A [`Provider`] combines an address, a key and a [`Wire`](crate::wire::Wire), and creates [`HttpModel`]s.
//! No background task runs: dropping the stream of an answer closes the connection.

mod answer;
mod cassette;
mod provider;
mod reply;
mod transport;

use std::{fmt, pin::Pin, sync::Arc};

use headwater_protocol::Secrets;

use crate::{
    Model, ModelErrorKind, ModelKey, ModelRequest, ModelStream,
    wire::{AnswerPosition, Settings},
};
use answer::AnswerStream;

pub use cassette::{Player, Recorder};
pub use provider::{ApiKey, Provider};
pub use transport::{Retries, Timeouts, Transport};

/// A provider's model, called over HTTP.
///
/// ```
/// use headwater_models::{Model, http::{Provider, Transport}};
///
/// let provider = Provider::new("openai-compatible")?.base_url("http://localhost:8000/v1").key("secret");
/// let model = provider.model("llama-3", &Transport::new()?);
/// assert_eq!(model.name(), "openai-compatible:llama-3");
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), headwater_models::ModelError>(())
/// ```
#[derive(Clone)]
pub struct HttpModel {
    name: String,
    provider: Arc<Provider>,
    secrets: Arc<Secrets>,
    settings: Settings,
    transport: Transport,
}

impl HttpModel {
    fn new(provider: Provider, settings: Settings, transport: Transport) -> Self {
        let name = format!("{}:{}", provider.name(), settings.model);
        let secrets = Arc::new(provider.secrets());
        Self { name, provider: Arc::new(provider), secrets, settings, transport }
    }
}

impl Provider {
    /// One of the provider's models.
    #[must_use]
    pub fn model(&self, model: impl Into<String>, transport: &Transport) -> HttpModel {
        HttpModel::new(self.clone(), Settings::new(self.options(), model), transport.clone())
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        match self.provider.wire().encode(&request, &self.settings) {
            Ok(encoded) => {
                let decoder = self.provider.wire().decoder(&self.settings);
                let (provider, secrets) = (Arc::clone(&self.provider), Arc::clone(&self.secrets));
                let transport = self.transport.clone();
                Box::pin(AnswerStream::new(provider, secrets, transport, encoded, decoder, request.whole))
            }
            Err(error) => Box::pin(AnswerStream::failed(error, Arc::clone(&self.secrets))),
        }
    }

    fn resume(&self, answer: &str) -> Option<ModelStream> {
        if !self.transport.can_resume() {
            return None;
        }
        let start = AnswerPosition { answer: answer.to_owned(), sequence: None };
        let encoded = self.provider.wire().resume(&start)?;
        let decoder = self.provider.wire().decoder(&self.settings);
        let (provider, secrets) = (Arc::clone(&self.provider), Arc::clone(&self.secrets));
        let transport = self.transport.clone();
        Some(Box::pin(AnswerStream::new(provider, secrets, transport, encoded, decoder, false)))
    }

    fn cancel(&self, answer: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let encoded = self.provider.wire().cancel(answer).filter(|_| self.transport.can_resume());
        let (provider, transport) = (Arc::clone(&self.provider), self.transport.clone());
        Box::pin(async move {
            if let Some(encoded) = encoded {
                // The provider ends the answer by itself if this fails.
                let _ = transport.open(&provider, &encoded, false).await;
            }
        })
    }

    fn key(&self) -> ModelKey {
        match self.provider.check() {
            _ if self.provider.has_key() => ModelKey::Configured,
            Err(error) if error.kind() == ModelErrorKind::Auth => ModelKey::Missing,
            _ => ModelKey::NotNeeded,
        }
    }

    fn address(&self) -> Option<&str> {
        self.provider.location()
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("name", &self.name)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
