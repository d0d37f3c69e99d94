//! Generated requests to a real server: our own generator, which is a test of the command line, and Schemathesis, which
//! reads the OpenAPI document and holds each answer to it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::command::{Failure, cargo, command, run};
use crate::report::{Counts, SuiteOutcome};
use crate::suite::{self, FIGURE, Suite};
use crate::{Optional, clients, root, tools};

/// Where the version of Schemathesis is pinned.
const FOLDER: &str = "conformance/http";
/// The tests that send what we generate.
const TESTS: &str = "http_garbage::";
/// How many requests they send.
const REQUESTS: &str = "HEADWATER_REQUESTS";

/// What an answer is held to: the document, and no errors of the server. Omissions judge the document instead of
/// the server: a dialect's body is described loosely, because its client may send more than we read.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";

/// What the server writes to standard error, in its folder.
const LOG: &str = "log.txt";
/// By how many bytes the server may have grown after all requests: its caches, and the index of what it stores.
const GROWTH: u64 = 256 << 20;

/// The part of `cargo xtask test`: a short count.
pub(crate) fn test(root: &Path, without: &[Optional]) -> Result<SuiteOutcome, Failure> {
    // The whole workspace, so that nothing is built again with other features.
    let mut tests = cargo(root, &["test", "--workspace", "--test", "cli", TESTS, "--", "--nocapture"]);
    tests.env(REQUESTS, "1500");
    let finished = run(tests)?;
    let mut counts = suite::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    let told = finished.output.lines().filter_map(|line| Some(line.split_once(FIGURE)?.1.to_owned()));
    let mut outcome = SuiteOutcome { counts, notes: told.collect(), output: finished.output };
    if without.contains(&Optional::Vendors) {
        outcome.notes.push("--without vendors: no requests by Schemathesis".to_owned());
        outcome.counts.add(Counts::SKIPPED);
        return Ok(outcome);
    }
    let second = schemathesis(root, &clients::build(root)?, 8)?;
    outcome.counts.add(second.counts);
    outcome.notes.extend(second.notes);
    if second.counts.failed > 0 {
        outcome.output.push_str(&second.output);
    }
    Ok(outcome)
}

/// The long form: so many requests of ours, and as many of Schemathesis as it makes of a hundred examples each.
pub(crate) fn http(requests: u64, write: bool, without: &[Optional]) -> Result<ExitCode, Failure> {
    anstream::println!("{requests} requests; a hundred thousand take some minutes");
    let settings = [(REQUESTS, &*requests.to_string())];
    let ours =
        Suite { name: "our requests", package: "headwater-command", filter: TESTS, settings: &settings };
    let command = format!("cargo xtask garbage --http {requests}");
    let ended = suite::long(&[ours])?.settle(write.then_some(&*command))?;
    if without.contains(&Optional::Vendors) {
        return Ok(ended);
    }
    anstream::println!("== schemathesis");
    let root = root();
    let built = run(cargo(&root, &["build", "--release", "--bin", "headwater"]))?;
    if !built.ok {
        return Err(Failure::new(format!("headwater cannot be built:\n{}", built.output)));
    }
    let examples = u32::try_from(requests / 1_000).unwrap_or(u32::MAX).max(1);
    let outcome = schemathesis(&root, &clients::target(&root).join("release/headwater"), examples)?;
    for note in &outcome.notes {
        anstream::println!("   {note}");
    }
    if outcome.counts.failed > 0 {
        anstream::println!("{}", outcome.output);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ended)
}

/// What Python 3.11 fails with when two threads parse source at once, as Hypothesis does to name a filter: they share a
/// counter of depth (CPython's gh-106905). It says nothing about the server.
const PYTHON_RACE: &str = "SystemError: AST constructor recursion depth mismatch";
/// How often Schemathesis is started before such a failure counts.
const ATTEMPTS: usize = 4;

/// Lets Schemathesis send requests to a server that has nothing stored yet.
fn schemathesis(root: &Path, binary: &Path, examples: u32) -> Result<SuiteOutcome, Failure> {
    let python = tools::install_python(&root.join(FOLDER), &root.join("target/http-venv"))?;
    for attempt in 1..ATTEMPTS {
        let outcome = schemathesis_once(&python, binary, examples)?;
        if !outcome.output.contains(PYTHON_RACE) {
            return Ok(outcome);
        }
        anstream::println!("   Python failed under Schemathesis, which starts again (attempt {attempt})");
    }
    schemathesis_once(&python, binary, examples)
}

