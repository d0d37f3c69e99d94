//! Servers that hang, die or violate the protocol cause an error, never a hang or a crash.

use std::time::Duration;

use headwater_tools::{ErrorKind, McpClient, ToolOutput};
use serde_json::json;

use super::{call, message, processes_with, server, server_with, until};

/// Short enough for a test. A slow machine makes these tests slower, not wrong: each waits for a response
/// that never comes.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn missing_program_is_an_error() {
    let error = McpClient::stdio("no-such-program-at-all", ["x"]).tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    let text = error.to_string();
    assert!(text.starts_with("the MCP server `no-such-program-at-all`: it cannot be started: "), "{text}");
}

#[tokio::test]
async fn server_that_dies_at_once_is_an_error_without_its_stderr() {
    let Some(client) = server("dies") else { return };
    let error = client.tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ended);
    assert!(error.is_retryable());
    let text = error.to_string();
    assert!(
        text.ends_with("before it answered the initialize request: it ended with exit status: 1"),
        "{text}"
    );
}

#[tokio::test]
async fn server_that_dies_in_a_call_is_an_error_and_the_next_call_restarts_it() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let text = message(&tools, "die").await;
    assert!(text.ends_with("it ended with exit status: 3"), "{text}");
    assert_eq!(call(&tools, "echo", json!({})).await.unwrap(), ToolOutput::text("{}"));
    tools.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn server_that_never_answers_initialize_times_out_and_is_ended() {
    let word = format!("mute-{}", std::process::id());
    let Some(client) = server_with("mute", &word) else { return };
    let error = client.connect_timeout(SHORT).tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().ends_with("it did not answer the initialize request within 300ms"), "{error}");
    until("its process ends", || processes_with(&word) == 0).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn server_that_stops_reading_times_out_and_is_ended() {
    let word = format!("deaf-{}", std::process::id());
    let Some(client) = server_with("deaf", &word) else { return };
    let tools = client.call_timeout(Duration::from_secs(3)).tools().await.unwrap();
    // More than a pipe holds, so that the second message is stuck halfway.
    let long = json!({"text": "x".repeat(1_000_000)});
    for _ in 0..2 {
        let error = call(&tools, "echo", long.clone()).await.unwrap_err();
        assert!(
            error.message().ends_with("no response or progress within 3s: the call was cancelled"),
            "{error}"
        );
    }
    assert_eq!(processes_with(&word), 1);
    tools.close().await;
    assert_eq!(processes_with(&word), 0);
}

#[tokio::test]
async fn server_that_never_lists_its_tools_times_out() {
    let Some(client) = server("dull") else { return };
    let error = client.call_timeout(SHORT).tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().ends_with("it did not list its tools within 300ms"), "{error}");
}

#[tokio::test]
async fn unanswered_call_times_out_and_is_cancelled() {
    let Some(client) = server("well") else { return };
    let client = client.call_timeout(Duration::from_secs(3)).keep();
    let tools = client.tools().await.unwrap();
    let text = message(&tools, "forever").await;
    assert!(text.ends_with("no response or progress within 3s: the call was cancelled"), "{text}");
    loop {
        let cancelled = call(&tools, "cancelled", json!({})).await.unwrap().output;
        if let Some(first) = cancelled["cancelled"].get(0) {
            assert_eq!(first["reason"], "the client no longer waits for the result");
            break;
        }
    }
    client.close().await;
}

#[tokio::test]
async fn call_with_progress_but_no_result_times_out() {
    let Some(client) = server("well") else { return };
    let limit = Duration::from_secs(2);
    let client = client.call_timeout(limit).longest_call(2 * limit).keep();
    let tools = client.tools().await.unwrap();
    let text = message(&tools, "lively").await;
    assert!(text.ends_with("the call did not finish within 4s: the call was cancelled"), "{text}");
    client.close().await;
}

#[tokio::test]
async fn invalid_responses_are_errors_and_the_connection_stays_usable() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    for name in ["number", "shapeless"] {
        let text = message(&tools, name).await;
        assert!(text.ends_with("its response is not a tool result"), "{name}: {text}");
    }
    let text = message(&tools, "liar").await;
    assert_eq!(text, "its output does not fit its output schema: n: expected an integer, got \"one\"");
    assert_eq!(call(&tools, "echo", json!({})).await.unwrap(), ToolOutput::text("{}"));
    tools.close().await;
}

