//! The structured reducer against recordings of the real implementation, and against general properties.
//!
//! Recordings are read from `$HEADWATER_VECTORS`; without it those tests print a note and pass.
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
#[allow(dead_code, reason = "shared with the tests of other crates")]
mod vectors;
