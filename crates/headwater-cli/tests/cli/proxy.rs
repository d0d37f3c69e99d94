//! `headwater proxy` before servers that answer, and before servers that misbehave.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{run::headwater, server::Server};

/// What an upstream does with a connection after it has read the request.
#[derive(Clone)]
enum Step {
    /// Sends this and closes.
    Send(String),
    /// Sends this and keeps the connection open in silence.
    Stall(String),
    /// Sends the first, then the second until the proxy leaves.
    Flood(String, String),
}

/// A request that an upstream has read.
struct UpstreamRequest {
    head: String,
    body: String,
}

impl UpstreamRequest {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// An upstream that does one step for each connection; the last one for all further ones.
struct Upstream {
    url: String,
    seen: Receiver<UpstreamRequest>,
}

impl Upstream {
    fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/chat", listener.local_addr().unwrap());
        let (sender, seen) = channel();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (step, sender) = (steps[number.min(steps.len() - 1)].clone(), sender.clone());
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    if let Some(seen) = read_request(&mut stream) {
                        // The test may have read all that it wants.
                        let _ = sender.send(seen);
                        respond(&mut stream, &step);
                    }
                });
            }
        });
        Self { url, seen }
    }

    fn next(&self) -> UpstreamRequest {
        self.seen
            .recv_timeout(Duration::from_secs(60))
            .unwrap_or_else(|error| panic!("the upstream was not asked: {error}"))
    }
}

fn read_request(stream: &mut TcpStream) -> Option<UpstreamRequest> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(UpstreamRequest { head, body: body.to_owned() });
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
        }
    }
}

fn respond(stream: &mut TcpStream, step: &Step) {
    let mut rest = [0; 4096];
    // A proxy that has left is what some tests are about.
    match step {
        Step::Send(text) => {
            let _ = stream.write_all(text.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        Step::Stall(text) => {
            let _ = stream.write_all(text.as_bytes());
        }
        Step::Flood(head, piece) => {
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(piece.as_bytes()).is_ok() {}
        }
    }
    while matches!(stream.read(&mut rest), Ok(length) if length > 0) {}
}

fn response(status: &str, content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}")
}

/// A response of the AI SDK with these chunks.
fn stream(chunks: &[Value]) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    response("200 OK", "text/event-stream", &events)
}

fn text(words: &[&str]) -> Vec<Value> {
    let mut chunks = vec![json!({"type": "start"}), json!({"type": "text-start", "id": "0"})];
    chunks.extend(words.iter().map(|word| json!({"type": "text-delta", "id": "0", "delta": word})));
    chunks
}

fn whole(words: &[&str]) -> Step {
    let mut chunks = text(words);
    chunks.extend([json!({"type": "text-end", "id": "0"}), json!({"type": "finish"})]);
    Step::Send(stream(&chunks) + "data: [DONE]\n\n")
}

