//! What each chunk means, in the order in which the real client applies them.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use super::{
    super::{chunk::*, is_known, lenient, message::read_parts},
    Block, Decoder, id,
    wire::{self, Delta, Tag},
};
use crate::{
    decode::Decoded,
    error::Error,
    event::{ErrorInfo, Event, Executor, FinishReason, Origin, Record, Role, ToolCall},
    id::{MessageId, PartId, ToolCallId},
    state::{Message, MessageStatus, Part, PartState},
};

/// The message of a stream that names none.
const NAMELESS: &str = "message-1";

impl Decoder {
    pub(super) fn apply_delta(&mut self, delta: Delta<'_>, out: &mut Decoded) {
        match delta {
            Delta::Block { reasoning, id, delta } => self.grow(reasoning, id, delta, out),
            Delta::ToolInput { call, delta } => {
                self.begin(out);
                let call = self.call(call);
                self.push(out, Event::ToolInputDelta { call, delta: delta.into_owned() });
            }
        }
    }

    /// Applies one chunk.
    pub(super) fn apply(&mut self, json: &str, out: &mut Decoded) -> Result<(), Error> {
        match self.read(json, out) {
            Ok(done) => done,
            // Two fields of one name, perhaps: JavaScript takes the last.
            Err(_) => {
                let text = wire::single_fields(json)?;
                self.read(&text, out).unwrap_or_else(|_| Err(wire::no_chunk()))
            }
        }
    }

    /// Reads a chunk by its type. The outer error is one of reading.
    fn read(&mut self, json: &str, out: &mut Decoded) -> Result<Result<(), Error>, serde_json::Error> {
        let Tag { kind } = wire::object(json)?;
        match &*kind {
            "start" => self.start(wire::object(json)?, out),
            "finish" => {
                let Finish { message_id, finish_reason } = wire::object(json)?;
                self.begin_as(message_id, out);
                let reason = finish_reason.as_deref().map(FinishReason::parse);
                self.push(out, Event::RunFinished { reason, usage: None, data: None });
                self.close();
            }
            "abort" => {
                let Abort { message_id } = wire::object(json)?;
                self.begin_as(message_id, out);
                self.push(out, Event::RunCancelled { reason: None });
                self.close();
            }
            "text-start" => self.open(false, wire::object(json)?, out),
            "reasoning-start" => self.open(true, wire::object(json)?, out),
            "text-delta" => {
                let BlockDelta { id, delta } = wire::object(json)?;
                self.grow(false, id, delta, out);
            }
            "reasoning-delta" => {
                let BlockDelta { id, delta } = wire::object(json)?;
                self.grow(true, id, delta, out);
            }
            "text-end" => self.end_block(false, &wire::object(json)?, out),
            "reasoning-end" => self.end_block(true, &wire::object(json)?, out),
            "start-step" => self.say(out, Event::StepStarted { name: None }),
            "finish-step" => self.say(out, Event::StepFinished { name: None }),
            "message-metadata" => {
                let MessageMetadata { metadata } = wire::object(json)?;
                let metadata = Value::Object(lenient::spread(metadata.into_owned()));
                self.say(out, Event::MessageMetadata { metadata });
            }
            "source-url" | "source-document" | "file" => self.found(&kind, json, out)?,
            kind if kind.starts_with("data-") => self.data(wire::object(json)?, out),
            kind if kind.starts_with("tool-") && is_known(kind) => self.tool(kind, json, out)?,
            "message-updated" => self.updated(json, out)?,
            "error" => {
                let ErrorText { error_text } = wire::object(json)?;
                self.push(out, Event::RunFailed(ErrorInfo::new(error_text)));
            }
            // What keeps a silent connection open.
            "ping" => {}
            kind => self.unknown(kind, json, out)?,
        }
        Ok(Ok(()))
    }

    fn start(&mut self, start: Start<'_>, out: &mut Decoded) {
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
        self.push(out, Event::MessageStarted { message, role: Role::Assistant, author });
    }

