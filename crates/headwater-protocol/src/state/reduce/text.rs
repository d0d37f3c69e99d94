//! Blocks of text and reasoning.

use serde_json::Value;

use super::{Key, Location, RunState};
use crate::{
    event::Origin,
    id::PartId,
    state::{Part, PartState, TextPart},
};

impl RunState {
    pub(super) fn text_part(&self, id: impl Into<PartId>, origin: &Origin) -> TextPart {
        TextPart { attempt: origin.attempt.clone(), ..TextPart::open(id) }
    }

    pub(super) fn open_text(
        &mut self,
        reasoning: bool,
        origin: &Origin,
        id: &PartId,
        metadata: Option<&Value>,
    ) {
        let part = TextPart { metadata: metadata.cloned(), ..self.text_part(id.clone(), origin) };
        let part = if reasoning { Part::Reasoning(part) } else { Part::Text(part) };
        let at = self.push(origin, part);
        self.index.parts.insert(Key::text(reasoning, at.message, id), at);
        self.index.last = Some((reasoning, id.clone(), at));
    }

    /// The open block of that id in the event's message.
    pub(super) fn find_text(&mut self, reasoning: bool, origin: &Origin, id: &PartId) -> Option<Location> {
        let message = self.target(origin);
        if let Some((kind, last, at)) = &self.index.last
            && *kind == reasoning
            && at.message == message
            && last == id
        {
            return Some(*at);
        }
        let at = *self.index.parts.get(&Key::text(reasoning, message, id))?;
        self.index.last = Some((reasoning, id.clone(), at));
        Some(at)
    }

    pub(super) fn grow_text(
        &mut self,
        reasoning: bool,
        origin: &Origin,
        id: &PartId,
        delta: &str,
        metadata: Option<&Value>,
    ) {
        if self.find_text(reasoning, origin, id).is_none() {
            self.open_text(reasoning, origin, id, None);
        }
        let at = self.find_text(reasoning, origin, id);
        if let Some(Part::Text(part) | Part::Reasoning(part)) = at.and_then(|at| self.part_mut(at)) {
            part.text.push_str(delta);
            if let Some(metadata) = metadata {
                part.metadata = Some(metadata.clone());
            }
        }
    }

    pub(super) fn close_text(
        &mut self,
        reasoning: bool,
        origin: &Origin,
        id: &PartId,
        metadata: Option<&Value>,
    ) {
        let Some(at) = self.find_text(reasoning, origin, id) else {
            return;
        };
        if let Some(Part::Text(part) | Part::Reasoning(part)) = self.part_mut(at) {
            part.state = PartState::Done;
            if let Some(metadata) = metadata {
                part.metadata = Some(metadata.clone());
            }
        }
        self.index.parts.remove(&Key::text(reasoning, at.message, id));
        self.index.last = None;
    }
}
