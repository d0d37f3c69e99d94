//! Chunks that open and close their message themselves, turned into the events that they stand for.
//!
//! Each subagent, and the agent itself, has a lane with at most one open chunk stream.

use std::borrow::Cow;

use super::chunk::{
    Base, Chunk, MessageDelta, MessageRef, ReasoningMessageChunk, ReasoningMessageStart, TextMessageChunk,
    TextMessageStart, ToolCallArgs, ToolCallChunk, ToolCallEnd, ToolCallStart,
};

type Text = Option<String>;

/// The open chunk streams.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    open: Vec<Lane>,
}

#[derive(Debug, Clone)]
struct Lane {
    owner: Text,
    tag: Text,
    id: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text { role: String, name: Text },
    Call { name: String, parent: Text },
    Thought,
}

impl Kind {
    fn word(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text message",
            Self::Call { .. } => "tool call",
            Self::Thought => "reasoning message",
        }
    }
}

impl Lanes {
    /// Whether no chunk stream is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// What the event stands for, itself last.
    pub(super) fn expand<'a>(&mut self, chunk: Chunk<'a>) -> Result<Vec<Chunk<'a>>, String> {
        let mut out = Vec::new();
        let tag = chunk.name_and_base().1.subagent_run_id.as_deref().map(str::to_owned);
        match chunk {
            Chunk::TextMessageChunk(chunk) => self.text(chunk, &mut out)?,
            Chunk::ToolCallChunk(chunk) => self.call(chunk, &mut out)?,
            Chunk::ReasoningMessageChunk(chunk) => self.thought(chunk, &mut out)?,
            Chunk::Raw(_)
            | Chunk::ActivitySnapshot(_)
            | Chunk::ActivityDelta(_)
            | Chunk::ReasoningEncryptedValue(_)
            | Chunk::SubagentStarted(_) => out.push(chunk),
            Chunk::RunStarted(_)
            | Chunk::RunFinished(_)
            | Chunk::RunError(_)
            | Chunk::MessagesSnapshot(_) => {
                for lane in std::mem::take(&mut self.open) {
                    out.push(lane.end());
                }
                out.push(chunk);
            }
            _ => {
                out.extend(self.close(tag.as_deref()));
                out.push(chunk);
            }
        }
        Ok(out)
    }

    /// Closes the lane of an owner, and says so if it was open.
    pub(super) fn close(&mut self, owner: Option<&str>) -> Option<Chunk<'static>> {
        let at = self.open.iter().position(|lane| lane.owner.as_deref() == owner)?;
        Some(self.open.remove(at).end())
    }

    /// The lane that a chunk goes to.
    fn lane(
        &self,
        word: &'static str,
        id: Option<&str>,
        tag: Option<&str>,
        names: [&str; 2],
    ) -> Result<Text, String> {
        let mut same = self.open.iter().filter(|lane| lane.kind.word() == word);
        if let Some(id) = id {
            let Some(holder) = same.find(|lane| lane.id == id) else {
                return Ok(tag.map(str::to_owned));
            };
            return match tag {
                Some(tag) if holder.owner.as_deref() != Some(tag) => Err(format!(
                    "Cannot continue {word} '{id}': chunk subagentRunId '{tag}' does not match the open stream's subagent '{}'.",
                    holder.owner.as_deref().unwrap_or("(the parent agent)")
                )),
                _ => Ok(holder.owner.clone()),
            };
        }
        if tag.is_some() {
            return Ok(tag.map(str::to_owned));
        }
        let same: Vec<_> = same.collect();
        match same.as_slice() {
            [] => Ok(None),
            [lane] => Ok(lane.owner.clone()),
            lanes if lanes.iter().any(|lane| lane.owner.is_none()) => Ok(None),
            lanes => Err(format!(
                "Ambiguous {}: it carries neither a {} nor a subagentRunId, but {} lanes have an open {word}. Attribute the chunk to the subagent it belongs to.",
                names[0],
                names[1],
                lanes.len()
            )),
        }
    }

    /// The open stream that a chunk goes on with.
    fn find(&self, word: &'static str, owner: &Text, id: Option<&str>) -> Option<&Lane> {
        let lane = self.open.iter().find(|lane| lane.owner == *owner && lane.kind.word() == word)?;
        id.is_none_or(|id| id == lane.id).then_some(lane)
    }

    fn begin(&mut self, owner: Text, tag: Text, id: &str, kind: Kind, out: &mut Vec<Chunk<'_>>) {
        out.extend(self.close(owner.as_deref()));
        self.open.push(Lane { owner, tag, id: id.to_owned(), kind });
    }

    fn text<'a>(&mut self, chunk: TextMessageChunk<'a>, out: &mut Vec<Chunk<'a>>) -> Result<(), String> {
        let TextMessageChunk { message_id, role, delta, name, base } = chunk;
        let names = ["TEXT_MESSAGE_CHUNK", "messageId"];
        let owner =
            self.lane("text message", message_id.as_deref(), base.subagent_run_id.as_deref(), names)?;
        let (id, tag) = match self.find("text message", &owner, message_id.as_deref()) {
            Some(lane) => {
                let Kind::Text { role: opened, name: named } = &lane.kind else {
                    return Ok(());
                };
                agree("text message", &lane.id, "role", role.as_deref(), Some(opened))?;
                agree("text message", &lane.id, "name", name.as_deref(), named.as_deref())?;
                (Cow::Owned(lane.id.clone()), lane.tag.clone())
            }
            None => {
                let Some(id) = message_id else {
                    return Err("First TEXT_MESSAGE_CHUNK must have a messageId".to_owned());
                };
                let tag = base.subagent_run_id.as_deref().map(str::to_owned);
                let role = role.unwrap_or(Cow::Borrowed("assistant"));
                let kind =
                    Kind::Text { role: role.clone().into_owned(), name: name.as_deref().map(str::to_owned) };
                self.begin(owner, tag.clone(), &id, kind, out);
                out.push(Chunk::TextMessageStart(TextMessageStart {
                    message_id: id.clone(),
                    role: Some(role),
                    name,
                    base: without_raw(&base),
                }));
                (id, tag)
            }
        };
        if let Some((delta, base)) = content(delta, base, tag, out.is_empty()) {
            out.push(Chunk::TextMessageContent(MessageDelta { message_id: id, delta, base }));
        }
        Ok(())
    }

    fn call<'a>(&mut self, chunk: ToolCallChunk<'a>, out: &mut Vec<Chunk<'a>>) -> Result<(), String> {
        let ToolCallChunk { tool_call_id, tool_call_name, parent_message_id, delta, base } = chunk;
        let names = ["TOOL_CALL_CHUNK", "toolCallId"];
        let owner =
            self.lane("tool call", tool_call_id.as_deref(), base.subagent_run_id.as_deref(), names)?;
        let (id, tag) = match self.find("tool call", &owner, tool_call_id.as_deref()) {
            Some(lane) => {
                let Kind::Call { name, parent } = &lane.kind else {
                    return Ok(());
                };
                agree("tool call", &lane.id, "toolCallName", tool_call_name.as_deref(), Some(name))?;
                agree(
                    "tool call",
                    &lane.id,
                    "parentMessageId",
                    parent_message_id.as_deref(),
                    parent.as_deref(),
                )?;
                (Cow::Owned(lane.id.clone()), lane.tag.clone())
            }
            None => {
                let Some(id) = tool_call_id else {
                    return Err("First TOOL_CALL_CHUNK must have a toolCallId".to_owned());
                };
                let Some(name) = tool_call_name else {
                    return Err("First TOOL_CALL_CHUNK must have a toolCallName".to_owned());
                };
                let tag = base.subagent_run_id.as_deref().map(str::to_owned);
                let parent = parent_message_id.as_deref().map(str::to_owned);
                let kind = Kind::Call { name: name.clone().into_owned(), parent };
                self.begin(owner, tag.clone(), &id, kind, out);
                out.push(Chunk::ToolCallStart(ToolCallStart {
                    tool_call_id: id.clone(),
                    tool_call_name: name,
                    parent_message_id,
                    base: without_raw(&base),
                }));
                (id, tag)
            }
        };
        if let Some((delta, base)) = content(delta, base, tag, out.is_empty()) {
            out.push(Chunk::ToolCallArgs(ToolCallArgs { tool_call_id: id, delta, base }));
        }
        Ok(())
    }

    fn thought<'a>(
        &mut self,
        chunk: ReasoningMessageChunk<'a>,
        out: &mut Vec<Chunk<'a>>,
    ) -> Result<(), String> {
        let ReasoningMessageChunk { message_id, delta, base } = chunk;
        let names = ["REASONING_MESSAGE_CHUNK", "messageId"];
        let word = Kind::Thought.word();
        let owner = self.lane(word, message_id.as_deref(), base.subagent_run_id.as_deref(), names)?;
        let (id, tag) = match self.find(word, &owner, message_id.as_deref()) {
            Some(lane) => (Cow::Owned(lane.id.clone()), lane.tag.clone()),
            None => {
                let Some(id) = message_id else {
                    return Err("First REASONING_MESSAGE_CHUNK must have a messageId".to_owned());
                };
                let tag = base.subagent_run_id.as_deref().map(str::to_owned);
                self.begin(owner, tag.clone(), &id, Kind::Thought, out);
                out.push(Chunk::ReasoningMessageStart(ReasoningMessageStart {
                    message_id: id.clone(),
                    role: Cow::Borrowed("reasoning"),
                    base: without_raw(&base),
                }));
                (id, tag)
            }
        };
        if let Some((delta, base)) = content(delta, base, tag, out.is_empty()) {
            out.push(Chunk::ReasoningMessageContent(MessageDelta { message_id: id, delta, base }));
        }
        Ok(())
    }
}

