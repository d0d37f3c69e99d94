//! OpenAI's Responses API.

mod decode;
mod detail;
mod encode;
mod hosted;
mod resume;

pub(super) use decode::ResponsesAnswer;
pub(super) use encode::encode;
pub(super) use resume::{cancel, resume};
