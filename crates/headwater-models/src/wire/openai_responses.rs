//! OpenAI's responses.

mod decode;
mod detail;
mod encode;
mod hosted;

pub(super) use decode::Answer;
pub(super) use encode::encode;
