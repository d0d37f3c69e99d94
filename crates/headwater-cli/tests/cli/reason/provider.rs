//! A provider on the loopback interface: gives its replies in order and stores the requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

/// The reply to one request.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    pub(crate) fn stream(body: &str) -> Self {
        Self { status: 200, kind: "text/event-stream", headers: Vec::new(), body: body.to_owned() }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self { status, kind: "application/json", ..Self::stream(body) }
    }

    pub(crate) fn page(body: &str) -> Self {
        Self { kind: "text/html", ..Self::stream(body) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct ProviderRequest {
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// A provider. The last reply is repeated when there are no more.
pub(crate) struct Provider {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<ProviderRequest>>>,
}

impl Provider {
    pub(crate) fn start<const N: usize>(replies: [Reply; N]) -> Self {
        Self::serving(move |nth, _| replies[nth.min(N - 1)].clone())
    }

    /// A provider whose reply depends on the request.
    pub(crate) fn answering(reply: impl Fn(&Value) -> Reply + Send + 'static) -> Self {
        Self::serving(move |_, body| reply(body))
    }

    fn serving(reply: impl Fn(usize, &Value) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<ProviderRequest>>> = Arc::default();
        let seen = Arc::clone(&asked);
        // The thread ends with the test process.
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let nth = seen.lock().unwrap().len();
                serve(connection, |body| reply(nth, body), &seen);
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<ProviderRequest> {
        self.asked.lock().unwrap().clone()
    }
}

/// Replies to one request and closes the connection.
fn serve(mut connection: TcpStream, reply: impl Fn(&Value) -> Reply, seen: &Mutex<Vec<ProviderRequest>>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or_default() == 0 {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reply = reply(&body);
    seen.lock().unwrap().push(ProviderRequest { path, body });
    let mut head = format!(
        "HTTP/1.1 {} -\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        reply.kind,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // The client may have closed its end.
    let _ = connection.write_all(format!("{head}\r\n{}", reply.body).as_bytes());
}
