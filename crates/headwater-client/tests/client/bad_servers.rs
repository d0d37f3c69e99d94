//! Servers that refuse, lie, stall, flood and break off: each has its message, and nothing hangs.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use headwater_client::{Client, ConnectionStatus, Error, Options, Update};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a server does with a connection after it has read the request.
#[derive(Clone)]
enum Step {
    /// Sends this and closes.
    Send(Vec<u8>),
    /// Sends this and keeps the connection open in silence.
    Stall(Vec<u8>),
    /// Sends the first, then the second until the client leaves.
    Flood(Vec<u8>, Vec<u8>),
}

/// A server that does one step for each connection; the last one for all further ones.
async fn serve(steps: Vec<Step>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let steps = Arc::new(steps);
        for number in 0.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            let step = steps[number.min(steps.len() - 1)].clone();
            tokio::spawn(respond(stream, step));
        }
    });
    address
}

async fn respond(mut stream: TcpStream, step: Step) {
    let mut request = Vec::new();
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(length) => request.extend_from_slice(&piece[..length]),
        }
    }
    match step {
        Step::Send(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            // A reset would take the response with it.
            let mut rest = [0; 4096];
            while matches!(stream.read(&mut rest).await, Ok(length) if length > 0) {}
        }
        Step::Stall(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending::<()>().await;
        }
        Step::Flood(head, piece) => {
            let _ = stream.write_all(&head).await;
            while stream.write_all(&piece).await.is_ok() {}
        }
    }
}

fn response(status: &str, content_type: &str, more: &str, body: &str) -> Step {
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n{more}\r\n");
    Step::Send((head + body).into_bytes())
}

