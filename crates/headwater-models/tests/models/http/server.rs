//! A loopback server with prepared replies, one per connection.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// The reply to one connection.
pub(crate) struct Reply {
    head: Option<String>,
    body: Vec<u8>,
    pieces: Vec<usize>,
    stalls: bool,
}

impl Reply {
    pub(crate) fn ok(kind: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n");
        Self { head: Some(head), body: body.to_vec(), pieces: Vec::new(), stalls: false }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\n");
        Self { head: Some(head), body: body.into(), pieces: Vec::new(), stalls: false }
    }

    /// Closes the connection without a reply.
    pub(crate) fn hang_up() -> Self {
        Self { head: None, body: Vec::new(), pieces: Vec::new(), stalls: false }
    }

    /// Keeps the connection open without a reply.
    pub(crate) fn silence() -> Self {
        Self { stalls: true, ..Self::hang_up() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        // Replaces an earlier header of this name.
        self.head = self.head.map(|head| {
            let kept: String = head.split_inclusive("\r\n").filter(|line| !line.starts_with(name)).collect();
            format!("{kept}{name}: {value}\r\n")
        });
        self
    }

    /// Sends the body in pieces of these sizes, repeated.
    pub(crate) fn split(mut self, pieces: Vec<usize>) -> Self {
        self.pieces = pieces;
        self
    }

    /// Announces more bytes than it sends.
    pub(crate) fn promise(self, length: usize) -> Self {
        self.header("content-length", &length.to_string())
    }

    /// Keeps the connection open after the body.
    pub(crate) fn then_stall(mut self) -> Self {
        self.stalls = true;
        self
    }
}

/// A server that stops at the end of the test.
pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    closed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let closed = Arc::new(Notify::new());
        let (seen, gone) = (Arc::clone(&requests), Arc::clone(&closed));
        let task = tokio::spawn(async move {
            // Stalled connections stay open until the server is dropped.
            let mut stalled = Vec::new();
            for reply in replies {
                let Ok((mut socket, _)) = listener.accept().await else { return };
                let request = read_request(&mut socket).await;
                seen.lock().unwrap().push(request);
                // The client may have disconnected; the test checks that.
                let _ = write_reply(&mut socket, &reply).await;
                if reply.stalls {
                    let gone = Arc::clone(&gone);
                    stalled.push(tokio::spawn(async move {
                        let mut rest = [0; 64];
                        while matches!(socket.read(&mut rest).await, Ok(1..)) {}
                        gone.notify_one();
                    }));
                }
            }
            for connection in stalled {
                let _ = connection.await;
            }
        });
        Self { address, requests, closed, task }
    }

    pub(crate) fn url(&self) -> String {
        self.address.clone()
    }

    /// The requests so far, as text.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until the client closes a stalled connection.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

async fn write_reply(socket: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    let Some(head) = &reply.head else { return Ok(()) };
    socket.set_nodelay(true)?;
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(b"\r\n").await?;
    let mut rest = reply.body.as_slice();
    let mut sizes = reply.pieces.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(usize::MAX).min(rest.len());
        let (piece, after) = rest.split_at(size);
        socket.write_all(piece).await?;
        // Lets the client read the piece on its own.
        tokio::task::yield_now().await;
        rest = after;
    }
    socket.flush().await
}
