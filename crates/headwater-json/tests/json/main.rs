//! Extraction and partial values against recordings of the real implementations, against `serde_json`, and
//! against general properties.
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
#[allow(dead_code, reason = "shared with the protocol's tests")]
#[path = "../../../headwater-protocol/tests/protocol/vectors.rs"]
mod vectors;
