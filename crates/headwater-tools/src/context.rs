//! The context of a tool call.

use std::{fmt, sync::Arc};

use headwater_protocol::ToolCallId;
use serde_json::Value;
use tokio::sync::watch;

use crate::ToolOutput;

/// The context of a tool call, in addition to its input.
#[derive(Clone)]
pub struct ToolContext {
    /// Id of the call.
    pub call: ToolCallId,
    /// The same for every attempt of this call and different for all others. Pass it to services that must
    /// not act twice.
    pub idempotency_key: String,
    /// Signals that the run is stopped: finish soon, or the call is dropped after a short grace period.
    pub cancel: Cancel,
    /// The context that the route approved for this run.
    pub runtime_context: Arc<Value>,
    progress: Option<Arc<dyn Fn(ToolOutput) + Send + Sync>>,
}

impl ToolContext {
    /// The context of a call.
    #[must_use]
    pub fn new(call: ToolCallId, idempotency_key: impl Into<String>) -> Self {
        Self {
            call,
            idempotency_key: idempotency_key.into(),
            cancel: Cancel::never(),
            runtime_context: Arc::new(Value::Null),
            progress: None,
        }
    }

    /// Sets the callback for preliminary outputs.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Fn(ToolOutput) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Reports a preliminary output.
    pub fn progress(&self, output: ToolOutput) {
        if let Some(progress) = &self.progress {
            progress(output);
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call", &self.call)
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}

/// A signal that a run is stopped.
#[derive(Debug, Clone)]
pub struct Cancel(Option<watch::Receiver<bool>>);

/// Stops the holders of its [`Cancel`] signals.
#[derive(Debug)]
pub struct CancelHandle(watch::Sender<bool>);

impl CancelHandle {
    /// A handle; [`CancelHandle::signal`] creates the signals.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// A signal that this handle triggers.
    #[must_use]
    pub fn signal(&self) -> Cancel {
        Cancel(Some(self.0.subscribe()))
    }

    /// Triggers the signals.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }
}

impl Default for CancelHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A signal that is never triggered.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// Whether it was triggered.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|stopped| *stopped.borrow())
    }

    /// Waits until it is triggered.
    pub async fn cancelled(&self) {
        let Some(mut stopped) = self.0.clone() else {
            return std::future::pending().await;
        };
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
