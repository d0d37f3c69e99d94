//! Bodies that are deeply nested, large, or slow to arrive.

use serde_json::json;

use crate::{ANN, BOB, KEYS, lives, raw, report::attack, server::Server, status};

/// A list nested to a depth.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// An object nested to a depth.
fn nested_objects(depth: usize) -> String {
    format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

/// Routes and bodies that carry a value of the client, with a placeholder for it.
const PLACES: [(&str, &str); 11] = [
    ("/v1/runs", r#"{"agent":"chat","input":"hello","context":{"a":$}}"#),
    ("/v1/runs", r#"{"agent":"chat","input":"hello","session":"deep-$N","context":{"a":$}}"#),
    ("/v1/runs", r#"{"agent":"chat","input":"hello","session":"deep-$N","data":{"a":$}}"#),
    ("/v1/sessions", r#"{"id":"deep-$N","agent":"chat","metadata":$}"#),
    (
        "/v1/ai-sdk/chat",
        r#"{"id":"deep-$N","messages":[{"id":"u","role":"user","metadata":$,"parts":[{"type":"text","text":"hi"}]}]}"#,
    ),
    (
        "/v1/ag-ui/chat",
        r#"{"threadId":"deep-$N","runId":"r","state":$,"messages":[{"id":"u","role":"user","content":"hi"}],"tools":[],"context":[]}"#,
    ),
    (
        "/v1/kortyx/chat",
        r#"{"sessionId":"deep-$N","context":{"a":$},"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "/v1/mui/chat",
        r#"{"conversationId":"deep-$N","context":$,"message":{"id":"u","role":"user","parts":[{"type":"text","text":"hi"}]}}"#,
    ),
    (
        "/v1/tanstack/chat",
        r#"{"data":{"conversationId":"deep-$N","a":$},"messages":[{"role":"user","content":"hi"}]}"#,
    ),
    (
        "/v1/agents/chat",
        r#"{"sessionId":"deep-$N","context":$,"messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"hi"}]}]}"#,
    ),
    (
        "/v1/agents/chat",
        r#"{"sessionId":"deep-$N","messages":[{"id":"u","role":"user","parts":[{"type":"x","value":$}]}]}"#,
    ),
];

#[test]
fn deep_bodies_are_refused_or_stay_readable() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    let mut cases: Vec<(usize, &str, String)> = Vec::new();
    let mut add = |value: String| {
        for (path, body) in PLACES {
            let number = cases.len();
            cases.push((number, path, body.replace("$N", &number.to_string()).replace('$', &value)));
        }
    };
    for depth in (1..=64).step_by(9).chain(115..=130).chain([200, 1_000, 10_000, 100_000, 1_000_000]) {
        add(nested(depth));
    }
    for depth in [60, 100, 120, 124, 127, 10_000] {
        add(nested_objects(depth));
    }
    // Never closed.
    add("[".repeat(1_000_000));
    attack("nested JSON, 1 to 1,000,000 deep", &cases, |(_, path, body)| {
        let answer = server.ask("POST", path, &[ANN], body);
        if answer.status >= 500 || answer.status == 0 {
            return Err(format!("{path}: {} for {}", answer.status, body.get(..120).unwrap_or(body)));
        }
        if body.len() > 10_000 && answer.status < 300 {
            return Err(format!("{path}: taken as it is"));
        }
        Ok(())
    });
    // Everything that was accepted can be read, and other principals are not affected.
    for key in [ANN, BOB] {
        for path in ["/v1/sessions", "/v1/runs", "/v1/interrupts"] {
            let answer = server.ask("GET", path, &[key], "");
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        }
    }
    let sessions =
        server.ask("GET", "/v1/sessions", &[ANN], "").json()["sessions"].as_array().unwrap().clone();
    for session in sessions {
        let id = session["session"]
            .as_str()
            .or_else(|| session["id"].as_str())
            .unwrap_or_else(|| panic!("{session}"));
        let read = server.ask("GET", &format!("/v1/sessions/{id}/messages"), &[ANN], "");
        assert_eq!(read.status, 200, "{id}: {}", read.body);
    }
    lives(&server).unwrap();
}

#[test]
fn large_bodies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let small = [&KEYS[..], &["--set", "limits.body=256KiB", "--set", "limits.body_time=1s"]].concat();
    let server = Server::start(&folder.path().join("data"), &small);
    let address = &server.address;
    let mut cases: Vec<Vec<u8>> = Vec::new();
    let head = |more: &str| {
        let (name, key) = ANN;
        format!(
            "POST /v1/runs HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{name}: {key}\r\ncontent-type: application/json\r\n{more}\r\n"
        )
    };
    let text = |length: usize| json!({ "agent": "chat", "input": "x".repeat(length) }).to_string();
    for length in [256 << 10, 300_000, 1 << 20, 8 << 20] {
        let body = text(length);
        cases.push(
            [head(&format!("content-length: {}\r\n", body.len())).into_bytes(), body.into_bytes()].concat(),
        );
    }
    for length in ["262145", "99999999", "4294967296", "9223372036854775807", "18446744073709551615"] {
        cases.push([head(&format!("content-length: {length}\r\n")).into_bytes(), b"{".to_vec()].concat());
    }
    // In chunks, without a total length.
    for (pieces, length) in [(300, 1_024), (3, 100_000), (70_000, 4)] {
        let mut body = Vec::new();
        for _ in 0..pieces {
            body.extend(format!("{length:x}\r\n{}\r\n", " ".repeat(length)).into_bytes());
        }
        body.extend(b"0\r\n\r\n");
        cases.push([head("transfer-encoding: chunked\r\n").into_bytes(), body].concat());
    }
    // A body that never ends.
    cases.push([head("content-length: 100\r\n").into_bytes(), b"{\"agent\":".to_vec()].concat());
    cases.push([head("transfer-encoding: chunked\r\n").into_bytes(), b"5\r\n{\"age\r\n".to_vec()].concat());
    attack("bodies that are too large or never end", &cases, |bytes| {
        let answer = raw(&server, bytes);
        match status(&answer) {
            // The server may close the connection before it has read everything.
            0 | 400 | 408 | 413 | 431 => lives(&server),
            status => {
                Err(format!("{status} for {}", String::from_utf8_lossy(bytes).get(..300).unwrap_or_default()))
            }
        }
    });
    let runs = server.ask("GET", "/v1/runs", &[ANN], "").json()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 0, "nothing was begun");
}
