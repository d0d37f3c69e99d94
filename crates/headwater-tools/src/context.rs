//! What a tool knows about its call.

use std::{fmt, sync::Arc};

use headwater_protocol::ToolCallId;
use serde_json::Value;
use tokio::sync::watch;

use crate::ToolOutput;

/// What a tool knows about its call, beside the input.
#[derive(Clone)]
pub struct ToolContext {
    /// The call.
    pub call: ToolCallId,
    /// The same for every try of this call, and for no other: give it to whoever must not do a thing twice.
    pub idempotency_key: String,
    /// Tells when the run is stopped: finish soon, or be dropped after a short grace.
    pub cancel: Cancel,
    /// What the route approved for this run.
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

    /// Sends preliminary outputs there.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Fn(ToolOutput) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Shows an output that is not the last.
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

/// Tells when a run is stopped.
#[derive(Debug, Clone)]
pub struct Cancel(Option<watch::Receiver<bool>>);

/// Stops those who hold its [`Cancel`].
#[derive(Debug)]
pub struct CancelHandle(watch::Sender<bool>);

impl CancelHandle {
    /// A handle; [`CancelHandle::signal`] gives what it stops.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// What tells of the stop.
    #[must_use]
    pub fn signal(&self) -> Cancel {
        Cancel(Some(self.0.subscribe()))
    }

    /// Stops.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was stopped.
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
    /// Never stopped.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|stopped| *stopped.borrow())
    }

    /// Waits for the stop; for ever if there is none.
    pub async fn cancelled(&self) {
        let Some(mut stopped) = self.0.clone() else {
            return std::future::pending().await;
        };
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
