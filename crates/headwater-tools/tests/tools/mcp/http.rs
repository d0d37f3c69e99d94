//! Faulty servers over HTTP. The vendors' tests cover correct ones.

use std::time::Duration;

use headwater_tools::{ErrorKind, McpClient};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

/// A server that answers every request with the same bytes, or not at all.
async fn answering(answer: Option<&'static str>) -> (McpClient, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            if let Some(answer) = answer {
                socket.write_all(answer.as_bytes()).await.unwrap();
                let _ = socket.shutdown().await;
            }
            open.push(socket);
        }
    });
    (McpClient::http(format!("http://{address}/mcp")), server)
}

#[tokio::test]
async fn unreachable_address_is_a_retryable_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = McpClient::http(format!("http://{address}/mcp")).tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.is_retryable());
    assert!(error.to_string().starts_with(&format!("the MCP server at http://{address}/mcp: ")), "{error}");
}

#[tokio::test]
async fn server_that_never_answers_times_out() {
    let (client, server) = answering(None).await;
    let error = client.connect_timeout(Duration::from_millis(300)).tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    server.abort();
}

#[tokio::test]
async fn server_that_requires_authentication_is_reported_as_such() {
    let unauthorised = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (client, server) = answering(Some(unauthorised)).await;
    let error = client.tools().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("set a bearer token"), "{error}");
    server.abort();
}

#[tokio::test]
async fn page_instead_of_an_mcp_server_is_an_error() {
    let page =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}";
    let broken = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let away = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let cases = [
        (page, ErrorKind::Unreachable),
        (json, ErrorKind::Unreachable),
        (broken, ErrorKind::Unreachable),
        (away, ErrorKind::Unreachable),
    ];
    for (answer, expected) in cases {
        let (client, server) = answering(Some(answer)).await;
        let error = client.connect_timeout(Duration::from_secs(5)).tools().await.unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(error.kind(), expected, "{error}: {cause:?}");
        server.abort();
    }
}

/// The text of a request up to the end of its headers.
async fn request_on(listener: &TcpListener, answer: String) -> String {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut text = String::new();
    while !text.contains("\r\n\r\n") {
        let mut bytes = [0; 4096];
        let read = socket.read(&mut bytes).await.unwrap();
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    socket.write_all(answer.as_bytes()).await.unwrap();
    text.to_lowercase()
}

#[tokio::test]
async fn headers_are_not_sent_to_a_redirect_target() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        elsewhere.local_addr().unwrap()
    );
    let client = McpClient::http(format!("http://{}/mcp", listener.local_addr().unwrap()))
        .bearer("secret-1")
        .header("X-Tenant", "secret-2");
    let tools = async { client.tools().await.unwrap_err() };
    let (error, request) = tokio::join!(tools, request_on(&listener, away));
    assert!(request.contains("authorization: bearer secret-1\r\n"), "{request}");
    assert!(request.contains("x-tenant: secret-2\r\n"), "{request}");
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    tokio::select! {
        biased;
        _ = elsewhere.accept() => panic!("the request followed the redirect"),
        () = std::future::ready(()) => {}
    }
}
