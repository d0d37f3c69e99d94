//! What each chunk means, in the order in which the real client applies them.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    super::{chunk::*, is_known, lenient},
    Block, Decoder, id,
    wire::{self, Delta, Tag},
};
use crate::{
    carry,
    decode::Decoded,
    error::Error,
    event::{Event, FinishReason, Origin, Record, Role, ToolCall},
    id::{MessageId, PartId, ToolCallId},
};

/// The message of a stream that names none.
const NAMELESS: &str = "message-1";

/// The chunks that are ours, as they are read.
#[derive(Deserialize)]
struct Private<'a> {
    #[serde(borrow)]
    event: &'a RawValue,
}

impl Decoder {
    pub(super) fn apply_delta(&mut self, delta: Delta<'_>, out: &mut Decoded) {
        match delta {
            Delta::Block { reasoning, id, delta } => self.grow(reasoning, id, delta, None, out),
            Delta::ToolInput { call, delta } => {
                self.begin(out);
                let call = self.call(call);
                self.push(out, None, Event::ToolInputDelta { call, delta: delta.into_owned() });
            }
            Delta::Carried(event) => self.carried(*event, out),
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
                let Finish { message_id, finish_reason, hw } = wire::object(json)?;
                self.begin_as(message_id, out);
                let hw = hw.unwrap_or_default();
                if hw.implied {
                    self.close();
                    return Ok(Ok(()));
                }
                let reason = finish_reason.as_deref().map(FinishReason::parse);
                let (usage, data) = (hw.usage.map(Cow::into_owned), hw.data.map(Cow::into_owned));
                self.push(out, None, Event::RunFinished { reason, usage, data });
                self.close();
            }
            "abort" => {
                let Abort { message_id, hw } = wire::object(json)?;
                self.begin_as(message_id, out);
                let reason = hw.and_then(|hw| hw.reason).map(Cow::into_owned);
                self.push(out, None, Event::RunCancelled { reason });
                self.close();
            }
            "text-start" => self.open(false, wire::object(json)?, out),
            "reasoning-start" => self.open(true, wire::object(json)?, out),
            "text-delta" => {
                let BlockDelta { id, delta, hw } = wire::object(json)?;
                self.grow(false, id, delta, hw, out);
            }
            "reasoning-delta" => {
                let BlockDelta { id, delta, hw } = wire::object(json)?;
                self.grow(true, id, delta, hw, out);
            }
            "text-end" => self.end_block(false, wire::object(json)?, out),
            "reasoning-end" => self.end_block(true, wire::object(json)?, out),
            "start-step" | "finish-step" => {
                let Step { hw } = wire::object(json)?;
                let hw = hw.unwrap_or_default();
                let origin = self.origin(out, &hw);
                let name = hw.name.map(Cow::into_owned);
                let event = match &*kind {
                    "start-step" => Event::StepStarted { name },
                    _ => Event::StepFinished { name },
                };
                self.push(out, Some(origin), event);
            }
            "message-metadata" => {
                let MessageMetadata { metadata, hw } = wire::object(json)?;
                let origin = self.origin(out, &hw.unwrap_or_default());
                let metadata = Value::Object(lenient::spread(metadata.into_owned()));
                self.push(out, Some(origin), Event::MessageMetadata { metadata });
            }
            "source-url" | "source-document" | "file" => self.found(&kind, json, out)?,
            kind if kind.starts_with("data-") => self.data(wire::object(json)?, out),
            kind if kind.starts_with("tool-") && is_known(kind) => self.tool(kind, json, out)?,
            carry::NAME | "message-updated" => match private(json) {
                Some(event) => self.carried(event, out),
                // Said to a client that may hold what was not kept: its attempt is taken back by name.
                None if kind == "message-updated" => {}
                None => self.unknown(&kind, json, out)?,
            },
            // What keeps a silent connection open.
            "ping" => {}
            kind => self.unknown(kind, json, out)?,
        }
        Ok(Ok(()))
    }

    fn start(&mut self, start: Start<'_>, out: &mut Decoded) {
        let Start { message_id, author, hw } = start;
        let hw = hw.unwrap_or_default();
        for event in hw.before.into_owned() {
            self.carried(event, out);
        }
        let message = match message_id {
            Some(given) => id(given),
            None => self.named(None),
        };
        if self.message.as_ref() != Some(&message) {
            self.forget_blocks();
        }
        self.message = Some(message.clone());
        self.begun = true;
        let role = hw.role.unwrap_or(Role::Assistant);
        let author = author.map(Cow::into_owned).filter(|author| !author.is_null());
        self.push(out, None, Event::MessageStarted { message, role, author });
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
            self.push(out, None, event);
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

    /// Where a chunk's event comes from.
    pub(super) fn origin(&mut self, out: &mut Decoded, hw: &Extra<'_>) -> Origin {
        self.begin(out);
        Origin {
            message: hw.message.as_deref().map(MessageId::from).or_else(|| self.message.clone()),
            attempt: hw.attempt.as_deref().map(Into::into),
            ..Origin::default()
        }
    }

    pub(super) fn push(&mut self, out: &mut Decoded, origin: Option<Origin>, event: Event) {
        let origin = origin.unwrap_or_else(|| Origin { message: self.message.clone(), ..Origin::default() });
        out.records.push(Record::new(self.records, event).from(origin));
        self.records += 1;
    }

    fn blocks(&mut self, reasoning: bool) -> &mut HashMap<Box<str>, Block> {
        let [text, thoughts] = &mut self.open;
        if reasoning { thoughts } else { text }
    }

    fn open(&mut self, reasoning: bool, start: BlockStart<'_>, out: &mut Decoded) {
        let hw = start.hw.unwrap_or_default();
        let origin = self.origin(out, &hw);
        if self.blocks(reasoning).contains_key(&*start.id) {
            return;
        }
        let id = self.open_block(reasoning, start.id, &origin, hw.whole);
        if hw.implied || hw.whole {
            return;
        }
        let metadata = hw.metadata.map(Cow::into_owned);
        let event = if reasoning {
            Event::ReasoningStart { id, metadata }
        } else {
            Event::TextStart { id, metadata }
        };
        self.push(out, Some(origin), event);
    }

    fn open_block(&mut self, reasoning: bool, id: Cow<'_, str>, origin: &Origin, whole: bool) -> PartId {
        let Origin { message, attempt, .. } = origin.clone();
        let block = Block { reasoning, id: PartId::from(&*id), message, attempt, whole };
        self.last = Some(block.clone());
        let id = block.id.clone();
        self.blocks(reasoning).insert(id.as_str().into(), block);
        id
    }

    fn grow(
        &mut self,
        reasoning: bool,
        id: Cow<'_, str>,
        delta: Cow<'_, str>,
        hw: Option<Box<Extra<'_>>>,
        out: &mut Decoded,
    ) {
        self.begin(out);
        if !self.last.as_ref().is_some_and(|last| last.reasoning == reasoning && last.id == *id) {
            match self.blocks(reasoning).get(&*id) {
                Some(block) => self.last = Some(block.clone()),
                None => {
                    let origin = self.origin(out, &Extra::default());
                    self.open_block(reasoning, id, &origin, false);
                }
            }
        }
        let Some(Block { id, message, attempt, whole, .. }) = self.last.clone() else {
            return;
        };
        let delta = delta.into_owned();
        let metadata = hw.and_then(|hw| hw.metadata).map(Cow::into_owned);
        let event = match (whole, reasoning) {
            (true, _) => Event::Message { content: delta },
            (false, true) => Event::ReasoningDelta { id, delta, metadata },
            (false, false) => Event::TextDelta { id, delta, metadata },
        };
        self.push(out, Some(Origin { message, attempt, ..Origin::default() }), event);
    }

    fn end_block(&mut self, reasoning: bool, end: BlockEnd<'_>, out: &mut Decoded) {
        self.begin(out);
        let Some(block) = self.blocks(reasoning).remove(&*end.id) else {
            return;
        };
        self.last = None;
        let Block { id, message, attempt, whole, .. } = block;
        let hw = end.hw.unwrap_or_default();
        if whole || hw.implied {
            return;
        }
        let metadata = hw.metadata.map(Cow::into_owned);
        let event =
            if reasoning { Event::ReasoningEnd { id, metadata } } else { Event::TextEnd { id, metadata } };
        self.push(out, Some(Origin { message, attempt, ..Origin::default() }), event);
    }

    fn found(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let (hw, event) = match kind {
            "source-url" => {
                let SourceUrl { source_id, url, title, hw } = wire::object(json)?;
                let mut hw = hw.unwrap_or_default();
                let event = Event::SourceUrl {
                    source: source_id.into_owned(),
                    url: url.into_owned(),
                    title: title.map(Cow::into_owned),
                    call: hw.call.take().map(id),
                    metadata: hw.metadata.take().map(Cow::into_owned),
                };
                (hw, event)
            }
            "source-document" => {
                let SourceDocument { source_id, title, text, hw } = wire::object(json)?;
                let mut hw = hw.unwrap_or_default();
                let event = Event::SourceDocument {
                    source: source_id.into_owned(),
                    title: title.map(Cow::into_owned),
                    media_type: hw.media_type.take().map(Cow::into_owned),
                    filename: hw.filename.take().map(Cow::into_owned),
                    text: text.map(Cow::into_owned),
                    call: hw.call.take().map(id),
                    metadata: hw.metadata.take().map(Cow::into_owned),
                };
                (hw, event)
            }
            _ => {
                let File { media_type, url, filename, id, hw } = wire::object(json)?;
                let mut hw = hw.unwrap_or_default();
                let event = Event::File {
                    url: url.into_owned(),
                    media_type: media_type.into_owned(),
                    filename: filename.map(Cow::into_owned),
                    id: id.map(Cow::into_owned),
                    reasoning: hw.reasoning,
                    metadata: hw.metadata.take().map(Cow::into_owned),
                };
                (hw, event)
            }
        };
        let origin = self.origin(out, &hw);
        self.push(out, Some(origin), event);
        Ok(())
    }

    fn data(&mut self, data: Data<'_>, out: &mut Decoded) {
        let Data { kind, id, data, transient, hw } = data;
        let hw = hw.unwrap_or_default();
        let origin = self.origin(out, &hw);
        let data = data.into_owned();
        if hw.carried
            && kind == "data-interrupt"
            && let Ok(interrupt) = serde_json::from_value(data.clone())
        {
            return self.push(out, None, Event::InterruptRequested(Box::new(interrupt)));
        }
        let event = Event::Data {
            name: kind.strip_prefix("data-").unwrap_or(&kind).to_owned(),
            id: id.map(Cow::into_owned),
            data,
            transient: transient == Some(true),
        };
        self.push(out, Some(origin), event);
    }

    fn tool(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let (origin, event) = match kind {
            "tool-input-start" => {
                let ToolInputStart { tool_call_id, tool_name, dynamic, hw } = wire::object(json)?;
                let hw = hw.unwrap_or_default();
                let origin = self.origin(out, &hw);
                let tool = ToolCall { dynamic, ..about(id(tool_call_id), tool_name, *hw) };
                (origin, Event::ToolInputStart(tool))
            }
            "tool-input-delta" => {
                let ToolInputDelta { tool_call_id, input_text_delta } = wire::object(json)?;
                self.apply_delta(Delta::ToolInput { call: tool_call_id, delta: input_text_delta }, out);
                return Ok(());
            }
            "tool-input-available" => {
                let ToolInputAvailable { tool_call_id, tool_name, input, dynamic, hw } = wire::object(json)?;
                let hw = hw.unwrap_or_default();
                if hw.implied {
                    return Ok(());
                }
                let origin = self.origin(out, &hw);
                let tool = ToolCall { dynamic, ..about(id(tool_call_id), tool_name, *hw) };
                (origin, Event::ToolInputAvailable { tool, input: input.map(Cow::into_owned) })
            }
            "tool-input-error" => {
                let ToolInputError { tool_call_id, error_text, hw } = wire::object(json)?;
                let mut hw = hw.unwrap_or_default();
                let origin = self.origin(out, &hw);
                let input = hw.input.take().map(Cow::into_owned);
                let name = hw.name.take().unwrap_or_default();
                let tool = about(id(tool_call_id), name, *hw);
                (origin, Event::ToolInputError { tool, input, error: error_text.into_owned() })
            }
            "tool-approval-request" => {
                let ToolApprovalRequest { tool_call_id, tool_name, input, approval_id, dynamic, hw } =
                    wire::object(json)?;
                let mut hw = hw.unwrap_or_default();
                let origin = self.origin(out, &hw);
                // The answer names the call if the request has no id.
                let approval = id(approval_id.unwrap_or_else(|| tool_call_id.clone()));
                let signature = hw.signature.take().map(Cow::into_owned);
                let automatic = hw.automatic;
                let tool = ToolCall { dynamic, ..about(id(tool_call_id), tool_name, *hw) };
                let input = input.map(Cow::into_owned);
                (origin, Event::ApprovalRequested { approval, tool, input, signature, automatic })
            }
            "tool-output-available" => {
                let ToolOutputAvailable { tool_call_id, output, preliminary, hw } = wire::object(json)?;
                let hw = hw.unwrap_or_default();
                let event = Event::ToolOutput {
                    call: id(tool_call_id),
                    name: hw.name.map(Cow::into_owned),
                    output: output.into_owned(),
                    structured: hw.structured.map(Cow::into_owned),
                    is_error: hw.is_error,
                    preliminary: preliminary == Some(true),
                    metadata: hw.metadata.map(Cow::into_owned),
                };
                (self.origin(out, &Extra::default()), event)
            }
            "tool-output-error" => {
                let ToolOutputError { tool_call_id, error_text, hw } = wire::object(json)?;
                let name = hw.and_then(|hw| hw.name).map(Cow::into_owned);
                let (call, error) = (id(tool_call_id), error_text.into_owned());
                (self.origin(out, &Extra::default()), Event::ToolOutputError { call, name, error })
            }
            _ => {
                let ToolOutputDenied { tool_call_id, reason, hw } = wire::object(json)?;
                let name = hw.and_then(|hw| hw.name).map(Cow::into_owned);
                let (call, reason) = (id(tool_call_id), reason.map(Cow::into_owned));
                (self.origin(out, &Extra::default()), Event::ToolDenied { call, name, reason })
            }
        };
        self.push(out, Some(origin), event);
        Ok(())
    }

    fn call(&mut self, call: Cow<'_, str>) -> ToolCallId {
        match &self.call {
            Some(last) if *last == *call => last.clone(),
            _ => self.call.insert(id(call)).clone(),
        }
    }

    fn carried(&mut self, event: Event, out: &mut Decoded) {
        match &event {
            Event::MessageStarted { message, .. } => {
                self.message = Some(message.clone());
                self.begun = true;
            }
            Event::RunFailed(_) | Event::Error { terminal: true, .. } => self.ended = true,
            _ => {}
        }
        self.push(out, Some(Origin::default()), event);
    }

    fn unknown(&mut self, kind: &str, json: &str, out: &mut Decoded) -> Result<(), serde_json::Error> {
        let event = Event::Unknown { name: kind.to_owned(), data: serde_json::from_str(json)? };
        self.push(out, Some(Origin::default()), event);
        Ok(())
    }
}

fn private(json: &str) -> Option<Event> {
    let Private { event } = wire::object(json).ok()?;
    wire::carried(event)
}

fn about(call: ToolCallId, name: Cow<'_, str>, hw: Extra<'_>) -> ToolCall {
    ToolCall {
        call,
        name: name.into_owned(),
        dynamic: None,
        executor: hw.executor.unwrap_or_default(),
        title: hw.title.map(Cow::into_owned),
        metadata: hw.metadata.map(Cow::into_owned),
    }
}
