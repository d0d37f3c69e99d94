//! Google's generateContent, of the Gemini API.

mod arguments;
mod decode;
mod encode;

pub(super) use decode::Answer;
pub(super) use encode::encode;
