//! What each wire writes for a request, and that what an answer wants back goes back.

use headwater_models::{
    ModelEvent, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat, ToolChoice,
    wire::{Dialect, Encoded, Settings, Wire},
};
use headwater_protocol::{ContentPart, FileData, ModelMessage, ToolResultOutput, ToolSpec};
use serde_json::{Value, json};

const CHAT: Wire = Wire::chat(&Dialect::OPENAI);

fn encode(wire: Wire, provider: &str, model: &str, request: &ModelRequest) -> Encoded {
    wire.encode(request, &Settings::new(provider, model)).unwrap()
}

fn warned(encoded: &Encoded) -> Vec<&str> {
    encoded.warnings.iter().map(|warning| warning.feature.as_str()).collect()
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.to_owned(), provider_options: None }
}

fn file(media_type: &str, url: &str) -> ContentPart {
    ContentPart::File {
        media_type: media_type.to_owned(),
        filename: Some("a".to_owned()),
        data: FileData::Url { url: url.to_owned() },
        provider_options: None,
    }
}

/// A conversation with everything that a wire must be able to say.
fn conversation() -> ModelRequest {
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let mut request = ModelRequest::of(vec![
        ModelMessage::System { content: "Be brief.".to_owned(), provider_options: None },
        ModelMessage::User { content: vec![text("What is this?"), file("image", png)] },
        ModelMessage::Assistant {
            content: vec![
                text("Let me see."),
                ContentPart::ToolCall {
                    tool_call_id: "call_1".into(),
                    tool_name: "look".to_owned(),
                    input: Some(json!({ "at": 1 })),
                    provider_executed: None,
                    provider_options: None,
                },
            ],
        },
        ModelMessage::Tool {
            content: vec![ContentPart::ToolResult {
                tool_call_id: "call_1".into(),
                tool_name: "look".to_owned(),
                output: ToolResultOutput::Json { value: json!({ "seen": "a cat" }) },
                provider_options: None,
            }],
        },
    ]);
    let schema = json!({ "type": "object", "properties": { "at": { "type": "integer" } } });
    request.tools.push(ToolSpec::new("look", schema).description("Looks"));
    request.tool_choice = Some(ToolChoice::Required);
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(100);
    request.stop_sequences = vec!["END".to_owned()];
    request
}

#[test]
fn a_chat_completion_says_all_of_a_conversation() {
    let encoded = encode(CHAT, "openai", "gpt-4o", &conversation());
    assert_eq!((encoded.path.as_str(), warned(&encoded).len()), ("/chat/completions", 0));
    assert_eq!(
        encoded.body,
        json!({
            "model": "gpt-4o",
            "temperature": 0.5,
            "max_completion_tokens": 100,
            "stop": ["END"],
            "tools": [{ "type": "function", "function": {
                "name": "look", "description": "Looks",
                "parameters": { "type": "object", "properties": { "at": { "type": "integer" } } },
            } }],
            "tool_choice": "required",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "text", "text": "What is this?" },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
                ] },
                { "role": "assistant", "content": "Let me see.", "tool_calls": [{
                    "id": "call_1", "type": "function",
                    "function": { "name": "look", "arguments": "{\"at\":1}" },
                }] },
                { "role": "tool", "tool_call_id": "call_1", "content": "{\"seen\":\"a cat\"}" },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
}

#[test]
fn a_response_says_all_of_a_conversation() {
    let encoded = encode(Wire::RESPONSES, "openai", "gpt-4o", &conversation());
    assert_eq!((encoded.path.as_str(), warned(&encoded)), ("/responses", vec!["stop_sequences"]));
    assert_eq!(
        encoded.body,
        json!({
            "model": "gpt-4o",
            "input": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "input_text", "text": "What is this?" },
                    { "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=" },
                ] },
                { "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }] },
                { "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{\"at\":1}" },
                { "type": "function_call_output", "call_id": "call_1", "output": "{\"seen\":\"a cat\"}" },
            ],
            "store": false,
            "temperature": 0.5,
            "max_output_tokens": 100,
            "tools": [{
                "type": "function", "name": "look", "description": "Looks", "strict": false,
                "parameters": { "type": "object", "properties": { "at": { "type": "integer" } } },
            }],
            "tool_choice": "required",
            "stream": true,
        })
    );
}

