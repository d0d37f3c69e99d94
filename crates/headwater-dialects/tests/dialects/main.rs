//! The dialects against recordings of the real implementations, and against their properties.
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

mod ag_ui;
mod agents;
mod ai_sdk;
mod allocations;
mod axum;
mod cases;
mod docs;
mod flat;
mod garbage;
mod handwritten;
mod kortyx;
mod laws;
mod mui;
mod responses;
mod round_trip;
mod runs;
mod sizes;
mod tables;
mod tanstack;
mod tanstack_page;
#[path = "../../../headwater-protocol/tests/protocol/vectors.rs"]
mod vectors;
