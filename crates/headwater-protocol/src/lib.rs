//! The event model of Headwater, and what every reader of a run can be told about it.
//!
//! Everything here is pure: bytes and values in, values out, no I/O and no clock.
//!
//! ```
//! use headwater_protocol::{StructuredOp, StructuredStreams, StructuredUpdate};
//!
//! let mut streams = StructuredStreams::new();
//! streams.apply(StructuredUpdate::new("mail", "email.compose", StructuredOp::text("body", "Hi ")))?;
//! let mail = streams.apply(StructuredUpdate::new("mail", "email.compose", StructuredOp::text("body", "team")))?;
//! assert_eq!(mail.data(), Some(&serde_json::json!({"body": "Hi team"})));
//! # Ok::<(), headwater_protocol::StructuredError>(())
//! ```

mod coalesce;
mod structured;

pub use coalesce::{Coalescer, Merge};
pub use structured::{
    StructuredError, StructuredErrorKind, StructuredLimits, StructuredOp, StructuredState,
    StructuredStatus, StructuredStreams, StructuredUpdate,
};
