//! What a model is.

use std::{fmt, pin::Pin, sync::Arc};

use futures_core::Stream;

use crate::{ModelError, ModelEvent, ModelRequest};

/// What a model says, piece by piece. The last item is [`ModelEvent::Finished`] or an error; a stream that ends without
/// either was cut.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model that can be asked.
pub trait Model: fmt::Debug + Send + Sync + 'static {
    /// Its name as `provider:model`, for people, journals and metrics.
    fn name(&self) -> &str;

    /// Asks it. Nothing is sent before the stream is polled; dropping the stream cancels the call.
    fn ask(&self, request: ModelRequest) -> ModelStream;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        (**self).ask(request)
    }
}
