//! Lays out the records of a stream, with the pieces of each block joined where the block began.

use std::{collections::HashMap, rc::Rc};

use headwater_protocol::{
    ApprovalAnswered, AttemptId, AttemptRetracted, BlockKind, Event, MessageId, PartId, Place, Record,
    StructuredInvalidated, StructuredState, StructuredStatus, StructuredUpdate, ToolCallId, ToolDenied,
    ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
};
use serde_json::Value;

use super::{
    entry::{EntryBody, Problem, ReadingEntry},
    items::StreamReading,
};

/// The items of a stream, in the order in which they began. It grows with each record.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub(super) items: Vec<TimelineItem>,
    /// The first timestamp on the wire, in milliseconds since 1970.
    pub(super) epoch: Option<u64>,
    // The indexes of items that may still grow.
    blocks: HashMap<BlockKey, usize>,
    inputs: HashMap<ToolCallId, usize>,
    objects: HashMap<String, usize>,
    /// The names of the tools that calls are of.
    names: HashMap<ToolCallId, String>,
}

/// Block ids are unique per message and per kind of block.
type BlockKey = (BlockKind, Option<MessageId>, PartId);

/// One entry of the timeline.
#[derive(Debug)]
pub(super) struct TimelineItem {
    pub(super) place: Option<Place>,
    pub(super) record: Option<Rc<Record>>,
    pub(super) body: ItemBody,
    /// The name of the tool that the event is about, if an earlier event gave it.
    pub(super) tool: Option<String>,
    /// The attempt that produced it was retracted.
    pub(super) retracted: bool,
}

#[derive(Debug)]
pub(super) enum ItemBody {
    Text(BlockItem),
    Input(Box<InputItem>),
    /// A structured object built from streamed updates.
    Structured(Box<ObjectItem>),
    /// An event that came in one piece: that of the record.
    Event,
    Problem(Rc<Problem>),
}

/// A block of text or reasoning.
#[derive(Debug, Default)]
pub(super) struct BlockItem {
    pub(super) kind: BlockKind,
    pub(super) text: String,
    pub(super) deltas: u64,
    /// The block has its end event.
    pub(super) ended: bool,
    /// The time of the last delta.
    pub(super) last: u64,
}

/// The input of a tool call.
#[derive(Debug)]
pub(super) struct InputItem {
    pub(super) call: ToolCallId,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) deltas: u64,
    pub(super) available: bool,
    pub(super) input: Option<Value>,
    pub(super) error: Option<String>,
}

/// A structured object built from streamed updates.
#[derive(Debug, Default)]
pub(super) struct ObjectItem {
    pub(super) stream: String,
    pub(super) state: Option<StructuredState>,
    /// How many updates of each operation were applied.
    pub(super) operations: Vec<(String, u64)>,
    pub(super) invalidated: bool,
}

impl Timeline {
    pub(super) fn of(reading: &StreamReading) -> Self {
        let mut timeline = Self::default();
        for ReadingEntry { place, what } in &reading.entries {
            match what {
                EntryBody::Record(record) => timeline.record(*place, record),
                EntryBody::Problem(problem) => timeline.problem(*place, problem),
            }
        }
        timeline
    }

    pub(super) fn problem(&mut self, place: Option<Place>, problem: &Rc<Problem>) {
        let body = ItemBody::Problem(problem.clone());
        self.items.push(TimelineItem { place, record: None, body, tool: None, retracted: false });
    }

