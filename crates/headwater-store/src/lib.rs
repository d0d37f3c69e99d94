//! Storage for runs: an append-only journal per run, with leases that fence out dead drivers and readers that
//! are just cursors; and small values with compare-and-set.
//!
//! A [`Store`] is one small trait; its documentation states the guarantees and when a record becomes visible.
//!
//! ```
//! use std::time::Duration;
//! use headwater_store::{Class, Memory, ReadLimit, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> headwater_store::Result<()> {
//! let store = Memory::new();
//! let run = "run_1".into();
//!
//! // One driver at a time: the lease's epoch goes with each append.
//! let lease = store.claim(&run, "worker_1", Duration::from_secs(30)).await?;
//! store.append(&lease, Class::Delta, &["Hel".into(), "lo".into()])?;
//! // Wait for a fact: when the receipt resolves, it is durable and visible.
//! store.append(&lease, Class::Fact, &["the end".into()])?.await?;
//! store.close(&lease, None).await?;
//!
//! // A reader is just the number of the last record it has read.
//! let page = store.read(&run, 0, ReadLimit::default()).await?;
//! let bodies: Vec<&[u8]> = page.records.iter().map(|record| &*record.body).collect();
//! assert_eq!(bodies, [&b"Hel"[..], b"lo", b"the end"]);
//! assert_eq!(page.tail.last, 3);
//! assert!(page.tail.closed);
//! # Ok(())
//! # }
//! ```

#[cfg(any(feature = "embedded", feature = "remote"))]
mod batch;
mod clock;
pub mod copy;
mod cursor;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
mod into_store;
mod journal;
pub mod key;
mod lease;
mod memory;
mod pages;
#[cfg(feature = "postgres")]
pub mod postgres;
mod receipt;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "remote")]
pub mod remote;
mod restore;
mod secret;
mod store;
pub mod survey;
mod value;

pub use clock::{Clock, ManualClock, Monotonic, SystemClock, Time};
pub use cursor::{Cursor, Place};
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::{CursorFault, Error, ErrorKind, Result};
pub use into_store::IntoStore;
pub use journal::{Class, EpochStart, JournalId, JournalInfo, Page, ReadLimit, Record, Tail};
pub use lease::Lease;
pub use memory::{Memory, MemoryOptions};
pub use pages::{JournalPages, ValuePages, remove_all};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use receipt::Receipt;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use secret::Secret;
pub use store::{Limits, Pending, Store, SweepReport, WriteOp, together};
pub use value::{Expect, Value, Watch};
