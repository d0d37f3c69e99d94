//! The requests that each wire format encodes.

use headwater_models::{
    ContentPart, FileData, ModelMessage, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat,
    ToolChoice, ToolResultOutput,
    wire::{ChatQuirks, EncodedRequest, Settings, Wire},
};
use headwater_protocol::ToolSpec;
use serde_json::{Value, json};

const CHAT: Wire = Wire::chat(&ChatQuirks::OPENAI);

pub(crate) fn encode(wire: Wire, provider: &str, model: &str, request: &ModelRequest) -> EncodedRequest {
    wire.encode(request, &Settings::new(provider, model)).unwrap()
}

fn warned(encoded: &EncodedRequest) -> Vec<&str> {
    encoded.warnings.iter().map(|warning| warning.feature.as_str()).collect()
}

pub(crate) fn text(text: &str) -> ContentPart {
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

/// A conversation with everything that a wire format must support.
pub(crate) fn conversation() -> ModelRequest {
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
fn chat_completions_encode_a_whole_conversation() {
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
fn responses_encode_a_whole_conversation() {
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
fn anthropic_encodes_a_whole_conversation() {
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
fn google_encodes_a_whole_conversation() {
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
fn unsupported_option_is_a_warning() {
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
    // A wire format and a model, the request, the expected warnings, and a JSON pointer into the body with
    // its expected value.
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
            Wire::chat(&ChatQuirks::DEEPSEEK),
            "m",
            &schema,
            &["response_format"],
            "/response_format/type",
            json!("json_object"),
        ),
        (
            Wire::chat(&ChatQuirks::DEEPSEEK),
            "m",
            &effort(ReasoningEffort::None),
            &[],
            "/thinking/type",
            json!("disabled"),
        ),
        (
            Wire::chat(&ChatQuirks::DEEPSEEK),
            "m",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/thinking/type",
            json!("enabled"),
        ),
        (
            Wire::chat(&ChatQuirks::GROQ),
            "m",
            &effort(ReasoningEffort::Minimal),
            &["reasoning.effort"],
            "/reasoning_effort",
            json!("low"),
        ),
        (
            Wire::chat(&ChatQuirks::MISTRAL),
            "m",
            &effort(ReasoningEffort::Low),
            &["reasoning.effort"],
            "/reasoning_effort",
            json!("high"),
        ),
        (Wire::chat(&ChatQuirks::MISTRAL), "m", &required, &[], "/tool_choice", json!("any")),
        (Wire::chat(&ChatQuirks::OLLAMA), "m", &required, &["tool_choice"], "/tool_choice", Value::Null),
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
fn unsupported_content_is_an_error() {
    let zip = file("application/zip", "data:application/zip;base64,AAAA");
    let cases = [
        (Wire::ANTHROPIC, zip.clone(), "a file of type application/zip cannot be sent to this provider"),
        (
            Wire::chat(&ChatQuirks::GROQ),
            zip,
            "a file of type application/zip cannot be sent to this provider",
        ),
        (
            CHAT,
            file("image/png", "data:image/png,abc"),
            "invalid data URL of a file: it must be base64-encoded",
        ),
        (
            CHAT,
            file("image/png", "data:image/png"),
            "invalid data URL of a file: it has no comma, so no content",
        ),
        (
            Wire::GOOGLE,
            ContentPart::File {
                media_type: "image/png".to_owned(),
                filename: None,
                data: FileData::Reference { reference: json!({ "other": "file-1" }) },
                provider_options: None,
            },
            "a file was uploaded to other providers only, not to p",
        ),
    ];
    for (wire, part, message) in cases {
        let request = ModelRequest::of(vec![ModelMessage::User { content: vec![part] }]);
        let error = wire.encode(&request, &Settings::new("p", "m")).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

#[test]
fn provider_options_apply_to_their_provider_only() {
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
fn provider_tool_is_encoded_from_its_options() {
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
fn foreign_call_ids_become_valid_mistral_ids() {
    let body = encode(Wire::chat(&ChatQuirks::MISTRAL), "mistral", "m", &conversation()).body;
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][3]["tool_call_id"], id);
}
