//! Data that providers want back with the next turn: signatures, encrypted reasoning, ids.

use headwater_models::{
    ContentPart, ModelEvent, ModelMessage, ModelRequest,
    wire::{ChatQuirks, Settings, Wire},
};
use serde_json::{Value, json};

use crate::encoding::{conversation, encode, text};

/// The assistant turn that a caller builds from an answer: metadata becomes provider options.
fn turn_of(wire: Wire, provider: &str, stream: &[Value]) -> Vec<ContentPart> {
    let mut decoder = wire.decoder(&Settings::new(provider, "m"));
    let mut parts: Vec<(u32, ContentPart)> = Vec::new();
    let mut inputs = std::collections::BTreeMap::<u32, String>::new();
    let mut take = |item: Result<ModelEvent, _>| match item.unwrap() {
        ModelEvent::TextStart { part, .. } => parts.push((part, text(""))),
        ModelEvent::ReasoningStart { part, .. } => {
            parts.push((part, ContentPart::Reasoning { text: String::new(), provider_options: None }));
        }
        ModelEvent::ToolCallStart { part, call, name, provider_executed, .. } => {
            let call = ContentPart::ToolCall {
                tool_call_id: call.unwrap_or_else(|| format!("made-{part}")).into(),
                tool_name: name,
                input: None,
                provider_executed: Some(provider_executed),
                provider_options: None,
            };
            parts.push((part, call));
        }
        ModelEvent::TextDelta { part, delta } | ModelEvent::ReasoningDelta { part, delta } => {
            match &mut parts.iter_mut().find(|(at, _)| *at == part).unwrap().1 {
                ContentPart::Text { text, .. } | ContentPart::Reasoning { text, .. } => text.push_str(&delta),
                other => panic!("{other:?} does not grow"),
            }
        }
        ModelEvent::ToolCallDelta { part, delta } => inputs.entry(part).or_default().push_str(&delta),
        ModelEvent::TextEnd { part, metadata }
        | ModelEvent::ReasoningEnd { part, metadata }
        | ModelEvent::ToolCallEnd { part, metadata } => {
            match &mut parts.iter_mut().find(|(at, _)| *at == part).unwrap().1 {
                ContentPart::Text { provider_options, .. }
                | ContentPart::Reasoning { provider_options, .. } => {
                    *provider_options = metadata;
                }
                ContentPart::ToolCall { provider_options, input, .. } => {
                    *provider_options = metadata;
                    *input = Some(serde_json::from_str(&inputs[&part]).unwrap());
                }
                other => panic!("{other:?} does not end"),
            }
        }
        _ => {}
    };
    for event in stream {
        decoder.push(format!("data: {event}\n\n").as_bytes(), &mut take);
    }
    decoder.finish(&mut take);
    parts.into_iter().map(|(_, part)| part).collect()
}

fn next_turn(wire: Wire, provider: &str, answer: Vec<ContentPart>) -> Value {
    let messages = vec![
        ModelMessage::User { content: vec![text("Hi")] },
        ModelMessage::Assistant { content: answer },
        ModelMessage::User { content: vec![text("And?")] },
    ];
    encode(wire, provider, "m", &ModelRequest::of(messages)).body
}

