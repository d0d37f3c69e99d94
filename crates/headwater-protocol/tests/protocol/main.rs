//! The structured reducer against recordings of the real implementation, and against its laws.
//!
//! Recordings are read from `$HEADWATER_VECTORS`; without it those tests pass and say so.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod structured_laws;
mod structured_reference;
mod structured_vectors;
#[allow(dead_code, reason = "it serves the tests of other crates too")]
mod vectors;
