//! The example's issue tracker, over both transports.

use std::path::PathBuf;

use headwater_tools::{McpClient, Tools};
use serde_json::json;

use super::{call, has_node, server_process::ServerProcess};

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/mcp-issues/server.mjs")
}

async fn find_and_read(tools: &Tools) {
    let names: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["search_issues", "get_issue"]);
    let wanted = json!({"state": "open", "label": "bug", "limit": 2});
    let found = call(tools, "search_issues", wanted).await.unwrap();
    let ids: Vec<&serde_json::Value> = found.structured.as_ref().unwrap()["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| &issue["id"])
        .collect();
    assert_eq!(ids, [&json!(111), &json!(109)]);

    let issue = call(tools, "get_issue", json!({"id": 111})).await.unwrap();
    assert_eq!(issue.structured.unwrap()["title"], "Export hangs for large projects");
    let missing = call(tools, "get_issue", json!({"id": 5})).await.unwrap();
    assert!(missing.is_error);
    assert_eq!(missing.output, "there is no issue 5");
    let wrong = tools.check("search_issues", &json!({"state": "new", "words": "x", "limit": 0})).unwrap_err();
    for part in [
        "state: expected one of \"open\", \"closed\", got \"new\"",
        "words: not a known",
        "limit: expected at least 1",
    ] {
        assert!(wrong.message().contains(part), "{wrong}");
    }
}

#[tokio::test]
async fn issue_tracker_works_over_stdio() {
    if !has_node() {
        return;
    }
    let client = McpClient::stdio("node", [script()]);
    let tools = client.tools().include(["search_issues", "get_issue"]).await.unwrap();
    find_and_read(&tools).await;
    tools.close().await;
}

#[tokio::test]
async fn issue_tracker_works_over_http() {
    if !has_node() {
        return;
    }
    let mut server = ServerProcess::node(&[script().to_str().unwrap(), "--http", "0"], &[]);
    let line = server.line("issues at ").await;
    let client = McpClient::http(line.strip_prefix("issues at ").unwrap());
    let tools = client.tools().await.unwrap();
    find_and_read(&tools).await;
    tools.close().await;
}

#[tokio::test]
async fn recording_is_replayed_without_the_server() {
    if !has_node() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kept = McpClient::stdio("node", [script()]).recording(folder.path()).tools().await.unwrap();
    find_and_read(&kept).await;
    kept.close().await;

    let played = McpClient::stdio("node", [script()]).playing(folder.path()).tools().await.unwrap();
    find_and_read(&played).await;
    let unknown = call(&played, "get_issue", json!({"id": 110})).await.unwrap_err();
    assert!(
        unknown.message().contains("no call of \"get_issue\" with {\"id\":110} was recorded"),
        "{unknown}"
    );
    // The recording of one server does not serve another.
    let other = McpClient::stdio("no-such-program", ["x"]).playing(folder.path()).tools().await.unwrap_err();
    assert!(other.to_string().contains("its tools were not recorded"), "{other}");
}
