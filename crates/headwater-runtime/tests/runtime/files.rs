//! Agents that are described by files: the examples from end to end, the broken ones message by message.

mod broken;
mod examples;
mod kinds;
mod versions;
