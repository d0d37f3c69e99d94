//! Decodes chunks to records, as version 7.0.169 of the client reads them.
//!
//! The client looks up the part that a chunk refers to and rejects the stream if it is missing; so does this
//! decoder.

mod client_state;

use std::borrow::Cow;

use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, BlockDelta, BlockEnded, BlockKind, BlockStarted, DataEvent, Error,
    ErrorEvent, ErrorInfo, Event, Executor, FileEvent, FinishReason, Frame, Message, MessageId,
    MessageStarted, Origin, Record, Role, RunFinished, SourceDocument, SourceUrl, ToolCall, ToolDenied,
    ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, ToolOutputError, UnknownEvent,
};
use serde_json::Value;

use super::chunk::{self, Block, Chunk, Data, File, Start, TextEnd, ToolApprovalRequest};
use crate::{
    decode::{Decode, DecodeOutput},
    json,
};

pub(super) use client_state::ClientState;

/// The frame after the last chunk; the client ignores it anywhere.
pub(super) const DONE: &str = "[DONE]";

/// Decodes one stream.
#[derive(Debug, Default)]
pub(super) struct AiSdkDecoder {
    seq: u64,
    known: ClientState,
    message: Option<MessageId>,
    failed: Option<ErrorInfo>,
    ended: bool,
}

impl Decode for AiSdkDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        // Nothing after the terminal chunk is read.
        if frame.data == DONE || self.ended {
            return;
        }
        let result = Chunk::read(frame.data).and_then(|chunk| self.chunk(chunk, frame.data, out));
        if let Err(error) = result {
            out.errors.push(error.at(frame.index, frame.offset));
        }
    }

    fn conversation(&mut self, messages: &[Message]) {
        self.known.conversation(messages);
        self.message =
            messages.last().filter(|last| last.role == Role::Assistant).map(|last| last.id.clone());
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        if !self.ended
            && let Some(error) = self.failed.take()
        {
            self.emit(Event::RunFailed(error), out);
        }
    }
}

impl AiSdkDecoder {
    fn emit(&mut self, event: impl Into<Event>, out: &mut DecodeOutput) {
        let origin = Origin { message: self.message.clone(), ..Origin::default() };
        out.records.push(Record::new(self.seq, event).from(origin));
        self.seq += 1;
    }

    fn chunk(&mut self, chunk: Chunk<'_>, text: &str, out: &mut DecodeOutput) -> Result<(), Error> {
        if let Some(event) = self.event(chunk, text, out)? {
            self.emit(event, out);
        }
        Ok(())
    }

    fn open_block(&mut self, kind: BlockKind, chunk: Block<'_>) -> Event {
        let (id, metadata) = (self.known.open_block(kind, &chunk.id), owned(chunk.provider_metadata));
        Event::BlockStarted(BlockStarted { metadata, ..BlockStarted::new(kind, id) })
    }

    fn delta(&mut self, kind: BlockKind, chunk: chunk::BlockDelta<'_>) -> Result<Event, Error> {
        let (id, metadata) = (self.known.block(kind, &chunk.id)?, owned(chunk.provider_metadata));
        Ok(Event::BlockDelta(BlockDelta { metadata, ..BlockDelta::new(kind, id, chunk.delta) }))
    }

    fn close_block(&mut self, kind: BlockKind, chunk: Block<'_>) -> Result<Event, Error> {
        let (id, metadata) = (self.known.close_block(kind, &chunk.id)?, owned(chunk.provider_metadata));
        Ok(Event::BlockEnded(BlockEnded { metadata, ..BlockEnded::new(kind, id) }))
    }

