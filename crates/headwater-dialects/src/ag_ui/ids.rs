//! Assigns AG-UI message ids to the parts of our messages.
//!
//! An AG-UI message holds one text and the calls that follow it; ours hold any number of both. The first text
//! of a message, and the calls before or after it, go into a message with our id. A text after a call, and a
//! call after a result, begin the next one: `<id>-1`, `<id>-2` and so on. Reasoning and results are messages
//! of their own and get ids the same way. The ids depend only on the order of the parts.
//!
//! TanStack's page shows an object in a message of its own, but keeps one message of ours as one when it is
//! loaded again. Parts after an object begin the next message, or they would be shown before the object.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use headwater_protocol::{AttemptId, BlockKind, Message, MessageId, Part, Role, ToolCallId, ToolPart};

/// The metadata key under which a call's output keeps the id of the client's own message, so that it is not
/// duplicated.
pub(super) const KEY: &str = "headwater";

/// The ids assigned so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    /// Parts after an object begin the next message.
    splits_at_objects: bool,
    used: HashSet<Arc<str>>,
    messages: HashMap<MessageId, MessageIds>,
    calls: HashMap<ToolCallId, CallIds>,
}

/// The AG-UI messages of one of our messages.
#[derive(Debug, Clone, Default)]
struct MessageIds {
    /// The assistant message that is being filled.
    wire: Arc<str>,
    has_text: bool,
    has_calls: bool,
    has_results: bool,
    /// The last part was an object.
    after_object: bool,
    thoughts_alone: bool,
    next: u32,
    /// The text and reasoning blocks so far, in order.
    slots: Vec<BlockSlot>,
}

#[derive(Debug, Clone)]
struct BlockSlot {
    wire: Arc<str>,
    kind: BlockKind,
    attempt: Option<AttemptId>,
}

/// The AG-UI messages of a call.
#[derive(Debug, Clone)]
pub(super) struct CallIds {
    pub(super) message: MessageId,
    /// The assistant message that makes the call.
    pub(super) parent: Arc<str>,
    /// The message with the result.
    pub(super) result: Option<Arc<str>>,
}

impl Ids {
    pub(super) fn new(splits_at_objects: bool) -> Self {
        Self { splits_at_objects, ..Self::default() }
    }

    /// Records a new object.
    pub(super) fn object(&mut self, message: &MessageId, role: Role) {
        if self.splits_at_objects {
            self.turns(message, role).after_object = true;
        }
    }

    /// The message for a new text or reasoning block.
    pub(super) fn text(
        &mut self,
        message: &MessageId,
        role: Role,
        kind: BlockKind,
        attempt: Option<&AttemptId>,
    ) -> Arc<str> {
        let turns = self.turns(message, role);
        let own = match (turns.thoughts_alone, kind) {
            (true, BlockKind::Reasoning) => turns.slots.is_empty(),
            (false, BlockKind::Text) => !turns.has_text && !turns.has_calls && !turns.after_object,
            _ => false,
        };
        let wire = if own { turns.wire.clone() } else { self.fresh(message) };
        let turns = self.turns(message, role);
        if kind == BlockKind::Text {
            (turns.has_text, turns.has_calls, turns.has_results) = (true, false, false);
            turns.after_object = false;
            turns.wire = wire.clone();
        }
        turns.slots.push(BlockSlot { wire: wire.clone(), kind, attempt: attempt.cloned() });
        wire
    }

    /// The assistant message that makes a call.
    pub(super) fn call(&mut self, message: &MessageId, role: Role, call: &ToolCallId) -> Arc<str> {
        if let Some(known) = self.calls.get(call) {
            return known.parent.clone();
        }
        let turns = self.turns(message, role);
        if turns.has_results || turns.after_object {
            let wire = self.fresh(message);
            let turns = self.turns(message, role);
            (turns.has_text, turns.has_calls, turns.has_results) = (false, false, false);
            turns.after_object = false;
            turns.wire = wire;
        }
        let turns = self.turns(message, role);
        turns.has_calls = true;
        let parent = turns.wire.clone();
        let ids = CallIds { message: message.clone(), parent: parent.clone(), result: None };
        self.calls.insert(call.clone(), ids);
        // No later message may have the call's id: the client would confuse them.
        self.used.insert(call.as_str().into());
        parent
    }

    /// The message for a call's result; `None` if it already has one.
    pub(super) fn result(&mut self, message: &MessageId, role: Role, call: &ToolCallId) -> Option<Arc<str>> {
        let Some(known) = self.calls.get(call) else {
            // A result without its call has its own message, which may have been started for it.
            let own = role == Role::Tool && !self.messages.contains_key(message);
            let wire = if own { self.turns(message, role).wire.clone() } else { self.fresh(message) };
            let ids = CallIds { message: message.clone(), parent: wire.clone(), result: Some(wire.clone()) };
            self.calls.insert(call.clone(), ids);
            return Some(wire);
        };
        if known.result.is_some() {
            return None;
        }
        let owner = known.message.clone();
        let wire = self.fresh(&owner);
        self.settle(&owner, call, wire.clone());
        Some(wire)
    }

