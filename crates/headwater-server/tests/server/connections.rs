//! Who connects, in which way they speak, and what happens to them when the server stops.

use std::{net::SocketAddr, num::NonZeroUsize, time::Duration};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use headwater_server::{Connections, serve};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::harness::World;

#[tokio::test]
async fn http_2_is_spoken_without_tls_beside_http_1() {
    let world = World::new().await;
    let path = format!("{}/healthz", world.base);
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let second = client.get(&path).send().await.unwrap();
    assert_eq!((second.version(), second.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    let first = world.http.get(&path).send().await.unwrap();
    assert_eq!((first.version(), first.status().as_u16()), (reqwest::Version::HTTP_11, 200));
}

#[tokio::test]
async fn http_1_that_begins_like_http_2_is_understood() {
    let world = World::new().await;
    let mut stream = TcpStream::connect(world.base.strip_prefix("http://").unwrap()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let rest =
        b"OST /v1/ai-sdk/chat HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(b"P").await.unwrap();
    for byte in rest {
        // The server, on the same thread, sees each byte alone.
        tokio::task::yield_now().await;
        stream.write_all(&[*byte]).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("\"code\""), "{answer}");
}

#[tokio::test]
async fn path_that_cannot_be_served_is_left_out() {
    let mut options = headwater_server::Options::default();
    for (dialect, path) in [
        ("ai-sdk", "/"),
        ("ai-sdk", "chat"),
        ("ai-sdk", "/:id"),
        ("ai-sdk", "/{id}"),
        ("ai-sdk", "/v1/runs"),
        ("mui", "/api"),
        ("tanstack", "/api/"),
        ("nobodys", "/other"),
    ] {
        options = options.path(dialect, path);
    }
    let world = World::with(options).await;
    assert_eq!(world.get("/healthz").await.status, 200);
    assert_eq!(world.get("/api").await.json()["conversations"], serde_json::json!([]), "the first has it");
}

#[tokio::test]
async fn stopping_server_ends_its_requests_and_drops_silent_connections() {
    let (reached, mut arrived) = tokio::sync::mpsc::channel::<()>(1);
    let (go, gone) = tokio::sync::watch::channel(false);
    let routes = Router::new().route(
        "/",
        get(move || {
            let (reached, mut gone) = (reached.clone(), gone.clone());
            async move {
                reached.send(()).await.unwrap();
                gone.wait_for(|gone| *gone).await.unwrap();
                "to its end"
            }
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, routes, async move { stopped.await.unwrap() }));

    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut asking = TcpStream::connect(address).await.unwrap();
    asking.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    arrived.recv().await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0, "it is let go");
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.is_finished(), "a response is under way");
    go.send_replace(true);
    let mut answer = String::new();
    asking.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("to its end"), "{answer}");
    server.await.unwrap();
}

/// Short enough for a test, and long enough for a machine that does many things at once.
const SHORT: Duration = Duration::from_millis(300);

/// What takes longer fails; nothing is measured by it.
const DEADLINE: Duration = Duration::from_secs(60);

async fn listen(connections: Connections, routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(connections.serve(listener, routes, std::future::pending()));
    address
}

/// A client of HTTP/2 that speaks in frames: it confirms settings and pings, and opens no window.
struct Http2 {
    stream: TcpStream,
}

impl Http2 {
    const GOAWAY: u8 = 7;
    const RESET: u8 = 3;

    async fn connect(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        Self { stream }
    }

    /// Sends `GET /` as stream 1.
    async fn get(&mut self) {
        let fields = b"\x82\x86\x84\x41\x09localhost";
        let head = [0, 0, u8::try_from(fields.len()).unwrap(), 1, 5, 0, 0, 0, 1];
        self.stream.write_all(&[&head[..], fields].concat()).await.unwrap();
    }

    /// The kind and stream of the next frame, or nothing at the end.
    async fn next(&mut self) -> Option<(u8, u32)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut body).await.ok()?;
        match (kind, flags & 1) {
            (4, 0) => self.stream.write_all(b"\0\0\0\x04\x01\0\0\0\0").await.ok()?,
            (6, 0) => {
                let confirmed = [b"\0\0\x08\x06\x01\0\0\0\0", &body[..]].concat();
                self.stream.write_all(&confirmed).await.ok()?;
            }
            _ => {}
        }
        Some((kind, u32::from_be_bytes(stream)))
    }

    /// The kinds of all frames until the end.
    async fn until_closed(mut self) -> Vec<u8> {
        let mut kinds = Vec::new();
        let closed = async {
            while let Some((kind, _)) = self.next().await {
                kinds.push(kind);
            }
        };
        timeout(DEADLINE, closed).await.expect("the connection stays open");
        kinds
    }
}

