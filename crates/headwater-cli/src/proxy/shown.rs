//! What of an answer was shown: a server that sends an answer again after a cut sends it from the beginning.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use headwater_protocol::Event;

/// What of an answer was shown.
#[derive(Debug, Default)]
pub(super) struct ShownEvents {
    texts: HashMap<String, ShownText>,
    /// How often each other event was shown, and how often it came since the answer began again.
    others: HashMap<u64, (u32, u32)>,
    has_text: bool,
}

/// A text that grows.
#[derive(Debug, Clone, Copy)]
struct ShownText {
    bytes: usize,
    digest: u64,
    /// How much of it came since the answer began again.
    read: usize,
    read_digest: u64,
}

/// The server sent another answer than before.
#[derive(Debug, PartialEq)]
pub(super) struct AnswerDiffers;

impl ShownEvents {
    /// Whether any text was shown.
    pub(super) fn has_text(&self) -> bool {
        self.has_text
    }

    /// Forgets all: what was shown is retracted.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The answer comes again from its beginning.
    pub(super) fn begin_again(&mut self) {
        for text in self.texts.values_mut() {
            (text.read, text.read_digest) = (0, EMPTY);
        }
        self.others.values_mut().for_each(|(_, read)| *read = 0);
    }

    /// The part of an event that is new; `None` if all of it was shown.
    pub(super) fn unseen(&mut self, mut event: Event) -> Result<Option<Event>, AnswerDiffers> {
        let (key, text) = match &mut event {
            Event::BlockDelta(block) => (format!("{}.{}", block.kind, block.id), &mut block.delta),
            Event::ToolInputDelta(input) => (format!("input.{}", input.call), &mut input.delta),
            other => {
                let fingerprint = fingerprint(other);
                let (shown, read) = self.others.entry(fingerprint).or_default();
                *read += 1;
                if read <= shown {
                    return Ok(None);
                }
                *shown = *read;
                return Ok(Some(event));
            }
        };
        let known = self.texts.entry(key).or_insert(ShownText {
            bytes: 0,
            digest: EMPTY,
            read: 0,
            read_digest: EMPTY,
        });
        let seen = (known.bytes - known.read).min(text.len());
        let Some((before, new)) = text.split_at_checked(seen) else { return Err(AnswerDiffers) };
        known.read_digest = digest(known.read_digest, before);
        known.read += seen;
        if known.read == known.bytes && known.read_digest != known.digest {
            return Err(AnswerDiffers);
        }
        if new.is_empty() {
            return Ok(None);
        }
        self.has_text = true;
        known.digest = digest(known.digest, new);
        (known.read_digest, known.bytes) = (known.digest, known.bytes + new.len());
        known.read = known.bytes;
        if seen > 0 {
            *text = new.to_owned();
        }
        Ok(Some(event))
    }
}

const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: the same for a text in any pieces.
fn digest(from: u64, text: &str) -> u64 {
    text.bytes().fold(from, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn fingerprint(event: &Event) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(event).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{BlockDelta, BlockEnded, BlockKind, BlockStarted};

    use super::*;

    fn delta(text: &str) -> Event {
        BlockDelta::new(BlockKind::Text, "t1", text).into()
    }

    #[test]
    fn answer_that_comes_again_in_other_pieces_is_shown_once() {
        let mut shown = ShownEvents::default();
        let started = || Event::from(BlockStarted::new(BlockKind::Text, "t1"));
        for event in [started(), delta("Héllo "), delta("wor")] {
            assert_eq!(shown.unseen(event.clone()), Ok(Some(event)));
        }
        shown.begin_again();
        assert_eq!(shown.unseen(started()), Ok(None));
        assert_eq!(shown.unseen(delta("Hé")), Ok(None));
        assert_eq!(shown.unseen(delta("llo world")), Ok(Some(delta("ld"))));
        let ended = Event::from(BlockEnded::new(BlockKind::Text, "t1"));
        assert_eq!(shown.unseen(ended.clone()), Ok(Some(ended)));
    }

    #[test]
    fn other_answer_is_noticed() {
        let mut shown = ShownEvents::default();
        assert!(shown.unseen(delta("Hello")).is_ok());
        shown.begin_again();
        assert_eq!(shown.unseen(delta("Hullo world")), Err(AnswerDiffers));
    }

    #[test]
    fn answer_that_is_cut_within_another_character_differs() {
        let mut shown = ShownEvents::default();
        assert!(shown.unseen(delta("ab")).is_ok());
        shown.begin_again();
        assert_eq!(shown.unseen(delta("aé")), Err(AnswerDiffers));
    }
}
