//! Requests and their readers: plain sockets, and no more looking at what comes than is needed.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Barrier,
};

use crate::{
    conversation::{Sends, said},
    model::{DIGITS, MARK, Order, now},
};

/// Lets this process have as many sockets as it may; gives how many.
pub(crate) fn raise_open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    let wanted = rustix::process::Rlimit { current: limits.maximum, maximum: limits.maximum };
    let _ = setrlimit(Resource::Nofile, wanted);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A request to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Request(Arc<str>);

impl Request {
    pub(crate) fn post(path: &str, body: &str) -> Self {
        let length = body.len();
        Self(
            format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n{body}"
            )
            .into(),
        )
    }

    /// As a client sends it that keeps its connection.
    fn kept_alive(&self) -> String {
        self.0.replacen("connection: close\r\n", "", 1)
    }

    /// The same body for another path.
    pub(crate) fn at(&self, path: &str) -> Self {
        let body = self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Self::post(path, body)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(path: &str, cursor: Option<&str>) -> Self {
        let cursor = cursor.map(|cursor| format!("last-event-id: {cursor}\r\n")).unwrap_or_default();
        Self(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{cursor}\r\n").into())
    }
}

/// What a dialect's client sends to say something for the first time.
pub(crate) fn says(dialect: &str, session: &str, order: &Order) -> Request {
    let message = said(dialect, 1, &order.text()).to_string();
    let sends = if matches!(dialect, "kortyx" | "mui") { Sends::Newest } else { Sends::Transcript };
    says_all(dialect, session, 1, sends, &message)
}

/// What a dialect's client sends with the message of a number: these messages, as JSON with commas between.
pub(crate) fn says_all(dialect: &str, session: &str, turn: usize, sends: Sends, messages: &str) -> Request {
    let body = match (dialect, sends) {
        ("ai-sdk", Sends::Newest) => {
            format!(r#"{{"id":"{session}","trigger":"submit-message","message":{messages}}}"#)
        }
        ("ai-sdk", Sends::Transcript) => {
            format!(r#"{{"id":"{session}","trigger":"submit-message","messages":[{messages}]}}"#)
        }
        ("agents" | "kortyx", _) => format!(r#"{{"sessionId":"{session}","messages":[{messages}]}}"#),
        ("tanstack", _) => {
            format!(r#"{{"messages":[{messages}],"data":{{"conversationId":"{session}"}}}}"#)
        }
        ("mui", _) => format!(r#"{{"conversationId":"{session}","message":{messages}}}"#),
        _ => format!(
            r#"{{"threadId":"{session}","runId":"client-{session}-{turn}","state":{{}},"messages":[{messages}],"tools":[],"context":[],"forwardedProps":{{}}}}"#
        ),
    };
    Request::post(&format!("/v1/{dialect}/chat"), &body)
}

/// A response that is being read.
#[derive(Debug)]
pub(crate) struct Response {
    socket: TcpStream,
    buffer: Vec<u8>,
    /// How many stamps came.
    pub(crate) stamps: usize,
    /// The end of what came last, in which a stamp may have begun.
    carry: Vec<u8>,
    pub(crate) bytes: usize,
}

impl Response {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, buffer: vec![0; 16 << 10], stamps: 0, carry: Vec::new(), bytes: 0 }
    }

    pub(crate) async fn ask(address: SocketAddr, request: &Request) -> Self {
        let mut response = Self::connect(address).await;
        response.send(request).await;
        response
    }

    pub(crate) async fn send(&mut self, request: &Request) {
        self.socket.write_all(request.0.as_bytes()).await.unwrap();
    }

    /// What came next; nothing at the end.
    pub(crate) async fn read(&mut self) -> &[u8] {
        let count = self.socket.read(&mut self.buffer).await.unwrap();
        self.bytes += count;
        &self.buffer[..count]
    }

    /// Reads once and counts the stamps, and notes how old each is. Gives whether there was something.
    pub(crate) async fn count(&mut self, ages: &mut Option<Vec<u64>>) -> bool {
        let count = self.socket.read(&mut self.buffer).await.unwrap();
        self.bytes += count;
        let read = &self.buffer[..count];
        let Some(ages) = ages else {
            self.stamps += memchr::memchr_iter(MARK, read).count();
            return count > 0;
        };
        let now = now();
        self.carry.extend_from_slice(read);
        for end in memchr::memchr_iter(MARK, &self.carry) {
            self.stamps += 1;
            let digits =
                end.checked_sub(DIGITS).and_then(|from| std::str::from_utf8(&self.carry[from..end]).ok());
            if let Some(stamp) = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                ages.push(now.saturating_sub(stamp));
            }
        }
        let kept = match memchr::memrchr(MARK, &self.carry) {
            Some(last) => last + 1,
            None => self.carry.len().saturating_sub(DIGITS),
        };
        self.carry.drain(..kept);
        count > 0
    }

    /// Reads until there is a head and so many stamps came, and gives what was read.
    pub(crate) async fn collect(&mut self, stamps: usize) -> String {
        let mut whole = Vec::new();
        while self.stamps < stamps || memchr::memmem::find(&whole, b"\r\n\r\n").is_none() {
            let read = self.read().await;
            assert!(!read.is_empty(), "the response ended: {}", String::from_utf8_lossy(&whole));
            whole.extend_from_slice(read);
            self.stamps = memchr::memchr_iter(MARK, &whole).count();
        }
        String::from_utf8(whole).unwrap()
    }

    /// Gives back the memory for what is read: nothing more is.
    pub(crate) fn forget_buffer(&mut self) {
        self.buffer = Vec::new();
    }

    /// Reads to the end, and gives all that came.
    pub(crate) async fn rest(&mut self) -> String {
        let mut whole = Vec::new();
        loop {
            let read = self.read().await;
            if read.is_empty() {
                return String::from_utf8_lossy(&whole).into_owned();
            }
            whole.extend_from_slice(read);
        }
    }

    /// Reads until so many stamps came.
    pub(crate) async fn until(&mut self, stamps: usize) {
        while self.stamps < stamps {
            assert!(self.count(&mut None).await, "the stream ended after {} of {stamps} deltas", self.stamps);
        }
    }
}

/// What became of many requests at once.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) deltas: usize,
    pub(crate) bytes: usize,
    pub(crate) wall: Duration,
    /// From the model to this process, in nanoseconds, sorted.
    pub(crate) ages: Vec<u64>,
}

/// Sends all requests at once, and reads the responses to their ends. Each must bring so many deltas.
pub(crate) async fn deliver(
    address: SocketAddr,
    requests: Vec<Request>,
    deltas: usize,
    aged: bool,
) -> Delivered {
    let count = requests.len();
    let begin = Arc::new(Barrier::new(count + 1));
    let mut readers = tokio::task::JoinSet::new();
    for request in requests {
        let begin = begin.clone();
        readers.spawn(async move {
            let mut response = Response::connect(address).await;
            let mut ages = aged.then(|| Vec::with_capacity(deltas));
            begin.wait().await;
            response.send(&request).await;
            while response.count(&mut ages).await {}
            (response.stamps, response.bytes, ages.unwrap_or_default())
        });
    }
    begin.wait().await;
    let began = Instant::now();
    let mut delivered = Delivered { deltas: count * deltas, ..Delivered::default() };
    while let Some(read) = readers.join_next().await {
        let (stamps, bytes, mut ages) = read.unwrap();
        assert!(stamps >= deltas, "a stream has {stamps} of {deltas} deltas, in {bytes} bytes");
        // Some dialects say the whole once more at the end.
        ages.truncate(deltas);
        delivered.bytes += bytes;
        delivered.ages.extend(ages);
    }
    delivered.wall = began.elapsed();
    delivered.ages.sort_unstable();
    delivered
}

/// A connection that is kept, as by a browser: one request follows the other.
#[derive(Debug)]
pub(crate) struct Connection {
    response: Response,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { response: Response::connect(address).await }
    }

    /// Sends a request, and reads its response to the end.
    pub(crate) async fn ask(&mut self, request: &Request) -> String {
        self.response.socket.write_all(request.kept_alive().as_bytes()).await.unwrap();
        let mut whole = Vec::new();
        while !is_whole(&whole) {
            let read = self.response.read().await;
            assert!(!read.is_empty(), "the connection was closed: {}", String::from_utf8_lossy(&whole));
            whole.extend_from_slice(read);
        }
        let whole = String::from_utf8_lossy(&whole).into_owned();
        assert!(whole.starts_with("HTTP/1.1 200"), "{whole}");
        whole
    }
}

/// Whether a response has come to its end: its last chunk, or as many bytes as it announced.
fn is_whole(response: &[u8]) -> bool {
    let Some(head) = memchr::memmem::find(response, b"\r\n\r\n") else { return false };
    let names = String::from_utf8_lossy(&response[..head]).to_ascii_lowercase();
    let length = names.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    match length {
        Some(length) => response.len() >= head + 4 + length,
        None => response.ends_with(b"\r\n0\r\n\r\n"),
    }
}

/// Sends requests on so many connections, each when the one before it on its connection has ended.
pub(crate) async fn in_turns(address: SocketAddr, requests: Vec<Request>, connections: usize) {
    let requests = Arc::new(std::sync::Mutex::new(requests.into_iter()));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let requests = requests.clone();
        clients.spawn(async move {
            let mut connection = Connection::open(address).await;
            loop {
                let Some(request) = requests.lock().unwrap().next() else { return };
                connection.ask(&request).await;
            }
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.unwrap();
    }
}

/// What came while the load was steady.
#[derive(Debug, Default)]
pub(crate) struct Sustained {
    pub(crate) deltas: usize,
    pub(crate) wall: Duration,
    /// From the model to this process, in nanoseconds, sorted.
    pub(crate) ages: Vec<u64>,
    /// What `spent` gave at the end, less what it gave at the beginning.
    pub(crate) spent: f64,
}

/// Keeps up a load: each reader sends two requests, one when the other has ended, and readers begin spread over the `length`
/// of a run. What comes between one and two lengths is counted, when all of them read and some begin and end at any time.
pub(crate) async fn sustain(
    address: SocketAddr,
    readers: Vec<[Request; 2]>,
    length: Duration,
    spent: impl Fn() -> f64,
) -> Sustained {
    let count = readers.len();
    let began = tokio::time::Instant::now() + Duration::from_millis(100);
    let mut reading = tokio::task::JoinSet::new();
    for (number, requests) in readers.into_iter().enumerate() {
        let first = began + length.mul_f64(number as f64 / count as f64);
        reading.spawn(async move {
            tokio::time::sleep_until(first).await;
            let mut counted = Vec::new();
            for request in requests {
                let mut response = Response::ask(address, &request).await;
                let mut ages = Some(Vec::new());
                while response.count(&mut ages).await {
                    let passed = began.elapsed();
                    let came = ages.replace(Vec::new()).unwrap_or_default();
                    if passed >= length && passed < length * 2 {
                        counted.extend(came);
                    }
                }
            }
            counted
        });
    }
    tokio::time::sleep_until(began + length).await;
    let (from, before) = (Instant::now(), spent());
    tokio::time::sleep_until(began + length * 2).await;
    let mut sustained = Sustained { wall: from.elapsed(), spent: spent() - before, ..Sustained::default() };
    while let Some(counted) = reading.join_next().await {
        sustained.ages.extend(counted.unwrap());
    }
    sustained.deltas = sustained.ages.len();
    sustained.ages.sort_unstable();
    sustained
}
