//! Text and reasoning blocks.

use super::{PartKey, PartLocation, RunState};
use crate::{
    event::{BlockDelta, BlockEnded, BlockKind, BlockStarted, Origin, Part, PartState, TextPart},
    id::PartId,
};

impl RunState {
    pub(super) fn text_part(&self, id: impl Into<PartId>, origin: &Origin) -> TextPart {
        TextPart { attempt: origin.attempt.clone(), ..TextPart::open(id) }
    }

    pub(super) fn start_block(&mut self, origin: &Origin, block: &BlockStarted) {
        let part = TextPart { metadata: block.metadata.clone(), ..self.text_part(block.id.clone(), origin) };
        let at = self.push(origin, Part::block(block.kind, part));
        self.index.parts.insert(PartKey::Block(block.kind, at.message, block.id.clone()), at);
        self.index.last = Some((block.kind, block.id.clone(), at));
    }

    /// The open block with this id in the event's message.
    pub(super) fn find_block(
        &mut self,
        kind: BlockKind,
        origin: &Origin,
        id: &PartId,
    ) -> Option<PartLocation> {
        let message = self.target(origin);
        if let Some((last_kind, last, at)) = &self.index.last
            && *last_kind == kind
            && at.message == message
            && last == id
        {
            return Some(*at);
        }
        let at = *self.index.parts.get(&PartKey::Block(kind, message, id.clone()))?;
        self.index.last = Some((kind, id.clone(), at));
        Some(at)
    }

    pub(super) fn grow_block(&mut self, origin: &Origin, block: &BlockDelta) {
        if self.find_block(block.kind, origin, &block.id).is_none() {
            self.start_block(origin, &BlockStarted::new(block.kind, block.id.clone()));
        }
        let at = self.find_block(block.kind, origin, &block.id);
        if let Some(Part::Text(part) | Part::Reasoning(part)) = at.and_then(|at| self.part_mut(at)) {
            part.text.push_str(&block.delta);
            if block.metadata.is_some() {
                part.metadata.clone_from(&block.metadata);
            }
        }
    }

    pub(super) fn end_block(&mut self, origin: &Origin, block: &BlockEnded) {
        let Some(at) = self.find_block(block.kind, origin, &block.id) else {
            return;
        };
        if let Some(Part::Text(part) | Part::Reasoning(part)) = self.part_mut(at) {
            part.state = PartState::Done;
            if block.metadata.is_some() {
                part.metadata.clone_from(&block.metadata);
            }
        }
        self.index.parts.remove(&PartKey::Block(block.kind, at.message, block.id.clone()));
        self.index.last = None;
    }
}
