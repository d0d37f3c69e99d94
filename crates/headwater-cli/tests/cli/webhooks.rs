//! Webhooks of a real server: delivered after it was killed, and a target that does not answer hurts no other.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::server::Server;

const SECRET: &str = "a secret of webhooks";

/// A request that a target got; it has no answer yet.
struct Hook {
    head: String,
    body: String,
    stream: TcpStream,
}

impl Hook {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        lines
            .find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))
            .unwrap()
            .1
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn answer(mut self, head: &str) {
        write!(self.stream, "HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    }

    /// Whether the signature is by the secret.
    fn is_signed(&self) -> bool {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
        let signed =
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body);
        let signature = self.header("webhook-signature").strip_prefix("v1,").unwrap();
        ring::hmac::verify(&key, signed.as_bytes(), &STANDARD.decode(signature).unwrap()).is_ok()
    }
}

/// A target on a port of its own.
fn target() -> (String, Receiver<Hook>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=x", listener.local_addr().unwrap());
    let (sender, hooks) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if !receive(stream, &sender) {
                return;
            }
        }
    });
    (url, hooks)
}

fn receive(stream: TcpStream, hooks: &Sender<Hook>) -> bool {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return true;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if reader.read_exact(&mut body).is_err() {
        return true;
    }
    let body = String::from_utf8(body).unwrap();
    hooks.send(Hook { head, body, stream: reader.into_inner() }).is_ok()
}

fn next(hooks: &Receiver<Hook>) -> Hook {
    hooks.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|error| panic!("no webhook arrived: {error}"))
}

fn started(server: &Server, body: &Value) -> String {
    let started = server.post("/v1/runs", body);
    assert_eq!(started.status, 201, "{started:?}");
    started.json()["run"].as_str().unwrap().to_owned()
}

fn settings(url: &str) -> Vec<String> {
    let secret = format!("webhook_secrets=hook={SECRET}");
    let mut all = Vec::new();
    for setting in [format!("webhooks=hook={url}").as_str(), &secret, "webhook_timeout=2s"] {
        all.extend(["--set".to_owned(), setting.to_owned()]);
    }
    all
}

#[test]
fn webhook_is_delivered_after_the_server_was_killed_before_its_delivery() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (url, hooks) = target();
    let settings = settings(&url);
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let server = Server::start(&data, &settings);
    let run = started(&server, &json!({ "agent": "table", "input": "planets" }));
    // The run has ended, and the target has not answered.
    let first = next(&hooks);
    assert!(first.is_signed(), "{}", first.head);
    assert_eq!(first.json()["data"]["id"], json!(run), "{}", first.body);
    server.kill();
    let id = first.header("webhook-id").to_owned();
    drop(first);
    let server = Server::start(&data, &settings);
    let again = next(&hooks);
    assert!(again.is_signed());
    assert_eq!(again.header("webhook-id"), id, "the same event has the same id");
    let event = again.json();
    assert_eq!(
        (&event["type"], &event["data"]["status"]),
        (&json!("run.finished"), &json!("finished")),
        "{event}"
    );
    again.answer("200 OK");
    // The next event is that of another run: the first is over.
    let other = started(&server, &json!({ "agent": "table", "input": "moons" }));
    let hook = next(&hooks);
    assert_eq!(hook.json()["data"]["id"], json!(other), "{}", hook.body);
    hook.answer("204 No Content");
}

#[test]
fn webhook_is_retried_and_redirects_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (url, hooks) = target();
    let (elsewhere, visitors) = target();
    let settings = settings(&url);
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let server = Server::start(&data, &settings);
    let run = started(&server, &json!({ "agent": "table", "input": "planets" }));
    for answer in [format!("307 Temporary Redirect\r\nlocation: {elsewhere}"), "500 Oops".to_owned()] {
        let hook = next(&hooks);
        assert_eq!(hook.json()["data"]["id"], json!(run));
        hook.answer(&answer);
    }
    let hook = next(&hooks);
    assert!(hook.is_signed());
    hook.answer("200 OK");
    assert!(visitors.try_recv().is_err(), "the redirect was followed");
}
