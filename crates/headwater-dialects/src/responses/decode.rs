//! Decodes events to records: from our own server, from OpenAI, and from other servers with Open Responses.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{
    ApprovalRequested, BlockDelta, BlockEnded, BlockKind, BlockStarted, DataEvent, Error, ErrorInfo,
    ErrorKind, Event, Executor, FileEvent, FinishReason, Frame, MessageStarted, Record, Role, RunFinished,
    RunStarted, RunWaiting, SourceUrl, ToolCall, ToolCallId, ToolInputAvailable, ToolInputDelta, ToolOutput,
    ToolOutputError, UnknownEvent, Usage,
};
use serde_json::Value;

use super::END;
use crate::{
    decode::{Decode, DecodeOutput},
    json::EmbeddedJson,
};

/// Decodes the stream of a response.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    seq: u64,
    begun: bool,
    message: bool,
    ended: bool,
    /// The id of the response, also used for the message.
    id: String,
    /// The open blocks, by item, kind and index.
    blocks: HashSet<(String, BlockKind, u64)>,
    /// The items whose text was streamed.
    streamed: HashSet<String>,
    /// The calls by their items.
    calls: HashMap<String, ToolCallId>,
    /// The calls that the client has to execute.
    pending: Vec<ToolCallId>,
    asks: bool,
    sources: u64,
}

impl Decode for ResponsesDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        if frame.data == END || self.ended {
            return;
        }
        let kind = match crate::json::type_of(frame) {
            Ok(kind) => kind.into_owned(),
            Err(error) => return out.errors.push(error),
        };
        let value: Value = match crate::json::read(frame) {
            Ok(value) => value,
            Err(error) => return out.errors.push(error),
        };
        if let Err(missing) = self.event(&kind, &value, out) {
            let message = format!("`{kind}` must have `{missing}`");
            out.errors.push(Error::new(ErrorKind::Field, message).at(frame.index, frame.offset));
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        if !self.ended {
            out.errors.push(Error::new(ErrorKind::Cut, "the stream ended before its response did"));
        }
    }
}

type Read<T = ()> = Result<T, &'static str>;

fn text<'v>(value: &'v Value, key: &'static str) -> Read<&'v str> {
    value.get(key).and_then(Value::as_str).ok_or(key)
}

impl ResponsesDecoder {
    fn emit(&mut self, event: impl Into<Event>, out: &mut DecodeOutput) {
        out.records.push(Record::new(self.seq, event));
        self.seq += 1;
    }

    /// Emits a part; all parts are in one message.
    fn part(&mut self, event: impl Into<Event>, out: &mut DecodeOutput) {
        if !std::mem::replace(&mut self.message, true) {
            let message = self.id.as_str().into();
            self.emit(MessageStarted { message, role: Role::Assistant, ..MessageStarted::default() }, out);
        }
        self.emit(event, out);
    }

