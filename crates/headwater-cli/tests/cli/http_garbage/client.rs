//! A client that can send any method, any header and any bytes.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::generate::Request;

/// How long the server may take to begin its response.
const PATIENCE: Duration = Duration::from_secs(60);
/// The size of a body above which the kernel may hold bytes that the server has not read.
const LARGE: usize = 16 << 10;
/// The maximum number of bytes read of a response.
const READ: u64 = 4 << 20;

pub(super) struct Client {
    address: String,
    open: Option<BufReader<TcpStream>>,
}

/// How much to read of a body without a length.
#[derive(Clone, Copy, PartialEq)]
enum Streams {
    Begin,
    ToTheEnd,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Client {
    pub(super) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), open: None }
    }

    pub(super) fn get(&mut self, target: &str) -> Reply {
        let request =
            Request { method: "GET".into(), target: target.into(), headers: Vec::new(), body: Vec::new() };
        self.read(&request, Streams::ToTheEnd).unwrap_or_else(|error| panic!("GET {target}: {error}"))
    }

    /// Sends a request and reads the response; of a stream only the beginning.
    pub(super) fn send(&mut self, request: &Request) -> io::Result<Reply> {
        self.read(request, Streams::Begin)
    }

    fn read(&mut self, request: &Request, streams: Streams) -> io::Result<Reply> {
        let reused = self.open.is_some();
        match self.attempt(request, streams) {
            // The server may close an idle connection just when the request is sent. If it responds before it
            // has read a large body and then closes, the reset may destroy the response.
            Err(_) if reused || request.body.len() > LARGE => self.attempt(request, streams),
            reply => reply,
        }
    }

    fn attempt(&mut self, request: &Request, streams: Streams) -> io::Result<Reply> {
        let mut stream = match self.open.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        let mut sent =
            format!("{} {} HTTP/1.1\r\nhost: {}\r\n", request.method, request.target, self.address)
                .into_bytes();
        for (name, value) in &request.headers {
            sent.extend_from_slice(name.as_bytes());
            sent.extend_from_slice(b": ");
            sent.extend_from_slice(value);
            sent.extend_from_slice(b"\r\n");
        }
        if !request.body.is_empty() || request.method == "POST" {
            sent.extend_from_slice(format!("content-length: {}\r\n", request.body.len()).as_bytes());
        }
        sent.extend_from_slice(b"\r\n");
        sent.extend_from_slice(&request.body);
        // A server that refuses by the headers alone closes before it has read the body; its response is
        // still there.
        let written = stream.get_mut().write_all(&sent);
        let mut head = String::new();
        loop {
            let mut line = Vec::new();
            let read = stream.read_until(b'\n', &mut line);
            match (read, &written) {
                (Ok(0), Ok(())) => return Err(io::ErrorKind::UnexpectedEof.into()),
                (Ok(0), Err(error)) => return Err(io::Error::new(error.kind(), "cut without an answer")),
                (Err(error), _) => return Err(error),
                (Ok(_), _) => {}
            }
            if line == b"\r\n" {
                break;
            }
            head.push_str(&String::from_utf8_lossy(&line));
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let header = |wanted: &str| field(&head, wanted);
        let length = header("content-length").and_then(|length| length.parse::<u64>().ok());
        let closes = header("connection").is_some_and(|how| how.eq_ignore_ascii_case("close"));
        let bodiless = request.method == "HEAD" || matches!(status, 204 | 304);
        let mut body = Vec::new();
        match length {
            _ if bodiless => {}
            Some(length) if length <= READ => {
                stream.by_ref().take(length).read_to_end(&mut body)?;
            }
            None if streams == Streams::ToTheEnd => {
                body = read_chunks(&mut stream)?;
            }
            // A stream may have no end: its head is enough.
            _ => return Ok(Reply { status, head, body: String::new() }),
        }
        if written.is_ok() && !closes && (bodiless || length.is_some() || !body.is_empty()) {
            self.open = Some(stream);
        }
        Ok(Reply { status, head, body: String::from_utf8_lossy(&body).into_owned() })
    }
}

impl Reply {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }
}

fn field<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
}

/// Reads a chunked body including its last chunk.
fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(broken("the body has no last chunk"));
        }
        let size = line.trim_end().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(|_| broken(&format!("{line:?} is not a size")))?;
        stream.by_ref().take(size).read_to_end(&mut body)?;
        let mut end = String::new();
        stream.read_line(&mut end)?;
        if end != "\r\n" {
            return Err(broken("a chunk is longer or shorter than its size"));
        }
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Decodes an id from a path segment.
pub(super) fn unescape(part: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encodes an id for a path or query.
pub(super) fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escaped = text
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    escaped.collect()
}
