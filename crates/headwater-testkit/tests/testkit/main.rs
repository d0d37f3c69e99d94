//! The judges are judged: each of their rules must catch a store that breaks it.

mod behaviour;
mod liar;
