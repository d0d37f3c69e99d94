//! What the runs do outside: an MCP server of the test process with one tool, which notes every call.

use std::{
    collections::HashMap,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde_json::{Value, json};

/// The keys of the calls for each entry, in the order in which they came.
type Calls = Arc<Mutex<HashMap<String, Vec<String>>>>;

/// How long the tool takes, so that faults meet calls that are under way.
const WORK: Duration = Duration::from_millis(80);

/// A ledger whose entries outlive every node.
pub(crate) struct Ledger {
    pub(crate) address: SocketAddr,
    calls: Calls,
    _runtime: tokio::runtime::Runtime,
}

impl Ledger {
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let calls = Calls::default();
        let routes = Router::new().route("/mcp", post(answer)).with_state(calls.clone());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, routes).await.unwrap();
        });
        Self { address, calls, _runtime: runtime }
    }

    /// Fails unless the entry was made exactly once: all calls for it have the same key. Gives how often it was repeated.
    pub(crate) fn assert_once(&self, entry: &str) -> usize {
        let calls = self.calls.lock().unwrap();
        let keys = calls.get(entry).unwrap_or_else(|| panic!("{entry} was never made"));
        assert!(keys.iter().all(|key| *key == keys[0]), "{entry} was made more than once: {keys:?}");
        keys.len() - 1
    }

    /// How many calls there were for an entry.
    pub(crate) fn calls(&self, entry: &str) -> usize {
        self.calls.lock().unwrap().get(entry).map_or(0, Vec::len)
    }
}

async fn answer(State(calls): State<Calls>, Json(request): Json<Value>) -> Response {
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let params = &request["params"];
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "ledger", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "record", "description": "Makes an entry.",
            "inputSchema": { "type": "object", "properties": { "entry": { "type": "string" } }, "required": ["entry"] },
        }] }),
        "tools/call" => {
            let entry = params["arguments"]["entry"].as_str().unwrap_or_default().to_owned();
            let key = params["_meta"]["dev.headwater/idempotencyKey"].as_str().unwrap_or_default();
            assert!(!key.is_empty(), "a call without a key: {request}");
            calls.lock().unwrap().entry(entry).or_default().push(key.to_owned());
            tokio::time::sleep(WORK).await;
            json!({ "content": [{ "type": "text", "text": "recorded" }] })
        }
        _ => json!({}),
    };
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}
