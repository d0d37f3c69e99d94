//! What a TanStack page can show of a run: adjacent texts are one, so is all reasoning, and a call shows its
//! streamed input.

use std::collections::HashSet;

use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, BlockDelta, BlockKind, ErrorEvent, Event, Executor, Record,
    StructuredStreams, ToolDenied, ToolInputAvailable, ToolInputDelta, ToolInputError, ToolOutput,
    ToolOutputError,
};
use serde_json::{Map, Value, json};

#[derive(Default)]
struct Page {
    texts: Vec<String>,
    thoughts: Option<String>,
    tools: Vec<Tool>,
    /// The last part is a text.
    ends_with_text: bool,
    /// A piece of a call came after the text began.
    called: bool,
    /// The reasoning block that could not be shown without repeating the text.
    unseen: Option<String>,
    /// Server calls are shown when the run ends, unless they need approval.
    shows_later: bool,
    hidden: HashSet<String>,
    later: Vec<Tool>,
    objects: StructuredStreams,
}

struct Tool {
    id: String,
    name: String,
    attempt: Option<String>,
    arguments: String,
    complete: bool,
    asked: bool,
    settled: bool,
    output: Option<Value>,
}

/// The answer, flattened as the judge does.
pub(crate) fn shows(profile: &str, records: &[Record]) -> Value {
    let mut page = Page { shows_later: profile == "client-tools", ..Page::default() };
    records.iter().for_each(|record| page.take(record));
    let tools: Vec<Value> = page.tools.iter().map(Tool::flat).collect();
    json!({
        "text": page.texts, "reasoning": page.thoughts.into_iter().collect::<Vec<_>>(), "tools": tools,
        "sources": [], "files": [], "data": [],
    })
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn failed(error: &str) -> Value {
    json!({ "error": error })
}

impl Tool {
    fn new(id: &str, name: &str, attempt: Option<String>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            attempt,
            arguments: String::new(),
            complete: false,
            asked: false,
            settled: false,
            output: None,
        }
    }

    fn flat(&self) -> Value {
        let mut flat = Map::new();
        flat.insert("toolCallId".into(), json!(self.id));
        flat.insert("toolName".into(), json!(self.name));
        // The end of the stream completes every call.
        let state = match &self.output {
            Some(_) => "output-available",
            None if self.asked => "approval-requested",
            None => "input-available",
        };
        flat.insert("state".into(), json!(state));
        flat.insert("input".into(), parsed(&self.arguments));
        if let Some(output) = &self.output {
            flat.insert("output".into(), output.clone());
        }
        Value::Object(flat)
    }
}

