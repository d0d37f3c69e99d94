//! Lays out the records of a stream, with the pieces of each block joined where the block began.

use std::collections::HashMap;

use headwater_protocol::{
    ApprovalAnswered, AttemptId, AttemptRetracted, BlockKind, Event, MessageId, PartId, Place, Record,
    StructuredInvalidated, StructuredState, StructuredUpdate, ToolCallId, ToolDenied, ToolInputAvailable,
    ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError,
};
use serde_json::Value;

use super::{
    entry::{EntryBody, Problem, ReadingEntry},
    items::StreamReading,
};

/// The items of a stream, in the order in which they began.
#[derive(Debug)]
pub(super) struct Timeline<'a> {
    pub(super) items: Vec<TimelineItem<'a>>,
    /// The first timestamp on the wire, in milliseconds since 1970.
    pub(super) epoch: Option<u64>,
}

/// One entry of the timeline.
#[derive(Debug)]
pub(super) struct TimelineItem<'a> {
    pub(super) place: Option<Place>,
    pub(super) record: Option<&'a Record>,
    pub(super) body: ItemBody<'a>,
    /// The name of the tool that the event is about, if an earlier event gave it.
    pub(super) tool: Option<&'a str>,
    /// The attempt that produced it was retracted.
    pub(super) retracted: bool,
}

