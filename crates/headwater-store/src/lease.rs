//! Leases: the right to write a journal.

use std::sync::Arc;

use crate::{JournalId, Monotonic};

/// The right of one process to drive one run, with an epoch that fences out the previous holder.
///
/// Epochs grow over the whole store: no two leases ever share one, not even for a journal that was deleted
/// and created again, so a cursor can never point at other content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The journal that may be written.
    pub journal: JournalId,
    /// Increases with every claim. An append with an older one is refused, so a driver that lost its lease cannot write.
    pub epoch: u64,
    /// The name of the process that claimed it, for logs and errors. Only the epoch fences.
    pub owner: Arc<str>,
    /// When it ends, unless renewed, on the monotonic clock of the process that claimed it.
    pub expires: Monotonic,
    /// The sequence of the first record of this epoch.
    pub first: u64,
}
