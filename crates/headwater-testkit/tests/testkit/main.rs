//! The judges are judged: each of their rules must catch a store that breaks it.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "all of this is test code")]

mod behaviour;
mod copying;
mod disk;
mod liar;
mod lie;
mod oracle;
