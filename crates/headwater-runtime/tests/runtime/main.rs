//! Tests of the runtime's guarantees, one module for each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

mod aborts;
mod asking;
mod connection;
mod control;
mod copies;
mod crashes;
mod divergence;
mod email;
mod emitting;
mod examples;
mod failures;
mod files;
mod guards;
mod harness;
mod interrupts;
mod journal_size;
mod kills;
mod leases;
mod limits;
mod mcp;
mod mistakes;
mod nodes;
mod pressure;
mod processes;
mod reason;
mod recovery;
mod replays;
mod sessions;
mod sharing;
mod stalling;
mod streaming_model;
mod summaries;
mod telemetry;
mod tools;
mod values;
mod workflows;

#[path = "../../examples/hooks/answers.rs"]
mod answers;
#[path = "../../examples/workflows/flows.rs"]
mod flows;
#[path = "../../examples/hooks/objects.rs"]
mod objects;
#[path = "../../examples/hooks/people.rs"]
mod people;
#[path = "../../examples/hooks/state.rs"]
mod state;
#[path = "../../examples/issues/tracker.rs"]
mod tracker;

// The examples import it from their own crate.
use examples::single;
