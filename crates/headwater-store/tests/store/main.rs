//! Every store is held to the behaviour that is written once, in the testkit; and what the embedded store does on a real
//! folder, driven step by step: no thread, no clock, no luck.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets something unexpected should fail loudly"
)]

mod copying;
mod damage;
mod durability;
mod embedded;
mod format;
mod journals;
mod kills;
mod memory;
mod memory_use;
mod restoring;
mod simulation;
mod space;
mod support;
mod values;
