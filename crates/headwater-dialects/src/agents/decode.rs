//! Decodes named events to records.
//!
//! Implements our decisions where the contract is open (listed in `docs/dialects.md`). Invalid frames are
//! reported and skipped.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use headwater_json::present;
use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, BlockDelta, BlockEnded, BlockKind, BlockStarted, DataEvent, Error,
    ErrorEvent, ErrorInfo, ErrorKind, Event, FileEvent, FinishReason, Frame, MessageId, MessageStarted,
    Origin, PartId, Record, Role, RunFinished, RunStarted, RunWaiting, SourceUrl, StatusEvent, ToolCall,
    ToolCallId, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolOutput, ToolOutputError, UnknownEvent,
    Usage, parse_rfc3339,
};
use serde_json::Value;

use crate::{
    chunk::chunks,
    decode::{Decode, DecodeOutput},
    json,
};

/// Decodes a stream of named events.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentsDecoder {
    seq: u64,
    begun: bool,
    end: DecodedEnd,
    waiting: bool,
    /// An error that is terminal unless more of the run follows.
    last_error: Option<ErrorInfo>,
    messages: HashMap<MessageId, MessageBlocks>,
    /// The message that was started last.
    current: Option<MessageId>,
    calls: HashMap<ToolCallId, CallPlace>,
    sources: HashSet<(MessageId, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DecodedEnd {
    #[default]
    NotYet,
    /// The run failed; a `done` may follow.
    Failed,
    Done,
}

/// The blocks of a message.
#[derive(Debug, Clone, Default)]
struct MessageBlocks {
    ended: bool,
    /// The blocks that may still grow.
    open: Vec<(BlockKind, PartId)>,
    /// The block for deltas without a `partId`.
    last: Option<(BlockKind, PartId)>,
    count: u32,
}

#[derive(Debug, Clone)]
struct CallPlace {
    message: MessageId,
    called: bool,
}

chunks! {
    /// The fields of all events; no field name has two meanings.
    #[serde(default)]
    struct Chunk<'a> {
        message_id?: text, part_id?: text, delta?: text, tool_call_id?: text, tool_name?: String,
        input?: Value = "present", output?: Value = "present", data?: Value = "present",
        approval?: ApprovalFields,
        error_text?: String, state?: text, reason?: String, role?: String, created_at?: String,
        source_id?: String, url?: String, title?: String, media_type?: String, filename?: String,
        name?: String, data_id?: String, transient: bool,
        message?: String, code?: String, retryable?: bool, terminal?: bool,
        run_id?: String, session_id?: String, conversation_id?: String, request_id?: String, model?: String,
        endpoint?: String, finish_reason?: String, usage?: Usage,
    }
    #[serde(default)]
    struct ApprovalFields {
        id: String, approved?: bool, reason?: String, signature?: String, is_automatic: bool,
    }
}

impl Decode for AgentsDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        let name = match frame.event {
            Some(name) => Cow::Borrowed(name),
            // In JSON lines the event name is the object's `type`.
            None => match json::type_of(frame) {
                Ok(name) => name,
                Err(error) if error.kind() == ErrorKind::Json => return out.errors.push(error),
                Err(_) => {
                    let message = "the block has no `event:` line to name its event";
                    return report(out, frame, ErrorKind::UnknownType, message);
                }
            },
        };
        if self.end == DecodedEnd::Done || (self.end == DecodedEnd::Failed && name != "done") {
            let message = format!("`{name}` after the end of the stream is ignored");
            return report(out, frame, ErrorKind::Order, message);
        }
        if let Err(error) = self.event(&name, frame, out) {
            out.errors.push(error);
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        match (self.end, self.last_error.take()) {
            (DecodedEnd::NotYet, Some(error)) => self.push(out, None, Event::RunFailed(error)),
            (DecodedEnd::NotYet, None) if !self.waiting => {
                let message = "the stream ended without `done`: it was cut";
                out.errors.push(Error::new(ErrorKind::Cut, message));
            }
            _ => {}
        }
    }
}