    fn event(&mut self, kind: &str, value: &Value, out: &mut DecodeOutput) -> Read {
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => self.begin(value, out),
            "response.completed" | "response.incomplete" | "response.failed" => self.finish(kind, value, out),
            "error" => {
                let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let code = error.get("code").and_then(Value::as_str).map(str::to_owned);
                self.fail(ErrorInfo { message: message.to_owned(), code, ..ErrorInfo::default() }, out);
                Ok(())
            }
            "response.output_item.added" => self.added(value.get("item").ok_or("item")?, out),
            "response.output_item.done" => self.done(value.get("item").ok_or("item")?, out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(BlockKind::Text, "content_index", value, out)
            }
            "response.output_text.done" | "response.refusal.done" => {
                self.block_done(BlockKind::Text, "content_index", value, out)
            }
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.delta(BlockKind::Reasoning, "content_index", value, out)
            }
            "response.reasoning_text.done" | "response.reasoning.done" => {
                self.block_done(BlockKind::Reasoning, "content_index", value, out)
            }
            "response.reasoning_summary_text.delta" => {
                self.delta(BlockKind::Reasoning, "summary_index", value, out)
            }
            "response.reasoning_summary_text.done" => {
                self.block_done(BlockKind::Reasoning, "summary_index", value, out)
            }
            "response.function_call_arguments.delta" | "response.mcp_call_arguments.delta" => {
                let delta = text(value, "delta")?;
                if let Some(call) = self.calls.get(text(value, "item_id")?).cloned() {
                    self.part(ToolInputDelta::new(call, delta), out);
                }
                Ok(())
            }
            "response.output_text.annotation.added" => {
                let annotation = value.get("annotation").ok_or("annotation")?;
                if let Some(url) = annotation.get("url").and_then(Value::as_str) {
                    self.sources += 1;
                    let source = SourceUrl {
                        source: format!("source-{}", self.sources),
                        url: url.to_owned(),
                        title: annotation
                            .get("title")
                            .and_then(Value::as_str)
                            .filter(|title| !title.is_empty())
                            .map(str::to_owned),
                        ..SourceUrl::default()
                    };
                    self.part(source, out);
                }
                Ok(())
            }
            "response.content_part.added"
            | "response.content_part.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.function_call_arguments.done"
            | "response.mcp_call_arguments.done"
            | "response.mcp_call.in_progress"
            | "response.mcp_call.completed"
            | "response.mcp_call.failed"
            | "keepalive" => Ok(()),
            other => {
                self.emit(UnknownEvent::new(other, value.clone()), out);
                Ok(())
            }
        }
    }

    fn begin(&mut self, value: &Value, out: &mut DecodeOutput) -> Read {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let response = value.get("response").ok_or("response")?;
        text(response, "id")?.clone_into(&mut self.id);
        let field = |path: &str| response.pointer(path).and_then(Value::as_str);
        let started = RunStarted {
            run: Some(self.id.as_str().into()),
            session: field("/conversation/id").map(Into::into),
            model: field("/model").map(str::to_owned),
            ..RunStarted::default()
        };
        self.emit(started, out);
        Ok(())
    }

    fn finish(&mut self, kind: &str, value: &Value, out: &mut DecodeOutput) -> Read {
        let response = value.get("response").ok_or("response")?;
        let field = |path: &str| response.pointer(path).and_then(Value::as_str);
        let usage = response.get("usage").filter(|usage| usage.is_object()).map(usage);
        if kind == "response.failed" {
            let message = field("/error/message").unwrap_or("the response failed").to_owned();
            let code = field("/error/code").map(str::to_owned);
            self.fail(ErrorInfo { message, code, ..ErrorInfo::default() }, out);
            return Ok(());
        }
        self.ended = true;
        let reason = match field("/incomplete_details/reason") {
            _ if field("/status") == Some("cancelled") => {
                self.emit(Event::RunCancelled { reason: None }, out);
                return Ok(());
            }
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
            None if self.asks => {
                let tool_calls = std::mem::take(&mut self.pending);
                self.emit(RunWaiting { tool_calls, usage }, out);
                return Ok(());
            }
            None => FinishReason::Stop,
        };
        self.emit(RunFinished { reason: Some(reason), usage, data: None }, out);
        Ok(())
    }

    fn fail(&mut self, error: ErrorInfo, out: &mut DecodeOutput) {
        self.ended = true;
        self.emit(Event::RunFailed(error), out);
    }

    fn added(&mut self, item: &Value, out: &mut DecodeOutput) -> Read {
        let (kind, id) = (text(item, "type")?, text(item, "id").unwrap_or_default());
        let tool = match kind {
            "function_call" => {
                ToolCall::new(text(item, "call_id")?, text(item, "name")?).by(Executor::Client)
            }
            "mcp_call" => ToolCall::new(call_of(id), text(item, "name")?),
            _ => return Ok(()),
        };
        self.calls.insert(id.to_owned(), tool.call.clone());
        self.part(Event::ToolInputStart(tool), out);
        Ok(())
    }

    fn done(&mut self, item: &Value, out: &mut DecodeOutput) -> Read {
        let (kind, id) = (text(item, "type")?, text(item, "id").unwrap_or_default());
        match kind {
            "message" => self.whole(BlockKind::Text, id, item.get("content"), out),
            "reasoning" => {
                self.whole(BlockKind::Reasoning, id, item.get("content"), out);
                self.whole(BlockKind::Reasoning, id, item.get("summary"), out);
            }
            "function_call" => {
                let tool = ToolCall::new(text(item, "call_id")?, text(item, "name")?).by(Executor::Client);
                let input = EmbeddedJson::of_stream().read(text(item, "arguments")?);
                self.pending.push(tool.call.clone());
                self.asks = true;
                self.part(ToolInputAvailable::new(tool, input), out);
            }
            "mcp_call" => {
                let tool = ToolCall::new(call_of(id), text(item, "name")?);
                let call = tool.call.clone();
                if item["status"] == "incomplete" {
                    return Ok(());
                }
                let input = EmbeddedJson::of_stream().read(text(item, "arguments")?);
                self.part(ToolInputAvailable::new(tool, input), out);
                let failed = item.get("error").filter(|error| !error.is_null());
                match (failed, item.get("output").and_then(Value::as_str)) {
                    (Some(error), _) => {
                        let error = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
                        self.part(ToolOutputError { call, name: None, error }, out);
                    }
                    (None, Some(output)) => {
                        let output = EmbeddedJson::of_stream().read(output).unwrap_or_else(|| output.into());
                        self.part(ToolOutput::new(call, output), out);
                    }
                    (None, None) => {}
                }
            }
            "mcp_approval_request" => {
                let name = text(item, "name")?;
                let input = EmbeddedJson::of_stream().read(text(item, "arguments")?);
                let tool = ToolCall::new(id, name);
                self.asks = true;
                self.part(ToolInputAvailable::new(tool.clone(), input.clone()), out);
                let approval = id.into();
                self.part(ApprovalRequested { approval, tool, input, ..ApprovalRequested::default() }, out);
            }
            "image_generation_call" => {
                if let Some(result) = item.get("result").and_then(Value::as_str) {
                    let url = format!("data:image/png;base64,{result}");
                    let media_type = "image/png".to_owned();
                    self.part(FileEvent { url, media_type, ..FileEvent::default() }, out);
                }
            }
            "headwater:file" => self.part(
                FileEvent {
                    url: text(item, "url")?.to_owned(),
                    media_type: text(item, "media_type")?.to_owned(),
                    filename: text(item, "filename").ok().map(str::to_owned),
                    ..FileEvent::default()
                },
                out,
            ),
            "headwater:data" => self.part(
                DataEvent {
                    name: text(item, "name")?.to_owned(),
                    id: text(item, "data_id").ok().map(str::to_owned),
                    data: item.get("data").cloned().unwrap_or_default(),
                    ..DataEvent::default()
                },
                out,
            ),
            _ => self.emit(UnknownEvent::new(kind, item.clone()), out),
        }
        Ok(())
    }

    /// The texts of an item that were not streamed.
    fn whole(&mut self, kind: BlockKind, item: &str, parts: Option<&Value>, out: &mut DecodeOutput) {
        if self.streamed.contains(item) {
            return;
        }
        for (at, part) in parts.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(text) = part.get("text").and_then(Value::as_str).filter(|text| !text.is_empty()) else {
                continue;
            };
            let id = block_id(item, at as u64);
            self.part(BlockStarted::new(kind, &*id), out);
            self.part(BlockDelta::new(kind, &*id, text), out);
            self.part(BlockEnded::new(kind, &*id), out);
        }
    }

    fn delta(&mut self, kind: BlockKind, index: &'static str, value: &Value, out: &mut DecodeOutput) -> Read {
        let (item, delta) = (text(value, "item_id")?, text(value, "delta")?);
        let at = value.get(index).and_then(Value::as_u64).ok_or(index)?;
        let id = block_id(item, at);
        if self.blocks.insert((item.to_owned(), kind, at)) {
            self.streamed.insert(item.to_owned());
            self.part(BlockStarted::new(kind, &*id), out);
        }
        self.part(BlockDelta::new(kind, &*id, delta), out);
        Ok(())
    }

    fn block_done(
        &mut self,
        kind: BlockKind,
        index: &'static str,
        value: &Value,
        out: &mut DecodeOutput,
    ) -> Read {
        let item = text(value, "item_id")?;
        let at = value.get(index).and_then(Value::as_u64).ok_or(index)?;
        if self.blocks.remove(&(item.to_owned(), kind, at)) {
            self.part(BlockEnded::new(kind, &*block_id(item, at)), out);
        }
        Ok(())
    }
}

/// The call of an item: encoded in the id of our own server, the item itself for others.
fn call_of(item: &str) -> &str {
    item.strip_prefix("mcp_").filter(|call| !call.is_empty()).unwrap_or(item)
}

fn block_id(item: &str, at: u64) -> String {
    if at == 0 { item.to_owned() } else { format!("{item}:{at}") }
}

fn usage(usage: &Value) -> Usage {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Usage {
        input_tokens: number("/input_tokens"),
        output_tokens: number("/output_tokens"),
        total_tokens: number("/total_tokens"),
        reasoning_tokens: number("/output_tokens_details/reasoning_tokens"),
        cached_input_tokens: number("/input_tokens_details/cached_tokens"),
        cache_write_tokens: None,
    }
}
