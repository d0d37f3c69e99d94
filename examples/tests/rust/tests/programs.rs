//! The programs of `examples/rust`, each started as its folder says, on a port of the system's choice.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use headwater_testkit::engines::PostgresServer;
use serde_json::{Value, json};

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A program that serves, in a folder of its own. It is killed when dropped.
struct ExampleProgram {
    child: Child,
    address: String,
}

impl ExampleProgram {
    fn start(path: &str, folder: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(path)
            .current_dir(folder)
            .env("LISTEN", "127.0.0.1:0")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        assert!(printed.read_line(&mut line).unwrap() > 0, "{path} ended");
        let (_, address) = line.split_once("http://").unwrap_or_else(|| panic!("no address in {line}"));
        let address = address.split(['/', ' ', '\n']).next().unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request and reads the whole response.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }

    /// The JSON of a response, which may come in chunks.
    fn json(&self, method: &str, path: &str, headers: &str, body: &Value) -> Value {
        let response = self.ask(method, path, headers, body);
        let (begin, end) = (response.find('{'), response.rfind('}'));
        let json = begin.zip(end).map(|(begin, end)| &response[begin..=end]).unwrap_or_default();
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {response}"))
    }
}

impl Drop for ExampleProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(text: &str) -> Value {
    json!({ "id": "s1", "messages": [{ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": text }] }] })
}

#[test]
fn minimal_answers_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let program = ExampleProgram::start(env!("CARGO_BIN_EXE_minimal"), folder.path(), &[]);
    let answer = program.ask("POST", "/v1/ai-sdk/chat", "", &message("hello"));
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("You said: ") && answer.contains("hello"),
        "{answer}"
    );
    assert!(folder.path().join("data").is_dir(), "the runs are in the folder `data`");
}

#[test]
fn embedded_agent_keeps_the_routes_and_the_login_of_its_application() {
    let folder = tempfile::tempdir().unwrap();
    let program = ExampleProgram::start(env!("CARGO_BIN_EXE_embed-axum"), folder.path(), &[]);
    let ask = |path, cookie| program.ask("GET", path, cookie, &Value::Null);
    assert!(ask("/", "").contains("The page of the application"));
    assert!(ask("/elsewhere", "").contains("The application's own 404"));
    let refused = program.ask("POST", "/api/chat", "", &message("hello"));
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let answer = program.ask("POST", "/api/chat", "cookie: user=Ada\r\n", &message("hello"));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Ada asks"), "{answer}");
}

#[test]
fn support_desk_refunds_when_a_person_approves_and_keeps_its_runs_in_postgres() {
    let Some(postgres) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.url();
    let variables = [("DATABASE_URL", url.as_str()), ("API_KEY", KEY)];
    let key = format!("x-api-key: {KEY}\r\n");
    let program = ExampleProgram::start(env!("CARGO_BIN_EXE_support-desk"), folder.path(), &variables);
    let begin = json!({ "agent": "desk", "input": "My kettle arrived broken" });
    assert!(program.ask("POST", "/v1/runs", "", &begin).starts_with("HTTP/1.1 401 "));
    let run = program.json("POST", "/v1/runs", &key, &begin)["run"].as_str().unwrap().to_owned();
    let waiting = wait_for(&program, &run, &key, "waiting");
    assert_eq!(waiting["waitsFor"][0]["tool"]["name"], "refund", "{waiting}");

    // Another process with the same database has the run.
    drop(program);
    let program = ExampleProgram::start(env!("CARGO_BIN_EXE_support-desk"), folder.path(), &variables);
    let answer = format!("/v1/runs/{run}/answer");
    let answered = program.ask("POST", &answer, &key, &json!({ "approved": true }));
    assert!(answered.starts_with("HTTP/1.1 202 "), "{answered}");
    wait_for(&program, &run, &key, "finished");
    let events = program.ask("GET", &format!("/v1/runs/{run}/events"), &key, &Value::Null);
    assert!(events.contains("49 € for order 1042") && events.contains("Paid 49 € back"), "{events}");
}

/// The run, once its status is this.
fn wait_for(program: &ExampleProgram, run: &str, key: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let found = program.json("GET", &format!("/v1/runs/{run}"), key, &Value::Null);
        if found["run"]["status"] == status {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{found}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
