//! A failed run shows readers a code and the operator an explanation, and leaks no secret anywhere. Four
//! failures in six dialects, with a provider on a real socket and a real child process.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    reason::provider::{Provider, Reply},
    server::Server,
};

const KEY: &str = "sk-live-SECRETKEY-abcdefghijklmnop";
const DIALECTS: [&str; 6] = ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];

/// Secrets that must not appear in responses, log or store.
const SECRETS: [&str; 6] =
    ["SECRETKEY", "hunter2SECRET", "ARG-SECRET-TOKEN", "ENV-SECRET-VALUE", "/v1?key=", "SECRETinURL"];
/// Texts for the operator only, which must not appear in responses.
const INNER: [&str; 10] = [
    "SERVER-SYSTEM-PROMPT",
    "Incorrect API key",
    "your messages were",
    "org-INTERNAL-42",
    "boot failed",
    "/srv/private",
    "exit status",
    ".yaml",
    "undefined",
    "status 40",
];

/// The failures: agent, code, and the expected log texts.
const FAILURES: [(&str, &str, &[&str]); 4] = [
    ("auth", "model.auth", &["status=401", "req-of-the-provider"]),
    ("echo", "model.invalid-request", &["status=400"]),
    ("mcp", "mcp.ended", &["exit status: 3", "boot failed", "command=\"sh\""]),
    ("template", "template.failed", &["template.yaml", "undefined value"]),
];

fn agent(name: &str, more: &str, node: &str, visibility: &str) -> String {
    format!(
        "name: {name}\nmodels: {{ m: \"openai-compatible:{name}\" }}\n{visibility}{more}workflows:\n  w:\n    start: n\n    nodes:\n      n:\n        reason: {{ model: m, system: SERVER-SYSTEM-PROMPT keep it, {node} }}\n"
    )
}

