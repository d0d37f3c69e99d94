//! The recorder of an attempt: turns model events into visible events and a stored reply.

use std::{collections::HashMap, sync::PoisonError, time::Duration};

use headwater_json::{Chunk, Extractor};
use headwater_models::{ModelError, ModelErrorKind, ModelEvent};
use headwater_protocol::{
    AttemptId, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind, BlockStarted, Event,
    Executor, FileEvent, Origin, PartId, SourceDocument, SourceUrl, StructuredInvalidated, StructuredOp,
    ToolCall, ToolCallId, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput, WarningEvent,
    check_id,
};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    call::{PassVisibility, ReasonCall},
    model_reply::{ModelReply, ReplyPart, ReplyToolCall},
    options::Failover,
    output,
};
use crate::{Error, Result, codec::json_size, coded, error::ErrorKind, limits};

/// How an attempt ended.
pub(super) enum AttemptOutcome {
    /// The model exceeded the size limit. Its output stays, and no other attempt is made.
    Refused(Error, AttemptId),
    Answered(Box<ModelReply>, AttemptId),
    Died {
        error: ModelError,
        /// The text that the next attempt continues from.
        kept: Option<(AttemptId, String)>,
    },
}

/// The reason of a retraction: the code first, so that it can be sent to readers alone.
pub(super) fn retraction(error: &ModelError) -> String {
    coded(error.kind().code(), &error.to_string())
}

/// Turns model events into visible events and a stored reply.
pub(super) struct AttemptRecorder<'a> {
    call: &'a ReasonCall,
    pub(super) attempt: AttemptId,
    origin: Origin,
    shown: PassVisibility,
    said: ModelReply,
    open: HashMap<u32, OpenPart>,
    fields: Option<Extractor>,
    structured: bool,
    /// Text of a field that is not written yet.
    unwritten: Option<StructuredOp>,
    /// When text of a field was last written.
    wrote_field: Option<Instant>,
    sources: u32,
    /// Bytes received from the model.
    bytes: usize,
}

/// Text of a field that arrives sooner than this after the last write is written together with the following
/// text: the envelope of each piece costs readers more than ten times its bytes.
const FIELD_WINDOW: Duration = Duration::from_millis(40);

/// Buffered text of a field is written at this size.
const FIELD_BYTES: usize = 4 << 10;

/// A part that may still grow, with its index.
struct OpenPart {
    at: usize,
    id: PartId,
    /// The input text of a tool call.
    input: String,
}

impl<'a> AttemptRecorder<'a> {
    pub(super) fn new(call: &'a ReasonCall, model: &str, shown: PassVisibility) -> Result<Self> {
        let attempt = call.node.run.next_attempt();
        let origin = Origin { attempt: Some(attempt.clone()), ..call.origin.clone() };
        call.append(Event::AttemptStarted(AttemptStarted {
            attempt: attempt.clone(),
            model: Some(model.to_owned()),
            ..Default::default()
        }))?;
        *call.attempt.lock().unwrap_or_else(PoisonError::into_inner) = Some(attempt.clone());
        let fields = call.fields.clone().filter(|_| shown.fields);
        Ok(Self {
            call,
            attempt,
            origin,
            shown,
            said: ModelReply { model: model.to_owned(), ..ModelReply::default() },
            open: HashMap::new(),
            fields: fields.map(|fields| Extractor::with(fields, output::options())),
            structured: false,
            unwritten: None,
            wrote_field: None,
            sources: 0,
            bytes: 0,
        })
    }

    fn delta(&mut self, event: Event) -> Result<()> {
        self.flush()?;
        self.write(event)
    }

    fn write(&self, event: Event) -> Result<()> {
        self.call.node.keep(self.call.node.run.journal.delta(&self.origin, event))
    }

