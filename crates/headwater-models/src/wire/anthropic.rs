//! Anthropic's messages.

mod decode;
mod encode;
mod execution;
mod schema;

pub(super) use decode::Answer;
pub(super) use encode::encode;
