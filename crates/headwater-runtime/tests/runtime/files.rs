//! Agent files: the examples from end to end, and the broken ones message by message.

mod broken;
mod examples;
mod kinds;
mod operate;
mod versions;
