//! Unmodified third-party servers. `cargo xtask test` installs them and sets their location; without it these
//! tests print that they are skipped.

use std::path::{Path, PathBuf};

use headwater_tools::{ErrorKind, McpClient, ToolOutput, Tools};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{call, processes_with, server_process::ServerProcess, until, watched};

fn from_environment(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os(name).map(PathBuf::from);
    if found.is_none() {
        println!("skipped: {name} is not set; `cargo xtask test` installs the servers and sets it");
    }
    found
}

/// The script of a package.
fn script(package: &str) -> Option<String> {
    let modules = from_environment("HEADWATER_MCP_NODE")?;
    Some(
        modules
            .join("@modelcontextprotocol")
            .join(package)
            .join("dist/index.js")
            .to_str()
            .unwrap()
            .to_owned(),
    )
}

fn names(tools: &Tools) -> Vec<&str> {
    tools.specs().map(|spec| spec.name.as_str()).collect()
}

/// Checks of `server-everything` over any transport.
async fn everything(tools: &Tools) {
    for name in
        ["echo", "get-sum", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"]
    {
        assert!(tools.get(name).is_some(), "{name} is not among {:?}", names(tools));
    }
    assert_eq!(
        call(tools, "echo", json!({"message": "grüße"})).await.unwrap(),
        ToolOutput::text("Echo: grüße")
    );
    let sum = call(tools, "get-sum", json!({"a": 2, "b": 40})).await.unwrap().output;
    assert_eq!(sum, "The sum of 2 and 40 is 42.");
    let refused = call(tools, "get-sum", json!({"a": 2})).await.unwrap_err();
    assert_eq!(refused.message(), "the input of \"get-sum\" does not fit its schema: b: missing");

    let weather = call(tools, "get-structured-content", json!({"location": "Chicago"})).await.unwrap();
    let expected = json!({"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82});
    assert_eq!(weather.structured, Some(expected.clone()));
    assert_eq!(serde_json::from_str::<Value>(weather.output.as_str().unwrap()).unwrap(), expected);

    let image = call(tools, "get-tiny-image", json!({})).await.unwrap().output;
    let kinds: Vec<&Value> = image.as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "image", "text"]);

    let (context, mut progress) = watched();
    let long = tools.get("trigger-long-running-operation").unwrap();
    let output = long.call(json!({"duration": 0.5, "steps": 5}), context).await.unwrap();
    assert!(output.output.as_str().unwrap().starts_with("Long running operation completed"));
    for step in 1..=5 {
        assert_eq!(progress.try_recv().unwrap(), json!({"progress": step, "total": 5}));
    }

    // A dropped call leaves the connection usable.
    let (context, mut progress) = watched();
    tokio::select! {
        _ = long.call(json!({"duration": 500, "steps": 5000}), context) => panic!("it takes minutes"),
        _ = progress.recv() => {}
    }
    assert!(!call(tools, "echo", json!({"message": "still there"})).await.unwrap().is_error);
}

#[tokio::test]
async fn server_everything_over_stdio() {
    let Some(script) = script("server-everything") else { return };
    let word = format!("everything-{}", std::process::id());
    let client = McpClient::stdio("node", [&*script, "stdio", &word]);
    let tools = client.tools().await.unwrap();
    everything(&tools).await;
    if cfg!(target_os = "linux") {
        assert_eq!(processes_with(&word), 1);
    }
    tools.close().await;
    if cfg!(target_os = "linux") {
        until("no process is left", || processes_with(&word) == 0).await;
    }
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn server_everything_over_streamable_http() {
    let Some(script) = script("server-everything") else { return };
    let port = free_port().await;
    let start = || ServerProcess::node(&[&script, "streamableHttp"], &[("PORT", port.to_string())]);
    let mut server = start();
    server.line("MCP Streamable HTTP Server listening").await;

    let client = McpClient::http(format!("http://127.0.0.1:{port}/mcp"));
    let tools = client.tools().await.unwrap();
    everything(&tools).await;
    tools.close().await;
    server.line("Received session termination request").await;

    // A kept connection survives a restart of the server: calls fail while it is down and succeed when it is
    // back.
    let client = client.keep();
    let tools = client.tools().include(["echo"]).await.unwrap();
    server.kill().await;
    let input = || json!({"message": "again"});
    let away = call(&tools, "echo", input()).await.unwrap_err();
    assert!(
        away.message().starts_with(&format!("the MCP server at http://127.0.0.1:{port}/mcp: ")),
        "{away}"
    );
    let mut server = start();
    server.line("MCP Streamable HTTP Server listening").await;
    assert_eq!(call(&tools, "echo", input()).await.unwrap(), ToolOutput::text("Echo: again"));

    // The same without a call while it was down: the server no longer knows the session.
    server.kill().await;
    let mut server = start();
    server.line("MCP Streamable HTTP Server listening").await;
    let lost = call(&tools, "echo", input()).await.unwrap_err();
    assert!(lost.message().contains("No valid session ID provided"), "{lost}");
    assert_eq!(call(&tools, "echo", input()).await.unwrap(), ToolOutput::text("Echo: again"));
    client.close().await;
}

#[tokio::test]
async fn server_filesystem_over_stdio() {
    let Some(script) = script("server-filesystem") else { return };
    let folder =
        std::env::temp_dir().canonicalize().unwrap().join(format!("headwater-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let client = McpClient::stdio("node", [script.as_ref(), folder.as_os_str()]);
    let tools = client.tools().include(["write_file", "read_text_file", "list_directory"]).await.unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();

    let written =
        call(&tools, "write_file", json!({"path": path("note.txt"), "content": "two\nlines"})).await.unwrap();
    assert!(!written.is_error, "{written:?}");
    assert_eq!(std::fs::read_to_string(folder.join("note.txt")).unwrap(), "two\nlines");
    let read = call(&tools, "read_text_file", json!({"path": path("note.txt")})).await.unwrap();
    assert_eq!(read.output, "two\nlines");
    let listed = call(&tools, "list_directory", json!({"path": folder})).await.unwrap();
    assert_eq!(listed.output, "[FILE] note.txt");
    let outside = Path::new("/etc/passwd");
    let refused = call(&tools, "read_text_file", json!({"path": outside})).await.unwrap();
    assert!(refused.is_error && refused.output.as_str().unwrap().contains("Access denied"), "{refused:?}");
    tools.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn mcp_server_time_over_stdio() {
    let Some(python) = from_environment("HEADWATER_MCP_PYTHON") else { return };
    let client = McpClient::stdio(python, ["-m", "mcp_server_time", "--local-timezone", "UTC"]);
    let tools = client.tools().await.unwrap();
    assert_eq!(names(&tools), ["get_current_time", "convert_time"]);
    let input = json!({"source_timezone": "Europe/London", "time": "12:30", "target_timezone": "Asia/Tokyo"});
    let converted = call(&tools, "convert_time", input).await.unwrap();
    let text = converted.output.as_str().unwrap();
    let converted: Value = serde_json::from_str(text).unwrap();
    assert_eq!(converted["target"]["timezone"], "Asia/Tokyo");
    let missing = call(&tools, "get_current_time", json!({})).await.unwrap_err();
    assert_eq!(
        missing.message(),
        "the input of \"get_current_time\" does not fit its schema: timezone: missing"
    );
    let nowhere = call(&tools, "get_current_time", json!({"timezone": "Moon/Sea"})).await;
    assert!(nowhere.map_or(true, |output| output.is_error));
    tools.close().await;
    let error = client.tools().include(["get_time"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
}