    /// Records that this message holds the call's result.
    fn settle(&mut self, owner: &MessageId, call: &ToolCallId, wire: Arc<str>) {
        let Some(known) = self.calls.get_mut(call) else { return };
        known.result = Some(wire);
        if let Some(turns) = self.messages.get_mut(owner).filter(|turns| turns.wire == known.parent) {
            turns.has_results = true;
        }
    }

    /// The ids of a call.
    pub(super) fn of_call(&self, call: &ToolCallId) -> Option<&CallIds> {
        self.calls.get(call)
    }

    /// The messages of the text and reasoning blocks of a message, in order.
    pub(super) fn of_texts(&self, message: &MessageId) -> impl Iterator<Item = &Arc<str>> {
        self.messages.get(message).into_iter().flat_map(|turns| turns.slots.iter().map(|slot| &slot.wire))
    }

    /// Assigns ids for a message that the client holds or is about to get.
    pub(super) fn adopt(&mut self, message: &Message) {
        self.used.insert(message.id.as_str().into());
        if matches!(message.role, Role::User | Role::System | Role::Developer | Role::Activity) {
            return;
        }
        let is_new = !self.messages.contains_key(&message.id);
        let known = self.messages.get(&message.id).map_or(0, |turns| turns.slots.len());
        let mut texts = 0;
        // The calls of one step were all made before the first of them had a result.
        let mut together: Vec<&ToolPart> = Vec::new();
        for part in &message.parts {
            if !matches!(part, Part::Tool(_)) {
                self.adopt_calls(message, &std::mem::take(&mut together));
            }
            if let Some((kind, text)) = part.as_block() {
                texts += 1;
                if texts > known {
                    self.text(&message.id, message.role, kind, text.attempt.as_ref());
                }
            } else if let Part::Tool(tool) = part {
                together.push(tool);
            } else if is_new && matches!(part, Part::Structured(_)) {
                self.object(&message.id, message.role);
            }
        }
        self.adopt_calls(message, &together);
    }

    fn adopt_calls(&mut self, message: &Message, tools: &[&ToolPart]) {
        if message.role != Role::Tool {
            for tool in tools {
                self.call(&message.id, message.role, &tool.call);
            }
        }
        for tool in tools.iter().filter(|tool| tool.state.is_settled()) {
            self.adopt_result(message, tool);
        }
    }

    fn adopt_result(&mut self, message: &Message, tool: &ToolPart) {
        let from_client =
            tool.output_metadata.as_ref().and_then(|metadata| metadata.get(KEY)?.get("message")?.as_str());
        match from_client {
            Some(wire) => {
                let wire: Arc<str> = wire.into();
                self.used.insert(wire.clone());
                self.settle(&message.id, &tool.call, wire);
            }
            None => {
                self.result(&message.id, message.role, &tool.call);
            }
        }
    }

    /// Removes the ids of a retracted attempt, after its messages were reduced; `left` are the remaining
    /// calls. Returns a removed reasoning message.
    pub(super) fn retract(&mut self, attempt: &AttemptId, left: &HashSet<ToolCallId>) -> Option<Arc<str>> {
        let mut gone = None;
        self.calls.retain(|call, _| left.contains(call));
        let calls = &self.calls;
        self.messages.retain(|message, turns| {
            turns.slots.retain(|slot| {
                let dies = slot.attempt.as_ref() == Some(attempt);
                if dies && slot.kind == BlockKind::Reasoning {
                    gone = Some(slot.wire.clone());
                }
                !dies
            });
            // The client holds nothing of it, so it may start again under its own id.
            !turns.slots.is_empty() || calls.values().any(|ids| ids.message == *message)
        });
        gone
    }

    fn turns(&mut self, message: &MessageId, role: Role) -> &mut MessageIds {
        let Self { used, messages, .. } = self;
        messages.entry(message.clone()).or_insert_with(|| {
            let wire: Arc<str> = message.as_str().into();
            used.insert(wire.clone());
            MessageIds { wire, thoughts_alone: role == Role::Reasoning, ..MessageIds::default() }
        })
    }

    fn fresh(&mut self, message: &MessageId) -> Arc<str> {
        let mut next = self.messages.get(message).map_or(0, |turns| turns.next);
        let wire = loop {
            next += 1;
            let wire: Arc<str> = format!("{message}-{next}").into();
            if self.used.insert(wire.clone()) {
                break wire;
            }
        };
        if let Some(turns) = self.messages.get_mut(message) {
            turns.next = next;
        }
        wire
    }
}
