//! OpenAI's chat completions API and compatible providers.
//!
//! The providers' differences are data in [`quirks::ChatQuirks`]; the code is shared.

mod decode;
mod encode;
mod fast_path;
mod quirks;

pub(super) use decode::ChatAnswer;
pub(super) use encode::encode;
pub use quirks::ChatQuirks;

use crate::{ReasoningEffort, ReasoningOptions};

/// Whether an OpenAI model reasons before it answers. Then it rejects a temperature and stop sequences.
pub(super) fn thinks(model: &str, reasoning: Option<&ReasoningOptions>) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let is_o =
        model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    let is_gpt_5 = model.starts_with("gpt-5") && !model.contains("-chat");
    // From 5.1 on, reasoning can be switched off.
    let is_off = reasoning.and_then(|reasoning| reasoning.effort) == Some(ReasoningEffort::None);
    is_o || is_gpt_5 && !(model.starts_with("gpt-5.") && is_off)
}
