//! Two and three real `headwater serve` processes on one engine, behind a balancer that the tests control, with everything
//! that happens to machines: killed and paused nodes, cut networks, restarted engines, wrong clocks.
//!
//! `cargo xtask cluster` runs the long forms; the usual run takes some kills of each. Every scenario is a test for each
//! engine, and holds the table in `docs/reliability.md` to its results.
#![cfg(unix)]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code"
)]

mod agent;
mod clocks;
mod cluster;
mod control;
mod engine;
mod kills;
mod ledger;
mod load;
mod network;
mod pauses;
mod reader;
mod report;
mod restarts;
#[path = "../cli/server.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod server;
mod soak;
#[path = "../cli/table.rs"]
#[allow(dead_code, reason = "the other suites use all of it")]
mod table;
mod vendors;

/// Makes a test for each engine out of a scenario: a function that takes the kind of engine.
macro_rules! on_each_engine {
    ($($scenario:ident),+ $(,)?) => {
        mod redis {
            $(#[test] fn $scenario() { super::$scenario(crate::engine::Kind::Redis); })+
        }
        mod postgres {
            $(#[test] fn $scenario() { super::$scenario(crate::engine::Kind::Postgres); })+
        }
    };
}
pub(crate) use on_each_engine;
