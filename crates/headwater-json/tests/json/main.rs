//! Extraction and partial values against recordings of the real implementations, against `serde_json`, and against
//! their laws.
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

mod extract;
mod garbage;
mod generate;
mod kortyx;
mod laws;
mod lead_in;
mod limits;
mod linear;
mod partial_vectors;
mod reduce;
mod suite;
#[allow(dead_code, reason = "it serves the protocol's tests too")]
#[path = "../../../headwater-protocol/tests/protocol/vectors.rs"]
mod vectors;
