//! Encoded requests for the calls of `conformance/models`, which the vendors' SDKs make too. The files there
//! are ours; `cargo xtask test` compares them with the SDKs' requests. `HEADWATER_BLESS=1` rewrites them.

use std::{fs, path::PathBuf};

use headwater_models::{
    ContentPart, FileData, ModelMessage, ModelRequest, ResponseFormat, ToolChoice, ToolResultOutput,
    wire::{ChatQuirks, Settings, Wire},
};
use headwater_protocol::ToolSpec;
use serde_json::{Value, json};

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

/// Each provider with one of its models, and the metadata that its reasoning needs back.
fn providers() -> Vec<(&'static str, Wire, &'static str, &'static str, Option<Value>)> {
    vec![
        (
            "openai",
            Wire::RESPONSES,
            "openai",
            "gpt-5.1",
            Some(json!({ "openai": { "itemId": "rs_1", "reasoningEncryptedContent": "sealed" } })),
        ),
        ("openai-chat", Wire::chat(&ChatQuirks::OPENAI), "openai", "gpt-4.1", None),
        (
            "anthropic",
            Wire::ANTHROPIC,
            "anthropic",
            "claude-sonnet-4-5",
            Some(json!({ "anthropic": { "signature": "signed" } })),
        ),
        (
            "google",
            Wire::GOOGLE,
            "google",
            "gemini-2.5-pro",
            Some(json!({ "google": { "thoughtSignature": "c2lnbmVk" } })),
        ),
        ("groq", Wire::chat(&ChatQuirks::GROQ), "groq", "openai/gpt-oss-120b", Some(json!({}))),
        ("mistral", Wire::chat(&ChatQuirks::MISTRAL), "mistral", "magistral-medium-latest", Some(json!({}))),
        ("deepseek", Wire::chat(&ChatQuirks::DEEPSEEK), "deepseek", "deepseek-reasoner", Some(json!({}))),
    ]
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.to_owned(), provider_options: None }
}

fn user(content: Vec<ContentPart>) -> ModelMessage {
    ModelMessage::User { content }
}

fn weather() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    ToolSpec::new("weather", schema).description("Reports the weather")
}

fn call(id: &str, options: Option<Value>) -> ContentPart {
    ContentPart::ToolCall {
        tool_call_id: id.into(),
        tool_name: "weather".to_owned(),
        input: Some(json!({ "city": "Oslo" })),
        provider_executed: None,
        provider_options: options,
    }
}

fn result(id: &str) -> ModelMessage {
    let output = ToolResultOutput::Text { value: "4 °C".to_owned() };
    let (tool_call_id, tool_name) = (id.into(), "weather".to_owned());
    let content = vec![ContentPart::ToolResult { tool_call_id, tool_name, output, provider_options: None }];
    ModelMessage::Tool { content }
}

/// The calls by name.
fn calls(thoughts: Option<&Value>, is_google: bool) -> Vec<(&'static str, ModelRequest)> {
    let mut hello = ModelRequest::new("Hello").system("Be brief.");
    hello.max_output_tokens = Some(100);

    let mut tools = ModelRequest::new("What is the weather in Oslo?");
    tools.tools = vec![weather()];
    tools.tool_choice = Some(ToolChoice::Required);
    tools.max_output_tokens = Some(100);

    let mut results = ModelRequest::of(vec![
        user(vec![text("What is the weather in Oslo?")]),
        ModelMessage::Assistant { content: vec![call("callA1234", None)] },
        result("callA1234"),
    ]);
    results.tools = vec![weather()];
    results.max_output_tokens = Some(100);

    let picture = ContentPart::File {
        media_type: "image/png".to_owned(),
        filename: None,
        data: FileData::Url { url: PNG.to_owned() },
        provider_options: None,
    };
    let mut image = ModelRequest::of(vec![user(vec![text("What is this?"), picture])]);
    image.max_output_tokens = Some(100);

    let mut schema = ModelRequest::new("Name a city.");
    let shape = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    schema.response_format =
        Some(ResponseFormat::Json { schema: Some(shape), name: Some("city".to_owned()) });
    schema.max_output_tokens = Some(100);

    let mut all = vec![
        ("text", hello),
        ("tools", tools),
        ("tool-results", results),
        ("image", image),
        ("schema", schema),
    ];
    if let Some(wanted) = thoughts {
        // Google signs the call, the others sign the reasoning.
        let (of_thought, of_call) =
            if is_google { (None, Some(wanted.clone())) } else { (Some(wanted.clone()), None) };
        let thought = ContentPart::Reasoning {
            text: "They want the weather.".to_owned(),
            provider_options: of_thought,
        };
        let content = if is_google {
            vec![call("callA1234", of_call)]
        } else {
            vec![thought, call("callA1234", of_call)]
        };
        let mut echo = ModelRequest::of(vec![
            user(vec![text("What is the weather in Oslo?")]),
            ModelMessage::Assistant { content },
            result("callA1234"),
        ]);
        echo.tools = vec![weather()];
        echo.max_output_tokens = Some(100);
        all.push(("reasoning-echo", echo));
    }
    all
}

#[test]
fn requests_equal_the_files_compared_with_vendor_sdks() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/models/requests");
    let bless = std::env::var_os("HEADWATER_BLESS").is_some();
    let mut files = 0;
    for (name, wire, provider, model, thoughts) in providers() {
        for (case, mut request) in calls(thoughts.as_ref(), name == "google") {
            // Streaming changes only a field of the body or the path.
            request.whole = true;
            let encoded = wire.encode(&request, &Settings::new(provider, model)).unwrap();
            let ours = json!({ "path": encoded.path, "body": encoded.body });
            let path = folder.join(format!("{name}.{case}.json"));
            let mut written = serde_json::to_string_pretty(&ours).unwrap();
            written.push('\n');
            if bless {
                fs::write(&path, &written).unwrap();
            }
            let known = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                known,
                written,
                "{}: run with HEADWATER_BLESS=1 and review the change",
                path.display()
            );
            files += 1;
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files, "a file belongs to no case");
}