fn write_agents(folder: &Path, visibility: &str) -> Vec<String> {
    let input = "prompt: '{{ input }}'";
    let server = "mcp:\n  s:\n    command: sh\n    args: [-c, 'echo \"boot failed: DB_PASSWORD=hunter2SECRET $1 $TOKEN at /srv/private/app.js\" >&2; exit 3', x, --token, ARG-SECRET-TOKEN]\n    env: { TOKEN: ENV-SECRET-VALUE }\n";
    let agents = [
        ("auth", agent("auth", "", input, visibility)),
        ("echo", agent("echo", "", input, visibility)),
        ("mcp", agent("mcp", server, &format!("{input}, mcp: [s]"), visibility)),
        ("template", agent("template", "", "prompt: '{{ data.missing.thing }}'", visibility)),
    ];
    let write = |(name, text): &(&str, String)| {
        let path = folder.join(format!("{name}.yaml"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    agents.iter().map(write).collect()
}

/// A provider for the two agents whose provider refuses, distinguished by the requested model.
fn provider() -> Provider {
    Provider::answering(|body| {
        if body["model"] == "auth" {
            let said = format!(
                "Incorrect API key provided: Bearer {KEY}. See https://u:SECRETinURL@host/v1?key={KEY}"
            );
            let body = json!({ "error": { "message": said, "type": "invalid_request_error" } });
            return Reply::status(401, &body.to_string()).header("x-request-id", "req-of-the-provider");
        }
        let said = format!(
            "your messages were {} and key Bearer {KEY} org-INTERNAL-42\n2026-11-16T00:00:00Z  INFO forged: line\u{1b}[31m",
            body["messages"]
        );
        Reply::status(400, &json!({ "error": { "message": said } }).to_string())
    })
}

fn says(dialect: &str, session: &str, text: &str) -> Value {
    let parts = json!([{ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": text }] }]);
    match dialect {
        "ai-sdk" => json!({ "id": session, "trigger": "submit-message", "messages": parts }),
        "agents" => json!({ "sessionId": session, "messages": parts }),
        "kortyx" => json!({ "sessionId": session, "messages": [{ "role": "user", "content": text }] }),
        "tanstack" => {
            json!({ "messages": [{ "role": "user", "content": text }], "data": { "conversationId": session } })
        }
        "mui" => json!({ "conversationId": session, "message": parts[0] }),
        _ => {
            json!({ "threadId": session, "runId": format!("client-{session}"), "state": {}, "tools": [], "context": [],
            "messages": [{ "id": "u1", "role": "user", "content": text }], "forwardedProps": {} })
        }
    }
}

fn start(folder: &Path, visibility: &str, provider: &Provider) -> Server {
    let agents = write_agents(folder, visibility);
    let args: Vec<&str> = agents.iter().map(String::as_str).collect();
    let url = provider.url();
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str()), ("OPENAI_COMPATIBLE_API_KEY", KEY)];
    Server::start_with("127.0.0.1:0", &folder.join("data"), &args, &variables)
}

/// The value of a header.
fn header(head: &str, name: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {head}")).trim().to_owned()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let each = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files(&path),
        path => vec![fs::read(path).unwrap()],
    });
    each.collect()
}

#[test]
fn failed_run_shows_readers_a_code_and_logs_an_explanation() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider();
    let server = start(folder.path(), "", &provider);
    let (mut shown, mut runs) = (Vec::new(), Vec::new());
    for (agent, code, _) in FAILURES {
        for dialect in DIALECTS {
            let session = format!("{agent}-{dialect}");
            let request = format!("request-{session}");
            let path = format!("/v1/{dialect}/chat?agent={agent}");
            let body = says(dialect, &session, "PRIVATE-MESSAGE of a person").to_string();
            let headers = [("x-request-id", request.as_str()), ("idempotency-key", "k1")];
            let answer = server.ask("POST", &path, &headers, &body);
            assert_eq!(answer.status, 200, "{session}: {answer:?}");
            assert!(answer.body.contains(code), "{session}: {}", answer.body);
            assert!(answer.body.contains(&format!("request {request}")), "{session}: {}", answer.body);
            let run = header(&answer.head, "x-run-id");
            shown.push((format!("POST {session}"), answer.body));
            // Other ways to read the same run: repeating the request, by id, after the end, and as documents.
            let again =
                server.ask("POST", &path, &[("x-request-id", "another"), ("idempotency-key", "k1")], &body);
            assert!(again.body.contains(&format!("request {request}")), "{session} again: {}", again.body);
            shown.push((format!("POST {session} again"), again.body));
            for path in [
                format!("/v1/runs/{run}"),
                format!("/v1/runs/{run}/events?dialect={dialect}"),
                format!("/v1/runs/{run}/events?dialect={dialect}&after=now"),
                format!("/v1/sessions/{session}"),
                format!("/v1/sessions/{session}/messages"),
                format!("/v1/sessions/{session}/checkpoints"),
                format!("/v1/sessions/{session}/export"),
            ] {
                let answer = server.get(&path);
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
                shown.push((path, answer.body));
            }
            runs.push((agent, run, request));
        }
    }
    shown.push(("GET /v1/runs".to_owned(), server.get("/v1/runs?limit=100").body));
    for (place, body) in &shown {
        for hidden in SECRETS.iter().chain(&INNER) {
            assert!(!body.contains(hidden), "`{hidden}` in {place}: {body}");
        }
    }

    let log = server.end();
    for hidden in SECRETS.iter().chain(&["PRIVATE-MESSAGE", "SERVER-SYSTEM-PROMPT", "your messages were"]) {
        assert!(!log.contains(hidden), "`{hidden}` in the log: {log}");
    }
    assert!(!log.lines().any(|line| line.contains("INFO forged")) && !log.contains('\u{1b}'), "{log}");
    for (agent, run, request) in &runs {
        let (_, code, said) = FAILURES.iter().find(|(name, ..)| name == agent).unwrap();
        let lines: Vec<_> = log.lines().filter(|line| line.contains(run.as_str())).collect();
        let failed = lines.iter().any(|line| {
            line.contains("WARN")
                && line.contains("run failed")
                && line.contains(code)
                && line.contains(request.as_str())
        });
        assert!(failed, "{agent} {run}: {lines:#?}");
        let all = lines.join("\n");
        for word in *said {
            assert!(all.contains(word), "`{word}` of {agent}: {all}");
        }
    }
    println!("{} readers' answers of {} runs without a secret", shown.len(), runs.len());

    let files = files(&folder.path().join("data"));
    assert!(!files.is_empty());
    for secret in SECRETS {
        let found =
            files.iter().any(|bytes| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
        assert!(!found, "`{secret}` is in the store");
    }
}

#[test]
fn visible_errors_show_the_text_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider();
    let server = start(folder.path(), "visibility: { errors: true }\n", &provider);
    let texts = [
        "Incorrect API key provided",
        "your messages were",
        "it ended with exit status: 3",
        "undefined value",
    ];
    for ((agent, ..), text) in FAILURES.iter().zip(texts) {
        let answer = server.post(&format!("/v1/agents/chat?agent={agent}"), &says("agents", agent, "hello"));
        assert!(answer.body.contains(text), "{agent}: {}", answer.body);
        for secret in SECRETS {
            assert!(!answer.body.contains(secret), "`{secret}` of {agent}: {}", answer.body);
        }
    }
}

#[test]
fn provider_timeout_is_reported_after_the_configured_time() {
    let folder = tempfile::tempdir().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let agents = write_agents(folder.path(), "");
    let args = [agents[0].as_str(), "--set", "models.headers=100ms"];
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str()), ("OPENAI_COMPATIBLE_API_KEY", KEY)];
    let server = Server::start_with("127.0.0.1:0", &folder.path().join("data"), &args, &variables);
    let answer = server.post("/v1/ai-sdk/chat?agent=auth", &says("ai-sdk", "s", "hello"));
    assert!(answer.body.contains("The model did not answer in time. (model.timeout"), "{}", answer.body);
    let log = server.end();
    // A reason call tries twice, and each attempt times out once.
    assert_eq!(log.matches("a model failed").count(), 2, "{log}");
}