    /// Writes the buffered text of a field.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(op) = self.unwritten.take() else { return Ok(()) };
        self.wrote_field = Some(Instant::now());
        self.write_field(op)
    }

    /// When to write the buffered text of a field.
    pub(super) fn flush_at(&self) -> Option<Instant> {
        self.unwritten.as_ref()?;
        Some(self.wrote_field? + FIELD_WINDOW)
    }

    fn write_field(&self, op: StructuredOp) -> Result<()> {
        let (Some(structured), Some(stream)) = (&self.call.options.structured, &self.call.stream) else {
            return Ok(());
        };
        self.write(self.call.update(structured, stream, op))
    }

    /// Writes an update of an object, or buffers it briefly if it is more text of a field.
    fn update_field(&mut self, op: StructuredOp) -> Result<()> {
        if let StructuredOp::TextDelta { path, delta, .. } = &op
            && let Some(StructuredOp::TextDelta { path: before, delta: text, .. }) = &mut self.unwritten
            && before == path
        {
            text.push_str(delta);
            return Ok(());
        }
        self.flush()?;
        if matches!(op, StructuredOp::TextDelta { .. }) {
            self.unwritten = Some(op);
            return Ok(());
        }
        self.write_field(op)
    }

    fn part_id(&self, part: u32) -> PartId {
        let known = self.open.get(&part).map(|open| open.id.clone());
        known.unwrap_or_else(|| format!("{}.{part}", self.attempt).into())
    }

    fn shows_tools(&self) -> bool {
        self.call.options.shows_calls()
    }

    fn begin(&mut self, part: u32, said: ReplyPart) {
        let id = self.part_id(part);
        self.open.insert(part, OpenPart { at: self.said.parts.len(), id, input: String::new() });
        self.said.parts.push(said);
    }

    fn grow(&mut self, part: u32, more: &str) {
        let at = self.open.get(&part).map(|open| open.at);
        if let Some(ReplyPart::Text { text, .. } | ReplyPart::Reasoning { text, .. }) =
            at.and_then(|at| self.said.parts.get_mut(at))
        {
            text.push_str(more);
        }
    }

    /// Refuses output beyond the size limit.
    pub(super) fn measure(&mut self, event: &ModelEvent) -> Result<()> {
        self.bytes += match event {
            ModelEvent::TextDelta { delta, .. }
            | ModelEvent::ReasoningDelta { delta, .. }
            | ModelEvent::ToolCallDelta { delta, .. } => delta.len(),
            ModelEvent::ToolResult { output, .. } => json_size(output),
            ModelEvent::SourceDocument { text, .. } => text.as_ref().map_or(0, String::len),
            ModelEvent::File { url, .. } => url.len(),
            _ => 0,
        };
        let limit = self.call.node.run.options().max_answer_bytes;
        if self.bytes <= limit {
            return Ok(());
        }
        let message =
            format!("model `{}` exceeded {limit} bytes in one answer (`max_answer_bytes`)", self.said.model);
        Err(Error::new(ErrorKind::TooLarge, message).with_code("model.output-too-large"))
    }

    fn shows_block(&self, kind: BlockKind) -> bool {
        match kind {
            BlockKind::Text => self.shown.text,
            BlockKind::Reasoning => self.call.options.emit,
        }
    }

    fn start_block(&mut self, kind: BlockKind, part: u32, metadata: Option<Value>) -> Result<()> {
        let (text, said) = (String::new(), metadata.clone());
        self.begin(
            part,
            match kind {
                BlockKind::Text => ReplyPart::Text { text, metadata: said },
                BlockKind::Reasoning => ReplyPart::Reasoning { text, metadata: said },
            },
        );
        if self.shows_block(kind) {
            let started = BlockStarted { metadata, ..BlockStarted::new(kind, self.part_id(part)) };
            self.delta(Event::BlockStarted(started))?;
        }
        Ok(())
    }

    fn grow_block(&mut self, kind: BlockKind, part: u32, delta: String) -> Result<()> {
        self.grow(part, &delta);
        if kind == BlockKind::Text {
            self.extract(&delta)?;
        }
        if self.shows_block(kind) {
            self.delta(Event::BlockDelta(BlockDelta::new(kind, self.part_id(part), delta)))?;
        }
        Ok(())
    }

    fn end_block(&mut self, kind: BlockKind, part: u32, metadata: Option<Value>) -> Result<()> {
        self.end_text(part, metadata.clone());
        if self.shows_block(kind) {
            let ended = BlockEnded { metadata, ..BlockEnded::new(kind, self.part_id(part)) };
            self.delta(Event::BlockEnded(ended))?;
        }
        Ok(())
    }

    /// Handles one event. Returns whether it was the last.
    pub(super) fn on_event(&mut self, event: ModelEvent) -> Result<bool> {
        let emit = self.call.options.emit;
        match event {
            ModelEvent::TextStart { part, metadata } => self.start_block(BlockKind::Text, part, metadata)?,
            ModelEvent::TextDelta { part, delta } => self.grow_block(BlockKind::Text, part, delta)?,
            ModelEvent::TextEnd { part, metadata } => self.end_block(BlockKind::Text, part, metadata)?,
            ModelEvent::ReasoningStart { part, metadata } => {
                self.start_block(BlockKind::Reasoning, part, metadata)?;
            }
            ModelEvent::ReasoningDelta { part, delta } => {
                self.grow_block(BlockKind::Reasoning, part, delta)?;
            }
            ModelEvent::ReasoningEnd { part, metadata } => {
                self.end_block(BlockKind::Reasoning, part, metadata)?;
            }
            ModelEvent::ToolCallStart { part, call, name, provider_executed, metadata } => {
                self.begin_call(part, call, name, provider_executed, metadata)?;
            }
            ModelEvent::ToolCallDelta { part, delta } => {
                let Some(open) = self.open.get_mut(&part) else { return Ok(false) };
                open.input.push_str(&delta);
                let call = match self.part(part) {
                    Some(ReplyPart::Call(said)) if self.shows_tools() => said.call.clone(),
                    _ => return Ok(false),
                };
                self.delta(Event::ToolInputDelta(ToolInputDelta::new(call, delta)))?;
            }
            ModelEvent::ToolCallEnd { part, metadata } => self.end_call(part, metadata)?,
            ModelEvent::ToolResult { part, output, is_error } => {
                let Some(ReplyPart::Call(said)) = self.part_mut(part) else { return Ok(false) };
                said.provider_output = Some(output.clone());
                let call = said.call.clone();
                if self.shows_tools() {
                    self.delta(Event::ToolOutput(ToolOutput {
                        call,
                        output,
                        is_error,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::SourceUrl { url, title, metadata } => {
                self.sources += 1;
                let source = format!("{}.source{}", self.attempt, self.sources);
                if emit {
                    self.delta(Event::SourceUrl(SourceUrl {
                        source,
                        url,
                        title,
                        metadata,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::SourceDocument { title, media_type, filename, text, metadata } => {
                self.sources += 1;
                let source = format!("{}.source{}", self.attempt, self.sources);
                if emit {
                    let call = None;
                    self.delta(Event::SourceDocument(SourceDocument {
                        source,
                        title,
                        media_type,
                        filename,
                        text,
                        call,
                        metadata,
                        ..Default::default()
                    }))?;
                }
            }
            ModelEvent::File { media_type, url } if emit => {
                let (filename, id, reasoning, metadata) = (None, None, false, None);
                self.delta(Event::File(FileEvent {
                    url,
                    media_type,
                    filename,
                    id,
                    reasoning,
                    metadata,
                    ..Default::default()
                }))?;
            }
            ModelEvent::Warning(warning) => {
                if emit {
                    let (message, code) =
                        (warning.message.clone(), Some(format!("model.{}", warning.feature)));
                    self.delta(Event::Warning(WarningEvent { message, code, ..Default::default() }))?;
                }
                self.said.warnings.push(warning);
            }
            ModelEvent::Finished { reason, raw_reason, usage, metadata, raw, .. } => {
                self.said.finish = Some(reason);
                self.said.raw_finish = raw_reason;
                self.said.usage = usage;
                self.said.raw = raw;
                self.said.metadata = metadata;
                return Ok(true);
            }
            // Unknown events are only logged, for debugging a provider.
            _ => {}
        }
        Ok(false)
    }

    fn part(&self, part: u32) -> Option<&ReplyPart> {
        self.said.parts.get(self.open.get(&part)?.at)
    }

    fn part_mut(&mut self, part: u32) -> Option<&mut ReplyPart> {
        self.said.parts.get_mut(self.open.get(&part)?.at)
    }

    fn end_text(&mut self, part: u32, ended: Option<Value>) {
        match self.part_mut(part) {
            Some(ReplyPart::Text { metadata, .. } | ReplyPart::Reasoning { metadata, .. })
                if ended.is_some() =>
            {
                *metadata = ended;
            }
            _ => {}
        }
        self.open.remove(&part);
    }

    fn begin_call(
        &mut self,
        part: u32,
        given: Option<String>,
        name: String,
        provider_executed: bool,
        metadata: Option<Value>,
    ) -> Result<()> {
        // A missing id, and one already used in this run, is replaced: two calls of one id would be confused.
        // The same applies to an id that no client could send back with its answer.
        let used = |id: &String| !self.call.node.run.fold().tool_calls.insert(id.clone());
        let (call, replaced) = match given {
            Some(id) if check_id(&id).is_ok() && !used(&id) => (id, None),
            given => (crate::id::fresh_id("call")?, given),
        };
        let call = ToolCallId::from(call);
        let said = ReplyToolCall {
            call: call.clone(),
            name: name.clone(),
            input: Err(String::new()),
            metadata,
            provider_output: None,
            provider_executed,
        };
        self.begin(part, ReplyPart::Call(said));
        if self.shows_tools() {
            let tool = self.tool(call, &name, provider_executed, replaced);
            self.delta(Event::ToolInputStart(tool))?;
        }
        Ok(())
    }

    fn tool(&self, call: ToolCallId, name: &str, by_provider: bool, replaced: Option<String>) -> ToolCall {
        let known = self.call.tools.get(name);
        let executor = match known {
            _ if by_provider => Executor::Provider,
            Some(tool) => tool.executor(),
            None => Executor::Server,
        };
        let mut tool = ToolCall::new(call, name).by(executor);
        tool.quiet = self.call.options.tool_options.emit.is_none();
        tool.title = known.and_then(|tool| tool.spec().title.clone());
        tool.metadata = replaced
            .filter(|id| check_id(id).is_ok())
            .map(|id| serde_json::json!({ "headwater": { "providerCallId": id } }));
        tool
    }

    fn end_call(&mut self, part: u32, ended: Option<Value>) -> Result<()> {
        let Some(open) = self.open.remove(&part) else { return Ok(()) };
        let Some(ReplyPart::Call(said)) = self.said.parts.get_mut(open.at) else { return Ok(()) };
        if ended.is_some() {
            said.metadata = ended;
        }
        // Missing arguments are an empty object.
        let text = if open.input.trim().is_empty() { "{}" } else { &open.input };
        // A call with an oversized input is not made: the model gets an error.
        let parsed = match limits::input().check(text.as_bytes()) {
            Ok(()) => {
                serde_json::from_str::<Value>(text).map_err(|error| format!("the input is not JSON: {error}"))
            }
            Err(exceeded) => Err(format!("the input is too large: {exceeded}")),
        };
        said.input = parsed.clone().map_err(|_| open.input.clone());
        let (call, name, by_provider) = (said.call.clone(), said.name.clone(), said.provider_executed);
        // A provider's result for it may still arrive.
        self.open.insert(part, OpenPart { input: String::new(), ..open });
        if !self.shows_tools() {
            return Ok(());
        }
        let tool = self.tool(call, &name, by_provider, None);
        self.delta(match parsed {
            Ok(input) => Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(input))),
            Err(error) => Event::ToolInputError(ToolInputError {
                tool,
                input: Some(Value::String(open.input)),
                error,
                ..Default::default()
            }),
        })
    }

    /// Emits the fields of an object as they grow.
    fn extract(&mut self, text: &str) -> Result<()> {
        let Some(fields) = &mut self.fields else { return Ok(()) };
        let mut updates = Vec::new();
        let pushed = fields.push(text, |chunk| {
            updates.push(match chunk {
                Chunk::Set { path, value } => StructuredOp::Set { path: path.to_owned(), value },
                Chunk::Text { path, delta } => StructuredOp::text(path, delta),
                Chunk::Append { path, items } => StructuredOp::append(path, items),
            });
        });
        if pushed.is_err() {
            // Not JSON: reported at the end, when the complete text is parsed.
            self.fields = None;
        }
        for op in updates {
            self.structured = true;
            self.update_field(op)?;
        }
        let waits = matches!(&self.unwritten, Some(StructuredOp::TextDelta { delta, .. }) if delta.len() < FIELD_BYTES);
        let recent = self.wrote_field.is_some_and(|wrote| wrote.elapsed() < FIELD_WINDOW);
        if waits && recent { Ok(()) } else { self.flush() }
    }

    /// Completes the attempt. Its end is written with the end of the pass.
    pub(super) fn finish(mut self) -> Result<(ModelReply, AttemptId)> {
        self.close_parts()?;
        // A call without an end event ends here.
        let open: Vec<_> =
            self.open.iter().filter(|(_, open)| !open.input.is_empty()).map(|(part, _)| *part).collect();
        for part in open {
            self.end_call(part, None)?;
        }
        if self.call.options.emit && self.said.usage != Default::default() {
            self.delta(Event::Usage(self.said.usage.clone()))?;
        }
        Ok((self.said, self.attempt))
    }

    /// Ends open parts, and the attempt: its output stays.
    pub(super) fn close(&mut self) -> Result<()> {
        self.close_parts()?;
        self.call.append(Event::AttemptFinished { attempt: self.attempt.clone() })
    }

    pub(super) fn close_parts(&mut self) -> Result<()> {
        self.flush()?;
        let mut open: Vec<_> = self.open.iter().map(|(part, open)| (open.at, *part)).collect();
        open.sort_unstable();
        for (at, part) in open {
            let id = self.part_id(part);
            let kind = match self.said.parts.get(at) {
                Some(ReplyPart::Text { .. }) => BlockKind::Text,
                Some(ReplyPart::Reasoning { .. }) => BlockKind::Reasoning,
                _ => continue,
            };
            if self.shows_block(kind) {
                self.delta(Event::BlockEnded(BlockEnded::new(kind, id)))?;
            }
        }
        Ok(())
    }

    /// Handles a failed model call: retracts the text, or keeps it as the prefix of the next attempt.
    pub(super) fn die(mut self, error: ModelError) -> Result<AttemptOutcome> {
        let only_text = self.said.parts.iter().all(|part| matches!(part, ReplyPart::Text { .. }));
        let goes_on = error.kind() != ModelErrorKind::Aborted;
        self.call.attempt.lock().unwrap_or_else(PoisonError::into_inner).take();
        if goes_on
            && self.call.options.failover == Failover::Continue
            && only_text
            && self.call.fields.is_none()
        {
            let said = self.said.text();
            self.close()?;
            return Ok(AttemptOutcome::Died { error, kept: Some((self.attempt, said)) });
        }
        if let (true, Some(stream)) = (self.structured, &self.call.stream) {
            self.call.append(Event::StructuredInvalidated(StructuredInvalidated {
                stream: stream.clone(),
                ..Default::default()
            }))?;
        }
        let reason = Some(retraction(&error));
        self.call.append(Event::AttemptRetracted(AttemptRetracted {
            attempt: self.attempt,
            reason,
            ..Default::default()
        }))?;
        Ok(AttemptOutcome::Died { error, kept: None })
    }
}
