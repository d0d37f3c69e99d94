//! The trait of all models.

use std::{fmt, pin::Pin, sync::Arc};

use futures_core::Stream;

use crate::{ModelError, ModelEvent, ModelRequest};

/// The events of an answer. The last item is [`ModelEvent::Finished`] or an error; a stream that ends without
/// either was truncated.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model that can be called.
pub trait Model: fmt::Debug + Send + Sync + 'static {
    /// Name as `provider:model`, shown to users and used in journals and metrics.
    fn name(&self) -> &str;

    /// Calls the model. The request is sent when the stream is first polled; dropping the stream cancels the
    /// call.
    fn ask(&self, request: ModelRequest) -> ModelStream;

    /// Reads an answer from its beginning that another process asked for and announced as
    /// [`ModelEvent::Resumable`]; `None` if the model cannot.
    fn resume(&self, _answer: &str) -> Option<ModelStream> {
        None
    }

    /// Stops an answer that the provider would complete without a reader. Best effort: errors are dropped.
    fn cancel(&self, _answer: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    /// Whether it has the key that it needs.
    fn key(&self) -> ModelKey {
        ModelKey::NotNeeded
    }

    /// The URL under which it is called, if it is called over HTTP.
    fn address(&self) -> Option<&str> {
        None
    }
}

/// Whether a model has the key that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKey {
    /// It has one.
    Configured,
    /// It needs one and has none.
    Missing,
    /// It needs none.
    NotNeeded,
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        (**self).ask(request)
    }

    fn resume(&self, answer: &str) -> Option<ModelStream> {
        (**self).resume(answer)
    }

    fn cancel(&self, answer: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        (**self).cancel(answer)
    }

    fn key(&self) -> ModelKey {
        (**self).key()
    }

    fn address(&self) -> Option<&str> {
        (**self).address()
    }
}
