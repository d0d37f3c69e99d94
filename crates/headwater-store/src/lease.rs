//! The right to write a journal.

use std::sync::Arc;

use crate::{JournalId, Monotonic};

/// The right of one process to drive one run, with an epoch that fences out the previous holder.
///
/// Epochs grow over the whole store: no two leases ever have the same, not even for a journal that was deleted and
/// begun anew, so a cursor cannot be taken for one of another content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The journal that it lets one write.
    pub journal: JournalId,
    /// Its number.
    pub epoch: u64,
    /// Who holds it.
    pub owner: Arc<str>,
    /// When it ends, unless renewed, on the monotonic clock of the process that gave it.
    pub expires: Monotonic,
    /// The sequence of the first record that this epoch writes.
    pub first: u64,
}