    fn event(
        &mut self,
        chunk: Chunk<'_>,
        text: &str,
        out: &mut DecodeOutput,
    ) -> Result<Option<Event>, Error> {
        Ok(Some(match chunk {
            Chunk::TextDelta(chunk) => self.delta(BlockKind::Text, chunk)?,
            Chunk::ReasoningDelta(chunk) => self.delta(BlockKind::Reasoning, chunk)?,
            Chunk::TextStart(chunk) => self.open_block(BlockKind::Text, chunk),
            Chunk::ReasoningStart(chunk) => self.open_block(BlockKind::Reasoning, chunk),
            Chunk::TextEnd(TextEnd { id, provider_metadata, .. }) => {
                self.close_block(BlockKind::Text, Block { id, provider_metadata })?
            }
            Chunk::ReasoningEnd(chunk) => self.close_block(BlockKind::Reasoning, chunk)?,
            Chunk::ToolInputDelta(chunk) => Event::ToolInputDelta(ToolInputDelta::new(
                self.known.partial_call(&chunk.tool_call_id)?,
                chunk.input_text_delta.into_owned(),
            )),

            Chunk::Start(start) => return self.start(start, out),
            Chunk::Finish(finish) => {
                self.metadata(finish.message_metadata, out)?;
                let reason = finish.finish_reason.map(|word| FinishReason::parse(&word));
                self.ended = true;
                match self.failed.take_if(|_| reason == Some(FinishReason::Error)) {
                    Some(error) => Event::RunFailed(error),
                    None => Event::RunFinished(RunFinished { reason, ..Default::default() }),
                }
            }
            Chunk::Abort(abort) => {
                self.ended = true;
                Event::RunCancelled { reason: abort.reason.map(Cow::into_owned) }
            }
            Chunk::Error(error) => {
                let error = ErrorInfo::new(error.error_text);
                self.failed = Some(error.clone());
                Event::Error(ErrorEvent { error, ..Default::default() })
            }
            Chunk::MessageMetadata(chunk) => {
                self.metadata(Some(chunk.message_metadata), out)?;
                return Ok(None);
            }
            Chunk::StartStep(_) => {
                self.known.start_step();
                Event::StepStarted { name: None }
            }
            Chunk::FinishStep(_) => Event::StepFinished { name: None },
            Chunk::ResetStep(_) => {
                self.known.reset_step();
                Event::Unknown(UnknownEvent::new("reset-step".to_owned(), json::value(text)?))
            }
            Chunk::Custom(_) => Event::Unknown(UnknownEvent::new("custom".to_owned(), json::value(text)?)),
            Chunk::SteeringMessage(_) => {
                Event::Unknown(UnknownEvent::new("steering-message".to_owned(), json::value(text)?))
            }

            Chunk::SourceUrl(chunk) => Event::SourceUrl(SourceUrl {
                source: chunk.source_id.into_owned(),
                url: chunk.url.into_owned(),
                title: chunk.title.map(Cow::into_owned),
                metadata: owned(chunk.provider_metadata),
                ..Default::default()
            }),
            Chunk::SourceDocument(chunk) => Event::SourceDocument(SourceDocument {
                source: chunk.source_id.into_owned(),
                title: Some(chunk.title.into_owned()),
                media_type: Some(chunk.media_type.into_owned()),
                filename: chunk.filename.map(Cow::into_owned),
                metadata: owned(chunk.provider_metadata),
                ..Default::default()
            }),
            Chunk::File(chunk) => file(chunk, false),
            Chunk::ReasoningFile(chunk) => file(chunk, true),
            Chunk::Data(chunk) => data(chunk),

            Chunk::ToolInputStart(chunk) => Event::ToolInputStart(self.tool(
                (&chunk.tool_call_id, &chunk.tool_name, true),
                chunk.dynamic,
                chunk.provider_executed,
                chunk.title,
                chunk.provider_metadata,
            )),
            Chunk::ToolInputAvailable(chunk) => Event::ToolInputAvailable(ToolInputAvailable::new(
                self.tool(
                    (&chunk.tool_call_id, &chunk.tool_name, false),
                    chunk.dynamic,
                    chunk.provider_executed,
                    chunk.title,
                    chunk.provider_metadata,
                ),
                Some(chunk.input.into_owned()),
            )),
            Chunk::ToolInputError(chunk) => {
                // An existing part of the step decides whether the tool is dynamic.
                let known = self.known.dynamic_in_step(&chunk.tool_call_id);
                let tool = self.tool(
                    (&chunk.tool_call_id, &chunk.tool_name, false),
                    if known.is_some() { known.filter(|&dynamic| dynamic) } else { chunk.dynamic },
                    chunk.provider_executed,
                    chunk.title,
                    chunk.provider_metadata,
                );
                let (input, error) = (Some(chunk.input.into_owned()), chunk.error_text.into_owned());
                Event::ToolInputError(ToolInputError { tool, input, error, ..Default::default() })
            }
            Chunk::ToolApprovalRequest(chunk) => self.approval_request(chunk)?,
            Chunk::ToolApprovalResponse(chunk) => Event::ApprovalAnswered(ApprovalAnswered {
                call: self.known.asked(&chunk.approval_id)?,
                approval: chunk.approval_id.into(),
                approved: chunk.approved,
                reason: chunk.reason.map(Cow::into_owned),
                ..Default::default()
            }),
            Chunk::ToolOutputAvailable(chunk) => Event::ToolOutput(ToolOutput {
                call: self.known.call(&chunk.tool_call_id)?.0,
                output: chunk.output.into_owned(),
                preliminary: chunk.preliminary.unwrap_or(false),
                metadata: owned(chunk.provider_metadata),
                ..Default::default()
            }),
            Chunk::ToolOutputError(chunk) => Event::ToolOutputError(ToolOutputError {
                call: self.known.call(&chunk.tool_call_id)?.0,
                error: chunk.error_text.into_owned(),
                ..Default::default()
            }),
            Chunk::ToolOutputDenied(chunk) => {
                let call = self.known.call(&chunk.tool_call_id)?.0;
                Event::ToolDenied(ToolDenied { call, ..Default::default() })
            }
            Chunk::Raw(_) => return Ok(None),
        }))
    }

