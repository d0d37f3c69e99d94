//! The client's state when a chunk arrives: open blocks, calls, questions and the kind of its metadata.

use std::collections::HashMap;

use headwater_protocol::{BlockKind, Error, ErrorKind, Message, Part, PartId, ToolCallId, ToolState};
use serde_json::Value;

/// The client's state of its one message.
#[derive(Debug, Default)]
pub(in super::super) struct ClientState {
    /// The message's id; empty if it has none yet.
    id: String,
    texts: HashMap<Box<str>, PartId>,
    reasonings: HashMap<Box<str>, PartId>,
    /// The block of the last chunk: most deltas belong to the same one.
    last: Option<(BlockKind, PartId)>,
    calls: HashMap<Box<str>, KnownCall>,
    approvals: HashMap<Box<str>, ToolCallId>,
    metadata: MetadataKind,
    step: u32,
    /// Whether the calls of the conversation so far are known. If not, an output before the first step may
    /// belong to one of them.
    history: bool,
}

#[derive(Debug)]
struct KnownCall {
    id: ToolCallId,
    name: String,
    dynamic: bool,
    /// Its input is streamed, so deltas may follow.
    partial: bool,
    step: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MetadataKind {
    #[default]
    None,
    Scalar,
    Tree,
}

impl ClientState {
    pub(super) fn conversation(&mut self, messages: &[Message]) {
        self.history = true;
        let Some(last) = messages.last().filter(|last| last.role == headwater_protocol::Role::Assistant)
        else {
            return;
        };
        last.id.as_str().clone_into(&mut self.id);
        self.metadata = last.metadata.as_ref().map_or(MetadataKind::None, kind);
        for part in &last.parts {
            match part {
                Part::StepStart => self.step += 1,
                Part::Tool(tool) => {
                    let streams = tool.state == ToolState::InputStreaming;
                    self.start_call(tool.call.as_str(), &tool.name, tool.dynamic.unwrap_or(false), streams);
                    if let Some(approval) = tool.approval.as_ref().and_then(|approval| approval.id.as_ref()) {
                        self.approvals.insert(approval.as_str().into(), tool.call.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The client resets its state when the message gets another id.
    pub(in super::super) fn start_message(&mut self, id: &str) {
        if self.id == id {
            return;
        }
        let history = self.history || !self.id.is_empty();
        *self = Self { id: id.to_owned(), history, ..Self::default() };
    }

    pub(in super::super) fn open_block(&mut self, kind: BlockKind, id: &str) -> PartId {
        let part = PartId::from(id);
        self.blocks(kind).insert(id.into(), part.clone());
        self.last = Some((kind, part.clone()));
        part
    }

    pub(in super::super) fn block(&mut self, kind: BlockKind, id: &str) -> Result<PartId, Error> {
        if let Some((last_kind, last)) = &self.last
            && *last_kind == kind
            && last.as_str() == id
        {
            return Ok(last.clone());
        }
        let part = self.blocks(kind).get(id).cloned();
        let part = part.ok_or_else(|| unopened(kind, "delta", id))?;
        self.last = Some((kind, part.clone()));
        Ok(part)
    }

    pub(in super::super) fn close_block(&mut self, kind: BlockKind, id: &str) -> Result<PartId, Error> {
        self.last = None;
        self.blocks(kind).remove(id).ok_or_else(|| unopened(kind, "end", id))
    }

    fn blocks(&mut self, kind: BlockKind) -> &mut HashMap<Box<str>, PartId> {
        match kind {
            BlockKind::Text => &mut self.texts,
            BlockKind::Reasoning => &mut self.reasonings,
        }
    }

    pub(in super::super) fn start_call(
        &mut self,
        call: &str,
        name: &str,
        dynamic: bool,
        partial: bool,
    ) -> ToolCallId {
        let step = self.step;
        if let Some(known) = self.calls.get_mut(call) {
            if known.step < step {
                known.dynamic = dynamic;
            }
            known.step = step;
            known.partial |= partial;
            if known.name != name {
                name.clone_into(&mut known.name);
            }
            return known.id.clone();
        }
        let id = ToolCallId::from(call);
        let name = name.to_owned();
        self.calls.insert(call.into(), KnownCall { id: id.clone(), name, dynamic, partial, step });
        id
    }

    pub(in super::super) fn partial_call(&mut self, call: &str) -> Result<ToolCallId, Error> {
        let Some(known) = self.calls.get(call).filter(|known| known.partial) else {
            let message = format!("`tool-input-delta` for call {call:?}, which no `tool-input-start` began");
            return Err(order(message));
        };
        Ok(known.id.clone())
    }

    /// A call and the name of its tool.
    pub(in super::super) fn call(&self, call: &str) -> Result<(ToolCallId, &str), Error> {
        match self.calls.get(call) {
            Some(known) => Ok((known.id.clone(), &known.name)),
            None if !self.history && self.step == 0 => Ok((call.into(), "")),
            None => Err(order(format!("unknown tool call {call:?}: its input must come first"))),
        }
    }

    /// Whether the call in the current step is dynamic.
    pub(super) fn dynamic_in_step(&self, call: &str) -> Option<bool> {
        self.calls.get(call).filter(|known| known.step == self.step).map(|known| known.dynamic)
    }

    pub(in super::super) fn ask(&mut self, approval: &str, call: &ToolCallId) {
        self.approvals.retain(|_, asked| asked != call);
        self.approvals.insert(approval.into(), call.clone());
    }

    pub(in super::super) fn asked(&self, approval: &str) -> Result<Option<ToolCallId>, Error> {
        match self.approvals.get(approval) {
            Some(call) => Ok(Some(call.clone())),
            None if !self.history && self.step == 0 => Ok(None),
            None => Err(order(format!("unknown approval request {approval:?}"))),
        }
    }

    pub(in super::super) fn start_step(&mut self) {
        self.step += 1;
    }

    pub(in super::super) fn reset_step(&mut self) {
        let step = self.step;
        self.forget_blocks();
        self.calls.retain(|_, call| {
            call.partial = false;
            call.step != step
        });
        let calls = &self.calls;
        self.approvals.retain(|_, call| calls.contains_key(call.as_str()));
    }

    pub(in super::super) fn is_open(&mut self, kind: BlockKind, id: &str) -> bool {
        self.blocks(kind).contains_key(id)
    }

    /// An open block, if any.
    pub(in super::super) fn any_open_block(&self) -> Option<&str> {
        self.texts.keys().chain(self.reasonings.keys()).map(|id| &**id).next()
    }

    /// Clients of versions 5 and 6 forget blocks when a step ends.
    pub(in super::super) fn forget_blocks(&mut self) {
        self.texts.clear();
        self.reasonings.clear();
        self.last = None;
    }

    /// Metadata to merge, without the keys that every JavaScript object has, which the client skips.
    pub(in super::super) fn metadata(&mut self, mut metadata: Value) -> Result<Value, Error> {
        let has_keys = match &metadata {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => false,
        };
        match self.metadata {
            MetadataKind::None => self.metadata = kind(&metadata),
            MetadataKind::Scalar if has_keys => {
                return Err(order("metadata must be an object to be merged with more".to_owned()));
            }
            MetadataKind::Scalar | MetadataKind::Tree => {
                self.metadata = MetadataKind::Tree;
                if let Value::Object(map) = &mut metadata {
                    map.retain(|key, _| key != "constructor" && key != "prototype");
                }
            }
        }
        Ok(metadata)
    }
}

fn kind(metadata: &Value) -> MetadataKind {
    match metadata {
        Value::Null => MetadataKind::None,
        Value::Object(_) | Value::Array(_) => MetadataKind::Tree,
        _ => MetadataKind::Scalar,
    }
}

fn order(message: String) -> Error {
    Error::fatal(ErrorKind::Order, message)
}

fn unopened(kind: BlockKind, chunk: &str, id: &str) -> Error {
    order(format!("`{kind}-{chunk}` for block {id:?}, which no `{kind}-start` opened"))
}
