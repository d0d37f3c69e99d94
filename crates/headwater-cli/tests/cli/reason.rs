//! `headwater reason` and `headwater models`: the real binary calls a provider on the loopback interface.

pub(crate) mod provider;
mod recorded;

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::run::{CommandRun, headwater};
use provider::{Provider, Reply};

const CHAT: &str = "data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n\
     data: {\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\n\
     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n\
     data: [DONE]\n\n";

const RESPONSES: &str = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\"}}\n\n\
     data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"a\"}}\n\n\
     data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hello\"}\n\n\
     data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"a\"}}\n\n\
     data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n";

const MESSAGES: &str = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n\
     data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
     data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n\
     data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
     data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
     data: {\"type\":\"message_stop\"}\n\n";

const CONTENTS: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hello\"}]},\"finishReason\":\"STOP\"}],\
     \"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2}}\n\n";

/// Calls a model with JSON output, without any key in the environment.
fn ask(provider: &str, server: &Provider, more: &[&str]) -> CommandRun {
    let (model, url) = (format!("{provider}:some-model"), server.url());
    let mut args = vec!["reason", "--model", &model, "--base-url", &url, "--json"];
    args.extend(more);
    args.push("Hi");
    headwater(&args, "")
}

#[test]
fn base_url_works_for_every_provider_without_a_key() {
    for (provider, path, body) in [
        ("openai", "/responses", RESPONSES),
        ("openai-chat", "/chat/completions", CHAT),
        ("anthropic", "/v1/messages", MESSAGES),
        ("google", "/models/some-model:streamGenerateContent?alt=sse", CONTENTS),
        ("deepseek", "/chat/completions", CHAT),
        ("groq", "/chat/completions", CHAT),
        ("mistral", "/chat/completions", CHAT),
        ("openai-compatible", "/chat/completions", CHAT),
        ("ollama", "/chat/completions", CHAT),
    ] {
        let server = Provider::start([Reply::stream(body)]);
        let ran = ask(provider, &server, &["--system", "Be brief."]);
        assert_eq!(ran.code, Some(0), "{provider}: {ran:?}");
        let said = ran.json();
        assert_eq!((&said["text"], &said["finishReason"]), (&json!("Hello"), &json!("stop")), "{provider}");
        let usage = (&said["usage"]["inputTokens"], &said["usage"]["outputTokens"]);
        assert_eq!(usage, (&json!(3), &json!(2)), "{provider}");
        assert_eq!((&said["error"], &said["output"]), (&Value::Null, &Value::Null), "{provider}");
        let [asked] = &server.asked()[..] else { panic!("{provider} was not asked once") };
        assert_eq!(asked.path, path, "{provider}");
        assert!(asked.body.to_string().contains("Be brief."), "{provider}: {}", asked.body);
    }
}

#[test]
fn json_answer_always_has_all_fields() {
    let server = Provider::start([Reply::stream(CHAT)]);
    let said = ask("groq", &server, &[]).json();
    let fields: Vec<&str> = said.as_object().unwrap().keys().map(String::as_str).collect();
    for field in
        ["text", "reasoning", "toolCalls", "output", "finishReason", "usage", "warnings", "sources", "error"]
    {
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
    }
}

#[test]
fn tool_calls_have_their_inputs_and_broken_input_stays_text() {
    let body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\",\"tool_calls\":[\
         {\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\"}},\
         {\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"time\",\"arguments\":\"{oops\"}}]}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Oslo\\\"}\"}}]}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let server = Provider::start([Reply::stream(body)]);
    let said = ask("deepseek", &server, &[]).json();
    assert_eq!(said["reasoning"], "Hm.");
    assert_eq!(said["finishReason"], "tool-calls");
    assert_eq!(
        said["toolCalls"],
        json!([
            { "toolCallId": "c1", "toolName": "weather", "input": { "city": "Oslo" } },
            { "toolCallId": "c2", "toolName": "time", "input": "{oops" },
        ])
    );
}

#[test]
fn errors_are_in_the_json_and_the_exit_code() {
    let refusal = r#"{"error":{"message":"Slow down","type":"rate_limit_error"}}"#;
    for (reply, code, finish) in [
        (Reply::status(401, r#"{"error":{"message":"Wrong key"}}"#), "model.auth", "error"),
        (Reply::status(429, refusal).header("retry-after", "30"), "model.rate-limit", "error"),
        (Reply::page("<html><body>Gateway</body></html>"), "model.malformed", "error"),
        (Reply::stream("data: {not json\n\n"), "model.malformed", "error"),
        (
            Reply::stream("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"),
            "model.cut",
            "interrupted",
        ),
    ] {
        let server = Provider::start([reply]);
        let ran = ask("openai-compatible", &server, &[]);
        assert_eq!(ran.code, Some(1), "{code}: {ran:?}");
        let said = ran.json();
        assert_eq!(said["error"]["code"], code, "{said}");
        assert_eq!(said["finishReason"], finish, "{said}");
    }
}

#[test]
fn no_stream_requests_and_reads_one_piece() {
    let body = r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let server = Provider::start([Reply::status(200, body)]);
    let said = ask("mistral", &server, &["--no-stream"]).json();
    assert_eq!(said["text"], "Hello");
    assert_ne!(server.asked()[0].body["stream"], true);
}

#[test]
fn schema_is_sent_and_the_answer_is_validated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schema.json");
    let schema =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    std::fs::write(&file, schema.to_string()).unwrap();
    let said = |content: &str| {
        let content = json!({ "choices": [{ "delta": { "content": content }, "finish_reason": "stop" }] });
        let server = Provider::start([Reply::stream(&format!("data: {content}\n\ndata: [DONE]\n\n"))]);
        let ran = ask("openai-chat", &server, &["--schema", file.to_str().unwrap()]);
        let sent = server.asked()[0].body["response_format"]["json_schema"]["schema"].clone();
        assert_eq!(sent["properties"], schema["properties"]);
        ran
    };
    let fits = said(r#"{"city":"Oslo"}"#);
    assert_eq!((fits.code, &fits.json()["output"]), (Some(0), &json!({ "city": "Oslo" })));
    let wrong = said(r#"{"town":"Oslo"}"#);
    assert_eq!(wrong.code, Some(1));
    assert_eq!(wrong.json()["error"]["message"], "the answer does not fit the schema: city: missing");
}

#[test]
fn standard_output_has_only_the_text() {
    let body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Let me think.\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"Hello \\u001b[2Jyou\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Provider::start([Reply::stream(body)]);
    let ran = headwater(&["reason", "--model", "deepseek:m", "--base-url", &server.url(), "Hi"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello ␛[2Jyou\n"));
    assert!(ran.stderr.starts_with("Let me think.\n"), "{ran:?}");
}

#[test]
fn mistakes_are_reported_with_a_remedy() {
    for (args, says) in [
        (vec!["reason", "--model", "openai:gpt-5.1", "Hi"], "openai: no API key: set OPENAI_API_KEY"),
        (vec!["reason", "--model", "openia:gpt-5.1", "Hi"], "did you mean `openai`?"),
        (vec!["reason", "--model", "gpt-5.1", "Hi"], "use PROVIDER:MODEL"),
        (vec!["reason", "--model", "openai-compatible:m", "Hi"], "set OPENAI_COMPATIBLE_BASE_URL"),
        (vec!["reason", "--model", "scripted:nothing.yaml", "Hi"], "there is no such file"),
        (vec!["reason", "--model", "scripted:echo", "--mcp", "'", "Hi"], "a quote is not closed"),
        (vec!["reason", "--model", "scripted:echo", "--mcp", "no-such-program", "Hi"], "no-such-program"),
        (vec!["reason", "--model", "scripted:echo", "--schema", "no.json", "Hi"], "cannot read no.json"),
    ] {
        let ran = headwater(&args, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{says:?} is not in {}", ran.stderr);
    }
}

#[test]
fn scripted_model_needs_neither_network_nor_key() {
    let echo = headwater(&["reason", "--model", "scripted:echo", "-"], "Say this");
    assert_eq!((echo.code, echo.stdout.as_str()), (Some(0), "Say this\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.yaml");
    let script = "name: s\nrules:\n  - say:\n      - source: { url: 'https://example.com', title: Example }\n      - text: Indeed\n";
    std::fs::write(&file, script).unwrap();
    let model = format!("scripted:{}", file.display());
    let said = headwater(&["reason", "--model", &model, "--json", "Hi"], "").json();
    assert_eq!(said["text"], "Indeed");
    assert_eq!(
        said["sources"],
        json!([{ "sourceType": "url", "url": "https://example.com", "title": "Example" }])
    );
}

#[test]
fn mcp_tools_are_called_and_the_model_continues() {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: node is not on the PATH");
        return;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/mcp-issues/server.mjs");
    let wants = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":\
         {\"name\":\"get_issue\",\"arguments\":\"{\\\"id\\\":111}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let mcp = format!("node '{}'", script.display());
    let server = Provider::start([Reply::stream(wants), Reply::stream(CHAT)]);
    let ran = ask("openai-compatible", &server, &["--mcp", &mcp]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = ran.json();
    assert_eq!(said["text"], "Hello");
    assert_eq!(
        said["toolCalls"],
        json!([{ "toolCallId": "c1", "toolName": "get_issue", "input": { "id": 111 } }])
    );
    let asked = server.asked();
    assert_eq!(asked[0].body["tools"].as_array().unwrap().len(), 2);
    let result = asked[1].body["messages"][2]["content"].to_string();
    assert!(result.contains("Export hangs for large projects"), "{result}");

    // A provider that keeps repeating its calls is not called forever, and no call runs twice.
    let server = Provider::start([Reply::stream(wants), Reply::stream(wants)]);
    let said = ask("openai-compatible", &server, &["--mcp", &mcp]).json();
    assert_eq!(said["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!(said["warnings"][0]["feature"], "tools");
}

#[test]
fn models_lists_missing_settings_and_never_shows_a_key() {
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["models", "--json"])
        .env_clear()
        .env("GROQ_API_KEY", "very-secret")
        .env("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("very-secret"));
    let listed: Value = serde_json::from_str(&text).unwrap();
    let of = |name: &str| {
        let providers = listed["providers"].as_array().unwrap().iter();
        providers.clone().find(|provider| provider["provider"] == name).unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!((&of("groq")["ready"], &of("groq")["key"]), (&json!(true), &json!(true)));
    assert_eq!(of("anthropic")["missing"], "no API key: set ANTHROPIC_API_KEY");
    assert_eq!(of("openai-compatible")["missing"], "no address: set OPENAI_COMPATIBLE_BASE_URL");
    assert_eq!(of("ollama")["baseUrl"], "http://127.0.0.1:9/v1");
    assert_eq!(of("scripted")["ready"], true);

    let ran = headwater(&["models"], "");
    assert!(ran.stdout.contains("set ANTHROPIC_API_KEY"), "{}", ran.stdout);
}
