//! Receipts of appends.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::Result;

/// The result of an append, and a future that resolves when the records are visible: for deltas at once,
/// unless an earlier fact is not durable yet; for facts when they are durable.
///
/// The records stay appended even if the receipt is dropped.
pub struct Receipt {
    first: u64,
    last: u64,
    settled: Option<Pin<Box<dyn Future<Output = Result<()>> + Send>>>,
}

impl Receipt {
    /// A receipt for records that are already visible.
    #[must_use]
    pub fn settled(first: u64, last: u64) -> Self {
        Self { first, last, settled: None }
    }

    /// A receipt for records that are visible once `settled` resolves.
    #[must_use]
    pub fn later(first: u64, last: u64, settled: Pin<Box<dyn Future<Output = Result<()>> + Send>>) -> Self {
        Self { first, last, settled: Some(settled) }
    }

    /// The sequence of the first appended record.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The sequence of the last appended record.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }
}

impl Future for Receipt {
    type Output = Result<u64>;

    /// Resolves to the sequence of the last record.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let last = self.last;
        match &mut self.settled {
            None => Poll::Ready(Ok(last)),
            Some(settled) => settled.as_mut().poll(cx).map_ok(|()| last),
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt")
            .field("first", &self.first)
            .field("last", &self.last)
            .field("settled", &self.settled.is_none())
            .finish()
    }
}
