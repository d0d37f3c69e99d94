//! Tests of the public API.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod function;
#[cfg(feature = "mcp")]
mod mcp;
mod schema;
mod set;