impl Page {
    fn take(&mut self, record: &Record) {
        let attempt = record.origin.attempt.as_ref().map(ToString::to_string);
        if self.shows_later && self.is_hidden(&record.event) {
            return self.defer(&record.event, attempt);
        }
        match &record.event {
            Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. })
            | Event::Message { content: delta }
                if !delta.is_empty() =>
            {
                if !self.ends_with_text {
                    if !self.texts.is_empty() {
                        self.called = false;
                    }
                    self.texts.push(String::new());
                }
                self.texts.last_mut().unwrap().push_str(delta);
                self.ends_with_text = true;
            }
            Event::BlockDelta(BlockDelta { kind: BlockKind::Reasoning, id, delta, .. })
                if !delta.is_empty() =>
            {
                if self.thoughts.is_none() && !self.texts.is_empty() && !self.called {
                    self.unseen = Some(id.to_string());
                }
                if self.unseen.as_deref() == Some(id.as_str()) {
                    return;
                }
                if self.thoughts.is_none() {
                    self.ends_with_text = false;
                }
                self.thoughts.get_or_insert_default().push_str(delta);
            }
            Event::ToolInputStart(tool) => {
                self.tool(tool.call.as_str(), &tool.name, attempt);
                self.called = true;
            }
            Event::ToolInputDelta(ToolInputDelta { call, delta, .. }) => {
                let tool = self.tool(call.as_str(), "", attempt);
                if !tool.complete && !tool.settled {
                    tool.arguments.push_str(delta);
                    self.called = true;
                }
            }
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. }) => {
                let shown = self.tool(tool.call.as_str(), &tool.name, attempt);
                shown.complete = true;
                fill(shown, input.as_ref());
                self.called = true;
            }
            Event::ToolInputError(ToolInputError { tool, input, error, .. }) => {
                let shown = self.tool(tool.call.as_str(), &tool.name, attempt);
                fill(shown, input.as_ref());
                self.called = true;
                self.output(tool.call.as_str(), failed(error), true);
            }
            Event::ApprovalRequested(ApprovalRequested { tool, input, .. }) => {
                let shown = self.tool(tool.call.as_str(), &tool.name, attempt);
                shown.asked = true;
                fill(shown, input.as_ref());
            }
            Event::ToolOutput(ToolOutput { call, output, preliminary, .. }) => {
                let output = output.as_str().map_or_else(|| output.clone(), parsed);
                self.output(call.as_str(), output, !preliminary);
            }
            Event::ToolOutputError(ToolOutputError { call, error, .. }) => {
                self.output(call.as_str(), failed(error), true);
            }
            Event::ToolDenied(ToolDenied { call, reason, .. }) => {
                let reason = reason.as_deref().unwrap_or("the call was denied");
                self.output(call.as_str(), failed(reason), true);
            }
            Event::InterruptRequested(question) => {
                let tool = self.tool(question.request.as_str(), "ask_user", None);
                tool.arguments = question.to_tool_input().to_string();
                self.called = true;
            }
            Event::Structured(update) => {
                self.objects.apply(update).unwrap();
                let data = self.objects.get(&update.stream).and_then(|object| object.data().cloned());
                let object = |tool: &mut Tool| {
                    tool.arguments = "{}".to_owned();
                    tool.output = data;
                };
                if !self.shows_later {
                    object(self.tool(&update.stream, &update.data_type, None));
                    self.called = true;
                } else if let Some(known) = self.later.iter_mut().find(|known| known.id == update.stream) {
                    object(known);
                } else {
                    let mut tool = Tool::new(&update.stream, &update.data_type, None);
                    object(&mut tool);
                    self.later.push(tool);
                }
            }
            Event::RunFinished(_)
            | Event::RunFailed(_)
            | Event::RunCancelled { .. }
            | Event::Error(ErrorEvent { terminal: true, .. }) => self.tools.append(&mut self.later),
            Event::AttemptRetracted(AttemptRetracted { attempt, .. }) => {
                let died = |tool: &Tool| tool.attempt.as_deref() == Some(attempt.as_str());
                self.later.retain(|tool| tool.output.is_some() || !died(tool));
                let dead: Vec<_> = self
                    .tools
                    .iter()
                    .filter(|tool| tool.attempt.as_deref() == Some(attempt.as_str()) && !tool.settled)
                    .map(|tool| tool.id.clone())
                    .collect();
                dead.iter().for_each(|call| self.output(call, failed("the call was retracted"), true));
            }
            _ => {}
        }
    }

    fn is_hidden(&mut self, event: &Event) -> bool {
        let call = match event {
            Event::ToolInputStart(tool)
            | Event::ToolInputAvailable(ToolInputAvailable { tool, .. })
            | Event::ToolInputError(ToolInputError { tool, .. }) => {
                let is_shown = self.tools.iter().any(|shown| tool.call == *shown.id);
                if tool.executor != Executor::Client && !is_shown {
                    self.hidden.insert(tool.call.to_string());
                }
                &tool.call
            }
            Event::ApprovalRequested(ApprovalRequested { tool, .. }) => {
                self.hidden.remove(tool.call.as_str());
                self.later.retain(|known| tool.call != *known.id);
                &tool.call
            }
            Event::ToolInputDelta(ToolInputDelta { call, .. })
            | Event::ToolOutput(ToolOutput { call, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
            | Event::ToolDenied(ToolDenied { call, .. }) => call,
            _ => return false,
        };
        self.hidden.contains(call.as_str())
    }

    /// Keeps the events of a call until it is shown.
    fn defer(&mut self, event: &Event, attempt: Option<String>) {
        let output = match event {
            Event::ToolInputError(ToolInputError { error, .. })
            | Event::ToolOutputError(ToolOutputError { error, .. }) => Some(failed(error)),
            Event::ToolOutput(ToolOutput { output, .. }) => {
                Some(output.as_str().map_or_else(|| output.clone(), parsed))
            }
            Event::ToolDenied(ToolDenied { reason, .. }) => {
                Some(failed(reason.as_deref().unwrap_or("the call was denied")))
            }
            _ => None,
        };
        match event {
            Event::ToolInputAvailable(ToolInputAvailable { tool, input, .. })
            | Event::ToolInputError(ToolInputError { tool, input, .. }) => {
                self.later.retain(|known| tool.call != *known.id);
                let mut shown = Tool { output, ..Tool::new(tool.call.as_str(), &tool.name, attempt) };
                fill(&mut shown, input.as_ref());
                self.later.push(shown);
            }
            Event::ToolOutput(ToolOutput { call, .. })
            | Event::ToolOutputError(ToolOutputError { call, .. })
            | Event::ToolDenied(ToolDenied { call, .. }) => {
                if let Some(known) = self.later.iter_mut().find(|known| *call == *known.id) {
                    known.output = output;
                }
            }
            _ => {}
        }
    }

    fn tool(&mut self, id: &str, name: &str, attempt: Option<String>) -> &mut Tool {
        let at = self.tools.iter().position(|tool| tool.id == id).unwrap_or_else(|| {
            self.ends_with_text = false;
            self.tools.push(Tool::new(id, name, attempt));
            self.tools.len() - 1
        });
        &mut self.tools[at]
    }

    fn output(&mut self, id: &str, output: Value, settles: bool) {
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.id == id) {
            if tool.output.is_none() {
                self.ends_with_text = false;
                self.called = true;
            }
            tool.output = Some(output);
            tool.settled = settles;
        }
    }
}

/// The page keeps the streamed input; an input that was not streamed is shown whole.
fn fill(tool: &mut Tool, input: Option<&Value>) {
    if let Some(input) = input.filter(|_| tool.arguments.is_empty()) {
        tool.arguments = input.to_string();
    }
}