#[test]
fn a_message_says_all_of_a_conversation() {
    let encoded = encode(Wire::ANTHROPIC, "anthropic", "claude-sonnet-4-5", &conversation());
    assert_eq!((encoded.path.as_str(), warned(&encoded).len()), ("/v1/messages", 0));
    assert_eq!(encoded.headers, [("anthropic-version", "2023-06-01".to_owned())]);
    assert_eq!(
        encoded.body,
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 100,
            "temperature": 0.5,
            "stop_sequences": ["END"],
            "tools": [{
                "name": "look", "description": "Looks",
                "input_schema": { "type": "object", "properties": { "at": { "type": "integer" } } },
            }],
            "tool_choice": { "type": "any" },
            "system": [{ "type": "text", "text": "Be brief." }],
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "What is this?" },
                    { "type": "image", "source": {
                        "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=",
                    } },
                ] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "Let me see." },
                    { "type": "tool_use", "id": "call_1", "name": "look", "input": { "at": 1 } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "call_1", "content": "{\"seen\":\"a cat\"}" },
                ] },
            ],
            "stream": true,
        })
    );
}

#[test]
fn a_content_says_all_of_a_conversation() {
    let mut request = conversation();
    request.whole = true;
    let encoded = encode(Wire::GOOGLE, "google", "gemini-2.5-flash", &request);
    assert_eq!(encoded.path, "/models/gemini-2.5-flash:generateContent");
    request.whole = false;
    let stream = encode(Wire::GOOGLE, "google", "gemini-2.5-flash", &request);
    assert_eq!(stream.path, "/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(stream.body, encoded.body);
    assert_eq!(
        encoded.body,
        json!({
            "contents": [
                { "role": "user", "parts": [
                    { "text": "What is this?" },
                    { "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } },
                ] },
                { "role": "model", "parts": [
                    { "text": "Let me see." },
                    { "functionCall": { "name": "look", "args": { "at": 1 } } },
                ] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "look", "response": { "seen": "a cat" } } },
                ] },
            ],
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "generationConfig": { "temperature": 0.5, "maxOutputTokens": 100, "stopSequences": ["END"] },
            "tools": [{ "functionDeclarations": [{
                "name": "look", "description": "Looks",
                "parametersJsonSchema": { "type": "object", "properties": { "at": { "type": "integer" } } },
            }] }],
            "toolConfig": { "functionCallingConfig": { "mode": "ANY" } },
        })
    );
}

