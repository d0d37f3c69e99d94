//! The answer in the provider's own format, and the handling of invalid streams.

use headwater_models::{
    ModelErrorKind, ModelEvent, ModelRequest, ReasoningEffort, ReasoningOptions,
    wire::{ChatQuirks, Settings, Wire},
};
use serde_json::{Value, json};

use crate::recorded::{EventResults, recordings};

const CHAT: Wire = Wire::chat(&ChatQuirks::OPENAI);

fn stream(wire: Wire, events: &[Value]) -> EventResults {
    let texts: Vec<_> = events.iter().map(Value::to_string).collect();
    frames(wire, &texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn frames(wire: Wire, frames: &[&str]) -> EventResults {
    let mut decoder = wire.decoder(&Settings::new("p", "m"));
    let mut said = Vec::new();
    for frame in frames {
        decoder.push(format!("data: {frame}\n\n").as_bytes(), |item| said.push(item));
    }
    decoder.finish(|item| said.push(item));
    said
}

fn raw(said: &EventResults) -> Option<&Value> {
    match said.last() {
        Some(Ok(ModelEvent::Finished { raw, .. })) => raw.as_ref(),
        other => panic!("{other:?}"),
    }
}

fn text(said: &EventResults) -> String {
    let deltas = said.iter().filter_map(|item| match item {
        Ok(ModelEvent::TextDelta { delta, .. }) => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

/// Texts and calls, without ids and independent of how they were split.
fn content(said: &EventResults) -> Vec<String> {
    let mut all: Vec<(u32, String)> = Vec::new();
    for item in said.iter().flatten() {
        let (part, more) = match item {
            ModelEvent::TextDelta { part, delta } | ModelEvent::ReasoningDelta { part, delta } => {
                (*part, delta.clone())
            }
            ModelEvent::ToolCallStart { part, name, .. } => (*part, format!("{name}:")),
            ModelEvent::ToolCallDelta { part, delta } => (*part, delta.clone()),
            _ => continue,
        };
        match all.iter_mut().find(|(known, _)| *known == part) {
            Some((_, text)) => text.push_str(&more),
            None => all.push((part, more)),
        }
    }
    // Whitespace in the JSON of a call is not kept.
    all.into_iter().map(|(_, text)| text.split_whitespace().collect()).collect()
}

#[test]
fn raw_answer_equals_the_answer_without_streaming() {
    let said = stream(
        CHAT,
        &[
            json!({ "id": "c1", "object": "chat.completion.chunk", "model": "g", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null }] }),
            json!({ "id": "c1", "object": "chat.completion.chunk", "model": "g", "choices": [{ "index": 0, "delta": { "content": "Hel" }, "finish_reason": null }] }),
            json!({ "id": "c1", "object": "chat.completion.chunk", "model": "g", "choices": [{ "index": 0, "delta": { "content": "lo" }, "finish_reason": null }] }),
            json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "id": "t", "type": "function", "function": { "name": "f", "arguments": "{\"a\"" } }] } }] }),
            json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": ":1}" } }] } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 3 } }),
        ],
    );
    let raw_chat = raw(&said).unwrap();
    assert_eq!(raw_chat["object"], "chat.completion");
    let message = &raw_chat["choices"][0]["message"];
    assert_eq!((&message["role"], &message["content"]), (&json!("assistant"), &json!("Hello")));
    assert_eq!(message["tool_calls"][0]["function"], json!({ "name": "f", "arguments": "{\"a\":1}" }));
    assert_eq!(raw_chat["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(raw_chat["usage"], json!({ "prompt_tokens": 3 }));

    let said = stream(
        Wire::ANTHROPIC,
        &[
            json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "content": [], "usage": { "input_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "s1" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t", "name": "f", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"a\":" } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "1}" } }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ],
    );
    assert_eq!(
        raw(&said).unwrap(),
        &json!({
            "id": "m", "type": "message", "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s1" },
                { "type": "tool_use", "id": "t", "name": "f", "input": { "a": 1 } },
            ],
            "usage": { "input_tokens": 1, "output_tokens": 9 },
            "stop_reason": "tool_use",
        })
    );

    let said = stream(
        Wire::GOOGLE,
        &[
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Hel" }] } }], "responseId": "r" }),
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "lo" }] }, "finishReason": "STOP" }], "usageMetadata": { "totalTokenCount": 4 } }),
        ],
    );
    let google = raw(&said).unwrap();
    assert_eq!(google["candidates"][0]["content"]["parts"], json!([{ "text": "Hello" }]));
    assert_eq!(
        (&google["responseId"], &google["usageMetadata"]["totalTokenCount"]),
        (&json!("r"), &json!(4))
    );

    let response = json!({ "id": "r", "status": "completed", "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] }] });
    let said = stream(
        Wire::RESPONSES,
        &[
            json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress" } }),
            json!({ "type": "response.completed", "response": response }),
        ],
    );
    assert_eq!(raw(&said), Some(&response));
}

#[test]
fn raw_answer_of_a_recorded_stream_decodes_to_the_same_content() {
    let (mut same, mut all) = (0, 0);
    for recording in recordings(|_| true).into_iter().filter(|recording| recording.is_stream) {
        let said = recording.decode(usize::MAX);
        let Some(Ok(ModelEvent::Finished { raw, .. })) = said.last() else { continue };
        let Some(raw) = raw else { panic!("{}: there is no raw answer", recording.name) };
        let (wire, settings) = recording.wire();
        let mut again = Vec::new();
        wire.decoder(&settings).whole(raw.to_string().as_bytes(), |item| again.push(item));
        all += 1;
        same += usize::from(content(&again) == content(&said));
    }
    println!("raw answers: {same} of {all} recorded streams read the same in one piece");
    // The rest have several answers in one body, of which the last is kept, or end with a response without
    // its output.
    assert!(same * 100 >= all * 88, "{same} of {all}");
}

#[test]
fn raw_answer_above_the_limit_is_dropped() {
    let piece = "x".repeat(40_000);
    let chunk = json!({ "id": "c", "choices": [{ "index": 0, "delta": { "content": piece } }] });
    let mut events = vec![chunk; 8];
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
    let said = stream(CHAT, &events);
    assert_eq!(text(&said).len(), 320_000);
    assert_eq!(raw(&said), None);
}

#[test]
fn raw_answer_limit_counts_stored_not_received_bytes() {
    let word = "word ".repeat(40);
    let delta = json!({ "type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": word });
    let message = json!({ "id": "i", "type": "message", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "x".repeat(50_000) }] });
    let response = json!({ "id": "r", "status": "completed", "output": [message] });
    let mut events = vec![
        json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "id": "i", "type": "message", "role": "assistant", "content": [] } }),
    ];
    events.extend(vec![delta; 10_000]);
    events.push(json!({ "type": "response.completed", "response": response }));
    let said = stream(Wire::RESPONSES, &events);
    assert_eq!(text(&said).len(), 2_000_000);
    assert_eq!(raw(&said), Some(&response));

    // Thousands of short words in long chunks are still a small answer.
    let chunk = json!({ "id": "c", "obfuscation": "y".repeat(300), "choices": [{ "index": 0, "delta": { "content": "a" } }] });
    let mut events = vec![chunk; 10_000];
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
    let said = stream(CHAT, &events);
    assert_eq!(raw(&said).unwrap()["choices"][0]["message"]["content"], "a".repeat(10_000));
}

