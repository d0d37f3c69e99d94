//! Tools of MCP servers: well-behaved ones, faulty ones, and those of vendors.

mod faults;
mod http;
mod issues;
mod server_process;
mod stdio;
mod vendors;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use headwater_protocol::ToolCallId;
use headwater_tools::{McpClient, ToolContext, ToolError, ToolOutput, Tools};
use serde_json::Value;
use tokio::sync::mpsc;

/// Whether Node is installed; otherwise prints a reason to skip.
fn has_node() -> bool {
    static NODE: Mutex<Option<bool>> = Mutex::new(None);
    let found = *NODE.lock().unwrap().get_or_insert_with(|| {
        Command::new("node")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if !found {
        println!("skipped: node is not on the PATH");
    }
    found
}

/// A test server with one behaviour; `None` without Node.
fn server(character: &str) -> Option<McpClient> {
    server_with(character, "")
}

/// The same, with a word in its command line by which its process can be found.
fn server_with(character: &str, word: &str) -> Option<McpClient> {
    if !has_node() {
        return None;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tools/mcp/server.mjs");
    Some(McpClient::stdio("node", [script.into_os_string(), character.into(), word.into()]))
}

/// Number of processes whose command line contains this word.
fn processes_with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
    .count()
}

fn context() -> ToolContext {
    ToolContext::new(ToolCallId::from("call-1"), "key-1")
}

async fn call(tools: &Tools, name: &str, input: Value) -> Result<ToolOutput, ToolError> {
    tools.check(name, &input)?;
    tools.get(name).unwrap().call(input, context()).await
}

async fn message(tools: &Tools, name: &str) -> String {
    call(tools, name, serde_json::json!({})).await.unwrap_err().message().to_owned()
}

/// A context whose progress can be awaited.
fn watched() -> (ToolContext, mpsc::Receiver<Value>) {
    let (shown, progress) = mpsc::channel(1000);
    (context().with_progress(move |output| shown.try_send(output.output).unwrap()), progress)
}

/// The ids of the server's process and of one that it started.
async fn pids(tools: &Tools) -> Vec<u64> {
    let output = call(tools, "pids", serde_json::json!({})).await.unwrap();
    output.output["pids"].as_array().unwrap().iter().map(|pid| pid.as_u64().unwrap()).collect()
}

/// Whether a process is running; a zombie is not.
fn runs(pid: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

/// Waits for a condition that must become true, and fails if it never does.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