impl AgentsDecoder {
    fn event(&mut self, name: &str, frame: &Frame<'_>, out: &mut DecodeOutput) -> Result<(), Error> {
        if !super::NAMES.contains(&name) {
            let event = Event::Unknown(UnknownEvent::new(name.to_owned(), json::read(frame)?));
            self.push(out, None, event);
            return Ok(());
        }
        if !matches!(name, "error" | "message.end" | "status" | "done") {
            self.last_error = None;
            self.waiting = false;
        }
        let chunk: Chunk<'_> = json::read(frame)?;
        match name {
            "message.delta" => self.delta(BlockKind::Text, &chunk, frame, out)?,
            "reasoning.delta" => self.delta(BlockKind::Reasoning, &chunk, frame, out)?,
            "tool.delta" | "tool.call" | "tool.result" => self.tool(name, chunk, frame, out)?,
            "meta" => self.meta(chunk, frame, out),
            "message.start" => {
                let id = MessageId::from(required(chunk.message_id.as_deref(), "messageId", frame)?);
                self.current = Some(id.clone());
                if !self.messages.contains_key(&id) {
                    self.messages.insert(id.clone(), MessageBlocks::default());
                    let role = read_role(chunk.role.as_deref(), frame, out);
                    let time = read_date(chunk.created_at.as_deref(), frame, out);
                    let started = MessageStarted { message: id.clone(), role, ..Default::default() };
                    self.push_at(out, time, Some(&id), started);
                }
            }
            "message.end" => {
                let id = chunk.message_id.map_or_else(|| self.current(), |id| MessageId::from(&*id));
                if self.messages.contains_key(&id) {
                    self.end_message(&id, out);
                } else {
                    let message = "`message.end` for a message that was not begun is ignored";
                    report(out, frame, ErrorKind::Order, message);
                }
            }
            "source" => {
                let source = required(chunk.source_id, "sourceId", frame)?;
                let url = required(chunk.url, "url", frame)?;
                let call = chunk.tool_call_id.map(|call| ToolCallId::from(&*call));
                let held =
                    call.as_ref().and_then(|call| self.calls.get(call)).map(|call| call.message.clone());
                let named = chunk.message_id.map(|id| MessageId::from(&*id));
                let message = named.or(held).unwrap_or_else(|| self.current());
                if self.sources.insert((message.clone(), source.clone())) {
                    self.interrupt_text(&message, out);
                    let title = chunk.title;
                    let source = SourceUrl { source, url, title, call, ..Default::default() };
                    self.push(out, Some(&message), source);
                }
            }
            "file" => {
                let message = self.message(chunk.message_id.as_deref());
                self.interrupt_text(&message, out);
                let event = Event::File(FileEvent {
                    url: required(chunk.url, "url", frame)?,
                    media_type: required(chunk.media_type, "mediaType", frame)?,
                    filename: chunk.filename,
                    ..Default::default()
                });
                self.push(out, Some(&message), event);
            }
            "data" => {
                let event = Event::Data(DataEvent {
                    name: required(chunk.name, "name", frame)?,
                    id: chunk.data_id,
                    data: chunk.data.unwrap_or_default(),
                    transient: chunk.transient,
                    ..Default::default()
                });
                let message = self.message(chunk.message_id.as_deref());
                if !chunk.transient {
                    self.interrupt_text(&message, out);
                }
                self.push(out, Some(&message), event);
            }
            "status" => {
                self.waiting = chunk.state.as_deref() == Some("waiting");
                let state = chunk.state.map(Cow::into_owned);
                self.push(out, None, StatusEvent { state, message: chunk.message, ..Default::default() });
            }
            "error" => self.error(chunk, frame, out)?,
            _ => self.done(chunk, out),
        }
        Ok(())
    }

    fn meta(&mut self, chunk: Chunk<'_>, frame: &Frame<'_>, out: &mut DecodeOutput) {
        if std::mem::replace(&mut self.begun, true) {
            let message = "a second `meta` is ignored: a stream is about one run";
            return report(out, frame, ErrorKind::Order, message);
        }
        let started = RunStarted {
            run: chunk.run_id.map(Into::into),
            session: chunk.session_id.map(Into::into),
            conversation: chunk.conversation_id,
            model: chunk.model,
            request: chunk.request_id,
            endpoint: chunk.endpoint,
            ..RunStarted::default()
        };
        let time = read_date(chunk.created_at.as_deref(), frame, out);
        self.push_at(out, time, None, Event::RunStarted(started));
    }

    fn delta(
        &mut self,
        kind: BlockKind,
        chunk: &Chunk<'_>,
        frame: &Frame<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let delta = required(chunk.delta.as_deref(), "delta", frame)?.to_owned();
        let message = self.message(chunk.message_id.as_deref());
        let blocks = self.messages.entry(message.clone()).or_default();
        let id = match chunk.part_id.as_deref() {
            Some(part) => PartId::from(part),
            None => match blocks.last.clone().filter(|(last, _)| *last == kind) {
                Some((_, id)) => id,
                None => {
                    blocks.count += 1;
                    PartId::from(format!("{}-{}", kind.as_str(), blocks.count))
                }
            },
        };
        let block = (kind, id.clone());
        if !blocks.open.contains(&block) {
            blocks.open.push(block.clone());
            if chunk.part_id.is_none() {
                self.interrupt_text(&message, out);
                self.messages.entry(message.clone()).or_default().last = Some(block);
            }
            self.push(out, Some(&message), BlockStarted::new(kind, id.clone()));
        }
        self.push(out, Some(&message), BlockDelta::new(kind, id, delta));
        Ok(())
    }

