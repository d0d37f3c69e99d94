//! Who connects, in which way they speak, and what happens to them when the server stops.

use axum::{Router, routing::get};
use headwater_server::serve;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
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
async fn whoever_begins_like_http_2_and_goes_on_like_http_1_is_understood() {
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
async fn a_path_that_cannot_be_served_is_left_out() {
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
        options.paths.entry(dialect.to_owned()).or_default().push(path.to_owned());
    }
    let world = World::with(options).await;
    assert_eq!(world.get("/healthz").await.status, 200);
    assert_eq!(world.get("/api").await.json()["conversations"], serde_json::json!([]), "the first has it");
}

#[tokio::test]
async fn a_server_that_stops_ends_what_it_began_and_lets_go_of_who_said_nothing() {
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
