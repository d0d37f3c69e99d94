//! The state as printed by `headwater reduce`: one JSON object in the vocabulary of the chat UIs.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use super::RunState;
use crate::event::{DataEvent, Executor, FilePart, Message, Part, SourcePart, TextPart, ToolPart};

/// A run's state in its public JSON format.
///
/// ```
/// use headwater_protocol::{Event, Record, RunState};
///
/// let mut state = RunState::default();
/// state.apply(&Record::new(0, Event::Message { content: "Hi".into() })).unwrap();
/// let json = serde_json::to_value(state.view()).unwrap();
/// assert_eq!(json["messages"][0]["parts"][0]["text"], "Hi");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StateView<'a>(&'a RunState);

impl RunState {
    /// The state in its public JSON format.
    #[must_use]
    pub fn view(&self) -> StateView<'_> {
        StateView(self)
    }
}

impl Serialize for StateView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.0;
        let mut map = serializer.serialize_map(None)?;
        let messages = state.messages().iter().map(|known| message(state, known));
        let messages: Vec<Value> = messages.collect();
        map.serialize_entry("messages", &messages)?;
        map.serialize_entry("structured", state.structured())?;
        map.serialize_entry("run", &run(state))?;
        if !state.interrupts().is_empty() {
            map.serialize_entry("interrupts", state.interrupts())?;
        }
        if let Some(shared) = state.shared_state() {
            map.serialize_entry("state", shared)?;
        }
        map.end()
    }
}

fn run(state: &RunState) -> Value {
    let run = state.run();
    let mut out = json!({ "status": run.status.as_str() });
    put(&mut out, "runId", run.started.run.as_ref().map(|id| json!(id)));
    put(&mut out, "sessionId", run.started.session.as_ref().map(|id| json!(id)));
    put(&mut out, "finishReason", run.finish_reason.as_ref().map(|reason| json!(reason.as_str())));
    put(&mut out, "usage", run.usage.as_ref().map(|usage| json!(usage)));
    put(&mut out, "error", run.error.as_ref().map(|error| json!(error)));
    put(&mut out, "data", run.data.clone());
    if !run.pending_tool_calls.is_empty() {
        put(&mut out, "pendingToolCalls", Some(json!(run.pending_tool_calls)));
    }
    out
}

fn message(state: &RunState, message: &Message) -> Value {
    let mut out = json!({ "id": message.id, "role": message.role, "status": message.status });
    put(&mut out, "metadata", message.metadata.clone());
    put(&mut out, "author", message.author.clone());
    put(&mut out, "parts", Some(message.parts.iter().map(|known| part(state, known)).collect()));
    out
}

fn part(state: &RunState, part: &Part) -> Value {
    match part {
        Part::Text(text) => text_part("text", text),
        Part::Reasoning(text) => text_part("reasoning", text),
        Part::Tool(tool) => tool_part(tool),
        Part::SourceUrl(source) => source_part("source-url", source),
        Part::SourceDocument(source) => source_part("source-document", source),
        Part::File(file) => file_part(file),
        Part::Data(data) => data_part(data),
        Part::Structured(part) => {
            let built = state.structured().get(&part.stream).and_then(|state| state.data());
            let data = built.or(part.data.as_ref()).cloned().unwrap_or(Value::Null);
            json!({ "type": format!("data-{}", part.data_type), "id": part.stream, "data": data })
        }
        Part::Question(question) => tool_part(&question.to_tool()),
        Part::StepStart => json!({ "type": "step-start" }),
        Part::Other { value: part } => part.clone(),
    }
}

fn text_part(kind: &str, part: &TextPart) -> Value {
    json!({ "type": kind, "text": part.text, "state": part.state })
}

fn tool_part(part: &ToolPart) -> Value {
    let mut out = json!({
        "type": format!("tool-{}", part.name),
        "toolName": part.name,
        "toolCallId": part.call,
        "state": part.state,
    });
    put(&mut out, "dynamic", part.dynamic.map(Value::Bool));
    put(&mut out, "title", part.title.clone().map(Value::String));
    put(&mut out, "providerExecuted", (part.executor == Executor::Provider).then_some(Value::Bool(true)));
    if part.input.is_none() && !part.input_text.is_empty() {
        put(&mut out, "inputText", Some(json!(part.input_text)));
    }
    put(&mut out, "input", part.input_so_far());
    put(&mut out, "output", part.output.clone());
    put(&mut out, "structuredContent", part.structured.clone());
    put(&mut out, "isError", part.is_error.then_some(Value::Bool(true)));
    put(&mut out, "preliminary", part.preliminary.then_some(Value::Bool(true)));
    put(&mut out, "errorText", part.error.clone().map(Value::String));
    put(&mut out, "approval", part.approval.as_ref().map(|approval| json!(approval)));
    out
}

fn source_part(kind: &str, part: &SourcePart) -> Value {
    let mut out = json!({ "type": kind, "sourceId": part.source });
    put(&mut out, "url", part.url.clone().map(Value::String));
    put(&mut out, "title", part.title.clone().map(Value::String));
    put(&mut out, "mediaType", part.media_type.clone().map(Value::String));
    put(&mut out, "filename", part.filename.clone().map(Value::String));
    put(&mut out, "text", part.text.clone().map(Value::String));
    out
}

fn file_part(part: &FilePart) -> Value {
    let kind = if part.reasoning { "reasoning-file" } else { "file" };
    let mut out = json!({ "type": kind, "mediaType": part.media_type, "url": part.url });
    put(&mut out, "filename", part.filename.clone().map(Value::String));
    out
}

fn data_part(part: &DataEvent) -> Value {
    let mut out = json!({ "type": format!("data-{}", part.name) });
    put(&mut out, "id", part.id.clone().map(Value::String));
    put(&mut out, "data", Some(part.data.clone()));
    put(&mut out, "transient", part.transient.then_some(Value::Bool(true)));
    out
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(map), Some(value)) = (object, value) {
        map.insert(key.to_owned(), value);
    }
}