#[test]
fn an_option_that_is_not_honoured_is_told() {
    let with = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = ModelRequest::new("Hi");
        request.tools.push(ToolSpec::new("look", json!({})));
        change(&mut request);
        request
    };
    let effort = |effort| {
        with(&move |request| {
            request.reasoning = Some(ReasoningOptions { effort: Some(effort), max_tokens: None });
        })
    };
    let budget = with(&|request| {
        request.reasoning = Some(ReasoningOptions { effort: None, max_tokens: Some(2000) });
    });
    let temperature = with(&|request| request.temperature = Some(1.5));
    let stop = with(&|request| request.stop_sequences = vec!["x".to_owned()]);
    let required = with(&|request| request.tool_choice = Some(ToolChoice::Required));
    let schema = with(&|request| {
        request.response_format = Some(ResponseFormat::Json { schema: Some(json!({})), name: None });
    });
    let json = with(&|request| {
        request.response_format = Some(ResponseFormat::Json { schema: None, name: None });
    });
    // A wire and a model, what is asked, what is warned of, and what stands where in the body.
    type Case<'r> = (Wire, &'r str, &'r ModelRequest, &'r [&'r str], &'r str, Value);
    let cases: [Case<'_>; 24] = [
        (CHAT, "o3", &temperature, &["temperature"], "/temperature", Value::Null),
        (CHAT, "gpt-4o", &temperature, &[], "/temperature", json!(1.5)),
        (CHAT, "gpt-5", &stop, &["stop_sequences"], "/stop", Value::Null),
        (CHAT, "gpt-5", &budget, &["reasoning.max_tokens"], "/reasoning_effort", Value::Null),
        (CHAT, "gpt-5", &effort(ReasoningEffort::Low), &[], "/reasoning_effort", json!("low")),
        (Wire::RESPONSES, "gpt-5", &effort(ReasoningEffort::High), &[], "/reasoning/effort", json!("high")),
        (
            Wire::RESPONSES,
            "gpt-5",
            &budget,
            &["reasoning.max_tokens"],
            "/include/0",
            json!("reasoning.encrypted_content"),
        ),
        (
            Wire::chat(&Dialect::DEEPSEEK),
            "m",
            &schema,
            &["response_format"],
            "/response_format/type",
            json!("json_object"),
        ),
        (
            Wire::chat(&Dialect::DEEPSEEK),
            "m",
            &effort(ReasoningEffort::None),
            &[],
            "/thinking/type",
            json!("disabled"),
        ),
        (
            Wire::chat(&Dialect::DEEPSEEK),
            "m",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/thinking/type",
            json!("enabled"),
        ),
        (
            Wire::chat(&Dialect::GROQ),
            "m",
            &effort(ReasoningEffort::Minimal),
            &["reasoning.effort"],
            "/reasoning_effort",
            json!("low"),
        ),
        (
            Wire::chat(&Dialect::MISTRAL),
            "m",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/reasoning_effort",
            json!("high"),
        ),
        (Wire::chat(&Dialect::MISTRAL), "m", &required, &[], "/tool_choice", json!("any")),
        (Wire::chat(&Dialect::OLLAMA), "m", &required, &["tool_choice"], "/tool_choice", Value::Null),
        (Wire::ANTHROPIC, "claude-3-5-haiku", &temperature, &["temperature"], "/temperature", json!(1.0)),
        (Wire::ANTHROPIC, "claude-3-5-haiku", &json, &["response_format"], "/output_config", Value::Null),
        (
            Wire::ANTHROPIC,
            "claude-sonnet-4-5",
            &schema,
            &[],
            "/output_config/format/type",
            json!("json_schema"),
        ),
        (
            Wire::ANTHROPIC,
            "claude-sonnet-4-5",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/thinking/budget_tokens",
            json!(2048),
        ),
        (
            Wire::ANTHROPIC,
            "claude-opus-4-6",
            &effort(ReasoningEffort::Low),
            &[],
            "/output_config/effort",
            json!("low"),
        ),
        (Wire::ANTHROPIC, "claude-opus-4-8", &temperature, &["temperature"], "/temperature", Value::Null),
        (
            Wire::ANTHROPIC,
            "claude-opus-5",
            &budget,
            &["reasoning.max_tokens"],
            "/thinking/type",
            json!("adaptive"),
        ),
        (Wire::ANTHROPIC, "claude-sonnet-4-5", &budget, &[], "/max_tokens", json!(66_000)),
        (
            Wire::GOOGLE,
            "gemini-2.5-pro",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(2048),
        ),
        (
            Wire::GOOGLE,
            "gemini-3-pro",
            &effort(ReasoningEffort::Low),
            &[],
            "/generationConfig/thinkingConfig/thinkingLevel",
            json!("low"),
        ),
    ];
    for (wire, model, request, features, place, value) in cases {
        let encoded = encode(wire, "p", model, request);
        assert_eq!(warned(&encoded), features, "{wire:?} {model} {}", encoded.body);
        assert_eq!(encoded.body.pointer(place).unwrap_or(&Value::Null), &value, "{wire:?} {model} {place}");
    }
}