    /// The call that a chunk announces, by its id and tool, and whether its input is streamed.
    fn tool(
        &mut self,
        (call, name, streams): (&str, &str, bool),
        dynamic: Option<bool>,
        provider_executed: Option<bool>,
        title: Option<Cow<'_, str>>,
        metadata: Option<Cow<'_, Value>>,
    ) -> ToolCall {
        let provider = provider_executed == Some(true);
        ToolCall {
            call: self.known.start_call(call, name, dynamic.unwrap_or(false), streams),
            name: name.to_owned(),
            dynamic,
            quiet: false,
            executor: if provider { Executor::Provider } else { Executor::Server },
            title: title.map(Cow::into_owned),
            metadata: owned(metadata),
        }
    }

    fn start(&mut self, start: Start<'_>, out: &mut DecodeOutput) -> Result<Option<Event>, Error> {
        if let Some(id) = start.message_id {
            self.known.start_message(&id);
            let message = MessageId::from(id);
            self.message = Some(message.clone());
            self.emit(MessageStarted { message, role: Role::Assistant, ..Default::default() }, out);
        }
        self.metadata(start.message_metadata, out)?;
        Ok(None)
    }

    fn metadata(&mut self, metadata: Option<Cow<'_, Value>>, out: &mut DecodeOutput) -> Result<(), Error> {
        if let Some(metadata) = metadata.filter(|metadata| !metadata.is_null()) {
            let metadata = self.known.metadata(metadata.into_owned())?;
            self.emit(Event::MessageMetadata { metadata }, out);
        }
        Ok(())
    }

    fn approval_request(&mut self, chunk: ToolApprovalRequest<'_>) -> Result<Event, Error> {
        let (call, name) = self.known.call(&chunk.tool_call_id)?;
        let tool = ToolCall::new(call, name.to_owned());
        self.known.ask(&chunk.approval_id, &tool.call);
        Ok(Event::ApprovalRequested(ApprovalRequested {
            approval: chunk.approval_id.into(),
            tool,
            signature: chunk.signature.map(Cow::into_owned),
            automatic: chunk.is_automatic.unwrap_or(false),
            ..Default::default()
        }))
    }
}

fn owned(value: Option<Cow<'_, Value>>) -> Option<Value> {
    value.map(Cow::into_owned)
}

fn file(chunk: File<'_>, reasoning: bool) -> Event {
    Event::File(FileEvent {
        url: chunk.url.into_owned(),
        media_type: chunk.media_type.into_owned(),
        reasoning,
        metadata: owned(chunk.provider_metadata),
        ..Default::default()
    })
}

fn data(chunk: Data<'_>) -> Event {
    Event::Data(DataEvent {
        name: chunk.kind.strip_prefix("data-").unwrap_or_default().to_owned(),
        id: chunk.id.map(Cow::into_owned),
        data: chunk.data.into_owned(),
        transient: chunk.transient.unwrap_or(false),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests;
