//! Google's generateContent, the Gemini API.

mod arguments;
mod decode;
mod encode;

pub(super) use decode::GoogleAnswer;
pub(super) use encode::encode;
