//! What the models of this crate promise.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod asking;
mod encoding;
mod features;
mod going_back;
#[cfg(feature = "providers")]
mod http;
mod prompts;
mod providers;
mod raw;
mod recorded;
mod registry;
mod requests;
mod robust;
mod scripted;
mod scripted_yaml;
