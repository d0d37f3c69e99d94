//! A model's text in a pass is in the journal already, as the deltas for readers. So the result of the pass
//! refers to those parts instead of repeating their text: `{"text": {"part": "a1.0"}}` replaces `{"text":
//! "Dear …"}`.

use headwater_protocol::RunState;
use serde_json::{Value, json};

use super::{Effect, HookOutcome};

/// Shorter texts are repeated: a reference takes about as much.
const MIN_BYTES: usize = 64;

/// The effect with references to texts in the state; `None` if it contains none of them.
pub(super) fn shorten(effect: &Effect, state: &RunState) -> Option<Effect> {
    let Effect::Done { key, kind, fingerprint, outcome: HookOutcome::Value(said) } = effect else {
        return None;
    };
    let found: Vec<(usize, String)> = texts(kind, said)
        .filter_map(|(at, text)| {
            Some((at, part_with(state, text.as_str().filter(|text| text.len() >= MIN_BYTES)?)?))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let mut said = said.clone();
    for (at, part) in found {
        if let Some(text) = said.pointer_mut(&format!("/parts/{at}/text")) {
            *text = json!({ "part": part });
        }
    }
    let (key, kind, fingerprint) = (key.clone(), kind.clone(), fingerprint.clone());
    Some(Effect::Done { key, kind, fingerprint, outcome: HookOutcome::Value(said) })
}

/// Restores the texts that an effect refers to.
///
/// # Errors
/// Names the missing part.
pub(super) fn expand(effect: &mut Effect, state: &RunState) -> Result<(), String> {
    let Effect::Done { kind, outcome: HookOutcome::Value(said), .. } = effect else { return Ok(()) };
    let referred: Vec<(usize, String)> = texts(kind, said)
        .filter_map(|(at, text)| Some((at, text.get("part")?.as_str()?.to_owned())))
        .collect();
    for (at, part) in referred {
        let found = text_of(state, &part).ok_or(part)?;
        if let Some(text) = said.pointer_mut(&format!("/parts/{at}/text")) {
            *text = Value::from(found);
        }
    }
    Ok(())
}

/// The texts of a pass, with their part numbers.
fn texts<'a>(kind: &str, said: &'a Value) -> impl Iterator<Item = (usize, &'a Value)> {
    let parts = (kind == "pass").then(|| said.get("parts")?.as_array()).flatten();
    let texts = parts.into_iter().flatten().enumerate();
    texts.filter_map(|(at, part)| Some((at, part.get("text")?)))
}

/// The newest part with this text.
fn part_with(state: &RunState, text: &str) -> Option<String> {
    let mut blocks = state.messages().iter().rev().flat_map(|message| message.parts.iter().rev());
    blocks.find_map(|part| {
        part.as_block().filter(|(_, block)| block.text == text).map(|(_, block)| block.id.to_string())
    })
}

fn text_of<'a>(state: &'a RunState, id: &str) -> Option<&'a str> {
    let mut blocks = state.messages().iter().rev().flat_map(|message| message.parts.iter().rev());
    blocks.find_map(|part| {
        part.as_block().filter(|(_, block)| block.id.as_str() == id).map(|(_, block)| &*block.text)
    })
}
