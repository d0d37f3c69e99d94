//! Anthropic's Messages API.

mod decode;
mod encode;
mod execution;
mod schema;

pub(super) use decode::AnthropicAnswer;
pub(super) use encode::encode;
