//! Rebuilds the answer in the provider's own format, as sent without streaming, from a stream.
//!
//! It is stored in the journal, and the list of all events would be many times larger.

use serde_json::{Map, Value, json};

use super::json_access::{items, number, text};

/// A larger answer is not stored in its raw form.
const LARGEST: usize = 256 * 1024;

/// Number of received bytes after which the answer's size is measured.
const MEASURED_EVERY: usize = 8 * LARGEST;

/// Delta fields that are appended. All others replace the earlier value.
const GROWING: [&str; 8] =
    ["arguments", "content", "reasoning", "reasoning_content", "refusal", "signature", "text", "thinking"];

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct RawAnswer {
    answer: Map<String, Value>,
    /// Bytes received since the last measurement.
    unmeasured: usize,
    is_too_large: bool,
}

/// The format of the events.
#[derive(Debug, Clone, Copy)]
pub(super) enum RawFormat {
    Chat,
    Responses,
    Anthropic,
    Google,
}

impl RawAnswer {
    /// Adds a stream event of `size` bytes.
    pub(super) fn event(&mut self, format: RawFormat, event: &Value, size: usize) {
        if self.is_too_large {
            return;
        }
        match format {
            RawFormat::Chat => self.chat(event),
            RawFormat::Responses => {
                if let Some(Value::Object(response)) = event.get("response") {
                    self.answer.clone_from(response);
                }
            }
            RawFormat::Anthropic => self.anthropic(event),
            RawFormat::Google => self.google(event),
        }
        self.received(size);
    }

    /// Measures the answer from time to time. Received bytes say little, because each event repeats its
    /// envelope, and measuring at each event would cost more than decoding.
    fn received(&mut self, size: usize) {
        self.unmeasured = self.unmeasured.saturating_add(size);
        if self.unmeasured > MEASURED_EVERY {
            self.unmeasured = 0;
            self.is_too_large = serde_json::to_string(&self.answer).map_or(0, |text| text.len()) > LARGEST;
            if self.is_too_large {
                self.answer.clear();
            }
        }
    }

    /// Adds text or reasoning from the fast path of chat completions.
    pub(super) fn piece(&mut self, field: &str, delta: &str) {
        if self.is_too_large {
            return;
        }
        let choice = self.answer.get_mut("choices").and_then(|choices| choices.get_mut(0));
        if let Some(Value::Object(message)) = choice.and_then(|choice| choice.get_mut("message")) {
            grow(message, field, delta);
        }
        self.received(delta.len());
    }

    /// Sets an answer that came without streaming.
    pub(super) fn whole(&mut self, answer: &Value) {
        if let Value::Object(answer) = answer {
            self.answer.clone_from(answer);
        }
    }

    /// The answer, unless it is too large.
    pub(super) fn take(&mut self) -> Option<Value> {
        let Self { answer, is_too_large, .. } = std::mem::take(self);
        let is_there = !is_too_large && !answer.is_empty();
        Some(Value::Object(answer)).filter(|answer| is_there && answer.to_string().len() <= LARGEST)
    }

    fn chat(&mut self, chunk: &Value) {
        let answer = &mut self.answer;
        for (key, value) in chunk.as_object().into_iter().flatten() {
            match key.as_str() {
                "choices" => {}
                "object" => drop(answer.insert(key.clone(), json!("chat.completion"))),
                _ if value.is_null() && answer.contains_key(key) => {}
                _ => drop(answer.insert(key.clone(), value.clone())),
            }
        }
        let choices = answer.entry("choices").or_insert_with(|| json!([]));
        for choice in items(chunk, "choices") {
            let index = number(choice, "/index").unwrap_or_default();
            let Some(into) = numbered(choices, index) else { continue };
            for (key, value) in choice.as_object().into_iter().flatten() {
                match key.as_str() {
                    "delta" | "message" => merge_in(into, "message", value),
                    _ if value.is_null() && into.contains_key(key) => {}
                    _ => merge_in(into, key, value),
                }
            }
        }
    }

