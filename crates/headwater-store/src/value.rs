//! Small values beside the journals.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::Time;

/// A small value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// What was put.
    pub bytes: Bytes,
    /// Grows with every put, over the whole store: a value that was removed and put anew has another.
    pub version: u64,
    /// When it goes by itself.
    pub expires: Option<Time>,
    /// Its stored bytes are not what was put, so `bytes` is empty. Only [`list`](crate::Store::list) returns such a value,
    /// so that one of them does not hide the others; [`get`](crate::Store::get) fails.
    pub damaged: bool,
}

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    Any,
    /// No value.
    Absent,
    /// The value at this version.
    Version(u64),
}

/// Tells when a value whose key begins with some prefix was put or removed.
///
/// Begin to watch, then look, then wait: what changed after the look wakes the wait. Several changes may wake it once.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Notify>);

impl Watch {
    /// A watch that [`Notify::notify_one`] wakes.
    #[must_use]
    pub fn new(notify: Arc<Notify>) -> Self {
        Self(notify)
    }

    /// Waits until something has changed since the watch began or last woke.
    pub async fn changed(&mut self) {
        self.0.notified().await;
    }
}
