//! The memory cost of requests: the peak of a real server under bodies made to be expensive.

use std::thread;

use crate::server::{Server, ask, memory};

/// The maximum peak of the server, whatever one principal sends.
const PEAK: u64 = 400 << 20;

/// As many copies of a small value as fit into this many bytes.
fn repeated(value: &str, bytes: usize) -> String {
    let count = bytes / (value.len() + 1);
    let mut text = String::with_capacity(bytes);
    for number in 0..count {
        if number > 0 {
            text.push(',');
        }
        text.push_str(value);
    }
    text
}

/// Sends a body several times at once and returns the statuses.
fn at_once(server: &Server, path: &str, body: &str, times: usize) -> Vec<u16> {
    let address = &*server.address;
    thread::scope(|scope| {
        let sent: Vec<_> =
            (0..times).map(|_| scope.spawn(|| ask(address, "POST", path, &[], body).status)).collect();
        sent.into_iter().map(|reply| reply.join().unwrap()).collect()
    })
}

fn peak(server: &Server) -> Option<u64> {
    memory(server.pid(), "VmHWM")
}

fn check(server: &Server, what: &str) {
    // Only Linux reports it.
    let Some(peak) = peak(server) else { return };
    assert!(peak < PEAK, "{what}: {} MiB at the peak", peak >> 20);
    println!("figure: {what}: {} MiB at the peak", peak >> 20);
}

#[test]
fn request_context_is_not_parsed_until_used() {
    let folder = tempfile::tempdir().unwrap();
    // Even without a limit on the number of values.
    let settings = [
        "--set",
        "limits.body=4MiB",
        "--set",
        "limits.values=10000000",
        "--set",
        "fsync=never",
        "--set",
        "limits.body_time=2m",
    ];
    let server = Server::start(&folder.path().join("data"), &settings);
    let context = repeated("{\"a\":0}", (4 << 20) - 100);
    let body = format!("{{\"input\":\"hello\",\"agent\":\"chat\",\"context\":{{\"a\":[{context}]}}}}");
    let statuses = at_once(&server, "/v1/runs", &body, 8);
    assert!(statuses.iter().all(|status| *status == 201), "{statuses:?}");
    check(&server, "8 contexts of 4 MiB at once, any number of values");
}

#[test]
fn body_with_too_many_values_is_refused_before_parsing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "limits.body=4MiB", "--set", "fsync=never"];
    let server = Server::start(&folder.path().join("data"), &settings);
    let user = "{\"id\":\"u\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"hello\"}]}";
    for value in ["{\"a\":0}", "0", "[]", "{\"a\":{}}", "\"\""] {
        let values = repeated(value, (4 << 20) - 400);
        for (path, body) in [
            ("/v1/runs", format!("{{\"input\":\"hello\",\"context\":{{\"a\":[{values}]}}}}")),
            ("/v1/runs", format!("{{\"input\":\"hello\",\"data\":{{\"a\":[{values}]}}}}")),
            ("/v1/ai-sdk/chat", format!("{{\"id\":\"c\",\"messages\":[{user}],\"data\":[{values}]}}")),
            (
                "/v1/agents/chat",
                format!("{{\"sessionId\":\"c\",\"messages\":[{user}],\"context\":[{values}]}}"),
            ),
        ] {
            let statuses = at_once(&server, path, &body, 8);
            assert!(statuses.iter().all(|status| *status == 413), "{path} {value}: {statuses:?}");
        }
    }
    check(&server, "bodies of 4 MiB of small values, 8 at once");
}

#[test]
fn body_with_the_allowed_number_of_values_costs_little() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "limits.body=4MiB", "--set", "fsync=never"];
    let server = Server::start(&folder.path().join("data"), &settings);
    // Each an object with one key, the most expensive kind of value.
    let values = vec!["{\"a\":0}"; 24_900].join(",");
    let user = |id: usize| {
        format!("{{\"id\":\"u{id}\",\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":\"hello\"}}]}}")
    };
    for round in 0..3 {
        for (path, body) in [
            ("/v1/runs", format!("{{\"input\":\"hello\",\"context\":{{\"a\":[{values}]}}}}")),
            ("/v1/runs", format!("{{\"input\":\"hello\",\"data\":{{\"a\":[{values}]}}}}")),
            ("/v1/ai-sdk/chat", format!("{{\"messages\":[{}],\"data\":[{values}]}}", user(round))),
            ("/v1/agents/chat", format!("{{\"messages\":[{}],\"context\":[{values}]}}", user(round))),
        ] {
            let statuses = at_once(&server, path, &body, 8);
            assert!(statuses.iter().all(|status| *status < 500), "{path}: {statuses:?}");
        }
    }
    check(&server, "50,000 values in each body, 8 at once");
}

#[test]
fn json_inside_strings_has_the_limits_of_one_body() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "limits.body=4MiB", "--set", "fsync=never"];
    let server = Server::start(&folder.path().join("data"), &settings);
    // The body itself has few values: each of these is one string.
    let arguments = serde_json::Value::String(format!("[{}]", vec!["{\"a\":0}"; 24_000].join(",")));
    let call = |id: usize| {
        format!(
            "{{\"id\":\"call{id}\",\"type\":\"function\",\"function\":{{\"name\":\"look\",\"arguments\":{arguments}}}}}"
        )
    };
    // As many as fit into 4 MiB.
    let calls = (0..14).map(call).collect::<Vec<_>>().join(",");
    let messages = format!(
        "[{{\"id\":\"a\",\"role\":\"assistant\",\"content\":\"\",\"toolCalls\":[{calls}]}},\
          {{\"id\":\"u\",\"role\":\"user\",\"content\":\"hello\"}}]"
    );
    for (path, body) in [
        (
            "/v1/ag-ui/chat",
            format!(
                "{{\"threadId\":\"c\",\"runId\":\"r\",\"state\":{{}},\"tools\":[],\"context\":[],\
                  \"forwardedProps\":{{}},\"messages\":{messages}}}"
            ),
        ),
        ("/v1/tanstack/chat", format!("{{\"messages\":{messages},\"data\":{{\"conversationId\":\"t\"}}}}")),
    ] {
        assert!(body.len() < 4 << 20, "{}", body.len());
        let statuses = at_once(&server, path, &body, 8);
        assert!(statuses.contains(&200), "{path}: {statuses:?}");
        // Of concurrent messages of one conversation only the newest is answered.
        assert!(statuses.iter().all(|status| matches!(status, 200 | 409 | 429)), "{path}: {statuses:?}");
    }
    check(&server, "14 texts of 48,000 values in each body of 4 MiB, 8 at once");
}
