//! The client against a real server, a connection that is cut, and servers that misbehave.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod bad_servers;
mod cuts;
mod dialects;
mod harness;
mod runs;
mod sessions;