fn proxy(data: &tempfile::TempDir, upstream: &Upstream, args: &[&str]) -> Server {
    let own = ["--upstream", &upstream.url, "--from", "ai-sdk"];
    let variables = [("BEHIND_AUTHORIZATION", "Bearer behind-secret")];
    Server::start_proxy(&data.path().join("data"), &[&own, args].concat(), &variables)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Says something after other messages in a session, and gives the stream of the agents dialect.
fn send_text_after(server: &Server, session: &str, before: &[(&str, &str)], text: &str) -> String {
    let message =
        |(role, text): &(&str, &str)| json!({"role": role, "content": text, "id": format!("m-{text}")});
    let messages: Vec<_> = before.iter().chain([&("user", text)]).map(message).collect();
    let body = json!({ "sessionId": session, "messages": messages }).to_string();
    let headers = [("x-tenant", "blue"), ("x-other", "red")];
    let answer = server.ask("POST", "/v1/agents/chat", &headers, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn send_text(server: &Server, session: &str, text: &str) -> String {
    send_text_after(server, session, &[], text)
}

/// How a run ends, or that it waits: its summary follows its last event.
fn status(server: &Server, run: &str) -> String {
    for _ in 0..6_000 {
        let details = server.get(&format!("/v1/runs/{run}")).json();
        let status =
            details.pointer("/run/status").or(details.get("status")).unwrap_or_else(|| panic!("{details}"));
        let status = status.as_str().unwrap().to_owned();
        if status != "running" {
            return status;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("run {run} continues")
}

fn newest_status(server: &Server) -> String {
    status(server, newest_run(server)["id"].as_str().unwrap())
}

/// The newest run.
fn newest_run(server: &Server) -> Value {
    server.get("/v1/runs").json()["runs"][0].clone()
}

fn state(server: &Server, session: &str) -> Value {
    server.get(&format!("/v1/sessions/{session}/messages")).json()
}

#[test]
fn answer_of_an_upstream_is_served_in_another_dialect() {
    let (data, upstream) = (folder(), Upstream::start(vec![whole(&["Hello ", "there"]), whole(&["Again"])]));
    let args = [
        "--to",
        "agents",
        "--pass-header",
        "x-tenant",
        "--upstream-header-env",
        "authorization=BEHIND_AUTHORIZATION",
    ];
    let server = proxy(&data, &upstream, &args);
    let body = send_text(&server, "s1", "hi");
    assert!(body.contains("Hello ") && body.contains("there"), "{body}");
    let seen = upstream.next();
    assert!(seen.head.starts_with("post /api/chat "), "{}", seen.head);
    assert!(seen.head.contains("authorization: bearer behind-secret"), "{}", seen.head);
    assert!(seen.head.contains("x-tenant: blue") && !seen.head.contains("x-other"), "{}", seen.head);
    let request = seen.json();
    assert_eq!((&request["id"], &request["messages"][0]["id"]), (&json!("s1"), &json!("m-hi")));
    assert_eq!(request["messages"][0]["parts"][0]["text"], "hi");

    let before = [("user", "hi"), ("assistant", "Hello there")];
    assert!(send_text_after(&server, "s1", &before, "more").contains("Again"));
    let request = upstream.next().json();
    let texts: Vec<_> = request["messages"].as_array().unwrap().iter().map(texts_of).collect();
    assert_eq!(texts, ["hi", "Hello there", "more"]);

    let refused = server.post("/v1/ai-sdk/chat", &request);
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (404, Some("dialect.unknown")),
        "{refused:?}"
    );
}

fn texts_of(message: &Value) -> String {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[test]
fn each_fault_of_an_upstream_has_its_code_and_readers_see_no_text_of_it() {
    const SECRET: &str = "sk-behind-0123456789abcdef";
    let half = stream(&text(&["Hal", "f"]));
    let error = vec![
        json!({"type": "start"}),
        json!({"type": "error", "errorText": SECRET}),
        json!({"type": "finish"}),
    ];
    let big = json!({"type": "text-delta", "id": "0", "delta": "x".repeat(10 << 20)});
    let piece = json!({"type": "text-delta", "id": "0", "delta": "x".repeat(1 << 16)});
    let cases = [
        (
            "upstream.auth",
            Step::Send(response(
                "401 Unauthorized",
                "application/json",
                &json!({"error": SECRET}).to_string(),
            )),
        ),
        ("upstream.not-found", Step::Send(response("404 Not Found", "text/plain", SECRET))),
        ("upstream.rate-limit", Step::Send(response("429 Too Many Requests", "text/plain", SECRET))),
        ("upstream.unavailable", Step::Send(response("503 Service Unavailable", "text/html", SECRET))),
        ("upstream.unavailable", Step::Send(response("500 Internal Server Error", "text/plain", SECRET))),
        ("upstream.refused", Step::Send(response("409 Conflict", "text/plain", SECRET))),
        (
            "upstream.redirect",
            Step::Send(
                response("302 Found", "text/plain", "")
                    .replace("connection", "location: http://127.0.0.1:9/\r\nconnection"),
            ),
        ),
        ("upstream.wrong-type", Step::Send(response("200 OK", "text/event-stream", "<html>sign in</html>"))),
        ("upstream.invalid", Step::Send(response("200 OK", "application/json", "{\"error\":\"no\"}"))),
        ("upstream.cut", Step::Send(half.clone())),
        ("upstream.stalled", Step::Stall(half)),
        ("upstream.too-large", Step::Send(stream(&[text(&[]), vec![big]].concat()))),
        ("relay.too-large", Step::Flood(stream(&text(&[])), format!("data: {piece}\n\n"))),
        ("upstream.failed", Step::Send(stream(&error) + "data: [DONE]\n\n")),
    ];
    for (code, step) in cases {
        let missing = Step::Send(response("404 Not Found", "text/plain", ""));
        // Nothing is resumed: an upstream that has no such route answers 404.
        let steps = match code {
            "upstream.cut" | "upstream.stalled" => vec![step, missing],
            _ => vec![step],
        };
        let (data, upstream) = (folder(), Upstream::start(steps));
        let server = proxy(&data, &upstream, &["--stall-timeout", "1s"]);
        let body = send_text(&server, "s1", "hi");
        assert!(body.contains(code), "{code}: {}", &body[..body.len().min(2000)]);
        assert!(!body.contains(SECRET) && !body.contains("127.0.0.1"), "{code}: {body}");
        assert_eq!(newest_status(&server), "failed", "{code}");
        assert!(server.end().contains(code), "{code} is not logged");
    }
}

#[test]
fn upstream_that_is_down_is_unreachable() {
    let (data, upstream) = (folder(), Upstream::start(vec![whole(&[])]));
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = Upstream { url: format!("http://{gone}/"), ..upstream };
    let server = proxy(&data, &upstream, &[]);
    assert!(send_text(&server, "s1", "hi").contains("upstream.unreachable"));
}

#[test]
fn cut_answer_that_the_upstream_sends_again_is_shown_once() {
    let (data, upstream) = (
        folder(),
        Upstream::start(vec![Step::Send(stream(&text(&["One ", "two "]))), whole(&["One two", " three"])]),
    );
    let server = proxy(&data, &upstream, &[]);
    send_text(&server, "s1", "hi");
    let (first, again) = (upstream.next(), upstream.next());
    assert!(
        first.head.starts_with("post ") && again.head.starts_with("get /api/chat/s1/stream "),
        "{}",
        again.head
    );
    assert_eq!(newest_status(&server), "finished");
    let messages = state(&server, "s1");
    assert_eq!(
        texts_of(messages["messages"].as_array().unwrap().last().unwrap()),
        "One two three",
        "{messages}"
    );
}

#[test]
fn answer_that_a_crash_interrupted_is_asked_for_again_only_if_that_is_allowed() {
    for repeat in [false, true] {
        let (data, upstream) =
            (folder(), Upstream::start(vec![Step::Stall(stream(&text(&["Hal", "f"]))), whole(&["Whole"])]));
        let args: &[&str] = if repeat { &["--lease", "1s", "--repeat"] } else { &["--lease", "1s"] };
        let server = proxy(&data, &upstream, args);
        let body = json!({ "sessionId": "s1", "messages": [{"role": "user", "content": "hi", "id": "m1"}] });
        let mut reader = server.send("POST", "/v1/agents/chat", &[], &body.to_string());
        let mut shown = String::new();
        while !shown.contains("Hal") {
            let mut piece = [0; 1024];
            let length = reader.read(&mut piece).unwrap();
            assert!(length > 0, "{shown}");
            shown.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        upstream.next();
        server.kill();

        let server = proxy(&data, &upstream, args);
        let run = newest_run(&server)["id"].as_str().unwrap().to_owned();
        // The stream ends when the run does.
        let events = server.get(&format!("/v1/runs/{run}/events?until=end")).body;
        let status = newest_status(&server);
        match repeat {
            true => {
                upstream.next();
                assert!(events.contains("Whole"), "{events}");
                assert_eq!(status, "finished");
            }
            false => {
                assert!(events.contains("relay.unfinished"), "{events}");
                assert_eq!(status, "failed");
                assert!(upstream.seen.try_recv().is_err(), "the upstream was asked twice");
            }
        }
    }
}

#[test]
fn approval_of_an_upstream_is_asked_here_and_answered_there() {
    let asks = [
        json!({"type": "start"}),
        json!({"type": "tool-input-available", "toolCallId": "call_1", "toolName": "delete", "input": {"city": "Rome"}}),
        json!({"type": "tool-approval-request", "approvalId": "appr_9", "toolCallId": "call_1"}),
        json!({"type": "finish"}),
    ];
    let done = [
        json!({"type": "start"}),
        json!({"type": "tool-output-available", "toolCallId": "call_1", "output": "deleted Rome"}),
        json!({"type": "finish"}),
    ];
    let steps = vec![Step::Send(stream(&asks)), Step::Send(stream(&done))];
    let (data, upstream) = (folder(), Upstream::start(steps));
    let server = proxy(&data, &upstream, &[]);
    send_text(&server, "s1", "delete Rome");
    upstream.next();
    assert_eq!(newest_status(&server), "waiting");
    let run = newest_run(&server);
    let open = server.get("/v1/interrupts").json();
    let request = open["interrupts"][0]["request"].as_str().unwrap_or_else(|| panic!("{open}")).to_owned();
    assert_ne!(request, "appr_9");
    let answer = server.post(&format!("/v1/interrupts/{request}"), &json!({"approved": true}));
    assert!(answer.status < 300, "{answer:?}");
    let sent = upstream.next().json();
    let parts = sent["messages"].as_array().unwrap().last().unwrap()["parts"].as_array().unwrap().clone();
    let call = parts.iter().find(|part| part["toolCallId"] == "call_1").unwrap_or_else(|| panic!("{sent}"));
    assert_eq!(
        (&call["approval"]["id"], &call["approval"]["approved"]),
        (&json!("appr_9"), &json!(true)),
        "{call}"
    );
    let run = run["id"].as_str().unwrap();
    let events = server.get(&format!("/v1/runs/{run}/events?until=end")).body;
    assert!(events.contains("deleted Rome"), "{events}");
    assert_eq!(newest_status(&server), "finished");
}

#[test]
fn stop_closes_the_connection_to_the_upstream() {
    let (data, upstream) =
        (folder(), Upstream::start(vec![Step::Flood(stream(&text(&["a"])), ": still here\n\n".to_owned())]));
    let server = proxy(&data, &upstream, &[]);
    let body = json!({ "sessionId": "s1", "messages": [{"role": "user", "content": "hi", "id": "m1"}] });
    let mut reader = server.send("POST", "/v1/agents/chat", &[], &body.to_string());
    upstream.next();
    let run = newest_run(&server)["id"].as_str().unwrap().to_owned();
    assert!(server.post(&format!("/v1/runs/{run}/stop"), &json!({})).status < 300);
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert_eq!(newest_status(&server), "cancelled");
}

#[test]
fn wrong_use_of_the_proxy_is_explained() {
    let cases: [(&[&str], &str); 6] = [
        (&["--upstream", "ftp://a/", "--from", "ai-sdk"], "begins with http://"),
        (&["--upstream", "http://me:secret@a/", "--from", "ai-sdk"], "must not have a password"),
        (&["--upstream", "http://a/", "--from", "tanstack"], "`ag-ui`"),
        (
            &["--upstream", "http://a/", "--from", "ai-sdk", "--pass-header", "host"],
            "belongs to a single connection",
        ),
        (
            &["--upstream", "http://a/", "--from", "ai-sdk", "--upstream-header-env", "x=NOT_THERE"],
            "no variable NOT_THERE",
        ),
        (&["--upstream", "http://a/", "--from", "ai-sdk", "agent.yaml"], "and no agents"),
    ];
    for (args, expected) in cases {
        let data = folder();
        let listen = ["proxy", "--listen", "127.0.0.1:0", "--data", data.path().to_str().unwrap()];
        let ran = headwater(&[&listen, args].concat(), "");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains(expected) && !ran.stderr.contains("secret@"),
            "{expected}: {}",
            ran.stderr
        );
    }
}
