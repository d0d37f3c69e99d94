//! Encodes records as numbered events.

mod call;
mod wire;

use std::collections::HashMap;

use headwater_protocol::{
    AttemptId, AttemptRetracted, BlockDelta, BlockEnded, BlockKind, BlockStarted, DataEvent, ErrorInfo,
    Event, FileEvent, FinishReason, FrameWriter, Interrupt, InterruptAnswered, MessageId, Origin, PartId,
    Record, RunFinished, RunStarted, RunState, RunWaiting, SourceUrl, StructuredInvalidated, StructuredOp,
    StructuredStreams, StructuredUpdate, ToolCallId, Usage,
};
use serde_json::{Value, json};

use super::{
    END,
    document::{IncompleteDetails, ResponseDocument, ResponseError, ResponseStatus},
    item::{Item, ItemStatus, OutputText, SummaryText, UrlCitation},
    name,
};
use crate::encode::{Encode, EncodeOptions};
use call::{CallItem, OpenApproval};
use wire::{ItemEvent, PartEvent, ResponseEvent, TextEvent, send, send_delta};

/// Encodes a run as the stream of a response.
#[derive(Debug, Default)]
pub(super) struct ResponsesEncoder {
    seam: String,
    /// The number of the next event.
    next: u64,
    /// The id of the response.
    id: String,
    /// The id was given by the server and belongs to this response alone.
    named: bool,
    /// The common part of the item ids.
    run: String,
    model: Option<String>,
    session: Option<String>,
    begun: bool,
    ended: bool,
    /// Everything was written, including the end marker.
    finished: bool,
    waiting: bool,
    status: ResponseStatus,
    error: Option<ResponseError>,
    incomplete: Option<IncompleteDetails>,
    /// When the response began, in milliseconds since 1970.
    created: u64,
    /// The time of the last record.
    time: u64,
    seq: u64,
    /// The usage of the run so far, and at the start of this response.
    usage: Option<Usage>,
    used_before: Usage,
    /// The items of this response, by index.
    items: Vec<OutputItem>,
    /// How many items of the run have a numbered id.
    count: u64,
    blocks: Vec<OpenBlock>,
    calls: HashMap<ToolCallId, CallItem>,
    approvals: Vec<OpenApproval>,
    questions: Vec<Interrupt>,
    objects: StructuredStreams,
    /// The items of objects and data, by their ids.
    object_items: HashMap<String, usize>,
    /// Sources that came before any text.
    sources: Vec<UrlCitation>,
}

/// An item, and fields that are not sent.
#[derive(Debug)]
struct OutputItem {
    item: Item,
    open: bool,
    /// It is invalid and left out of the output.
    dropped: bool,
    attempt: Option<AttemptId>,
}

/// A text or reasoning block that is being written.
#[derive(Debug)]
struct OpenBlock {
    message: Option<MessageId>,
    kind: BlockKind,
    id: PartId,
    /// The index of its item.
    at: usize,
}