    pub(super) fn record(&mut self, place: Option<Place>, record: &Rc<Record>) {
        let key = |kind: BlockKind, id: &PartId| (kind, record.origin.message.clone(), id.clone());
        match &record.event {
            Event::BlockStarted(block) => self.open(place, record, key(block.kind, &block.id)),
            Event::BlockDelta(block) => {
                self.grow(place, record, key(block.kind, &block.id), &block.delta);
            }
            Event::BlockEnded(block) => self.close(&key(block.kind, &block.id)),

            Event::ToolInputStart(tool) => {
                self.inputs.remove(&tool.call);
                self.input(place, record, &tool.call, &tool.name);
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                let name = self.names.get(call).cloned().unwrap_or_default();
                let input = self.input(place, record, call, &name);
                if let Some(input) = input {
                    input.text.push_str(delta);
                    input.deltas += 1;
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input: value, .. }) => {
                if let Some(input) = self.input(place, record, &tool.call, &tool.name) {
                    input.available = true;
                    input.input.clone_from(value);
                }
                self.inputs.remove(&tool.call);
            }
            Event::ToolInputError(ToolInputError { tool, input: value, error, .. }) => {
                if let Some(input) = self.input(place, record, &tool.call, &tool.name) {
                    input.input.clone_from(value);
                    input.error = Some(error.clone());
                }
                self.inputs.remove(&tool.call);
            }

            Event::Structured(update) => self.update(place, record, update),
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                let known = self.objects.remove(stream.as_str());
                if let Some(ItemBody::Structured(object)) = known.and_then(|at| self.body(at)) {
                    object.invalidated = true;
                }
                self.push(place, record, ItemBody::Event);
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                self.retract(attempt);
                self.push(place, record, ItemBody::Event);
            }
            // The next event shows that a message has ended.
            Event::MessageFinished { .. } | Event::AttemptFinished { .. } => {}
            event => {
                let tool = called(event).and_then(|call| self.names.get(call)).cloned();
                let at = self.push(place, record, ItemBody::Event);
                if let Some(item) = self.items.get_mut(at) {
                    item.tool = tool;
                }
            }
        }
    }

    /// Drops the content of an item that was printed.
    pub(super) fn release(&mut self, at: usize) {
        if let Some(item) = self.items.get_mut(at) {
            item.record = None;
            item.body = ItemBody::Event;
        }
    }

    fn push(&mut self, place: Option<Place>, record: &Rc<Record>, body: ItemBody) -> usize {
        if record.time > 0 {
            self.epoch = Some(self.epoch.map_or(record.time, |epoch| epoch.min(record.time)));
        }
        let record = Some(record.clone());
        self.items.push(TimelineItem { place, record, body, tool: None, retracted: false });
        self.items.len() - 1
    }

    fn body(&mut self, at: usize) -> Option<&mut ItemBody> {
        self.items.get_mut(at).map(|item| &mut item.body)
    }

    fn open(&mut self, place: Option<Place>, record: &Rc<Record>, key: BlockKey) {
        let block = BlockItem { kind: key.0, last: record.time, ..BlockItem::default() };
        let at = self.push(place, record, ItemBody::Text(block));
        self.blocks.insert(key, at);
    }

    fn grow(&mut self, place: Option<Place>, record: &Rc<Record>, key: BlockKey, delta: &str) {
        if !self.blocks.contains_key(&key) {
            self.open(place, record, key.clone());
        }
        let at = self.blocks.get(&key).copied();
        if let Some(ItemBody::Text(block)) = at.and_then(|at| self.body(at)) {
            block.text.push_str(delta);
            block.deltas += 1;
            block.last = block.last.max(record.time);
        }
    }

    fn close(&mut self, key: &BlockKey) {
        let at = self.blocks.remove(key);
        if let Some(ItemBody::Text(block)) = at.and_then(|at| self.body(at)) {
            block.ended = true;
        }
    }

    /// The open input of a call, or a new one.
    fn input(
        &mut self,
        place: Option<Place>,
        record: &Rc<Record>,
        call: &ToolCallId,
        name: &str,
    ) -> Option<&mut InputItem> {
        self.names.insert(call.clone(), name.to_owned());
        let at = match self.inputs.get(call) {
            Some(at) => *at,
            None => {
                let input = InputItem {
                    call: call.clone(),
                    name: name.to_owned(),
                    text: String::new(),
                    deltas: 0,
                    available: false,
                    input: None,
                    error: None,
                };
                let at = self.push(place, record, ItemBody::Input(Box::new(input)));
                self.inputs.insert(call.clone(), at);
                at
            }
        };
        match self.body(at) {
            Some(ItemBody::Input(input)) => Some(input),
            _ => None,
        }
    }

    fn update(&mut self, place: Option<Place>, record: &Rc<Record>, update: &StructuredUpdate) {
        let at = match self.objects.get(update.stream.as_str()) {
            Some(at) => *at,
            None => {
                let object = ObjectItem { stream: update.stream.clone(), ..ObjectItem::default() };
                let at = self.push(place, record, ItemBody::Structured(Box::new(object)));
                self.objects.insert(update.stream.clone(), at);
                at
            }
        };
        if let Some(ItemBody::Structured(object)) = self.body(at) {
            object.apply(update);
        }
    }

    fn retract(&mut self, attempt: &AttemptId) {
        for item in &mut self.items {
            let Some(record) = &item.record else { continue };
            let said = record.origin.attempt.as_ref() == Some(attempt);
            // Later events do not change the state of an executed tool.
            let happened = matches!(
                record.event,
                Event::ToolOutput(_) | Event::ToolOutputError(_) | Event::ToolDenied(_)
            );
            item.retracted |= said && !happened;
        }
    }
}

impl TimelineItem {
    /// Whether nothing will be added to it.
    pub(super) fn is_complete(&self) -> bool {
        match &self.body {
            ItemBody::Text(block) => block.ended,
            ItemBody::Input(input) => input.available || input.error.is_some(),
            ItemBody::Structured(object) => {
                let state = object.state.as_ref().map(StructuredState::status);
                object.invalidated || state.is_some_and(|status| status != StructuredStatus::Streaming)
            }
            ItemBody::Event | ItemBody::Problem(_) => true,
        }
    }
}

/// The call that the event ends.
fn called(event: &Event) -> Option<&ToolCallId> {
    match event {
        Event::ToolOutput(ToolOutput { call, .. })
        | Event::ToolOutputError(ToolOutputError { call, .. })
        | Event::ToolDenied(ToolDenied { call, .. })
        | Event::ApprovalAnswered(ApprovalAnswered { call: Some(call), .. }) => Some(call),
        _ => None,
    }
}

impl ObjectItem {
    fn apply(&mut self, update: &StructuredUpdate) {
        // A refused update is listed as a problem and changes nothing.
        let accepted = match &mut self.state {
            Some(state) => state.apply(update).is_ok(),
            None => {
                self.state = StructuredState::begin(update).ok();
                self.state.is_some()
            }
        };
        if !accepted {
            return;
        }
        let kind = update.op.kind();
        let name = update.op.path().map_or_else(|| kind.to_owned(), |path| format!("{kind} {path}"));
        match self.operations.last_mut() {
            Some((last, times)) if *last == name => *times += 1,
            _ => self.operations.push((name, 1)),
        }
    }
}

impl InputItem {
    /// The state of the call, by how much of its input has arrived.
    pub(super) fn state(&self) -> &'static str {
        match (&self.error, self.available) {
            (Some(_), _) => "input-error",
            (None, true) => "input-available",
            (None, false) => "input-streaming",
        }
    }
}