#[test]
fn lone_surrogate_is_replaced_and_a_split_pair_is_joined() {
    let delta =
        |text: &str| format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let lone = [delta(r"a\ud83d"), delta("b"), delta(r"c\ude00d")];
    let [one, two, three] = &lone;
    assert_eq!(text(&frames(CHAT, &[one, two, three, end])), "a\u{fffd}bc\u{fffd}d");
    let pair = [delta(r"a\ud83d"), delta(r"\ude00b")];
    let [one, two] = &pair;
    assert_eq!(text(&frames(CHAT, &[one, two, end])), "a😀b");
    let mut said = Vec::new();
    let whole = r#"{"id":"c","choices":[{"message":{"content":"x\ud83d"},"finish_reason":"stop"}]}"#;
    CHAT.decoder(&Settings::new("p", "m")).whole(whole.as_bytes(), |item| said.push(item));
    assert_eq!(text(&said), "x\u{fffd}");
}

#[test]
fn done_without_events_is_an_error() {
    let said = frames(CHAT, &["[DONE]"]);
    assert_eq!(said.len(), 1);
    let error = said[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Cut);
    assert!(error.message().contains("empty"), "{error}");
}

#[test]
fn text_after_the_end_is_ignored() {
    let said = stream(
        Wire::GOOGLE,
        &[
            json!({ "candidates": [{ "content": { "parts": [{ "text": "done" }] }, "finishReason": "STOP" }] }),
            json!({ "candidates": [{ "content": { "parts": [{ "text": " and more" }] } }], "usageMetadata": { "totalTokenCount": 4 } }),
        ],
    );
    assert_eq!(text(&said), "done");
    assert!(
        matches!(said.last(), Some(Ok(ModelEvent::Finished { usage, .. })) if usage.total_tokens == Some(4))
    );
    let said = stream(
        Wire::ANTHROPIC,
        &[
            json!({ "type": "message_start", "message": { "id": "m", "content": [] } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "done" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": " and more" } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "!" } }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_stop" }),
        ],
    );
    assert_eq!(text(&said), "done");
}

#[test]
fn effort_that_cannot_be_sent_beside_a_budget_is_a_warning() {
    let mut request = ModelRequest::new("Hi");
    request.reasoning =
        Some(ReasoningOptions { effort: Some(ReasoningEffort::High), max_tokens: Some(4096) });
    for (wire, model) in [(Wire::GOOGLE, "gemini-2.5-pro"), (Wire::ANTHROPIC, "claude-sonnet-4-5")] {
        let encoded = wire.encode(&request, &Settings::new("p", model)).unwrap();
        let features: Vec<_> = encoded.warnings.iter().map(|warning| warning.feature.as_str()).collect();
        assert_eq!(features, ["reasoning.effort"], "{model}");
        assert!(!encoded.body.to_string().contains("high"), "{model}");
    }
    request.reasoning =
        Some(ReasoningOptions { effort: Some(ReasoningEffort::None), max_tokens: Some(4096) });
    let encoded = Wire::GOOGLE.encode(&request, &Settings::new("p", "gemini-2.5-pro")).unwrap();
    let features: Vec<_> = encoded.warnings.iter().map(|warning| warning.feature.as_str()).collect();
    assert_eq!(features, ["reasoning.effort"], "effort none with a budget");
    let config = &encoded.body["generationConfig"]["thinkingConfig"];
    assert_eq!(*config, json!({ "includeThoughts": true, "thinkingBudget": 4096 }));
}
