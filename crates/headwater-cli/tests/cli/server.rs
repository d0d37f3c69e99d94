//! A real server process, and requests to it.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

/// A server process. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Its log lines.
    logs: Receiver<String>,
    logger: Option<JoinHandle<()>>,
    /// Kept open: a restarted server prints its greeting again.
    _out: BufReader<ChildStdout>,
    /// The greeting it printed when it was ready.
    pub(crate) greeting: String,
    /// Its address, `127.0.0.1:PORT`.
    pub(crate) address: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether a chunked body has its last chunk.
    pub(crate) ended: bool,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl Server {
    /// Starts a server on a free port, with its data in a folder.
    pub(crate) fn start(data: &Path, args: &[&str]) -> Self {
        Self::start_on("127.0.0.1:0", data, args)
    }

    /// Starts a server on a port, with its data in a folder.
    pub(crate) fn start_on(listen: &str, data: &Path, args: &[&str]) -> Self {
        Self::start_with(listen, data, args, &[])
    }

    /// Starts a server on a port, with its data in a folder and environment variables.
    pub(crate) fn start_with(listen: &str, data: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_command(command(), "serve", listen, data, args, variables)
    }

    /// Starts a proxy on a free port, with its data in a folder and environment variables.
    pub(crate) fn start_proxy(data: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_command(command(), "proxy", "127.0.0.1:0", data, args, variables)
    }

    /// Starts a server whose files are limited to this many blocks of 512 bytes: then writing fails, as on a
    /// full disk.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_small(data: &Path, blocks: u32, args: &[&str]) -> Self {
        Self::start_command(small(blocks), "serve", "127.0.0.1:0", data, args, &[])
    }

    /// Starts a server with this limit on open files, soft and hard.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_with_files(data: &Path, (soft, hard): (u32, u32), args: &[&str]) -> Self {
        let mut limited = Command::new("sh");
        let script = format!("ulimit -S -n {soft} && ulimit -H -n {hard} && exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(binary());
        Self::start_command(limited, "serve", "127.0.0.1:0", data, args, &[])
    }

    fn start_command(
        mut program: Command,
        subcommand: &str,
        listen: &str,
        data: &Path,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = program
            .envs(variables.iter().copied())
            .args([subcommand, "--listen", listen, "--data"])
            .arg(data)
            .args(["--set", "demo.pace=0ms"])
            .args(args)
            .current_dir(data.parent().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, logs) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let logger = thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("{line}");
                // The test may have dropped its receiver.
                let _ = sender.send(line);
            }
        });
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        // The last line of the greeting.
        while !greeting.contains("/v1/runs\n") {
            assert!(out.read_line(&mut greeting).unwrap() > 0, "the server ended: {greeting}");
        }
        let at = greeting.find("http://").unwrap() + 7;
        let address = greeting[at..].split_whitespace().next().unwrap().to_owned();
        Self { child, logs, logger: Some(logger), _out: out, greeting, address }
    }

    /// Waits until a log line contains the text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        loop {
            let line = self.logs.recv_timeout(Duration::from_secs(60));
            if line.unwrap_or_else(|error| panic!("`{text}` was not logged: {error}")).contains(text) {
                return;
            }
        }
    }

    /// All log lines up to and including the one that contains the text.
    pub(crate) fn logged_until(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.logs.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|error| panic!("`{text}` was not logged: {error}"));
            let found = line.contains(text);
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// The log lines since the last call.
    pub(crate) fn logged(&self) -> Vec<String> {
        self.logs.try_iter().collect()
    }

    /// Sends a request and reads the response to its end.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(&self.address, method, path, headers, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], &body.to_string())
    }

    /// Sends a request to a server that may have exited.
    pub(crate) fn try_post(&self, path: &str, body: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok()?;
        (!bytes.is_empty()).then(|| read(&bytes))
    }

    /// Sends a request; the caller reads the response.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        send(&self.address, method, path, headers, body)
    }

    /// Kills the process, as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and returns the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }

    /// Ends the process and returns the remaining log.
    pub(crate) fn end(mut self) -> String {
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.child.wait().unwrap();
        let _ = self.logger.take().map(JoinHandle::join);
        self.logs.try_iter().map(|line| line + "\n").collect()
    }

    /// Waits until the process exits by itself and returns its exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.logger.take().map(JoinHandle::join);
    }
}

/// The binary, with files limited to this many blocks of 512 bytes.
#[cfg(target_os = "linux")]
pub(crate) fn small(blocks: u32) -> Command {
    let mut limited = Command::new("sh");
    // An ignored signal stays ignored in the program that replaces the shell.
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
    limited.args(["-c", &script]).arg(binary());
    limited
}

/// Sends a request to an address and reads the response to its end.
pub(crate) fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = send(address, method, path, headers, body);
    let mut bytes = Vec::new();
    // A connection reset after the response still has the response; one without a response fails in `read`.
    let _ = stream.read_to_end(&mut bytes);
    read(&bytes)
}

fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    // A test that fails is better than one that hangs.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A body that is too large is refused before it was read completely; the response says so.
    let _ = stream.write_all(body.as_bytes());
    stream
}

/// The binary that is tested: what `HEADWATER_BINARY` names, such as an optimised build, or the one of this build.
pub(crate) fn binary() -> PathBuf {
    env::var_os("HEADWATER_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_headwater").into(), PathBuf::from)
}

/// The binary, without settings from the environment of the tests.
pub(crate) fn command() -> Command {
    let mut command = Command::new(binary());
    let sets = |name: &str| name.starts_with("HEADWATER_") || name.starts_with("OTEL_");
    for (name, _) in env::vars().filter(|(name, _)| sets(name)) {
        command.env_remove(name);
    }
    command
}

/// Parses a response and joins the chunks of its body.
fn read(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (mut body, mut ended) = (String::new(), false);
    if head.to_lowercase().contains("transfer-encoding: chunked") {
        let mut left = rest.as_bytes();
        while let Some(end) = left.windows(2).position(|pair| pair == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&left[..end]).unwrap(), 16).unwrap();
            // A truncated stream ends within a chunk.
            let chunk = &left[(end + 2).min(left.len())..(end + 2 + size).min(left.len())];
            body.push_str(&String::from_utf8_lossy(chunk));
            left = &left[(end + size + 4).min(left.len())..];
            if size == 0 {
                ended = true;
                break;
            }
        }
        rest = "";
    }
    body.push_str(rest);
    Answer { status, head: head.to_owned(), body, ended }
}

/// A line of `/proc/PID/status`, in bytes.
pub(crate) fn memory(pid: u32, line: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let found = status.lines().find_map(|known| known.strip_prefix(line)?.strip_prefix(':'))?;
    found.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
}
