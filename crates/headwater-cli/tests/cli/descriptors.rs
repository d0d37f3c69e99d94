//! A server without free file descriptors keeps writing its active runs.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    thread,
    time::Duration,
};

use headwater_store::{Embedded, Expect, Store as _};
use serde_json::{Value, json};

use crate::{run::headwater, server::Server};

const FILES: usize = 100;
/// A segment is full at 64 MiB.
const SEGMENT: u64 = 64 << 20;

/// The number of files that a process has open.
fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("never: {what}");
}

/// Fills the first segment of a store up to its last MiB.
fn fill(store: &Path) {
    let opened = Embedded::open(store).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let segment = store.join("0000000000000001.seg");
    while segment.metadata().unwrap().len() < SEGMENT - (2 << 20) {
        runtime
            .block_on(opened.put("filler", vec![b'x'; 1_000_000].into(), Expect::Any, None))
            .unwrap_or_else(|error| panic!("{error}: a value has room for its bytes and its key"));
    }
    runtime.block_on(opened.remove("filler", Expect::Any)).unwrap();
}

/// A connection accepted before descriptors ran out, used for all requests.
struct OpenConnection {
    stream: BufReader<TcpStream>,
    address: String,
}

impl OpenConnection {
    fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.stream.get_mut().write_all(head.as_bytes()).unwrap();
        self.stream.get_mut().write_all(body.as_bytes()).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the connection was closed");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            }
            if let Some(told) = line.strip_prefix("content-length: ") {
                length = told.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Starts runs with large inputs.
    fn runs(&mut self, count: usize) -> Vec<String> {
        let body = json!({ "agent": "table", "input": "x".repeat(200_000) }).to_string();
        let start = |_| {
            let (status, started) = self.ask("POST", "/v1/runs", &body);
            assert_eq!(status, 201, "{started}");
            started["run"].as_str().unwrap().to_owned()
        };
        (0..count).map(start).collect()
    }
}

#[test]
fn run_without_free_descriptors_crosses_a_segment() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = data.join("store");
    assert_eq!(Server::start(&data, &[]).terminate(), Some(0));
    fill(&store);
    let next = store.join("0000000000000002.seg");
    assert!(!next.exists());

    let hard = u32::try_from(FILES).unwrap();
    let many = ["--set", "limits.connections=1000", "--set", "limits.idle=10m", "--set", "fsync=never"];
    let server = Server::start_with_files(&data, (64, hard), &many);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let limit = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(limit.split_whitespace().nth(3), Some("100"), "the soft limit is raised: {limit}");

    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut connected = OpenConnection { stream: BufReader::new(stream), address: server.address.clone() };
    assert_eq!(connected.ask("GET", "/healthz", "").0, 200);
    let idle: Vec<_> = (0..FILES).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    server.wait_for_log("cannot accept a connection");
    // An inherited descriptor may lie above the limit.
    assert!(open_files(server.pid()) >= FILES, "all descriptors are in use");

    // More than the segment has room for: the reserve holds a descriptor for the next one.
    let mut runs = connected.runs(30);
    wait_until("the next segment is begun", || next.exists());
    assert_eq!(connected.ask("GET", "/healthz", "").0, 200);
    for run in &runs {
        assert_eq!(connected.ask("GET", &format!("/v1/runs/{run}"), "").0, 200);
    }
    drop(idle);
    wait_until("descriptors are free again", || open_files(server.pid()) < FILES - 40);
    runs.extend(connected.runs(3));
    for run in &runs {
        assert_eq!(server.get(&format!("/v1/runs/{run}")).status, 200);
    }
    drop(connected);
    assert_eq!(server.terminate(), Some(0));
    let checked = headwater(&["store", "check", store.to_str().unwrap()], "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
}
