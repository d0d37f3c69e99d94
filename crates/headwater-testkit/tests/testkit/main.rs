//! Tests of the test tools: each of their rules must catch a store that breaks it.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "all of this is test code")]

mod balancer;
mod behaviour;
mod copying;
mod disk;
#[cfg(unix)]
mod engines;
mod faulty_store;
mod oracle;
mod store_fault;
