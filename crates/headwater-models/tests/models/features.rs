//! The table in `docs/models.md` of the request features that each provider supports, generated from the wire
//! formats. `HEADWATER_BLESS=1` rewrites it.

use std::{fs, path::PathBuf};

use headwater_models::{
    ContentPart, FileData, ModelMessage, ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat,
    ToolChoice,
    wire::{ChatQuirks, Settings, Wire},
};
use headwater_protocol::ToolSpec;
use serde_json::json;

/// Each provider with its most capable model.
fn providers() -> [(&'static str, Wire, &'static str, &'static str); 9] {
    [
        ("openai", Wire::RESPONSES, "openai", "gpt-5.1"),
        ("openai-chat", Wire::chat(&ChatQuirks::OPENAI), "openai", "gpt-4.1"),
        ("anthropic", Wire::ANTHROPIC, "anthropic", "claude-sonnet-4-5"),
        ("google", Wire::GOOGLE, "google", "gemini-2.5-pro"),
        ("deepseek", Wire::chat(&ChatQuirks::DEEPSEEK), "deepseek", "deepseek-chat"),
        ("groq", Wire::chat(&ChatQuirks::GROQ), "groq", "openai/gpt-oss-120b"),
        ("mistral", Wire::chat(&ChatQuirks::MISTRAL), "mistral", "mistral-medium-latest"),
        ("ollama", Wire::chat(&ChatQuirks::OLLAMA), "ollama", "llama3.2"),
        ("openai-compatible", Wire::chat(&ChatQuirks::COMPATIBLE), "openai-compatible", "some-model"),
    ]
}

fn weather() -> ToolSpec {
    ToolSpec::new("weather", json!({ "type": "object", "properties": { "city": { "type": "string" } } }))
}

fn with_file(request: &mut ModelRequest, media_type: &str, url: &str) {
    let file = ContentPart::File {
        media_type: media_type.to_owned(),
        filename: Some("file".to_owned()),
        data: FileData::Url { url: url.to_owned() },
        provider_options: None,
    };
    if let Some(ModelMessage::User { content }) = request.messages.first_mut() {
        content.push(file);
    }
}

type Ask = fn(&mut ModelRequest);

/// The features of a request.
fn features() -> Vec<(&'static str, Ask)> {
    vec![
        ("a stream", |request| request.whole = false),
        ("tools", |request| request.tools.push(weather())),
        ("tool choice: required", |request| {
            request.tools.push(weather());
            request.tool_choice = Some(ToolChoice::Required);
        }),
        ("tool choice: this one", |request| {
            request.tools.push(weather());
            request.tool_choice = Some(ToolChoice::Tool("weather".to_owned()));
        }),
        ("an object by a schema", |request| {
            let schema = json!({
                "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
                "additionalProperties": false,
            });
            request.response_format = Some(ResponseFormat::Json { schema: Some(schema), name: None });
        }),
        ("any JSON", |request| {
            request.response_format = Some(ResponseFormat::Json { schema: None, name: None });
        }),
        ("a picture", |request| with_file(request, "image/png", "data:image/png;base64,iVBORw0KGgo=")),
        ("a picture by its address", |request| with_file(request, "image/png", "https://example.com/a.png")),
        ("a PDF", |request| with_file(request, "application/pdf", "data:application/pdf;base64,JVBERi0=")),
        ("temperature", |request| request.temperature = Some(0.3)),
        ("output limit", |request| request.max_output_tokens = Some(2_000)),
        ("stop sequences", |request| request.stop_sequences = vec!["END".to_owned()]),
        ("effort of thinking", |request| {
            request.reasoning =
                Some(ReasoningOptions { effort: Some(ReasoningEffort::Low), max_tokens: None });
        }),
        ("tokens for thinking", |request| {
            request.reasoning = Some(ReasoningOptions { effort: None, max_tokens: Some(2_048) });
        }),
    ]
}

/// How a provider handles a feature.
fn cell(wire: Wire, settings: &Settings, ask: Ask) -> &'static str {
    let mut plain = ModelRequest::new("Hi");
    plain.whole = true;
    let mut asked = plain.clone();
    ask(&mut asked);
    // A tool choice needs tools.
    if asked.tool_choice.is_some() {
        plain.tools.clone_from(&asked.tools);
    }
    let before = wire.encode(&plain, settings).unwrap();
    match wire.encode(&asked, settings) {
        Err(_) => "refused",
        Ok(encoded) if !encoded.warnings.is_empty() && encoded.body != before.body => "otherwise",
        Ok(encoded) if !encoded.warnings.is_empty() => "left out",
        Ok(encoded) => {
            let said = encoded.body != before.body || encoded.path != before.path;
            assert!(said, "{}: silently left out", settings.provider);
            "yes"
        }
    }
}

const BEGIN: &str = "<!-- table of features -->\n";
const END: &str = "<!-- end of the table -->";

#[test]
fn feature_table_in_docs_is_current_and_no_feature_is_dropped_silently() {
    let providers = providers();
    let names: Vec<_> = providers.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let mut table = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (feature, ask) in features() {
        let cells: Vec<_> = providers
            .iter()
            .map(|(_, wire, provider, model)| cell(*wire, &Settings::new(*provider, *model), ask))
            .collect();
        table.push_str(&format!("| {feature} | {} |\n", cells.join(" | ")));
    }
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let text = fs::read_to_string(&docs).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(&docs, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "run the test again with HEADWATER_BLESS=1 and review the change");
}
