//! Recorded answers of the real providers, and what a reference implementation made of them.
//!
//! `$HEADWATER_VECTORS` names the directory with `fixtures/providers/`; without it these tests print a note
//! and pass. `deviations.toml` lists deliberate deviations with their reasons; an entry that no longer
//! deviates fails the test.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
};

use headwater_models::{
    ModelError, ModelEvent,
    wire::{ChatQuirks, Settings, Wire},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) type EventResults = Vec<Result<ModelEvent, ModelError>>;

/// One recorded answer.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) api: String,
    pub(crate) is_stream: bool,
    pub(crate) expected: Option<Value>,
    pub(crate) note: String,
    /// The bytes as they were on the wire.
    pub(crate) bytes: Vec<u8>,
}

impl Recording {
    pub(crate) fn wire(&self) -> (Wire, Settings) {
        let (wire, provider) = match self.api.as_str() {
            "openai-chat" => (Wire::chat(&ChatQuirks::OPENAI), "openai"),
            "openai-responses" => (Wire::RESPONSES, "openai"),
            "anthropic-messages" => (Wire::ANTHROPIC, "anthropic"),
            "gemini-generate" => (Wire::GOOGLE, "google"),
            "deepseek-chat" => (Wire::chat(&ChatQuirks::DEEPSEEK), "deepseek"),
            "groq-chat" => (Wire::chat(&ChatQuirks::GROQ), "groq"),
            "mistral-chat" => (Wire::chat(&ChatQuirks::MISTRAL), "mistral"),
            "openai-compatible-chat" => (Wire::chat(&ChatQuirks::COMPATIBLE), "openai-compatible"),
            other => panic!("{}: unknown api {other}", self.name),
        };
        (wire, Settings::new(provider, "recorded"))
    }

    /// The decoded events if the bytes come in pieces of this size.
    pub(crate) fn decode(&self, piece: usize) -> EventResults {
        let (wire, settings) = self.wire();
        let mut decoder = wire.decoder(&settings);
        let mut said = Vec::new();
        if self.is_stream {
            for piece in self.bytes.chunks(piece) {
                decoder.push(piece, |item| said.push(item));
            }
            decoder.finish(|item| said.push(item));
        } else {
            decoder.whole(&self.bytes, |item| said.push(item));
        }
        said
    }
}

/// The recordings of an API.
pub(crate) fn recordings(of: impl Fn(&str) -> bool) -> Vec<Recording> {
    let Some(root) = std::env::var_os("HEADWATER_VECTORS") else {
        println!("recorded answers: skipped, HEADWATER_VECTORS is not set");
        return Vec::new();
    };
    let folder = PathBuf::from(root).join("fixtures/providers");
    let index = match std::fs::read_to_string(folder.join("index.json")) {
        Ok(index) => index,
        Err(error) => {
            let problem = format!("{} cannot be read: {error}", folder.display());
            let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!on_ci, "{problem}");
            println!("{problem}");
            return Vec::new();
        }
    };
    let index: Value = serde_json::from_str(&index).unwrap();
    let listed = index["fixtures"].as_array().unwrap().iter();
    listed.filter(|entry| of(entry["api"].as_str().unwrap())).map(|entry| read(&folder, entry)).collect()
}

fn read(folder: &Path, entry: &Value) -> Recording {
    let name = entry["file"].as_str().unwrap().to_owned();
    let mut bytes = std::fs::read(folder.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    register(&format!("providers/{name}"));
    let framing = entry["framing"].as_str().unwrap();
    if framing.starts_with("jsonl") {
        let text = String::from_utf8(bytes).unwrap();
        let mut stream = String::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            stream.push_str("data: ");
            stream.push_str(line);
            stream.push_str("\n\n");
        }
        if framing.contains("then") {
            stream.push_str("data: [DONE]\n\n");
        }
        bytes = stream.into_bytes();
    }
    Recording {
        api: entry["api"].as_str().unwrap().to_owned(),
        is_stream: entry["kind"] == "stream",
        expected: Some(entry["expected"].clone()).filter(|expected| !expected.is_null()),
        note: entry["note"].as_str().unwrap_or_default().to_owned(),
        name,
        bytes,
    }
}

/// Logs which recordings were read, for the build to check.
pub(crate) fn register(line: &str) {
    let Some(log) = std::env::var_os("HEADWATER_VECTORS_READ") else { return };
    let log = std::fs::OpenOptions::new().create(true).append(true).open(&log);
    log.and_then(|mut log| log.write_all(format!("{line}\n").as_bytes())).unwrap();
}