    fn tool(
        &mut self,
        name: &str,
        chunk: Chunk<'_>,
        frame: &Frame<'_>,
        out: &mut DecodeOutput,
    ) -> Result<(), Error> {
        let call = ToolCallId::from(required(chunk.tool_call_id.as_deref(), "toolCallId", frame)?);
        let known = self.calls.get(&call).cloned();
        // A call stays in the message in which it was made.
        let message = match &known {
            Some(known) => known.message.clone(),
            None => {
                let message = self.message(chunk.message_id.as_deref());
                self.interrupt_text(&message, out);
                message
            }
        };
        let called = known.as_ref().is_some_and(|known| known.called);
        let place = CallPlace { message: message.clone(), called: called || name != "tool.delta" };
        self.calls.insert(call.clone(), place);
        let tool = || ToolCall::new(call.clone(), chunk.tool_name.clone().unwrap_or_default());
        let state = chunk.state.as_deref();
        let event = match name {
            "tool.delta" if called => {
                let message = format!("`tool.delta` for call {call:?} after its `tool.call` is ignored");
                report(out, frame, ErrorKind::Order, message);
                return Ok(());
            }
            "tool.delta" => {
                let delta = required(chunk.delta.as_deref(), "delta", frame)?.to_owned();
                if known.is_none() && chunk.tool_name.is_some() {
                    self.push(out, Some(&message), Event::ToolInputStart(tool()));
                }
                if delta.is_empty() && chunk.tool_name.is_some() {
                    return Ok(());
                }
                Event::ToolInputDelta(ToolInputDelta::new(call, delta))
            }
            "tool.call" => {
                let tool = tool();
                if !called {
                    let available = ToolInputAvailable::new(tool.clone(), chunk.input.clone());
                    self.push(out, Some(&message), available);
                }
                let Some(approval) = chunk.approval else { return Ok(()) };
                match approval.approved {
                    None => Event::ApprovalRequested(ApprovalRequested {
                        approval: approval.id.into(),
                        tool,
                        input: chunk.input,
                        signature: approval.signature,
                        automatic: approval.is_automatic,
                        ..Default::default()
                    }),
                    Some(approved) => Event::ApprovalAnswered(ApprovalAnswered {
                        approval: approval.id.into(),
                        call: Some(call),
                        approved,
                        reason: approval.reason,
                        ..Default::default()
                    }),
                }
            }
            _ => {
                let (name, reason) = (chunk.tool_name, chunk.reason);
                match (state, chunk.error_text) {
                    (Some("output-denied"), _) => {
                        ToolDenied { call, name, reason, ..Default::default() }.into()
                    }
                    (Some("output-error"), error) => {
                        let error = error.unwrap_or_default();
                        ToolOutputError { call, name, error, ..Default::default() }.into()
                    }
                    (None, Some(error)) => ToolOutputError { call, name, error, ..Default::default() }.into(),
                    (state, _) => {
                        if let Some(state) = state.filter(|state| *state != "output-available") {
                            let message = format!("invalid state {state:?} of a `tool.result`");
                            report(out, frame, ErrorKind::Field, message);
                        }
                        let output = chunk.output.unwrap_or_default();
                        ToolOutput { call, name, output, ..Default::default() }.into()
                    }
                }
            }
        };
        self.push(out, Some(&message), event);
        Ok(())
    }

    fn error(&mut self, chunk: Chunk<'_>, frame: &Frame<'_>, out: &mut DecodeOutput) -> Result<(), Error> {
        let message = required(chunk.message, "message", frame)?;
        let error = ErrorInfo { message, code: chunk.code, retryable: chunk.retryable, request: None };
        self.last_error = chunk.terminal.is_none().then(|| error.clone());
        let event = if chunk.terminal == Some(true) {
            self.end = DecodedEnd::Failed;
            Event::RunFailed(error)
        } else {
            Event::Error(ErrorEvent { error, ..Default::default() })
        };
        self.push(out, None, event);
        Ok(())
    }

