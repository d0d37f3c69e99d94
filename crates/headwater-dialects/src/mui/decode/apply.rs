//! Applies chunks in the order in which the real client applies them.

use std::{borrow::Cow, collections::HashMap};

use headwater_protocol::{
    self, ApprovalRequested, BlockEnded, BlockKind, BlockStarted, DataEvent, Error, ErrorInfo, Event,
    FileEvent, FinishReason, Message, MessageId, MessageStarted, MessageStatus, Origin, Part, PartId,
    PartState, Record, Role, RunFinished, ToolCall, ToolCallId, ToolDenied, ToolOutput, UnknownEvent,
};
use serde_json::Value;

use super::{
    super::{chunk::*, lenient, message::read_parts},
    BlockState, MuiDecoder, id,
    wire::{self, WireDelta},
};
use crate::{decode::DecodeOutput, json::Tag};

/// The message id of a stream that names none.
const NAMELESS: &str = "message-1";

impl MuiDecoder {
    pub(super) fn apply_delta(&mut self, delta: WireDelta<'_>, out: &mut DecodeOutput) {
        match delta {
            WireDelta::Block { kind, id, delta } => self.grow(kind, id, delta, out),
            WireDelta::ToolInput { call, delta } => {
                self.begin(out);
                let call = self.call(call);
                self.push(out, headwater_protocol::ToolInputDelta::new(call, delta.into_owned()));
            }
        }
    }

    /// Applies one chunk.
    pub(super) fn apply(&mut self, json: &str, out: &mut DecodeOutput) -> Result<(), Error> {
        match self.read(json, out) {
            Ok(done) => done,
            // Possibly duplicate fields: JavaScript takes the last.
            Err(_) => {
                let text = wire::single_fields(json)?;
                self.read(&text, out).unwrap_or_else(|_| Err(wire::no_chunk()))
            }
        }
    }

    /// Parses a chunk by its type. The outer error is a parse error.
    fn read(&mut self, json: &str, out: &mut DecodeOutput) -> Result<Result<(), Error>, serde_json::Error> {
        let Tag { kind } = lenient::object(json)?;
        match &*kind {
            // The keep-alive chunk.
            "ping" => {}
            MESSAGE_UPDATED => self.updated(json, out)?,
            kind if kind.starts_with("data-") => self.data(lenient::object(json)?, out),
            kind => match Chunk::read_as(kind, json)? {
                Some(chunk) => self.chunk(chunk, out),
                None => self.unknown(kind, json, out)?,
            },
        }
        Ok(Ok(()))
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut DecodeOutput) {
        match chunk {
            Chunk::Start(start) => self.start(start, out),
            Chunk::Finish(Finish { message_id, finish_reason }) => {
                self.begin_as(message_id, out);
                let reason = finish_reason.as_deref().map(FinishReason::parse);
                self.push(out, RunFinished { reason, ..Default::default() });
                self.close();
            }
            Chunk::Abort(Abort { message_id }) => {
                self.begin_as(message_id, out);
                self.push(out, Event::RunCancelled { reason: None });
                self.close();
            }
            Chunk::TextStart(block) => self.open(BlockKind::Text, &block, out),
            Chunk::ReasoningStart(block) => self.open(BlockKind::Reasoning, &block, out),
            Chunk::TextDelta(BlockDelta { id, delta }) => self.grow(BlockKind::Text, id, delta, out),
            Chunk::ReasoningDelta(BlockDelta { id, delta }) => {
                self.grow(BlockKind::Reasoning, id, delta, out);
            }
            Chunk::TextEnd(block) => self.end_block(BlockKind::Text, &block, out),
            Chunk::ReasoningEnd(block) => self.end_block(BlockKind::Reasoning, &block, out),
            Chunk::ToolInputDelta(ToolInputDelta { tool_call_id: call, input_text_delta: delta }) => {
                self.apply_delta(WireDelta::ToolInput { call, delta }, out);
            }
            Chunk::Error(ErrorText { error_text }) => self.push(out, ErrorInfo::new(error_text)),
            chunk => {
                if let Some(event) = event(chunk) {
                    self.emit(out, event);
                }
            }
        }
    }

    fn start(&mut self, start: Start<'_>, out: &mut DecodeOutput) {
        let Start { message_id, author } = start;
        let message = match message_id {
            Some(given) => id(given),
            None => self.named(None),
        };
        if self.message.as_ref() != Some(&message) {
            self.forget_blocks();
        }
        self.message = Some(message.clone());
        self.begun = true;
        let author = author.map(Cow::into_owned).filter(|author| !author.is_null());
        self.push(out, MessageStarted { message, author, role: Role::Assistant, ..Default::default() });
    }