#[derive(Debug)]
pub(super) enum ItemBody<'a> {
    Text(BlockItem),
    Input(InputItem<'a>),
    /// A structured object built from streamed updates.
    Structured(Box<ObjectItem>),
    /// An event that came in one piece.
    Event(&'a Event),
    Problem(&'a Problem),
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
pub(super) struct InputItem<'a> {
    pub(super) call: &'a ToolCallId,
    pub(super) name: &'a str,
    pub(super) text: String,
    pub(super) deltas: u64,
    pub(super) available: bool,
    pub(super) input: Option<&'a Value>,
    pub(super) error: Option<&'a str>,
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

impl<'a> Timeline<'a> {
    pub(super) fn of(reading: &'a StreamReading) -> Self {
        let mut layout = Layout::default();
        for ReadingEntry { place, what } in &reading.entries {
            match what {
                EntryBody::Record(record) => layout.record(*place, record),
                EntryBody::Problem(problem) => layout.items.push(TimelineItem {
                    place: *place,
                    record: None,
                    body: ItemBody::Problem(problem),
                    tool: None,
                    retracted: false,
                }),
            }
        }
        let items = layout.items;
        let times = items.iter().filter_map(|item| item.record).map(|record| record.time);
        let epoch = times.filter(|time| *time > 0).min();
        Self { items, epoch }
    }
}

/// Block ids are unique per message and per kind of block.
type BlockKey<'a> = (BlockKind, Option<&'a MessageId>, &'a PartId);

/// The items so far and the indexes of those that may still grow.
#[derive(Debug, Default)]
struct Layout<'a> {
    items: Vec<TimelineItem<'a>>,
    blocks: HashMap<BlockKey<'a>, usize>,
    inputs: HashMap<&'a ToolCallId, usize>,
    objects: HashMap<&'a str, usize>,
    names: HashMap<&'a ToolCallId, &'a str>,
}

impl<'a> Layout<'a> {
    fn record(&mut self, place: Option<Place>, record: &'a Record) {
        let message = record.origin.message.as_ref();
        match &record.event {
            Event::BlockStarted(block) => self.open(place, record, (block.kind, message, &block.id)),
            Event::BlockDelta(block) => {
                self.grow(place, record, (block.kind, message, &block.id), &block.delta);
            }
            Event::BlockEnded(block) => self.close((block.kind, message, &block.id)),

            Event::ToolInputStart(tool) => {
                self.inputs.remove(&tool.call);
                self.input(place, record, &tool.call, &tool.name);
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                let name = self.names.get(call).copied().unwrap_or_default();
                let input = self.input(place, record, call, name);
                if let Some(input) = input {
                    input.text.push_str(delta);
                    input.deltas += 1;
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input: value, .. }) => {
                if let Some(input) = self.input(place, record, &tool.call, &tool.name) {
                    input.available = true;
                    input.input = value.as_ref();
                }
                self.inputs.remove(&tool.call);
            }
            Event::ToolInputError(ToolInputError { tool, input: value, error, .. }) => {
                if let Some(input) = self.input(place, record, &tool.call, &tool.name) {
                    input.input = value.as_ref();
                    input.error = Some(error);
                }
                self.inputs.remove(&tool.call);
            }

            Event::Structured(update) => self.update(place, record, update),
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                let known = self.objects.remove(stream.as_str());
                if let Some(ItemBody::Structured(object)) = known.and_then(|at| self.body(at)) {
                    object.invalidated = true;
                }
                self.push(place, record, ItemBody::Event(&record.event));
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                self.retract(attempt);
                self.push(place, record, ItemBody::Event(&record.event));
            }
            // The next event shows that a message has ended.
            Event::MessageFinished { .. } | Event::AttemptFinished { .. } => {}
            event => {
                let tool = called(event).and_then(|call| self.names.get(call)).copied();
                let at = self.push(place, record, ItemBody::Event(event));
                if let Some(item) = self.items.get_mut(at) {
                    item.tool = tool;
                }
            }
        }
    }

    fn push(&mut self, place: Option<Place>, record: &'a Record, body: ItemBody<'a>) -> usize {
        self.items.push(TimelineItem { place, record: Some(record), body, tool: None, retracted: false });
        self.items.len() - 1
    }

    fn body(&mut self, at: usize) -> Option<&mut ItemBody<'a>> {
        self.items.get_mut(at).map(|item| &mut item.body)
    }

    fn open(&mut self, place: Option<Place>, record: &'a Record, key: BlockKey<'a>) {
        let block = BlockItem { kind: key.0, last: record.time, ..BlockItem::default() };
        let at = self.push(place, record, ItemBody::Text(block));
        self.blocks.insert(key, at);
    }

    fn grow(&mut self, place: Option<Place>, record: &'a Record, key: BlockKey<'a>, delta: &str) {
        if !self.blocks.contains_key(&key) {
            self.open(place, record, key);
        }
        let at = self.blocks.get(&key).copied();
        if let Some(ItemBody::Text(block)) = at.and_then(|at| self.body(at)) {
            block.text.push_str(delta);
            block.deltas += 1;
            block.last = block.last.max(record.time);
        }
    }

    fn close(&mut self, key: BlockKey<'a>) {
        let at = self.blocks.remove(&key);
        if let Some(ItemBody::Text(block)) = at.and_then(|at| self.body(at)) {
            block.ended = true;
        }
    }

    /// The open input of a call, or a new one.
    fn input(
        &mut self,
        place: Option<Place>,
        record: &'a Record,
        call: &'a ToolCallId,
        name: &'a str,
    ) -> Option<&mut InputItem<'a>> {
        self.names.insert(call, name);
        let at = match self.inputs.get(call) {
            Some(at) => *at,
            None => {
                let input = InputItem {
                    call,
                    name,
                    text: String::new(),
                    deltas: 0,
                    available: false,
                    input: None,
                    error: None,
                };
                let at = self.push(place, record, ItemBody::Input(input));
                self.inputs.insert(call, at);
                at
            }
        };
        match self.body(at) {
            Some(ItemBody::Input(input)) => Some(input),
            _ => None,
        }
    }

    fn update(&mut self, place: Option<Place>, record: &'a Record, update: &'a StructuredUpdate) {
        let at = match self.objects.get(update.stream.as_str()) {
            Some(at) => *at,
            None => {
                let object = ObjectItem { stream: update.stream.clone(), ..ObjectItem::default() };
                let at = self.push(place, record, ItemBody::Structured(Box::new(object)));
                self.objects.insert(&update.stream, at);
                at
            }
        };
        if let Some(ItemBody::Structured(object)) = self.body(at) {
            object.apply(update);
        }
    }

    fn retract(&mut self, attempt: &AttemptId) {
        for item in &mut self.items {
            let origin = item.record.map(|record| &record.origin);
            let said = origin.is_some_and(|origin| origin.attempt.as_ref() == Some(attempt));
            // Later events do not change the state of an executed tool.
            let happened = matches!(
                item.body,
                ItemBody::Event(Event::ToolOutput(_) | Event::ToolOutputError(_) | Event::ToolDenied(_))
            );
            item.retracted |= said && !happened;
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

impl InputItem<'_> {
    /// The state of the call, by how much of its input has arrived.
    pub(super) fn state(&self) -> &'static str {
        match (self.error, self.available) {
            (Some(_), _) => "input-error",
            (None, true) => "input-available",
            (None, false) => "input-streaming",
        }
    }
}
