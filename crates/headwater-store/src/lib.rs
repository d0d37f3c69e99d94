//! Where runs are kept: an append-only journal for each, with leases that fence out a dead driver and readers that are
//! cursors; and small values with compare-and-set beside them.
//!
//! A [`Store`] is one small trait. What is promised, and when a record may be seen, is written there.

mod clock;
mod cursor;
pub mod embedded;
mod error;
mod journal;
mod lease;
mod secret;
mod store;
mod value;

pub use clock::{Clock, ManualClock, SystemClock, Time};
pub use cursor::{Cursor, Place};
pub use embedded::Embedded;
pub use error::{CursorFault, Error, ErrorKind, Result};
pub use journal::{Class, EpochStart, JournalId, JournalInfo, Page, ReadLimit, Receipt, Record, Tail};
pub use lease::Lease;
pub use secret::Secret;
pub use store::{Pending, Store, Swept};
pub use value::{Expect, Value, Watch};
