//! `*_CHUNK` events, which open and close their message implicitly.
//!
//! Each subagent, and the agent itself, has a lane with at most one open chunk stream.

use std::borrow::Cow;

use headwater_protocol::{Error, ErrorKind, Role};

use super::{EventPlace, EventReader};
use crate::{
    ag_ui::chunk::{Base, Chunk, TextMessageChunk, ToolCallChunk, ToolCallEnd, ToolCallStart},
    decode::DecodeOutput,
};

/// The open chunk streams: subagent, kind and id.
#[derive(Debug, Clone, Default)]
pub(super) struct ChunkLanes(Vec<(Option<String>, ChunkLaneKind, String)>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum ChunkLaneKind {
    Text,
    Call,
    Thought,
}

impl ChunkLanes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, kind: ChunkLaneKind, id: Option<&str>, tag: Option<&str>) -> Option<String> {
        let mut same = self.0.iter().filter(|(_, open, _)| *open == kind);
        let lane = match (id, tag) {
            (Some(id), _) => same.find(|(_, _, open)| open == id),
            (None, Some(tag)) => same.find(|(owner, ..)| owner.as_deref() == Some(tag)),
            (None, None) => {
                let own = same.clone().find(|(owner, ..)| owner.is_none());
                own.or_else(|| same.next())
            }
        };
        lane.map(|(_, _, id)| id.clone())
    }
}

impl EventReader {
    /// Closes the chunk streams that are ended by an event of this subagent, or of the agent itself.
    pub(super) fn leave_lanes(
        &mut self,
        chunk: &Chunk<'_>,
        subagent: Option<&str>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        if self.lanes.is_empty() {
            return Ok(());
        }
        let owner = match chunk {
            Chunk::TextMessageChunk(_)
            | Chunk::ToolCallChunk(_)
            | Chunk::ReasoningMessageChunk(_)
            | Chunk::Raw(_)
            | Chunk::ActivitySnapshot(_)
            | Chunk::ActivityDelta(_)
            | Chunk::ReasoningEncryptedValue(_)
            | Chunk::SubagentStarted(_) => return Ok(()),
            Chunk::RunStarted(_)
            | Chunk::RunFinished(_)
            | Chunk::RunError(_)
            | Chunk::MessagesSnapshot(_) => None,
            _ => Some(subagent),
        };
        let (closed, open) = std::mem::take(&mut self.lanes.0)
            .into_iter()
            .partition(|(lane, ..)| owner.is_none_or(|owner| owner == lane.as_deref()));
        self.lanes.0 = open;
        closed.into_iter().try_for_each(|(_, kind, id): (_, _, String)| self.close_lane(kind, &id, out))
    }

    fn close_lane(&mut self, kind: ChunkLaneKind, id: &str, out: &mut DecodeOutput) -> Result<(), Error> {
        if kind == ChunkLaneKind::Call {
            let end = ToolCallEnd { tool_call_id: Cow::Borrowed(id), base: Base::default() };
            self.end_call(&end, out);
            return Ok(());
        }
        self.end_text(id, &Base::default(), out)
    }

    /// The stream that a chunk continues, or `None` for a new one, which must have an id.
    fn open_lane(
        &mut self,
        kind: ChunkLaneKind,
        id: Option<&str>,
        base: &Base<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(String, bool), Error> {
        let tag = base.subagent_run_id.as_deref();
        if let Some(id) = self.lanes.find(kind, id, tag) {
            return Ok((id, false));
        }
        let id = id.ok_or_else(|| Error::fatal(ErrorKind::Order, "the first chunk of a stream has no id"))?;
        let owner = tag.map(str::to_owned);
        if let Some(at) = self.lanes.0.iter().position(|(lane, ..)| *lane == owner) {
            let (_, kind, id) = self.lanes.0.remove(at);
            self.close_lane(kind, &id, out)?;
        }
        self.lanes.0.push((owner, kind, id.to_owned()));
        Ok((id.to_owned(), true))
    }

    /// A chunk of text or reasoning.
    pub(super) fn text_chunk(
        &mut self,
        role: Role,
        chunk: TextMessageChunk<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let kind = if role == Role::Reasoning { ChunkLaneKind::Thought } else { ChunkLaneKind::Text };
        let (id, new) = self.open_lane(kind, chunk.message_id.as_deref(), &chunk.base, out)?;
        if new {
            let name = chunk.name.map(|name| name.into_owned().into());
            self.start_text(&id, role, name, &chunk.base, out);
        }
        let place = EventPlace::of(&chunk.base).in_message(id.as_str());
        if let Some(delta) = chunk.delta {
            self.delta(&id, &delta, place.time, out)?;
        }
        if !new {
            self.metadata(&place, &chunk.base, out);
        }
        Ok(())
    }

    pub(super) fn call_chunk(
        &mut self,
        chunk: ToolCallChunk<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let (id, new) =
            self.open_lane(ChunkLaneKind::Call, chunk.tool_call_id.as_deref(), &chunk.base, out)?;
        let time = EventPlace::of(&chunk.base).time;
        if new {
            let start = ToolCallStart {
                tool_call_id: Cow::Borrowed(&id),
                tool_call_name: chunk.tool_call_name.unwrap_or_default(),
                parent_message_id: chunk.parent_message_id,
                base: chunk.base,
            };
            self.start_call(&start, out);
        }
        chunk.delta.map_or(Ok(()), |delta| self.args(&id, &delta, time, out))
    }
}