/// Summarises events in the form of the reference implementation.
pub(crate) fn summary(said: &EventResults) -> Map<String, Value> {
    let mut texts: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let mut thoughts: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let mut calls: BTreeMap<(u32, u32), (Value, String)> = BTreeMap::new();
    let (mut results, mut sources, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut complete = Vec::new();
    let mut summary = Map::new();
    let mut errors = Vec::new();
    let mut answer = 0;
    for item in said {
        match item {
            Err(error) => {
                errors.push(json!({ "message": error.message(), "retryable": error.is_retryable() }));
            }
            Ok(ModelEvent::Started { id, model }) => {
                summary.insert("response".into(), json!({ "id": id, "modelId": model }));
            }
            Ok(ModelEvent::TextStart { part, .. }) => drop(texts.insert((answer, *part), String::new())),
            Ok(ModelEvent::TextDelta { part, delta }) => {
                texts.get_mut(&(answer, *part)).unwrap().push_str(delta);
            }
            Ok(ModelEvent::ReasoningStart { part, .. }) => {
                drop(thoughts.insert((answer, *part), String::new()));
            }
            Ok(ModelEvent::ReasoningDelta { part, delta }) => {
                thoughts.get_mut(&(answer, *part)).unwrap().push_str(delta);
            }
            Ok(ModelEvent::ToolCallStart { part, call, name, provider_executed, .. }) => {
                let call = json!({ "id": call, "name": name, "executed": provider_executed });
                calls.insert((answer, *part), (call, String::new()));
            }
            Ok(ModelEvent::ToolCallDelta { part, delta }) => {
                calls.get_mut(&(answer, *part)).unwrap().1.push_str(delta);
            }
            Ok(ModelEvent::ToolCallEnd { part, .. }) => complete.push((answer, *part)),
            Ok(ModelEvent::ToolResult { part, .. }) => {
                results.push(calls[&(answer, *part)].0["name"].clone());
            }
            Ok(ModelEvent::SourceUrl { url, title, .. }) => {
                sources.push(json!({ "url": url, "title": title }));
            }
            Ok(ModelEvent::SourceDocument { title, filename, .. }) => {
                sources.push(json!({ "title": title, "filename": filename }));
            }
            Ok(ModelEvent::File { media_type, .. }) => files.push(json!(media_type)),
            Ok(ModelEvent::Finished { reason, raw_reason, usage, .. }) => {
                answer += 1;
                summary.insert("finish".into(), json!(reason.as_str()));
                summary.insert("rawFinish".into(), json!(raw_reason));
                let usage = json!({
                    "input": usage.input_tokens,
                    "output": usage.output_tokens,
                    "reasoning": usage.reasoning_tokens.filter(|count| *count > 0),
                    "cached": usage.cached_input_tokens.filter(|count| *count > 0),
                    "written": usage.cache_write_tokens.filter(|count| *count > 0),
                });
                summary.insert("usage".into(), usage);
            }
            Ok(_) => {}
        }
    }
    // Calls without an end are never executed.
    let calls: Vec<_> = calls
        .into_iter()
        .filter(|(at, _)| complete.contains(at))
        .map(|(_, (mut call, input))| {
            call["input"] = serde_json::from_str(&input).unwrap_or_else(|_| json!({ "notJson": input }));
            call
        })
        .collect();
    summary.insert("text".into(), texts.values().map(String::as_str).collect::<String>().into());
    let blocks = texts.into_values().filter(|text| !text.is_empty()).map(Value::from);
    summary.insert("textBlocks".into(), blocks.collect());
    summary.insert("reasoningBlocks".into(), thoughts.into_values().map(Value::from).collect());
    summary.insert("toolCalls".into(), Value::Array(calls));
    summary.insert("toolResults".into(), Value::Array(results));
    summary.insert("sources".into(), Value::Array(sources));
    summary.insert("files".into(), Value::Array(files));
    summary.insert("errors".into(), Value::Array(errors));
    summary
}

/// The result of the reference implementation in the same form.
fn expected(recording: &Recording, expected: &Value) -> Map<String, Value> {
    let list = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
    let mut wanted = Map::new();
    let failure = ["throwsBeforeStream", "streamThrows"].iter().find_map(|key| expected.get(key));
    // Provider errors keep the provider's message; errors of the implementation itself have its own.
    let error = |error: &Value| match error.get("isRetryable") {
        Some(retryable) => json!({ "message": error["message"], "retryable": retryable }),
        None => json!({}),
    };
    let mut errors: Vec<_> = list("errors").iter().map(error).collect();
    errors.extend(failure.map(error));
    if expected["finishReason"]["unified"] == "interrupted" {
        errors.push(json!({ "retryable": true }));
    }
    wanted.insert("errors".into(), Value::Array(errors));
    if failure.is_some() {
        return wanted;
    }
    // Ids that the reference implementation generated.
    let has_ids = !recording.note.contains("generated by the SDK");
    let calls = list("toolCalls").into_iter().map(|call| {
        json!({
            "id": if has_ids { call["toolCallId"].clone() } else { Value::Null },
            "name": call["toolName"],
            "executed": call["providerExecuted"].as_bool().unwrap_or(false),
            "input": if call["inputIsJson"] == false { json!({ "notJson": call["inputText"] }) } else { call["input"].clone() },
        })
    });
    wanted.insert("toolCalls".into(), calls.collect());
    let results = list("toolResults").into_iter().filter(|result| result["preliminary"] != true);
    wanted.insert("toolResults".into(), results.map(|result| result["toolName"].clone()).collect());
    let sources = list("sources").into_iter().map(|source| match source["sourceType"].as_str() {
        Some("url") => json!({ "url": source["url"], "title": source["title"] }),
        _ => json!({ "title": source["title"], "filename": source["filename"] }),
    });
    wanted.insert("sources".into(), sources.collect());
    let files = list("files").into_iter().map(|file| file["mediaType"].clone());
    wanted.insert("files".into(), files.collect());
    wanted.insert("text".into(), expected["text"].clone());
    let blocks = list("textBlocks").into_iter().filter(|text| text != "");
    wanted.insert("textBlocks".into(), blocks.collect());
    wanted.insert("reasoningBlocks".into(), Value::Array(list("reasoningBlocks")));
    let response = json!({ "id": expected["response"]["id"], "modelId": expected["response"]["modelId"] });
    wanted.insert("response".into(), response);
    match expected["finishReason"]["unified"].as_str() {
        None | Some("error" | "interrupted") => {}
        Some(reason) => {
            wanted.insert("finish".into(), reason.into());
            wanted.insert("rawFinish".into(), expected["finishReason"]["raw"].clone());
            let usage = &expected["usage"];
            let count = |place: &str| usage.pointer(place).filter(|count| **count != 0).cloned();
            wanted.insert(
                "usage".into(),
                json!({
                    "input": usage.pointer("/inputTokens/total"),
                    "output": usage.pointer("/outputTokens/total"),
                    "reasoning": count("/outputTokens/reasoning"),
                    "cached": count("/inputTokens/cacheRead"),
                    "written": count("/inputTokens/cacheWrite"),
                }),
            );
        }
    }
    wanted.retain(|_, value| !value.is_null());
    wanted
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    files: Vec<String>,
    except: Vec<String>,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviations {
    deviation: Vec<Deviation>,
}

/// Compares every recording of an API with the reference.
pub(crate) fn judge(apis: &[&str]) {
    let deviations: Deviations = toml::from_str(include_str!("deviations.toml")).unwrap();
    let recordings = recordings(|api| apis.contains(&api));
    let (mut matched, mut deviated, mut problems) = (0, 0, Vec::new());
    for recording in &recordings {
        let Some(wanted) = &recording.expected else { continue };
        let name = &recording.name;
        let said = recording.decode(usize::MAX);
        let (ours, wanted) = (summary(&said), expected(recording, wanted));
        let differing: Vec<_> =
            wanted.iter().filter(|(key, value)| !agrees(key, value, ours.get(*key))).collect();
        let listed: Vec<_> = deviations.deviation.iter().filter(|entry| entry.files.contains(name)).collect();
        assert!(listed.iter().all(|entry| !entry.reason.trim().is_empty()), "{name} has no reason");
        let excepted: Vec<_> = listed.iter().flat_map(|entry| &entry.except).collect();
        for (key, value) in &differing {
            if !excepted.contains(key) {
                let ours = ours.get(*key).unwrap_or(&Value::Null);
                problems.push(format!("{name}: {key}\n   wanted {value}\n   got    {ours}"));
            }
        }
        for key in excepted {
            if !differing.iter().any(|(differing, _)| *differing == key) {
                problems.push(format!("{name}: {key} is listed as a deviation, but it matches"));
            }
        }
        if differing.is_empty() { matched += 1 } else { deviated += 1 }
    }
    println!(
        "recorded answers: {apis:?} {} files, {matched} matched, {deviated} deviations",
        recordings.len()
    );
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn deviations_name_existing_recordings() {
    let names: Vec<_> = recordings(|_| true).into_iter().map(|recording| recording.name).collect();
    let deviations: Deviations = toml::from_str(include_str!("deviations.toml")).unwrap();
    for file in deviations.deviation.iter().flat_map(|entry| &entry.files) {
        assert!(names.is_empty() || names.contains(file), "there is no recording {file}");
    }
}

/// Whether a field matches.
fn agrees(key: &str, wanted: &Value, ours: Option<&Value>) -> bool {
    let ours = ours.unwrap_or(&Value::Null);
    match key {
        "errors" => {}
        // Absent fields of the answer's identity were not recorded.
        "response" => {
            let mut fields = wanted.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            return fields.all(|(field, value)| ours.get(field) == Some(value));
        }
        _ => return strip(wanted) == strip(ours),
    }
    // We stop at the first error; the reference skips a broken line and continues.
    let (wanted, ours) = (wanted.as_array().unwrap(), ours.as_array().unwrap());
    match (wanted.first(), ours.as_slice()) {
        (None, []) => true,
        (Some(wanted), [ours]) => {
            wanted.as_object().unwrap().iter().all(|(key, value)| ours.get(key) == Some(value))
        }
        _ => false,
    }
}

/// A missing title equals a null title.
fn strip(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), strip(value)))
            .collect(),
        Value::Array(items) => items.iter().map(strip).collect(),
        other => other.clone(),
    }
}