    /// The message has these parts now. Those of the blocks that are open are in the order in which they were opened.
    fn updated(&mut self, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let chunk: Value = serde_json::from_str(json)?;
        let parts = chunk.get("message").and_then(|message| message.get("parts"));
        let Ok(mut parts) = read_parts(parts, "message") else {
            return self.unknown("message-updated", json, out);
        };
        self.begin(out);
        for reasoning in [false, true] {
            let mut open: Vec<_> = self.blocks(reasoning).values().cloned().collect();
            open.sort_unstable_by_key(|block| block.number);
            let streaming = parts.iter_mut().filter_map(|part| match part {
                Part::Text(text) if !reasoning && text.state == PartState::Streaming => Some(text),
                Part::Reasoning(text) if reasoning && text.state == PartState::Streaming => Some(text),
                _ => None,
            });
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

    /// Whatever a chunk says, it says it in a message; one that was never started begins now.
    pub(super) fn begin(&mut self, out: &mut Decoded) {
        if !self.begun {
            self.begin_as(None, out);
        }
    }

    fn begin_as(&mut self, given: Option<Cow<'_, str>>, out: &mut Decoded) {
        if !self.begun {
            let message = self.named(given);
            self.message = Some(message.clone());
            self.begun = true;
            let event = Event::MessageStarted { message, role: Role::Assistant, author: None };
            self.push(out, event);
        }
    }

    /// The terminal chunk: nothing more is read.
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

    /// An event of the message, which begins now if it was never started.
    fn say(&mut self, out: &mut Decoded, event: Event) {
        self.begin(out);
        self.push(out, event);
    }

    pub(super) fn push(&mut self, out: &mut Decoded, event: Event) {
        let origin = Origin { message: self.message.clone(), ..Origin::default() };
        out.records.push(Record::new(self.records, event).from(origin));
        self.records += 1;
    }

    fn blocks(&mut self, reasoning: bool) -> &mut HashMap<Box<str>, Block> {
        let [text, thoughts] = &mut self.open;
        if reasoning { thoughts } else { text }
    }

    fn open(&mut self, reasoning: bool, start: BlockStart<'_>, out: &mut Decoded) {
        self.begin(out);
        if self.blocks(reasoning).contains_key(&*start.id) {
            return;
        }
        let id = self.open_block(reasoning, &start.id);
        let event = if reasoning {
            Event::ReasoningStart { id, metadata: None }
        } else {
            Event::TextStart { id, metadata: None }
        };
        self.push(out, event);
    }

    fn open_block(&mut self, reasoning: bool, id: &str) -> PartId {
        let block = Block { reasoning, id: PartId::from(id), number: self.records };
        self.last = Some(block.clone());
        let id = block.id.clone();
        self.blocks(reasoning).insert(id.as_str().into(), block);
        id
    }

    fn grow(&mut self, reasoning: bool, id: Cow<'_, str>, delta: Cow<'_, str>, out: &mut Decoded) {
        self.begin(out);
        if !self.last.as_ref().is_some_and(|last| last.reasoning == reasoning && last.id == *id) {
            match self.blocks(reasoning).get(&*id) {
                Some(block) => self.last = Some(block.clone()),
                None => drop(self.open_block(reasoning, &id)),
            }
        }
        let Some(Block { id, .. }) = self.last.clone() else {
            return;
        };
        let delta = delta.into_owned();
        self.push(
            out,
            if reasoning {
                Event::ReasoningDelta { id, delta, metadata: None }
            } else {
                Event::TextDelta { id, delta, metadata: None }
            },
        );
    }

    fn end_block(&mut self, reasoning: bool, end: &BlockEnd<'_>, out: &mut Decoded) {
        self.begin(out);
        let Some(Block { id, .. }) = self.blocks(reasoning).remove(&*end.id) else {
            return;
        };
        self.last = None;
        let event = if reasoning {
            Event::ReasoningEnd { id, metadata: None }
        } else {
            Event::TextEnd { id, metadata: None }
        };
        self.push(out, event);
    }

    fn found(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let event = match kind {
            "source-url" => {
                let SourceUrl { source_id, url, title } = wire::object(json)?;
                Event::SourceUrl {
                    source: source_id.into_owned(),
                    url: url.into_owned(),
                    title: title.map(Cow::into_owned),
                    call: None,
                    metadata: None,
                }
            }
            "source-document" => {
                let SourceDocument { source_id, title, text } = wire::object(json)?;
                Event::SourceDocument {
                    source: source_id.into_owned(),
                    title: title.map(Cow::into_owned),
                    media_type: None,
                    filename: None,
                    text: text.map(Cow::into_owned),
                    call: None,
                    metadata: None,
                }
            }
            _ => {
                let File { media_type, url, filename, id } = wire::object(json)?;
                Event::File {
                    url: url.into_owned(),
                    media_type: media_type.into_owned(),
                    filename: filename.map(Cow::into_owned),
                    id: id.map(Cow::into_owned),
                    reasoning: false,
                    metadata: None,
                }
            }
        };
        self.say(out, event);
        Ok(())
    }

    fn data(&mut self, data: Data<'_>, out: &mut Decoded) {
        let Data { kind, id, data, transient } = data;
        let event = Event::Data {
            name: kind.strip_prefix("data-").unwrap_or(&kind).to_owned(),
            id: id.map(Cow::into_owned),
            data: data.into_owned(),
            transient: transient == Some(true),
        };
        self.say(out, event);
    }

    fn tool(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let event = match kind {
            "tool-input-start" => {
                let ToolInputStart { tool_call_id, tool_name, dynamic } = wire::object(json)?;
                Event::ToolInputStart(tool(tool_call_id, tool_name, dynamic))
            }
            "tool-input-delta" => {
                let ToolInputDelta { tool_call_id, input_text_delta } = wire::object(json)?;
                self.apply_delta(Delta::ToolInput { call: tool_call_id, delta: input_text_delta }, out);
                return Ok(());
            }
            "tool-input-available" => {
                let ToolInputAvailable { tool_call_id, tool_name, input, dynamic } = wire::object(json)?;
                let tool = tool(tool_call_id, tool_name, dynamic);
                Event::ToolInputAvailable { tool, input: input.map(Cow::into_owned) }
            }
            "tool-input-error" => {
                let ToolInputError { tool_call_id, error_text } = wire::object(json)?;
                let tool = tool(tool_call_id, Cow::Borrowed(""), None);
                Event::ToolInputError { tool, input: None, error: error_text.into_owned() }
            }
            "tool-approval-request" => {
                let ToolApprovalRequest { tool_call_id, tool_name, input, approval_id, dynamic } =
                    wire::object(json)?;
                // The answer names the call if the request has no id.
                let approval = id(approval_id.unwrap_or_else(|| tool_call_id.clone()));
                let tool = tool(tool_call_id, tool_name, dynamic);
                let input = input.map(Cow::into_owned);
                Event::ApprovalRequested { approval, tool, input, signature: None, automatic: false }
            }
            "tool-output-available" => {
                let ToolOutputAvailable { tool_call_id, output, preliminary } = wire::object(json)?;
                Event::ToolOutput {
                    call: id(tool_call_id),
                    name: None,
                    output: output.into_owned(),
                    structured: None,
                    is_error: false,
                    preliminary: preliminary == Some(true),
                    metadata: None,
                }
            }
            "tool-output-error" => {
                let ToolOutputError { tool_call_id, error_text } = wire::object(json)?;
                Event::ToolOutputError { call: id(tool_call_id), name: None, error: error_text.into_owned() }
            }
            _ => {
                let ToolOutputDenied { tool_call_id, reason } = wire::object(json)?;
                Event::ToolDenied { call: id(tool_call_id), name: None, reason: reason.map(Cow::into_owned) }
            }
        };
        self.say(out, event);
        Ok(())
    }

    fn call(&mut self, call: Cow<'_, str>) -> ToolCallId {
        match &self.call {
            Some(last) if *last == *call => last.clone(),
            _ => self.call.insert(id(call)).clone(),
        }
    }

    fn unknown(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let event = Event::Unknown { name: kind.to_owned(), data: serde_json::from_str(json)? };
        self.push(out, event);
        Ok(())
    }
}

fn tool(call: Cow<'_, str>, name: Cow<'_, str>, dynamic: Option<bool>) -> ToolCall {
    ToolCall {
        call: id(call),
        name: name.into_owned(),
        dynamic,
        executor: Executor::Server,
        title: None,
        metadata: None,
    }
}
