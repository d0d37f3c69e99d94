//! Thousands of concurrent connections, and the decoded state of their streams.

use headwater_dialects::{DecodeOutput, Decoder};
use headwater_protocol::{Framing, RunState, RunStatus};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A response whose body is still to be read.
pub(crate) struct Open {
    stream: TcpStream,
    bytes: Vec<u8>,
}

/// The response of a connection until it was closed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether a chunked body has its last chunk, or a body with a length is complete.
    pub(crate) whole: bool,
}

/// Sends a request and waits for the start of the response.
pub(crate) async fn open(address: &str, method: &str, path: &str, body: &str) -> std::io::Result<Open> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let mut bytes = vec![0; 1_024];
    let read = stream.read(&mut bytes).await?;
    bytes.truncate(read);
    bytes.shrink_to_fit();
    Ok(Open { stream, bytes })
}

impl Open {
    /// Reads until the server closes the connection.
    pub(crate) async fn end(mut self) -> Answer {
        // A reset connection still has the bytes it received.
        let _ = self.stream.read_to_end(&mut self.bytes).await;
        Answer::read(&self.bytes)
    }
}

/// Sends a request and reads the response to its end.
pub(crate) async fn ask(address: &str, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
    Ok(open(address, method, path, body).await?.end().await)
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let none = Self { status: 0, body: Vec::new(), whole: false };
        let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return none };
        let head = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut rest = &bytes[at + 4..];
        if !head.contains("transfer-encoding: chunked") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let whole = length.is_some_and(|length| length.trim().parse() == Ok(rest.len()));
            return Self { status, body: rest.to_vec(), whole };
        }
        let (mut body, mut whole) = (Vec::new(), false);
        while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
            let size =
                std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
            let Some(chunk) = size.and_then(|size| rest.get(end + 2..end + 2 + size)) else { break };
            if chunk.is_empty() {
                whole = true;
                break;
            }
            body.extend_from_slice(chunk);
            rest = rest.get(end + 4 + chunk.len()..).unwrap_or_default();
        }
        Self { status, body, whole }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&self.body)))
    }

    /// The state that a dialect's client has at the end of the stream: run status and the text of the last
    /// answer.
    pub(crate) fn shown(&self, dialect: &str) -> (RunStatus, String) {
        let dialect = headwater_dialects::reader(dialect).unwrap();
        let mut decoder = Decoder::new(dialect, Framing::Sse);
        let (mut state, mut decoded) = (RunState::with_rules(dialect.rules()), DecodeOutput::default());
        decoder.feed(&self.body, &mut decoded);
        decoder.finish(&mut decoded);
        for record in &decoded.records {
            let _ = state.apply(record);
        }
        state.end_of_stream();
        let text = state.messages().last().map(headwater_protocol::Message::plain_text).unwrap_or_default();
        (state.run().status, text)
    }
}

/// Runs a future on a runtime of its own.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}
