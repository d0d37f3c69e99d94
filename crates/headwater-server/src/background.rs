//! Background tasks of a server.

use std::sync::{Mutex, PoisonError};

use tokio::{runtime::Handle, task::JoinHandle};

/// A background task that is started at most once, and aborted when its owner is dropped.
#[derive(Debug, Default)]
pub(crate) struct BackgroundTask(Mutex<Option<JoinHandle<()>>>);

impl BackgroundTask {
    /// Starts the task, unless it was started before or there is no Tokio runtime yet.
    pub(crate) fn ensure_started<F>(&self, task: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut handle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            *handle = Some(runtime.spawn(task()));
        }
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        let handle = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            handle.abort();
        }
    }
}