impl ResponsesEncoder {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self { seam: options.seam.clone(), next: options.sequence, ..Self::default() }
    }

    /// The response in its current state.
    pub(super) fn document(&self) -> ResponseDocument<'_> {
        ResponseDocument {
            id: &self.id,
            status: self.status,
            model: self.model.as_deref(),
            session: self.session.as_deref(),
            created: self.created,
            completed: (self.status == ResponseStatus::Completed).then_some(self.time),
            error: self.error.as_ref(),
            incomplete: self.incomplete.as_ref(),
            output: self.items.iter().filter(|item| !item.dropped).map(|item| &item.item).collect(),
            usage: self.usage.as_ref().map(|usage| since(usage, &self.used_before)),
        }
    }

    fn start(&mut self, started: &RunStarted) {
        let given = started.run.as_ref().map_or("", |run| run.as_str());
        let named = name::parse(given);
        self.named = named.is_some();
        let run = named.map_or_else(|| given.into(), |answer| answer.run);
        self.id = if self.named { given.to_owned() } else { name::response(&run, 0) };
        run.as_str().trim_start_matches("run_").clone_into(&mut self.run);
        self.model.clone_from(&started.model);
        self.session = started.session.as_ref().map(|session| session.as_str().to_owned());
    }

    /// Begins the response.
    fn begin(&mut self, out: &mut FrameWriter) {
        self.begun = true;
        self.created = self.time;
        self.status = ResponseStatus::InProgress;
        for event in ["response.created", "response.in_progress"] {
            self.send_response(event, out);
        }
    }

    fn send_response(&mut self, event: &'static str, out: &mut FrameWriter) {
        let mut next = self.next;
        send(&mut next, event, &ResponseEvent { response: self.document() }, out);
        self.next = next;
    }

    fn event(&mut self, record: &Record, out: &mut FrameWriter) {
        let origin = &record.origin;
        match &record.event {
            Event::RunFinished(RunFinished { reason, usage, .. }) => {
                self.usage = usage.clone().or(self.usage.take());
                let cut = match reason {
                    Some(FinishReason::Length) => Some("max_output_tokens"),
                    Some(FinishReason::ContentFilter) => Some("content_filter"),
                    _ => None,
                };
                self.incomplete = cut.map(|reason| IncompleteDetails { reason });
                match cut {
                    None => self.end(ResponseStatus::Completed, out),
                    Some(_) => self.end(ResponseStatus::Incomplete, out),
                }
            }
            Event::RunFailed(ErrorInfo { message, code, .. }) => {
                let code = code.clone().unwrap_or_else(|| "server_error".to_owned());
                self.error = Some(ResponseError { code, message: message.clone() });
                self.end(ResponseStatus::Failed, out);
            }
            Event::RunCancelled { .. } => {
                self.incomplete = Some(IncompleteDetails { reason: "cancelled" });
                self.end(ResponseStatus::Cancelled, out);
            }
            Event::RunWaiting(RunWaiting { tool_calls, usage, .. }) => {
                self.usage = usage.clone().or(self.usage.take());
                self.close_all(ItemStatus::Completed, out);
                self.ask(tool_calls, out);
                self.waiting = true;
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => self.retract(attempt, out),

            Event::Message { content } => self.whole_text(content, origin, out),
            Event::BlockStarted(BlockStarted { kind, id, .. })
            | Event::BlockEnded(BlockEnded { kind, id, .. }) => {
                if let Some(at) = self.block(*kind, id, origin) {
                    self.close(at, ItemStatus::Completed, out);
                }
            }
            Event::BlockDelta(block) => self.delta(block, origin, out),

            Event::SourceUrl(SourceUrl { url, title, .. }) => {
                let title = title.clone().unwrap_or_default();
                self.cite(UrlCitation { url: url.clone(), title, start_index: 0, end_index: 0 }, out);
            }
            Event::File(file) => self.file(file, origin, out),
            Event::Data(data) if !data.transient => self.data(data, origin, out),
            Event::Structured(update) => self.object(update, origin, out),
            Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
                self.objects.invalidate(stream);
                if let Some(at) = self.object_items.remove(&object_key(stream)) {
                    self.drop_item(at, out);
                }
            }

            Event::InterruptRequested(question) => self.questions.push((**question).clone()),
            Event::InterruptAnswered(InterruptAnswered { request, .. })
            | Event::InterruptExpired { request } => {
                self.questions.retain(|question| question.request != *request);
            }
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            _ => self.tool_event(record, out),
        }
    }

    /// The id of a new item with a number.
    fn item_id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{}_{}", self.run, self.count)
    }

    /// Adds an item and returns its index.
    fn add(&mut self, item: Item, attempt: Option<AttemptId>, out: &mut FrameWriter) -> usize {
        let at = self.items.len();
        send(&mut self.next, "response.output_item.added", &ItemEvent { output_index: at, item: &item }, out);
        self.items.push(OutputItem { item, open: true, dropped: false, attempt });
        at
    }

    /// Completes an item.
    fn done(&mut self, at: usize, status: ItemStatus, out: &mut FrameWriter) {
        let Some(output) = self.items.get_mut(at).filter(|output| output.open) else { return };
        output.open = false;
        output.item.set_status(status);
        let event = ItemEvent { output_index: at, item: &output.item };
        send(&mut self.next, "response.output_item.done", &event, out);
    }

    /// Closes an item, with the events that end its content.
    fn close(&mut self, at: usize, status: ItemStatus, out: &mut FrameWriter) {
        self.blocks.retain(|block| block.at != at);
        let Some(output) = self.items.get(at).filter(|output| output.open) else { return };
        match &output.item {
            Item::Message { id, content, .. } => {
                for part in content {
                    let text = TextEvent::of_text(id, at, &part.text);
                    send(&mut self.next, "response.output_text.done", &text, out);
                    let part = PartEvent::of_text(id, at, part);
                    send(&mut self.next, "response.content_part.done", &part, out);
                }
            }
            Item::Reasoning { id, summary } => {
                for part in summary {
                    let text = TextEvent::of_summary(id, at, &part.text);
                    send(&mut self.next, "response.reasoning_summary_text.done", &text, out);
                    let part = PartEvent::of_summary(id, at, part);
                    send(&mut self.next, "response.reasoning_summary_part.done", &part, out);
                }
            }
            _ => {}
        }
        self.done(at, status, out);
    }

    fn close_all(&mut self, status: ItemStatus, out: &mut FrameWriter) {
        for at in 0..self.items.len() {
            let Some(output) = self.items.get(at).filter(|output| output.open) else { continue };
            match &output.item {
                // Its output comes in another response, or never.
                Item::McpCall { .. } => self.drop_item(at, out),
                Item::Data { data_id, .. } => {
                    let stream = data_id.clone().unwrap_or_default();
                    self.fill_object(&stream, at);
                    self.close(at, ItemStatus::Incomplete, out);
                }
                _ => self.close(at, status, out),
            }
        }
    }

    /// Closes an invalid item.
    fn drop_item(&mut self, at: usize, out: &mut FrameWriter) {
        self.close(at, ItemStatus::Incomplete, out);
        if let Some(output) = self.items.get_mut(at) {
            output.dropped = true;
        }
    }

    fn end(&mut self, status: ResponseStatus, out: &mut FrameWriter) {
        let (item, event) = match status {
            ResponseStatus::Completed => (ItemStatus::Completed, "response.completed"),
            ResponseStatus::Failed => (ItemStatus::Incomplete, "response.failed"),
            _ => (ItemStatus::Incomplete, "response.incomplete"),
        };
        self.close_all(item, out);
        self.status = status;
        self.ended = true;
        self.send_response(event, out);
    }

    fn block(&self, kind: BlockKind, id: &PartId, origin: &Origin) -> Option<usize> {
        let found = self
            .blocks
            .iter()
            .find(|block| block.kind == kind && block.id == *id && block.message == origin.message);
        found.map(|block| block.at)
    }

    /// Serialised by hand, because most of a stream is text deltas. A block gets its item with its first
    /// text.
    fn delta(&mut self, block: &BlockDelta, origin: &Origin, out: &mut FrameWriter) {
        let BlockDelta { kind, id, delta, .. } = block;
        if delta.is_empty() {
            return;
        }
        let at = match self.block(*kind, id, origin) {
            Some(at) => at,
            None => {
                let at = self.begin_text(*kind, origin.attempt.clone(), out);
                let message = origin.message.clone();
                self.blocks.push(OpenBlock { message, kind: *kind, id: id.clone(), at });
                at
            }
        };
        self.write_text(at, *kind, delta, out);
    }

    fn begin_text(&mut self, kind: BlockKind, attempt: Option<AttemptId>, out: &mut FrameWriter) -> usize {
        match kind {
            BlockKind::Text => {
                let (id, status) = (self.item_id("msg"), ItemStatus::InProgress);
                let item = Item::Message { id, status, role: "assistant", content: Vec::new() };
                let at = self.add(item, attempt, out);
                let annotations = Vec::new();
                let part = OutputText { text: String::new(), annotations, logprobs: [] };
                if let Some(OutputItem { item: Item::Message { id, content, .. }, .. }) =
                    self.items.get_mut(at)
                {
                    let event = PartEvent::of_text(id, at, &part);
                    send(&mut self.next, "response.content_part.added", &event, out);
                    content.push(part);
                }
                for source in std::mem::take(&mut self.sources) {
                    self.cite(source, out);
                }
                at
            }
            BlockKind::Reasoning => {
                let item = Item::Reasoning { id: self.item_id("rs"), summary: Vec::new() };
                let at = self.add(item, attempt, out);
                let part = SummaryText { text: String::new() };
                if let Some(OutputItem { item: Item::Reasoning { id, summary }, .. }) = self.items.get_mut(at)
                {
                    let event = PartEvent::of_summary(id, at, &part);
                    send(&mut self.next, "response.reasoning_summary_part.added", &event, out);
                    summary.push(part);
                }
                at
            }
        }
    }

    fn write_text(&mut self, at: usize, kind: BlockKind, delta: &str, out: &mut FrameWriter) {
        let Some(output) = self.items.get_mut(at) else { return };
        if let Some(text) = output.item.text_mut() {
            text.push_str(delta);
        }
        send_delta(&mut self.next, kind, output.item.id(), at, delta, out);
    }

    fn whole_text(&mut self, content: &str, origin: &Origin, out: &mut FrameWriter) {
        if content.is_empty() {
            return;
        }
        let at = self.begin_text(BlockKind::Text, origin.attempt.clone(), out);
        self.write_text(at, BlockKind::Text, content, out);
        self.close(at, ItemStatus::Completed, out);
    }

    /// A source is an annotation of the newest text.
    fn cite(&mut self, mut source: UrlCitation, out: &mut FrameWriter) {
        let newest =
            self.items.iter_mut().enumerate().rev().find_map(|(at, output)| match &mut output.item {
                Item::Message { id, content, .. } if !output.dropped => Some((at, id, content.first_mut()?)),
                _ => None,
            });
        let Some((at, id, content)) = newest else { return self.sources.push(source) };
        let end = content.text.chars().count();
        (source.start_index, source.end_index) = (end, end);
        let index = content.annotations.len();
        let event = json!({
            "item_id": id, "output_index": at, "content_index": 0, "annotation_index": index, "annotation": source,
        });
        send(&mut self.next, "response.output_text.annotation.added", &event, out);
        content.annotations.push(source);
    }

    fn file(&mut self, file: &FileEvent, origin: &Origin, out: &mut FrameWriter) {
        let FileEvent { url, media_type, filename, .. } = file;
        let raster = |kind: &str| matches!(kind, "png" | "jpeg" | "webp");
        let image = url.strip_prefix("data:image/").and_then(|url| url.split_once(";base64,"));
        let image = image.filter(|(kind, _)| raster(kind));
        let item = match image {
            Some((_, bytes)) => Item::ImageGenerationCall {
                id: self.item_id("ig"),
                status: ItemStatus::InProgress,
                result: Some(bytes.to_owned()),
            },
            None => Item::File {
                id: self.item_id("file"),
                status: ItemStatus::InProgress,
                url: url.clone(),
                media_type: media_type.clone(),
                filename: filename.clone(),
            },
        };
        let at = self.add(item, origin.attempt.clone(), out);
        self.done(at, ItemStatus::Completed, out);
    }

    /// Data with a known id replaces the earlier data.
    fn data(&mut self, data: &DataEvent, origin: &Origin, out: &mut FrameWriter) {
        let item = Item::Data {
            id: self.item_id("data"),
            status: ItemStatus::InProgress,
            name: data.name.clone(),
            data_id: data.id.clone(),
            data: data.data.clone(),
        };
        let at = self.add(item, origin.attempt.clone(), out);
        self.done(at, ItemStatus::Completed, out);
        if let Some(id) = &data.id
            && let Some(before) = self.object_items.insert(format!("data/{}/{id}", data.name), at)
        {
            self.drop_item(before, out);
        }
    }

    /// An object gets its item at its start and its content when it is complete: no event could show it grow.
    fn object(&mut self, update: &StructuredUpdate, origin: &Origin, out: &mut FrameWriter) {
        let Ok(state) = self.objects.apply(update) else { return };
        let key = object_key(&update.stream);
        let at = match self.object_items.get(&key) {
            Some(at) => *at,
            None => {
                let name = state.data_type().to_owned();
                let item = Item::Data {
                    id: self.item_id("data"),
                    status: ItemStatus::InProgress,
                    name,
                    data_id: Some(update.stream.clone()),
                    data: Value::Null,
                };
                let at = self.add(item, origin.attempt.clone(), out);
                self.object_items.insert(key, at);
                at
            }
        };
        if matches!(update.op, StructuredOp::Final { .. }) {
            self.fill_object(&update.stream, at);
            self.close(at, ItemStatus::Completed, out);
        }
    }

    fn fill_object(&mut self, stream: &str, at: usize) {
        let known = self.objects.iter().find(|object| object.stream() == stream);
        if let Some(object) = known
            && let Some(OutputItem { item: Item::Data { data, .. }, .. }) = self.items.get_mut(at)
        {
            *data = object.data().cloned().unwrap_or_default();
        }
    }

    /// Closes the items of a failed attempt and leaves them out of the output.
    fn retract(&mut self, attempt: &AttemptId, out: &mut FrameWriter) {
        let mut texts = false;
        for at in 0..self.items.len() {
            let Some(output) = self.items.get(at) else { continue };
            if output.attempt.as_ref() == Some(attempt) && !output.dropped {
                texts |= matches!(output.item, Item::Message { .. });
                self.drop_item(at, out);
            }
        }
        self.calls.retain(|_, call| call.attempt.as_ref() != Some(attempt));
        if texts && !self.seam.is_empty() {
            let seam = self.seam.clone();
            self.whole_text(&seam, &Origin::default(), out);
            self.drop_item(self.items.len().saturating_sub(1), out);
        }
    }
}