#[tokio::test]
async fn input_that_is_not_an_object_is_not_sent() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let error = tools.check("echo", &json!([1])).unwrap_err();
    assert_eq!(
        error.message(),
        "the input of \"echo\" does not fit its schema: expected an object, got an array"
    );
    let error = tools.get("echo").unwrap().call(json!([1]), super::context()).await.unwrap_err();
    assert_eq!(error.message(), "the input of \"echo\" is not an object");
    tools.close().await;
}

#[tokio::test]
async fn invalid_initialize_response_and_tool_list_are_protocol_errors() {
    for character in ["shy", "wordless"] {
        let Some(client) = server(character) else { return };
        let error = client.tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{character}: {error}");
    }
}

#[tokio::test]
async fn endless_tool_list_is_an_error() {
    let Some(client) = server("circle") else { return };
    let error = client.tools().await.unwrap_err();
    assert!(
        error.to_string().ends_with("its tool list repeats a page cursor, so it would never end"),
        "{error}"
    );
    let Some(client) = server("endless") else { return };
    let error = client.tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("it offers more than 10000 tools"), "{error}");
}

#[tokio::test]
async fn invalid_settings_are_reported_when_the_client_is_used() {
    let cases = [
        (McpClient::http("ftp://example.com"), "must begin with http:// or https://, not ftp:"),
        (McpClient::http("not an address"), "is invalid"),
        (McpClient::http("http://example.com").header("two words", "x"), "invalid header name"),
        (McpClient::http("http://example.com").bearer("a\nb"), "invalid value of the header"),
        (McpClient::http("http://example.com").env("A", "b"), "not for a server at an address"),
        (McpClient::stdio("true", [""; 0]).bearer("x"), "not for a program"),
    ];
    for (client, expected) in cases {
        let error = client.tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Settings);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let http = McpClient::http("https://user:hidden-1@example.com:8443/mcp?key=hidden-2").bearer("hidden-3");
    let stdio = McpClient::stdio("server", ["--stdio"]).env("TOKEN", "hidden-4");
    let shown = format!("{http:?} {stdio:?}");
    assert!(!shown.contains("hidden"), "{shown}");
    assert!(
        shown.contains("https://example.com:8443/mcp")
            && shown.contains("\"server\"")
            && !shown.contains("--stdio"),
        "{shown}"
    );
}

#[tokio::test]
async fn secrets_are_removed_from_errors_of_the_server() {
    let Some(client) = server_with("well", "--api-key=SECRET-in-args-1") else { return };
    let tools = client.env("TOKEN", "secretinenv").tools().await.unwrap();
    // The server echoes its secrets, as many do.
    let echoed = call(&tools, "leak", json!({})).await.unwrap_err();
    assert_eq!(echoed.code(), Some("mcp.refused"));
    let text = echoed.message();
    assert!(
        text.contains("[removed]") && !text.contains("SECRET-in-args") && !text.contains("secretinenv"),
        "{text}"
    );
    let died = call(&tools, "die", json!({})).await.unwrap_err();
    assert_eq!(died.code(), Some("mcp.ended"));
    assert!(died.message().starts_with("the MCP server `node`: it ended"), "{died}");
    tools.close().await;
}

#[tokio::test]
async fn line_above_the_limit_is_reported() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let error = call(&tools, "large", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some("mcp.protocol"));
    assert!(error.message().contains("a line of more than 16777216 bytes"), "{error}");
    assert_eq!(
        call(&tools, "echo", json!({})).await.unwrap(),
        ToolOutput::text("{}"),
        "the next call restarts it"
    );
    tools.close().await;
}

#[tokio::test]
async fn unreachable_server_is_named_without_types_and_secrets() {
    let client =
        McpClient::http("http://user:hidden-1@127.0.0.1:9/mcp?key=hidden-2").bearer("hidden-3-token");
    let text = client.tools().await.unwrap_err().to_string();
    assert!(text.starts_with("the MCP server at http://127.0.0.1:9/mcp: it cannot be reached"), "{text}");
    assert!(!text.contains("hidden") && !text.contains("::") && !text.contains("Transport"), "{text}");
}
