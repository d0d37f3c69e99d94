//! Small values next to the journals.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::Time;

/// A small value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The stored bytes.
    pub bytes: Bytes,
    /// Increases with every put over the whole store: a value that was removed and put again has a new
    /// version.
    pub version: u64,
    /// When the value expires; `None` if it stays until it is removed.
    pub expires: Option<Time>,
    /// The stored bytes are damaged, so `bytes` is empty. Only [`list`](crate::Store::list) returns such a
    /// value, so that it does not hide the others; [`get`](crate::Store::get) fails.
    pub damaged: bool,
}

/// The expectation of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    Any,
    /// No value.
    Absent,
    /// The value at this version.
    Version(u64),
}

/// Notifies when a value whose key begins with a prefix was put or removed.
///
/// Create the watch, then read, then wait: a change after the read wakes the wait. Several changes may cause
/// one wake-up.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Notify>);

impl Watch {
    /// A watch that [`Notify::notify_one`] wakes.
    #[must_use]
    pub fn new(notify: Arc<Notify>) -> Self {
        Self(notify)
    }

    /// Waits until something has changed since the watch was created or last woke.
    pub async fn changed(&mut self) {
        self.0.notified().await;
    }
}