    /// Replaces the parts of the message. The parts of open blocks are in the order of their start.
    fn updated(&mut self, json: &str, out: &mut DecodeOutput) -> Result<(), serde_json::Error> {
        let chunk: Value = serde_json::from_str(json)?;
        let parts = chunk.get("message").and_then(|message| message.get("parts"));
        let Ok(mut parts) = read_parts(parts, "message") else {
            return self.unknown("message-updated", json, out);
        };
        self.begin(out);
        for kind in [BlockKind::Text, BlockKind::Reasoning] {
            let mut open: Vec<_> = self.blocks(kind).values().cloned().collect();
            open.sort_unstable_by_key(|block| block.number);
            let streaming = parts.iter_mut().filter_map(|part| match part {
                Part::Text(text) if kind == BlockKind::Text => Some(text),
                Part::Reasoning(text) if kind == BlockKind::Reasoning => Some(text),
                _ => None,
            });
            let streaming = streaming.filter(|text| text.state == PartState::Streaming);
            for (text, block) in streaming.zip(open) {
                text.id = block.id;
            }
        }
        let mut message = Message::new(self.named(None), Role::Assistant, MessageStatus::Streaming);
        message.parts = parts;
        self.push(out, Event::MessagesSnapshot { messages: vec![message] });
        Ok(())
    }

    fn named(&self, given: Option<Cow<'_, str>>) -> MessageId {
        let known = self.message.clone().or_else(|| given.map(id));
        known.unwrap_or_else(|| MessageId::from(NAMELESS))
    }

    /// Starts the message if no `start` was received.
    pub(super) fn begin(&mut self, out: &mut DecodeOutput) {
        self.begin_as(None, out);
    }

    fn begin_as(&mut self, given: Option<Cow<'_, str>>, out: &mut DecodeOutput) {
        if !self.begun {
            let message = self.named(given);
            self.message = Some(message.clone());
            self.begun = true;
            self.push(out, MessageStarted { message, role: Role::Assistant, ..Default::default() });
        }
    }

    /// Handles the terminal chunk: nothing more is read.
    fn close(&mut self) {
        self.ended = true;
        self.begun = false;
        self.forget_blocks();
    }

    /// In another message the same ids are other blocks.
    fn forget_blocks(&mut self) {
        self.open.iter_mut().for_each(HashMap::clear);
        self.last = None;
    }

    /// Emits an event of the message, which is started first if necessary.
    fn emit(&mut self, out: &mut DecodeOutput, event: impl Into<Event>) {
        self.begin(out);
        self.push(out, event);
    }

    pub(super) fn push(&mut self, out: &mut DecodeOutput, event: impl Into<Event>) {
        let origin = Origin { message: self.message.clone(), ..Origin::default() };
        out.records.push(Record::new(self.records, event).from(origin));
        self.records += 1;
    }

    fn blocks(&mut self, kind: BlockKind) -> &mut HashMap<Box<str>, BlockState> {
        let [text, thoughts] = &mut self.open;
        match kind {
            BlockKind::Text => text,
            BlockKind::Reasoning => thoughts,
        }
    }

    fn open(&mut self, kind: BlockKind, start: &BlockRef<'_>, out: &mut DecodeOutput) {
        self.begin(out);
        if self.blocks(kind).contains_key(&*start.id) {
            return;
        }
        let id = self.open_block(kind, &start.id);
        self.push(out, BlockStarted::new(kind, id));
    }

    fn open_block(&mut self, kind: BlockKind, id: &str) -> PartId {
        let block = BlockState { kind, id: PartId::from(id), number: self.records };
        self.last = Some(block.clone());
        let id = block.id.clone();
        self.blocks(kind).insert(id.as_str().into(), block);
        id
    }

    fn grow(&mut self, kind: BlockKind, id: Cow<'_, str>, delta: Cow<'_, str>, out: &mut DecodeOutput) {
        self.begin(out);
        if !self.last.as_ref().is_some_and(|last| last.kind == kind && last.id == *id) {
            match self.blocks(kind).get(&*id) {
                Some(block) => self.last = Some(block.clone()),
                None => drop(self.open_block(kind, &id)),
            }
        }
        let Some(BlockState { id, .. }) = self.last.clone() else {
            return;
        };
        self.push(out, headwater_protocol::BlockDelta::new(kind, id, delta));
    }

    fn end_block(&mut self, kind: BlockKind, end: &BlockRef<'_>, out: &mut DecodeOutput) {
        self.begin(out);
        let Some(BlockState { id, .. }) = self.blocks(kind).remove(&*end.id) else {
            return;
        };
        self.last = None;
        self.push(out, BlockEnded::new(kind, id));
    }