#[test]
fn anthropic_gets_signed_reasoning_back() {
    let stream = [
        json!({ "type": "message_start", "message": { "id": "m" } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Hm" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "sig" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "redacted_thinking", "data": "xyz" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "t", "name": "look", "input": {} } }),
        json!({ "type": "content_block_stop", "index": 2 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let body = next_turn(Wire::ANTHROPIC, "anthropic", turn_of(Wire::ANTHROPIC, "anthropic", &stream));
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            { "type": "thinking", "thinking": "Hm", "signature": "sig" },
            { "type": "redacted_thinking", "data": "xyz" },
            { "type": "tool_use", "id": "t", "name": "look", "input": {} },
        ])
    );
}

#[test]
fn openai_gets_encrypted_reasoning_and_items_back() {
    let item =
        |kind: &str, index: u64, item: Value| json!({ "type": kind, "output_index": index, "item": item });
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    let search =
        json!({ "type": "web_search_call", "id": "ws", "status": "completed", "action": { "query": "q" } });
    let stream = [
        json!({ "type": "response.created", "response": { "id": "r" } }),
        item(added, 0, json!({ "type": "reasoning", "id": "rs", "summary": [] })),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "One" }),
        json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1 }),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "Two" }),
        item(done, 0, json!({ "type": "reasoning", "id": "rs", "encrypted_content": "sealed" })),
        item(added, 1, search.clone()),
        item(done, 1, search.clone()),
        item(added, 2, json!({ "type": "message", "id": "msg" })),
        json!({ "type": "response.output_text.delta", "output_index": 2, "delta": "So" }),
        item(done, 2, json!({ "type": "message", "id": "msg", "phase": "final_answer" })),
        item(
            added,
            3,
            json!({ "type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "" }),
        ),
        item(
            done,
            3,
            json!({ "type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "{\"a\":1}" }),
        ),
        json!({ "type": "response.completed", "response": { "id": "r" } }),
    ];
    let body = next_turn(Wire::RESPONSES, "openai", turn_of(Wire::RESPONSES, "openai", &stream));
    assert_eq!(
        body["input"].as_array().unwrap()[1..5],
        [
            json!({
                "type": "reasoning", "id": "rs", "encrypted_content": "sealed",
                "summary": [{ "type": "summary_text", "text": "One" }, { "type": "summary_text", "text": "Two" }],
            }),
            search,
            json!({
                "role": "assistant", "id": "msg", "phase": "final_answer",
                "content": [{ "type": "output_text", "text": "So" }],
            }),
            json!({ "type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": "{\"a\":1}" }),
        ]
    );
}

#[test]
fn google_gets_signatures_back_with_their_parts() {
    let parts = |parts: Value| json!({ "candidates": [{ "content": { "parts": parts } }] });
    let stream = [
        parts(json!([{ "text": "Hm", "thought": true }])),
        parts(json!([{ "text": "So" }])),
        parts(json!([{ "text": "", "thoughtSignature": "s1" }])),
        parts(json!([{ "functionCall": { "name": "look", "args": { "a": 1 } }, "thoughtSignature": "s2" }])),
        json!({ "candidates": [{ "finishReason": "STOP" }] }),
    ];
    let body = next_turn(Wire::GOOGLE, "google", turn_of(Wire::GOOGLE, "google", &stream));
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            { "text": "Hm", "thought": true },
            { "text": "So", "thoughtSignature": "s1" },
            { "functionCall": { "name": "look", "args": { "a": 1 } }, "thoughtSignature": "s2" },
        ])
    );
}

#[test]
fn call_of_another_model_skips_signature_validation() {
    let place = "/contents/1/parts/1/thoughtSignature";
    let of = |model| encode(Wire::GOOGLE, "google", model, &conversation()).body.pointer(place).cloned();
    assert_eq!(of("gemini-3-pro"), Some(json!("skip_thought_signature_validator")));
    assert_eq!(of("gemini-2.5-pro"), None);
}

#[test]
fn reasoning_is_sent_back_in_the_form_of_each_dialect() {
    let stream = [
        json!({ "choices": [{ "delta": { "reasoning_content": "Hm" } }] }),
        json!({ "choices": [{ "delta": { "content": "So" } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "abcdefghi", "function": { "name": "look", "arguments": "{}" }, "extra_content": { "google": { "thought_signature": "s" } } }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
    ];
    let thinking = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm" }] },
        { "type": "text", "text": "So" },
    ]);
    let cases = [
        (&ChatQuirks::OPENAI, json!({ "content": "So" })),
        (&ChatQuirks::DEEPSEEK, json!({ "content": "So", "reasoning_content": "Hm" })),
        (&ChatQuirks::GROQ, json!({ "content": "So", "reasoning": "Hm" })),
        (&ChatQuirks::MISTRAL, json!({ "content": thinking })),
    ];
    for (dialect, expected) in cases {
        let wire = Wire::chat(dialect);
        let body = next_turn(wire, "p", turn_of(wire, "p", &stream));
        let mut turn = body["messages"][1].as_object().unwrap().clone();
        let call = turn.shift_remove("tool_calls").unwrap();
        assert_eq!(call[0]["extra_content"]["google"]["thought_signature"], "s");
        turn.shift_remove("role");
        assert_eq!(Value::Object(turn), expected);
    }
}
