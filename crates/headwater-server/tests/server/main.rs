//! The server over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod agent_files;
mod answered_waits;
mod bad_input;
mod commits;
mod connections;
mod counting;
mod depth;
mod docs;
mod documented;
mod follow;
mod full_store;
mod guarding;
mod harness;
mod keys;
mod limits;
mod listing;
mod lost_deltas;
mod named_answers;
mod named_turns;
mod operators;
mod page_history;
mod page_mistakes;
mod principals;
mod recovery;
mod repeated_requests;
mod resume;
mod servers;
mod session_events;
mod sessions;
mod store_keys;
mod stores;
mod talk;
mod telemetry;
mod threads;
mod trace;
mod trust;
mod turn_costs;
mod unnamed_conversations;
mod visibility;