#[test]
fn what_cannot_be_said_at_all_is_refused() {
    let zip = file("application/zip", "data:application/zip;base64,AAAA");
    let cases = [
        (Wire::ANTHROPIC, zip.clone(), "a file of type application/zip cannot be sent this way"),
        (Wire::chat(&Dialect::GROQ), zip, "a file of type application/zip cannot be sent this way"),
        (
            CHAT,
            file("image/png", "data:image/png,abc"),
            "a file is a data URL that is not in base64: encode it so",
        ),
        (
            CHAT,
            file("image/png", "data:image/png"),
            "a file is a data URL without a comma, so it has no content",
        ),
        (
            Wire::GOOGLE,
            ContentPart::File {
                media_type: "image/png".to_owned(),
                filename: None,
                data: FileData::Reference { reference: json!({ "other": "file-1" }) },
                provider_options: None,
            },
            "a file is known to other providers only, not to p",
        ),
    ];
    for (wire, part, message) in cases {
        let request = ModelRequest::of(vec![ModelMessage::User { content: vec![part] }]);
        let error = wire.encode(&request, &Settings::new("p", "m")).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

#[test]
fn options_of_the_provider_go_through_and_those_of_others_do_not() {
    let mut request = ModelRequest::new("Hi");
    request.reasoning = Some(ReasoningOptions { effort: Some(ReasoningEffort::Low), max_tokens: None });
    request.provider_options = json!({
        "openai": { "service_tier": "flex", "reasoning": { "summary": "detailed" }, "stream": false },
        "anthropic": { "betas": ["a", "b"], "top_k": 5 },
    })
    .as_object()
    .unwrap()
    .clone();
    let encoded = encode(Wire::RESPONSES, "openai", "gpt-5", &request);
    assert_eq!(encoded.body["service_tier"], "flex");
    assert_eq!(encoded.body["reasoning"], json!({ "effort": "low", "summary": "detailed" }));
    assert_eq!((&encoded.body["stream"], warned(&encoded)), (&json!(true), vec!["provider_options"]));
    assert_eq!(encoded.body.get("top_k"), None);

    let encoded = encode(Wire::ANTHROPIC, "anthropic", "claude-opus-4-6", &request);
    assert_eq!((&encoded.body["top_k"], encoded.body.get("betas")), (&json!(5), None));
    assert!(encoded.headers.contains(&("anthropic-beta", "a,b".to_owned())));
}

#[test]
fn a_tool_of_the_providers_own_is_written_as_its_options_say() {
    let mut tool = ToolSpec::new("search", json!({}));
    let cases = [
        (Wire::RESPONSES, "openai", json!({ "type": "web_search" })),
        (Wire::ANTHROPIC, "anthropic", json!({ "type": "web_search_20250305", "name": "web_search" })),
        (Wire::GOOGLE, "google", json!({ "googleSearch": {} })),
    ];
    for (wire, provider, written) in cases {
        tool.provider_options = Some(json!({ provider: written }));
        let mut request = ModelRequest::new("Hi");
        request.tools = vec![tool.clone()];
        assert_eq!(encode(wire, provider, "m", &request).body["tools"], json!([written]));
    }
}

#[test]
fn ids_of_calls_from_elsewhere_become_ids_that_mistral_takes() {
    let body = encode(Wire::chat(&Dialect::MISTRAL), "mistral", "m", &conversation()).body;
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][3]["tool_call_id"], id);
}

/// The assistant's turn that a caller makes of an answer: metadata becomes provider options.
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
fn anthropic_gets_its_signed_thoughts_back() {
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
fn openai_gets_its_sealed_thoughts_and_items_back() {
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
fn google_gets_its_signatures_back_where_they_were() {
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
fn a_call_of_another_model_is_marked_for_those_who_want_signatures() {
    let place = "/contents/1/parts/1/thoughtSignature";
    let of = |model| encode(Wire::GOOGLE, "google", model, &conversation()).body.pointer(place).cloned();
    assert_eq!(of("gemini-3-pro"), Some(json!("skip_thought_signature_validator")));
    assert_eq!(of("gemini-2.5-pro"), None);
}

#[test]
fn those_who_want_their_thoughts_back_get_them_in_their_own_way() {
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
        (&Dialect::OPENAI, json!({ "content": "So" })),
        (&Dialect::DEEPSEEK, json!({ "content": "So", "reasoning_content": "Hm" })),
        (&Dialect::GROQ, json!({ "content": "So", "reasoning": "Hm" })),
        (&Dialect::MISTRAL, json!({ "content": thinking })),
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
