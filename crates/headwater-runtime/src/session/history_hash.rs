//! Hash of the user messages of a conversation, and comparison of two messages.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{Message, Part, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Hash of all user messages of a conversation, in order; empty at its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HistoryHash(String);

impl HistoryHash {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hash after a message. Only user messages change it.
    pub(crate) fn then(&self, message: &Message) -> Self {
        if message.role != Role::User {
            return self.clone();
        }
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.0.as_bytes());
        add(message.plain_text().as_bytes());
        for (name, data) in shown_parts(message) {
            add(name.as_bytes());
            add(data.map(ToString::to_string).unwrap_or_default().as_bytes());
        }
        let hash = hash.finalize();
        Self(URL_SAFE_NO_PAD.encode(hash.get(..16).unwrap_or_default()))
    }

    /// The hash after several messages.
    pub(crate) fn then_all<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> Self {
        messages.into_iter().fold(self.clone(), |hash, message| hash.then(message))
    }
}

/// Whether two messages have equal content: text, files and data. Metadata of a page may differ.
pub(super) fn says_the_same(one: &Message, other: &Message) -> bool {
    one.plain_text() == other.plain_text() && shown_parts(one).eq(shown_parts(other))
}

/// The visible parts of a message beside its text: files by address, and data.
pub(super) fn shown_parts(message: &Message) -> impl Iterator<Item = (&str, Option<&Value>)> {
    message.parts.iter().filter_map(|part| match part {
        Part::File(file) => Some((file.url.as_str(), None)),
        Part::Data(data) => Some((data.name.as_str(), Some(&data.data))),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> HistoryHash {
        let messages: Vec<_> = texts.iter().map(|text| Message::text("any", Role::User, *text)).collect();
        HistoryHash::default().then_all(&messages)
    }

    #[test]
    fn history_is_what_people_said_in_order() {
        assert_eq!(said(&["one", "two"]), said(&["one", "two"]));
        assert_ne!(said(&["one", "two"]), said(&["two", "one"]));
        assert_ne!(said(&["one", "two"]), said(&["onetwo"]));
        assert_ne!(said(&["one"]), said(&["one", "one"]));
        assert!(said(&[]).is_empty());
    }

    #[test]
    fn answers_are_no_part_of_what_people_said() {
        let answer = Message::text("a1", Role::Assistant, "yes");
        assert_eq!(said(&["one"]).then(&answer), said(&["one"]));
    }
}