impl Lane {
    fn end(self) -> Chunk<'static> {
        let base = Base { subagent_run_id: self.tag.map(Cow::Owned), ..Base::default() };
        let id = Cow::Owned(self.id);
        match self.kind {
            Kind::Text { .. } => Chunk::TextMessageEnd(MessageRef { message_id: id, base }),
            Kind::Call { .. } => Chunk::ToolCallEnd(ToolCallEnd { tool_call_id: id, base }),
            Kind::Thought => Chunk::ReasoningMessageEnd(MessageRef { message_id: id, base }),
        }
    }
}

/// What a chunk appends, if it appends anything or has something to say.
fn content<'a>(
    delta: Option<Cow<'a, str>>,
    base: Base<'a>,
    tag: Text,
    alone: bool,
) -> Option<(Cow<'a, str>, Base<'a>)> {
    let says = delta.is_some() || base.raw_event.is_some() || (alone && base.metadata.is_some());
    let subagent_run_id = base.subagent_run_id.clone().or(tag.map(Cow::Owned));
    says.then(|| (delta.unwrap_or_default(), Base { subagent_run_id, ..base }))
}

fn without_raw<'a>(base: &Base<'a>) -> Base<'a> {
    Base { raw_event: None, ..base.clone() }
}

fn agree(kind: &str, id: &str, field: &str, said: Option<&str>, opened: Option<&str>) -> Result<(), String> {
    if said.is_none() || said == opened {
        return Ok(());
    }
    let said = said.unwrap_or_default();
    let opened = opened.map_or_else(|| "(absent)".to_owned(), |opened| format!("'{opened}'"));
    Err(format!(
        "Cannot continue {kind} '{id}': chunk {field} '{said}' does not match the open stream's {field} {opened}."
    ))
}
