//! The stores that several machines share, on real servers: the behaviour of every store, and what two processes on one
//! engine see of each other.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets something unexpected should fail loudly"
)]

mod behaviour;
mod engine;
mod histories;
mod nodes;
mod outages;
mod redis_cluster;
mod refusals;
mod room;
