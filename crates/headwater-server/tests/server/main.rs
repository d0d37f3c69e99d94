//! The server over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod again;
mod agent_files;
mod answered;
mod bad_input;
mod commits;
mod connections;
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
mod lost;
mod named_answers;
mod named_turns;
mod operators;
mod page_mistakes;
mod principals;
mod recovery;
mod resume;
mod servers;
mod session_events;
mod sessions;
mod standing;
mod store_keys;
mod stores;
mod talk;
mod threads;
mod trust;
mod visitors;
mod watching;
mod withheld;
