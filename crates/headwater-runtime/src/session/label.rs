//! Labels of sessions and turns.

use headwater_protocol::Message;

use super::{checkpoint::StoredInput, turn_message::TurnMessage};

/// Cuts a label to 80 characters.
pub(super) fn short(label: String) -> String {
    match label.char_indices().nth(80) {
        Some((end, _)) => label.get(..end).unwrap_or_default().to_owned(),
        None => label,
    }
}

/// The label of a turn: the beginning of its message.
pub(super) fn label(input: &StoredInput) -> Option<String> {
    let StoredInput::Message(said) = input else { return None };
    label_of(said)
}

pub(super) fn label_of(said: &TurnMessage) -> Option<String> {
    said.label.clone().or_else(|| beginning(&said.message))
}

/// The beginning of a message's text.
pub(super) fn beginning(message: &Message) -> Option<String> {
    let text = message.plain_text();
    let line: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    Some(line).filter(|line| !line.is_empty())
}