#[tokio::test]
async fn idle_http_2_connection_is_closed_though_it_answers_pings() {
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let address = listen(Connections::default().idle(SHORT), routes).await;
    let never = Http2::connect(address).await.until_closed().await;
    assert!(never.contains(&Http2::GOAWAY), "{never:?}");
    let mut once = Http2::connect(address).await;
    once.get().await;
    let kinds = once.until_closed().await;
    assert!(
        kinds.contains(&0) && kinds.contains(&Http2::GOAWAY),
        "it was answered, and then closed: {kinds:?}"
    );
}

#[tokio::test]
async fn http_2_connection_with_an_open_request_is_not_idle() {
    let (go, gone) = tokio::sync::watch::channel(false);
    let routes = Router::new().route(
        "/",
        get(move || {
            let mut gone = gone.clone();
            async move {
                gone.wait_for(|gone| *gone).await.unwrap();
                "late"
            }
        }),
    );
    let address = listen(Connections::default().idle(SHORT), routes).await;
    let mut busy = Http2::connect(address).await;
    busy.get().await;
    let busy = tokio::spawn(busy.until_closed());
    // Two that came later have been closed for being idle.
    for _ in 0..2 {
        Http2::connect(address).await.until_closed().await;
    }
    assert!(!busy.is_finished(), "its request is open");
    go.send_replace(true);
    assert!(busy.await.unwrap().contains(&0), "it gets its answer");
}

#[tokio::test]
async fn idle_http_1_connection_is_closed() {
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let address = listen(Connections::default().idle(SHORT), routes).await;
    for begin in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("it stays open").unwrap();
        assert_eq!(begin.ends_with("\r\n\r\n"), answer.starts_with(b"HTTP/1.1 200"), "{begin:?}");
    }
}

/// Routes with an answer that has no end, and what says when it is dropped.
fn endless() -> (Router, mpsc::UnboundedReceiver<()>) {
    struct DropReport(mpsc::UnboundedSender<()>);
    impl Drop for DropReport {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (dropped, reported) = mpsc::unbounded_channel();
    let route = get(move || {
        let reported = DropReport(dropped.clone());
        let pieces = futures_util::stream::unfold(reported, |reported| async move {
            tokio::task::yield_now().await;
            Some((Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 16 << 10])), reported))
        });
        async move { Body::from_stream(pieces) }
    });
    (Router::new().route("/", route), reported)
}

#[tokio::test]
async fn stalled_http_1_reader_is_disconnected() {
    let (routes, mut dropped) = endless();
    let address = listen(Connections::default().stall(SHORT), routes).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    timeout(DEADLINE, dropped.recv()).await.expect("its answer is kept").unwrap();
    // It can read what was on its way, and then the answer is cut.
    let mut rest = Vec::new();
    let _ = timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("it is connected");
    assert!(rest.starts_with(b"HTTP/1.1 200") && !rest.ends_with(b"0\r\n\r\n"));
}

#[tokio::test]
async fn stalled_http_2_reader_loses_its_stream_and_not_its_connection() {
    let (routes, mut dropped) = endless();
    let routes = routes.route("/other", get(|| async { "hello" }));
    let address = listen(Connections::default().stall(SHORT), routes).await;
    let mut client = Http2::connect(address).await;
    client.get().await;
    let reset = async {
        loop {
            match client.next().await.expect("the connection is closed") {
                (Http2::RESET, 1) => return,
                (kind, _) => assert_ne!(kind, Http2::GOAWAY),
            }
        }
    };
    timeout(DEADLINE, reset).await.expect("the stream stays open");
    timeout(DEADLINE, dropped.recv()).await.expect("its answer is kept").unwrap();
}

#[tokio::test]
async fn connection_that_is_one_too_many_is_refused_at_once() {
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let two = NonZeroUsize::new(2).unwrap();
    let address = listen(Connections::default().most(two), routes).await;
    let ask = async || {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
        let mut answer = Vec::new();
        // A refused stream is reset, with or without an explanation before.
        let _ = timeout(DEADLINE, stream.read_to_end(&mut answer))
            .await
            .expect("it is neither served nor refused");
        String::from_utf8(answer).unwrap()
    };
    let (first, second) =
        (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
    let mut third = TcpStream::connect(address).await.unwrap();
    let mut refused = String::new();
    timeout(DEADLINE, third.read_to_string(&mut refused)).await.expect("it waits").unwrap();
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("retry-after: 1"), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(body.contains("\"code\":\"connections.too-many\""), "{body}");
    drop((first, second));
    let served = async { while !ask().await.starts_with("HTTP/1.1 200 ") {} };
    timeout(DEADLINE, served).await.expect("freed memory is not reused");
}
