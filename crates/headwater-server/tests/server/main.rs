//! The server over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod follow;
mod harness;
mod resume;
mod sessions;
mod talk;
