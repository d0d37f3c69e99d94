//! The response to a request, from the network or a cassette.

use std::{
    error::Error as _,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use reqwest::Response;

use crate::{ModelError, ModelErrorKind};

/// A response body as it arrives.
pub(super) type Body = Pin<Box<dyn Stream<Item = Result<Bytes, ModelError>> + Send>>;

/// A response, from the network or a cassette.
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// Headers with text values, names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
}

impl HttpReply {
    pub(super) fn new(provider: &str, response: Response) -> Self {
        let headers = response.headers().iter();
        let headers = headers
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        Self {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: Box::pin(NetworkBody {
                provider: provider.to_owned(),
                bytes: Box::pin(response.bytes_stream()),
            }),
        }
    }

    pub(super) fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    pub(super) async fn next(&mut self) -> Option<Result<Bytes, ModelError>> {
        std::future::poll_fn(|cx| self.body.as_mut().poll_next(cx)).await
    }
}

/// A response body from the network.
struct NetworkBody {
    provider: String,
    bytes: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
}

impl Stream for NetworkBody {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(self.bytes.as_mut().poll_next(cx));
        Poll::Ready(item.map(|bytes| bytes.map_err(|error| broken(&self.provider, error))))
    }
}

/// The error for a connection that broke during the answer.
fn broken(provider: &str, error: reqwest::Error) -> ModelError {
    let message = format!("the connection broke before the answer was complete ({})", causes(error));
    ModelError::new(ModelErrorKind::Cut, message).provider(provider)
}

/// The message with all its causes. The URL is removed because it may hold a secret.
pub(super) fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = deeper.source();
    }
    text
}
