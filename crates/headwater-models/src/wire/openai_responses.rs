//! OpenAI's Responses API.

mod decode;
mod detail;
mod encode;
mod hosted;

pub(super) use decode::ResponsesAnswer;
pub(super) use encode::encode;
