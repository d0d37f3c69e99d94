//! Tests of the models' public API.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod call;
mod encoding;
mod features;
#[cfg(feature = "providers")]
mod http;
mod prompts;
mod providers;
mod raw;
mod recorded;
mod registry;
mod requests;
mod robust;
mod round_trip;
mod scripted;
mod scripted_yaml;
