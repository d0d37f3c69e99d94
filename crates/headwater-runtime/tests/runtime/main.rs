//! How agents behave: one module for each promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod asking;
mod control;
mod crashes;
mod email;
mod harness;
mod interrupts;
mod mistakes;
mod nodes;
mod reason;
mod sessions;
mod tools;
mod workflows;
