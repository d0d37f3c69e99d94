//! What a stream has named so far: its messages, calls and sources.
//!
//! The encoder keeps it to know what a client has not been told yet, the decoder to know what it was.

use std::collections::HashMap;

use crate::{
    id::{AttemptId, MessageId, PartId, ToolCallId},
    state::{Message, MessageStatus, Part, ToolState},
};

/// What a stream has named so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    messages: Vec<Known>,
    by_id: HashMap<MessageId, usize>,
    current: Option<usize>,
    calls: HashMap<ToolCallId, Call>,
    sources: HashMap<SourceKey, Option<AttemptId>>,
}

/// A message that was begun.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) id: MessageId,
    pub(super) open: bool,
    /// Something came for it after its end, and that was reported.
    pub(super) late: bool,
    /// The block that deltas without a part go to.
    pub(super) block: Option<Block>,
    /// How many such blocks it has had.
    pub(super) blocks: u32,
}

/// A block that was begun by a delta which names no part.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) reasoning: bool,
    pub(super) part: PartId,
}

/// A tool call that was begun.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) message: MessageId,
    pub(super) name: String,
    pub(super) attempt: Option<AttemptId>,
    /// Its input is complete.
    pub(super) called: bool,
    /// It has a result, which is never taken back.
    pub(super) settled: bool,
}

/// Web pages and documents are numbered apart, and within a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceKey {
    pub(super) message: MessageId,
    pub(super) document: bool,
    pub(super) id: String,
}

impl Ledger {
    pub(super) fn find(&self, id: &MessageId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Known> {
        self.messages.get_mut(at)
    }

    pub(super) fn current(&self) -> Option<(usize, &Known)> {
        let at = self.current?;
        self.messages.get(at).map(|known| (at, known))
    }

    pub(super) fn set_current(&mut self, at: Option<usize>) {
        self.current = at;
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// A new message begins, and is the current one.
    pub(super) fn start(&mut self, id: MessageId) -> usize {
        let at = self.messages.len();
        self.by_id.insert(id.clone(), at);
        self.messages.push(Known { id, open: true, late: false, block: None, blocks: 0 });
        self.current = Some(at);
        at
    }

    /// The messages that are still open, oldest first.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut Known> {
        self.messages.iter_mut().filter(|message| message.open)
    }

    /// The conversation is replaced by these messages, and so is all that they hold.
    pub(super) fn replace(&mut self, messages: &[Message]) {
        let current = self.current().map(|(_, known)| known.id.clone());
        *self = Self::default();
        for message in messages {
            let at = self.start(message.id.clone());
            if let Some(known) = self.get_mut(at) {
                known.open = message.status == MessageStatus::Streaming;
            }
            for part in &message.parts {
                self.add_part(message, part);
            }
        }
        self.current = current.and_then(|id| self.find(&id));
    }

    fn add_part(&mut self, message: &Message, part: &Part) {
        match part {
            Part::Tool(tool) => {
                let call = Call {
                    message: message.id.clone(),
                    name: tool.name.clone(),
                    attempt: tool.attempt.clone(),
                    called: tool.state != ToolState::InputStreaming,
                    settled: tool.state.is_settled(),
                };
                self.add_call(tool.call.clone(), call);
            }
            Part::SourceUrl(source) | Part::SourceDocument(source) => {
                let document = matches!(part, Part::SourceDocument(_));
                let key = SourceKey { message: message.id.clone(), document, id: source.source.clone() };
                self.add_source(key, source.attempt.clone());
            }
            _ => {}
        }
    }

    pub(super) fn call(&self, call: &ToolCallId) -> Option<&Call> {
        self.calls.get(call)
    }

    pub(super) fn call_mut(&mut self, call: &ToolCallId) -> Option<&mut Call> {
        self.calls.get_mut(call)
    }

    pub(super) fn add_call(&mut self, id: ToolCallId, call: Call) {
        self.calls.insert(id, call);
    }

    /// Whether the source is new; it is known from now on.
    pub(super) fn add_source(&mut self, key: SourceKey, attempt: Option<AttemptId>) -> bool {
        self.sources.insert(key, attempt).is_none()
    }

    /// What the attempt named may be named again.
    pub(super) fn retract(&mut self, attempt: &AttemptId) {
        self.calls.retain(|_, call| call.settled || call.attempt.as_ref() != Some(attempt));
        self.sources.retain(|_, by| by.as_ref() != Some(attempt));
    }
}
