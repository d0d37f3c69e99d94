//! The protocol against recordings of the real implementations, and against its laws.
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
mod vectors;