fn stream(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn event(cursor: &str, seq: u64, event: &str) -> String {
    format!("id: {cursor}\ndata: {{\"seq\":{seq},\"event\":{event}}}\n\n")
}

fn text_event(cursor: &str, seq: u64, text: &str) -> String {
    let delta = format!(r#"{{"type":"block-delta","kind":"text","id":"t","delta":"{text}"}}"#);
    event(cursor, seq, &delta)
}

const FINISHED: &str = r#"{"type":"run-finished"}"#;

fn options() -> Options {
    Options {
        first_delay: Duration::from_millis(1),
        longest_delay: Duration::from_millis(5),
        stall_timeout: Duration::from_secs(2),
        request_timeout: Duration::from_secs(5),
        give_up_after: Duration::from_millis(200),
        max_event_bytes: 1 << 20,
        max_response_bytes: 16 << 20,
    }
}

fn client(address: SocketAddr) -> Client {
    Client::new(format!("http://{address}")).options(options())
}

/// The error that following a run ends with.
async fn follow_error(steps: Vec<Step>) -> Error {
    client(serve(steps).await).run("run_1").follow().finish().await.unwrap_err()
}

#[tokio::test]
async fn refusals_have_the_code_of_the_server_and_are_not_repeated() {
    let cases = [
        ("401 Unauthorized", r#"{"error":"the key is not known","code":"auth.unknown"}"#, "auth.unknown"),
        ("401 Unauthorized", "<h1>Login</h1>", "http.401"),
        ("404 Not Found", r#"{"error":"there is no such run","code":"run.unknown"}"#, "run.unknown"),
        ("404 Not Found", "nginx", "http.404"),
        ("409 Conflict", r#"{"error":"invalid cursor","code":"cursor.malformed"}"#, "cursor.malformed"),
        ("302 Found", "", "http.302"),
    ];
    for (status, body, code) in cases {
        // A second attempt would succeed, and so be noticed.
        let second = Step::Send(stream(&event("c1", 1, FINISHED)));
        let refusal = response(status, "application/json", "", body);
        let error = follow_error(vec![refusal.clone(), second]).await;
        assert_eq!((error.code(), error.is_retryable()), (code, false), "{status}: {error}");
        let error = client(serve(vec![refusal]).await).send("hello").await.unwrap_err();
        assert_eq!(error.code(), code, "{status}: {error}");
    }
}

#[tokio::test]
async fn overload_is_waited_out_as_the_server_asks() {
    for (status, header) in [("429 Too Many Requests", "retry-after: 1\r\n"), ("503 Service Unavailable", "")]
    {
        let steps = vec![
            response(status, "application/json", header, r#"{"error":"later","code":"busy"}"#),
            Step::Send(stream(&event("c1", 1, FINISHED))),
        ];
        let patient = Options { give_up_after: Duration::from_secs(60), ..options() };
        let mut stream = client(serve(steps).await).options(patient).run("run_1").follow();
        let mut waits = Vec::new();
        while let Some(update) = stream.next().await.unwrap() {
            if let Update::Connection(ConnectionStatus::Lost { error, retry_in }) = update {
                waits.push((error.code().to_owned(), retry_in));
            }
        }
        assert_eq!(waits.len(), 1, "{waits:?}");
        assert_eq!(waits[0].0, "busy");
        let asked = if header.is_empty() { Duration::ZERO } else { Duration::from_secs(1) };
        assert!(waits[0].1 >= asked, "{waits:?}");
    }
    // A server that asks for no wait is not called in a loop.
    let now = response("429 Too Many Requests", "application/json", "retry-after: 0\r\n", "");
    let steps = vec![now, Step::Send(stream(&event("c1", 1, FINISHED)))];
    let mut stream = client(serve(steps).await).run("run_1").follow();
    while let Some(update) = stream.next().await.unwrap() {
        if let Update::Connection(ConnectionStatus::Lost { retry_in, .. }) = update {
            assert!(!retry_in.is_zero());
        }
    }
    // A wait that is longer than the client's patience is an error at once.
    let never = format!("retry-after: {}\r\n", u64::MAX);
    let error = follow_error(vec![response("503 Service Unavailable", "text/plain", &never, "")]).await;
    assert_eq!(error.code(), "stream.lost", "{error}");
    let busy = response("429 Too Many Requests", "application/json", "retry-after: 3600\r\n", "");
    let error = follow_error(vec![busy.clone()]).await;
    assert_eq!(error.code(), "stream.lost", "{error}");
    let error = client(serve(vec![busy]).await).send("hello").await.unwrap_err();
    assert_eq!((error.code(), error.retry_after()), ("http.429", Some(Duration::from_secs(3600))));
}

#[tokio::test]
async fn server_that_fails_forever_is_given_up_with_its_error() {
    let error =
        follow_error(vec![response("500 Internal Server Error", "text/html", "", "<p>oops</p>")]).await;
    assert_eq!(error.code(), "stream.lost");
    assert!(error.to_string().contains("500") && error.to_string().contains("200ms"), "{error}");
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = client(unused).run("run_1").follow().finish().await.unwrap_err();
    assert_eq!(error.code(), "stream.lost", "{error}");
    let error = client(unused).send("hello").await.unwrap_err();
    assert_eq!(error.code(), "network", "{error}");
}

#[tokio::test]
async fn response_that_is_not_a_stream_is_named() {
    let event_stream = "text/event-stream";
    let cases = [
        (response("200 OK", "text/html", "", "<!doctype html><p>hello</p>"), "stream.html"),
        (response("200 OK", event_stream, "", "\n  <html>"), "stream.html"),
        (response("200 OK", event_stream, "", r#"{"seq":1}"#), "stream.json"),
        (response("200 OK", "application/json", "", r#"{"ok":true}"#), "stream.json"),
        (response("200 OK", event_stream, "", &"lorem ipsum ".repeat(200)), "stream.invalid"),
        (response("200 OK", event_stream, "", "data: hello\n\n"), "stream.json"),
        (response("200 OK", event_stream, "", "data: {\"type\":\"start\"}\n\n"), "stream.json"),
    ];
    for (step, code) in cases {
        let error = follow_error(vec![step]).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains("check the URL"), "{error}");
    }
    for body in ["<html>", "{\"run\":1}", ""] {
        let step = response("200 OK", "application/json", "", body);
        let error = client(serve(vec![step]).await).send("hello").await.unwrap_err();
        assert_eq!(error.code(), "http.invalid", "{error}");
    }
}

#[tokio::test]
async fn stalled_stream_is_cut_and_continued() {
    let steps = vec![
        Step::Stall(stream(&text_event("c1", 1, "Hel"))),
        // Half of an event is dropped: its sender repeats it.
        Step::Send(stream(&format!("{}id: c3\ndata: {{\"seq\":3,", text_event("c2", 2, "lo")))),
        Step::Send(stream(&event("c3", 3, FINISHED))),
    ];
    let mut stream = client(serve(steps).await).run("run_1").follow();
    let mut lost = Vec::new();
    while let Some(update) = stream.next().await.unwrap() {
        if let Update::Connection(ConnectionStatus::Lost { error, .. }) = update {
            lost.push(error.code().to_owned());
        }
    }
    assert_eq!(stream.text(), "Hello");
    assert_eq!(lost, ["stream.stalled", "stream.cut"]);

    let silent = client(serve(vec![Step::Stall(Vec::new())]).await);
    assert_eq!(silent.run("run_1").follow().finish().await.unwrap_err().code(), "stream.lost");
    assert_eq!(silent.send("hello").await.unwrap_err().code(), "timeout");
}

#[tokio::test]
async fn huge_events_and_floods_are_refused() {
    let huge = format!("data: {}\n\n", "x".repeat(10 << 20));
    let error = follow_error(vec![Step::Send(stream(&huge))]).await;
    assert_eq!(error.code(), "stream.too-large", "{error}");
    assert!(error.to_string().contains("1048576"), "{error}");

    let endless = [stream(":").as_slice(), &[b'x'; 4096]].concat();
    let error = follow_error(vec![Step::Flood(endless, vec![b'x'; 65536])]).await;
    assert_eq!(error.code(), "stream.too-large", "{error}");

    let flood = text_event("c1", 1, &"lorem ipsum ".repeat(1000)).into_bytes();
    let error = follow_error(vec![Step::Flood(stream(""), flood)]).await;
    assert_eq!(error.code(), "stream.too-large", "{error}");

    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n".to_vec();
    let error =
        client(serve(vec![Step::Flood(head, vec![b' '; 65536])]).await).send("hello").await.unwrap_err();
    assert!(matches!(error.code(), "http.too-large" | "timeout"), "{error}");
}

#[tokio::test]
async fn replay_after_a_lost_cursor_replaces_the_state() {
    let replay = |text: &str| {
        let delta = format!(r#"{{"type":"block-delta","kind":"text","id":"t","delta":"{text}"}}"#);
        format!("data: {{\"seq\":2,\"replay\":true,\"event\":{delta}}}\n\n")
    };
    let steps = vec![
        Step::Send(stream(&text_event("c1", 1, "wrong "))),
        // Cut inside a replay: the next one begins anew.
        Step::Send(stream(&replay("right "))),
        Step::Send(stream(&(replay("right ") + &text_event("c3", 3, "now") + &event("c4", 4, FINISHED)))),
    ];
    let mut stream = client(serve(steps).await).run("run_1").follow();
    let mut resets = 0;
    while let Some(update) = stream.next().await.unwrap() {
        resets += u32::from(matches!(update, Update::Reset));
    }
    assert_eq!((stream.text().as_str(), resets), ("right now", 2));
}

#[tokio::test]
async fn stream_continues_after_an_error_when_requested() {
    let steps = vec![
        Step::Send(stream(&(text_event("c1", 1, "Hel") + "data: nonsense\n\n"))),
        Step::Send(stream(&(text_event("c2", 2, "lo") + &event("c3", 3, FINISHED)))),
    ];
    let mut stream = client(serve(steps).await).run("run_1").follow();
    let error = loop {
        match stream.next().await {
            Ok(update) => assert!(update.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "stream.json");
    assert!(stream.next().await.unwrap().is_none());
    stream.reconnect();
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(stream.text(), "Hello");
}