fn schemathesis_once(python: &Path, binary: &Path, examples: u32) -> Result<SuiteOutcome, Failure> {
    let server = GarbageServer::start(binary)?;
    let document = format!("{}/openapi.json", server.url);
    let mut requests = command(&server.folder, python, &["-m", "schemathesis.cli", "run", &document]);
    requests.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--no-color"]);
    // One worker, so that [`PYTHON_RACE`] is rare.
    requests.args(["--seed", "1", "--request-timeout", "20", "--workers", "1", "--warnings", "off"]);
    requests.args(["--suppress-health-check", "all", "--continue-on-failure"]);
    requests.arg("--max-examples").arg(examples.to_string());
    let start = server.memory();
    let finished = run(requests)?;
    let mut output = finished.output;
    let sent = output.lines().find(|line| line.contains("generated"));
    let mut notes = vec![format!("schemathesis: {}", sent.unwrap_or("no count").trim())];
    let mut ok = finished.ok;
    match server.read_back() {
        Ok(read) => notes.push(format!("schemathesis: {read} sessions read back")),
        Err(why) => {
            ok = false;
            output = format!("{output}\n{why}\n");
        }
    }
    let logged = std::fs::read_to_string(server.folder.join(LOG)).unwrap_or_default();
    if logged.contains("panicked") {
        ok = false;
        output = format!("{output}\nthe server panicked:\n{logged}\n");
    }
    if let (Some(start), Some(end)) = (start, server.memory())
        && end > start + GROWTH
    {
        ok = false;
        output = format!("{output}\n{} MiB before the requests, {} MiB after\n", start >> 20, end >> 20);
    }
    let counts = if ok { Counts::PASSED } else { Counts::FAILED };
    Ok(SuiteOutcome { counts, notes, output })
}

/// A server with a folder of its own. Both are gone when it is dropped.
struct GarbageServer {
    child: Child,
    /// Held, so that the server can write.
    printed: BufReader<ChildStdout>,
    folder: PathBuf,
    url: String,
}

impl GarbageServer {
    fn start(binary: &Path) -> Result<Self, Failure> {
        let failed =
            |why: &dyn std::fmt::Display| Failure::new(format!("cannot start {}: {why}", binary.display()));
        let unique = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let folder = std::env::temp_dir().join(format!("headwater-garbage-{}-{unique}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| failed(&error))?;
        let mut serve = command(&folder, binary, &["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
        serve.args(["--set", "demo.pace=0ms", "--set", "fsync=never", "--set", "log.level=error"]);
        let log = std::fs::File::create(folder.join(LOG)).map_err(|error| failed(&error))?;
        let mut child = serve.stdout(Stdio::piped()).stderr(log).spawn().map_err(|error| failed(&error))?;
        let printed = child.stdout.take().ok_or_else(|| failed(&"it has no output"))?;
        let mut server = Self { child, printed: BufReader::new(printed), folder, url: String::new() };
        while server.url.is_empty() {
            let mut line = String::new();
            if server.printed.read_line(&mut line).map_err(|error| failed(&error))? == 0 {
                return Err(failed(&"it ended"));
            }
            let url = line.split_whitespace().find(|word| word.starts_with("http://"));
            server.url = url.map(|url| url.trim_end_matches('/').to_owned()).unwrap_or_default();
        }
        Ok(server)
    }

    /// The memory that it uses now, where the system reports it.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let found = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        found.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
    }

    /// Reads every session of every agent, and gives how many there are.
    fn read_back(&self) -> Result<usize, String> {
        let unknown = self.get("/v1/sessions?agent=no-such-agent", &[])?;
        let error = text(&unknown, "error").unwrap_or_default();
        // The error names the agents that there are.
        let agents: Vec<_> =
            error.split('`').skip(1).step_by(2).filter(|name| *name != "no-such-agent").collect();
        if agents.is_empty() {
            return Err(format!("the server names no agents: {unknown}"));
        }
        let mut read = 0;
        for agent in agents {
            let mut after = String::new();
            loop {
                let page = self.get(&format!("/v1/sessions?agent={agent}&limit=500{after}"), &["-f"])?;
                let unreadable = page.get("unreadable").and_then(serde_json::Value::as_array);
                if unreadable.is_none_or(|sessions| !sessions.is_empty()) {
                    return Err(format!("sessions of {agent} cannot be read: {page}"));
                }
                let sessions = page
                    .get("sessions")
                    .and_then(serde_json::Value::as_array)
                    .ok_or_else(|| format!("no list: {page}"))?;
                for id in sessions.iter().filter_map(|session| text(session, "id")) {
                    self.get(&format!("/v1/sessions/{}/messages", escape(id)), &["-f"])?;
                    read += 1;
                }
                match text(&page, "next") {
                    Some(next) => after = format!("&after={}", escape(next)),
                    None => break,
                }
            }
        }
        Ok(read)
    }

    fn get(&self, path: &str, options: &[&str]) -> Result<serde_json::Value, String> {
        let mut curl = command(&self.folder, "curl", &["-sS", &format!("{}{path}", self.url)]);
        curl.args(options);
        let finished = run(curl).map_err(|failure| failure.to_string())?;
        let read = serde_json::from_str(&finished.output).map_err(|error| error.to_string());
        read.ok().filter(|_| finished.ok).ok_or_else(|| format!("{path}: {}", finished.output))
    }
}

/// The text of a field.
fn text<'a>(value: &'a serde_json::Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

/// An id as a part of a path or query.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escaped = text
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    escaped.collect()
}

impl Drop for GarbageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