    fn done(&mut self, chunk: Chunk<'_>, out: &mut DecodeOutput) {
        if std::mem::replace(&mut self.end, DecodedEnd::Done) == DecodedEnd::Failed {
            return;
        }
        let open: Vec<_> = self.messages.keys().cloned().collect();
        open.iter().for_each(|id| self.close_blocks(id, out));
        let (usage, data) = (chunk.usage, chunk.data);
        let event = match (self.last_error.take(), chunk.finish_reason.as_deref()) {
            (Some(error), _) => {
                if let Some(usage) = usage {
                    self.push(out, None, Event::Usage(usage));
                }
                if let Some(data) = data {
                    let (name, message) = ("result".to_owned(), self.current());
                    self.push(out, Some(&message), DataEvent { name, data, ..Default::default() });
                }
                Event::RunFailed(error)
            }
            (None, Some("waiting")) => Event::RunWaiting(RunWaiting { usage, ..Default::default() }),
            (None, Some("cancelled")) => Event::RunCancelled { reason: None },
            (None, reason) => Event::RunFinished(RunFinished {
                reason: reason.map(FinishReason::parse),
                usage,
                data,
                ..Default::default()
            }),
        };
        self.push(out, None, event);
    }

    fn current(&self) -> MessageId {
        self.current.clone().unwrap_or_else(|| MessageId::from(""))
    }

    /// The message that an event names, else the one started last.
    fn message(&mut self, named: Option<&str>) -> MessageId {
        let id = named.map_or_else(|| self.current(), MessageId::from);
        self.messages.entry(id.clone()).or_default();
        id
    }

    /// Another part begins, so an open text without a `partId` is complete.
    fn interrupt_text(&mut self, message: &MessageId, out: &mut DecodeOutput) {
        let blocks = self.messages.entry(message.clone()).or_default();
        if let Some(block) = blocks.last.take() {
            blocks.open.retain(|open| *open != block);
            self.close_block(message, block, out);
        }
    }

    fn end_message(&mut self, id: &MessageId, out: &mut DecodeOutput) {
        self.close_blocks(id, out);
        let blocks = self.messages.entry(id.clone()).or_default();
        if !std::mem::replace(&mut blocks.ended, true) {
            self.push(out, Some(id), Event::MessageFinished { message: id.clone() });
        }
    }

    fn close_blocks(&mut self, id: &MessageId, out: &mut DecodeOutput) {
        let blocks = self.messages.entry(id.clone()).or_default();
        blocks.last = None;
        for block in std::mem::take(&mut blocks.open) {
            self.close_block(id, block, out);
        }
    }

    fn close_block(&mut self, message: &MessageId, (kind, id): (BlockKind, PartId), out: &mut DecodeOutput) {
        self.push(out, Some(message), BlockEnded::new(kind, id));
    }

    fn push(&mut self, out: &mut DecodeOutput, message: Option<&MessageId>, event: impl Into<Event>) {
        self.push_at(out, 0, message, event);
    }

    fn push_at(
        &mut self,
        out: &mut DecodeOutput,
        time: u64,
        message: Option<&MessageId>,
        event: impl Into<Event>,
    ) {
        // A stream that names no message has a message without an id.
        let message = message.filter(|id| !id.as_str().is_empty()).cloned();
        let origin = Origin { message, ..Origin::default() };
        out.records.push(Record { seq: self.seq, time, origin, event: event.into() });
        self.seq += 1;
    }
}

fn required<T>(value: Option<T>, field: &str, frame: &Frame<'_>) -> Result<T, Error> {
    value.ok_or_else(|| {
        Error::new(ErrorKind::Field, format!("missing field `{field}`")).at(frame.index, frame.offset)
    })
}

fn report(out: &mut DecodeOutput, frame: &Frame<'_>, kind: ErrorKind, message: impl Into<String>) {
    out.errors.push(Error::new(kind, message).at(frame.index, frame.offset));
}

fn read_date(date: Option<&str>, frame: &Frame<'_>, out: &mut DecodeOutput) -> u64 {
    let Some(date) = date else { return 0 };
    parse_rfc3339(date).unwrap_or_else(|| {
        let message = format!("`createdAt` must be an ISO 8601 date in UTC, not {date:?}");
        report(out, frame, ErrorKind::Field, message);
        0
    })
}

fn read_role(role: Option<&str>, frame: &Frame<'_>, out: &mut DecodeOutput) -> Role {
    let Some(word) = role else { return Role::Assistant };
    serde_json::from_value(Value::from(word)).unwrap_or_else(|_| {
        let message = format!("unknown role {word:?} is read as \"assistant\"");
        report(out, frame, ErrorKind::Field, message);
        Role::Assistant
    })
}