fn object_key(stream: &str) -> String {
    format!("stream/{stream}")
}

/// The usage since an earlier point.
fn since(now: &Usage, before: &Usage) -> Usage {
    let minus = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
    Usage {
        input_tokens: minus(now.input_tokens, before.input_tokens),
        output_tokens: minus(now.output_tokens, before.output_tokens),
        total_tokens: minus(now.total_tokens, before.total_tokens),
        reasoning_tokens: minus(now.reasoning_tokens, before.reasoning_tokens),
        cached_input_tokens: minus(now.cached_input_tokens, before.cached_input_tokens),
        cache_write_tokens: minus(now.cache_write_tokens, before.cache_write_tokens),
    }
}

impl Encode for ResponsesEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        if self.ended {
            return;
        }
        (self.seq, self.time) = (record.seq, record.time.max(self.time));
        match &record.event {
            Event::RunStarted(started) if !self.begun => self.start(started),
            _ if self.id.is_empty() => self.start(&RunStarted::default()),
            _ => {}
        }
        if !self.begun {
            self.begin(out);
        }
        if !record.event.kind().leaves_waiting() {
            self.waiting = false;
        }
        self.event(record, out);
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        // The run is named later.
        let nameless = |record: &&Record| match &record.event {
            Event::RunStarted(started) => *started == RunStarted::default(),
            _ => false,
        };
        for record in state.replay().iter().filter(|record| !nameless(record)) {
            self.record(record, out);
        }
    }

    /// Lost deltas belong to an attempt that is retracted: its items are closed with the stored texts.
    fn restate(&mut self, next: Option<u64>, _: &mut FrameWriter) {
        self.next = next.unwrap_or(self.next);
    }

    fn finish(&mut self, out: &mut FrameWriter) {
        if self.waiting && !self.ended {
            self.end(ResponseStatus::Completed, out);
        }
        if self.ended && !std::mem::replace(&mut self.finished, true) {
            out.raw(END);
        }
    }

    fn next_response(&mut self, _: &mut FrameWriter) {
        if !self.named {
            let run = name::parse(&self.id).map(|answer| answer.run).unwrap_or_default();
            self.id = name::response(&run, self.seq);
        }
        (self.next, self.begun, self.ended, self.finished, self.waiting) = (0, false, false, false, false);
        self.used_before = self.usage.clone().unwrap_or_default();
        (self.error, self.incomplete) = (None, None);
        self.items.clear();
        self.blocks.clear();
        self.object_items.clear();
        self.calls.values_mut().for_each(|call| call.at = None);
    }
}

#[cfg(test)]
mod tests;