    fn anthropic(&mut self, event: &Value) {
        let index = number(event, "/index").and_then(|index| usize::try_from(index).ok()).unwrap_or_default();
        match text(event, "type").unwrap_or_default() {
            "message_start" => {
                self.answer = event.get("message").and_then(Value::as_object).cloned().unwrap_or_default();
            }
            "content_block_start" => {
                let block = event.get("content_block").cloned().unwrap_or_default();
                let content = self.answer.entry("content").or_insert_with(|| json!([]));
                if let Value::Array(content) = content {
                    content.push(block);
                }
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                let block = self.answer.get_mut("content").and_then(|content| content.get_mut(index));
                let Some(Value::Object(block)) = block else { return };
                match text(delta, "type").unwrap_or_default() {
                    "input_json_delta" => {
                        let piece = text(delta, "partial_json").unwrap_or_default();
                        // The input begins as an empty object and becomes a string until it is complete.
                        match block.get_mut("input") {
                            Some(Value::String(input)) => input.push_str(piece),
                            _ => drop(block.insert("input".to_owned(), json!(piece))),
                        }
                    }
                    "citations_delta" => {
                        let citation = json!([delta.get("citation")]);
                        merge_in(block, "citations", &citation);
                    }
                    _ => {
                        for (key, value) in delta.as_object().into_iter().flatten() {
                            if key != "type" {
                                merge_in(block, key, value);
                            }
                        }
                    }
                }
            }
            "content_block_stop" => {
                let block = self.answer.get_mut("content").and_then(|content| content.get_mut(index));
                if let Some(input) = block.and_then(|block| block.get_mut("input"))
                    && let Some(written) = input.as_str()
                {
                    let written = if written.is_empty() { "{}" } else { written };
                    if let Ok(read) = serde_json::from_str(written) {
                        *input = read;
                    }
                }
            }
            "message_delta" => {
                let answer = &mut self.answer;
                for (key, value) in event.as_object().into_iter().flatten() {
                    match key.as_str() {
                        "type" => {}
                        "delta" => {
                            for (key, value) in value.as_object().into_iter().flatten() {
                                answer.insert(key.clone(), value.clone());
                            }
                        }
                        _ => merge_in(answer, key, value),
                    }
                }
            }
            _ => {}
        }
    }

    fn google(&mut self, chunk: &Value) {
        let answer = &mut self.answer;
        for (key, value) in chunk.as_object().into_iter().flatten().filter(|(key, _)| *key != "candidates") {
            answer.insert(key.clone(), value.clone());
        }
        let candidates = answer.entry("candidates").or_insert_with(|| json!([]));
        for candidate in items(chunk, "candidates") {
            let index = number(candidate, "/index").unwrap_or_default();
            let Some(into) = numbered(candidates, index) else { continue };
            for (key, value) in candidate.as_object().into_iter().flatten() {
                if key != "content" {
                    into.insert(key.clone(), value.clone());
                    continue;
                }
                let content = into.entry("content").or_insert_with(|| json!({ "parts": [] }));
                if let (Some(role), Value::Object(content)) = (value.get("role"), &mut *content) {
                    content.insert("role".to_owned(), role.clone());
                }
                if let Some(Value::Array(parts)) = content.get_mut("parts") {
                    items(value, "parts").iter().for_each(|part| add_part(parts, part));
                }
            }
        }
    }
}

/// Adds a part to a candidate, merging pieces of one text.
fn add_part(parts: &mut Vec<Value>, part: &Value) {
    let thought = |part: &Value| part.get("thought").cloned();
    let is_plain = part.get("text").is_some() && part.get("thoughtSignature").is_none();
    if let Some(Value::Object(last)) = parts.last_mut().filter(|last| {
        is_plain
            && last.get("text").is_some()
            && thought(last) == thought(part)
            && last.get("thoughtSignature").is_none()
    }) {
        return grow(last, "text", text(part, "text").unwrap_or_default());
    }
    parts.push(part.clone());
}

/// The list element with this index, added if missing.
fn numbered(list: &mut Value, index: u64) -> Option<&mut Map<String, Value>> {
    let list = list.as_array_mut()?;
    let is_it = |item: &Value| number(item, "/index").unwrap_or_default() == index;
    let at = list.iter().position(is_it).unwrap_or_else(|| {
        list.push(json!({ "index": index }));
        list.len() - 1
    });
    list.get_mut(at)?.as_object_mut()
}

fn grow(object: &mut Map<String, Value>, field: &str, delta: &str) {
    match object.get_mut(field) {
        Some(Value::String(text)) => text.push_str(delta),
        _ => drop(object.insert(field.to_owned(), json!(delta))),
    }
}

/// Merges a delta into a field of an object.
fn merge_in(object: &mut Map<String, Value>, field: &str, delta: &Value) {
    match (object.get_mut(field), delta) {
        (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&field) => text.push_str(more),
        (Some(Value::Object(into)), Value::Object(delta)) => {
            for (key, value) in delta {
                merge_in(into, key, value);
            }
        }
        (Some(into @ Value::Array(_)), Value::Array(delta)) => {
            for value in delta {
                match number(value, "/index") {
                    Some(index) => {
                        if let Some(element) = numbered(into, index) {
                            let fields = value.as_object().into_iter().flatten();
                            fields.for_each(|(key, value)| merge_in(element, key, value));
                        }
                    }
                    None => into.as_array_mut().into_iter().for_each(|list| list.push(value.clone())),
                }
            }
        }
        (Some(_), Value::Null) => {}
        // Some providers repeat a field with an empty value.
        (Some(_), Value::String(more)) if more.is_empty() => {}
        // Mistral switches between strings and arrays.
        (Some(Value::Array(parts)), Value::String(more)) if field == "content" => {
            parts.push(json!({ "type": "text", "text": more }));
        }
        (Some(text @ Value::String(_)), Value::Array(delta)) if field == "content" => {
            let before = text.as_str().filter(|text| !text.is_empty());
            let before = before.map(|text| json!({ "type": "text", "text": text }));
            *text = before.into_iter().chain(delta.iter().cloned()).collect();
        }
        // Later deltas find these elements by their index.
        _ => drop(object.insert(field.to_owned(), delta.clone())),
    }
}
