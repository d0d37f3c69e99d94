//! Tests of the real binary, on the example streams and on garbage.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

mod chat;
mod check;
mod convert;
#[cfg(target_os = "linux")]
mod deploy;
mod descriptors;
mod dialects;
mod doctor;
mod errors;
mod extract;
mod full_memory;
mod garbage;
mod http_garbage;
mod inspect;
mod lint;
mod live_inspect;
mod logs;
mod memory;
mod new;
#[cfg(target_os = "linux")]
mod open;
mod operate;
mod otel;
mod proxy;
mod reason;
mod reduce;
mod reference;
mod replay;
mod run;
mod serve;
mod server;
mod shared_stores;
mod store;
mod store_copy;
mod structured;
mod tokens;
mod tutorial;
mod usage;
mod webhooks;