    fn data(&mut self, data: Data<'_>, out: &mut DecodeOutput) {
        let Data { kind, id, data, transient } = data;
        let event = Event::Data(DataEvent {
            name: kind.strip_prefix("data-").unwrap_or(&kind).to_owned(),
            id: id.map(Cow::into_owned),
            data: data.into_owned(),
            transient: transient == Some(true),
            ..Default::default()
        });
        self.emit(out, event);
    }

    fn call(&mut self, call: Cow<'_, str>) -> ToolCallId {
        match &self.call {
            Some(last) if *last == *call => last.clone(),
            _ => self.call.insert(id(call)).clone(),
        }
    }

    fn unknown(&mut self, kind: &str, json: &str, out: &mut DecodeOutput) -> Result<(), serde_json::Error> {
        let event = Event::Unknown(UnknownEvent::new(kind.to_owned(), serde_json::from_str(json)?));
        self.push(out, event);
        Ok(())
    }
}

/// The event of a chunk that only adds to its message.
fn event(chunk: Chunk<'_>) -> Option<Event> {
    Some(match chunk {
        Chunk::StartStep(_) => Event::StepStarted { name: None },
        Chunk::FinishStep(_) => Event::StepFinished { name: None },
        Chunk::MessageMetadata(MessageMetadata { metadata }) => {
            Event::MessageMetadata { metadata: Value::Object(lenient::spread(metadata.into_owned())) }
        }
        Chunk::SourceUrl(SourceUrl { source_id, url, title }) => {
            Event::SourceUrl(headwater_protocol::SourceUrl {
                source: source_id.into_owned(),
                url: url.into_owned(),
                title: title.map(Cow::into_owned),
                ..Default::default()
            })
        }
        Chunk::SourceDocument(SourceDocument { source_id, title, text }) => {
            Event::SourceDocument(headwater_protocol::SourceDocument {
                source: source_id.into_owned(),
                title: title.map(Cow::into_owned),
                text: text.map(Cow::into_owned),
                ..Default::default()
            })
        }
        Chunk::File(File { media_type, url, filename, id }) => Event::File(FileEvent {
            url: url.into_owned(),
            media_type: media_type.into_owned(),
            filename: filename.map(Cow::into_owned),
            id: id.map(Cow::into_owned),
            ..Default::default()
        }),
        Chunk::ToolInputStart(ToolInputStart { tool_call_id, tool_name, dynamic }) => {
            Event::ToolInputStart(tool(tool_call_id, tool_name, dynamic))
        }
        Chunk::ToolInputAvailable(ToolInputAvailable { tool_call_id, tool_name, input, dynamic }) => {
            let tool = tool(tool_call_id, tool_name, dynamic);
            headwater_protocol::ToolInputAvailable::new(tool, input.map(Cow::into_owned)).into()
        }
        Chunk::ToolInputError(ToolError { tool_call_id, error_text }) => {
            let tool = tool(tool_call_id, Cow::Borrowed(""), None);
            let error = error_text.into_owned();
            Event::ToolInputError(headwater_protocol::ToolInputError { tool, error, ..Default::default() })
        }
        Chunk::ToolApprovalRequest(request) => {
            let ToolApprovalRequest { tool_call_id, tool_name, input, approval_id, dynamic } = request;
            // Without an approval id the answer names the call.
            let approval = id(approval_id.unwrap_or_else(|| tool_call_id.clone()));
            let tool = tool(tool_call_id, tool_name, dynamic);
            let input = input.map(Cow::into_owned);
            Event::ApprovalRequested(ApprovalRequested { approval, tool, input, ..Default::default() })
        }
        Chunk::ToolOutputAvailable(ToolOutputAvailable { tool_call_id, output, preliminary }) => {
            Event::ToolOutput(ToolOutput {
                call: id(tool_call_id),
                output: output.into_owned(),
                preliminary: preliminary == Some(true),
                ..Default::default()
            })
        }
        Chunk::ToolOutputError(ToolError { tool_call_id, error_text }) => {
            let (call, error) = (id(tool_call_id), error_text.into_owned());
            Event::ToolOutputError(headwater_protocol::ToolOutputError { call, error, ..Default::default() })
        }
        Chunk::ToolOutputDenied(ToolOutputDenied { tool_call_id, reason }) => {
            let (call, reason) = (id(tool_call_id), reason.map(Cow::into_owned));
            Event::ToolDenied(ToolDenied { call, reason, ..Default::default() })
        }
        _ => return None,
    })
}

fn tool(call: Cow<'_, str>, name: Cow<'_, str>, dynamic: Option<bool>) -> ToolCall {
    ToolCall { dynamic, ..ToolCall::new(id::<ToolCallId>(call), name) }
}
