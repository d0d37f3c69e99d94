//! `headwater serve` and `headwater config`: the real binary over HTTP.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    reason::provider::{Provider, Reply},
    server::{Answer, Server, command},
};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs an agent until it waits or ends, and returns all of its text.
fn said(server: &Server, agent: &str, input: &str) -> String {
    let started = server.post("/v1/runs", &json!({ "agent": agent, "input": input }));
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["run"].as_str().unwrap().to_owned();
    text(&server.get(&format!("/v1/runs/{run}/events")))
}

fn text(answer: &Answer) -> String {
    events(&answer.body)
        .into_iter()
        .filter_map(|(name, record)| match name.as_str() {
            "block-delta" if record["event"]["kind"] == "text" => {
                Some(record["event"]["delta"].as_str().unwrap().to_owned())
            }
            "message" => Some(record["event"]["content"].as_str().unwrap().to_owned()),
            _ => None,
        })
        .collect()
}

/// The named events of a stream.
fn events(stream: &str) -> Vec<(String, Value)> {
    let block = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        Some((field("event: ")?, serde_json::from_str(&field("data: ")?).unwrap()))
    };
    stream.split("\n\n").filter_map(block).collect()
}

#[test]
fn serve_without_files_serves_the_demo_agents() {
    let folder = folder();
    let server = Server::start(&folder.path().join("data"), &[]);
    for dialect in ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"] {
        let line = format!("POST http://{}/v1/{dialect}/chat", server.address);
        assert!(server.greeting.contains(&line), "{line} in {}", server.greeting);
    }
    assert!(server.greeting.contains("reachable from this machine only"), "{}", server.greeting);
    assert!(
        server.greeting.contains("travel, research, support, chat (default), email, tools, table, flaky"),
        "{}",
        server.greeting
    );
    assert_eq!(said(&server, "table", "planets"), "Planets: 4 rows.");
    assert_eq!(said(&server, "tools", "weather in Oslo"), "In Oslo it is 13 °C and rainy.");

    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("text/html"), "{}", page.head);
    let policy = page.head.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let script = page.body.split("src=\".").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let script = server.get(script);
    assert_eq!(script.status, 200);
    assert!(script.head.contains("text/javascript") && script.head.contains("immutable"), "{}", script.head);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn studio_restart_keeps_runs_and_is_only_for_the_demo() {
    let folder = folder();
    let server = Server::start(&folder.path().join("data"), &[]);
    let before = server.get("/studio/process").json();
    assert_eq!(before["canRestart"], json!(true));
    let run = server.post("/v1/runs", &json!({ "agent": "table", "input": "planets" })).json()["run"].clone();
    assert_eq!(server.post("/studio/restart", &json!({})).status, 202);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // A request may reach the old process while it ends, or neither of them.
    let is_restarted = || {
        let mut reply = String::new();
        let request =
            format!("GET /studio/process HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
        let asked = std::net::TcpStream::connect(&server.address).and_then(|mut stream| {
            std::io::Write::write_all(&mut stream, request.as_bytes())?;
            stream.read_to_string(&mut reply)
        });
        asked.is_ok() && reply.contains("startedAt") && !reply.contains(&before["startedAt"].to_string())
    };
    while !is_restarted() {
        assert!(std::time::Instant::now() < deadline, "the server was not restarted");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let events = server.get(&format!("/v1/runs/{}/events?until=end", run.as_str().unwrap()));
    assert!(events.body.contains("event: run-finished"), "{}", events.body);
    assert_eq!(server.terminate(), Some(0));

    for (args, process) in [(["--store", "memory:"], 200), (["--api-key", "sesame-sesame-sesame"], 404)] {
        let server = Server::start(&folder.path().join("other"), &args);
        assert_eq!(server.get("/studio/process").status, process, "{args:?}");
        assert_eq!(server.post("/studio/restart", &json!({})).status, 404, "{args:?}");
    }
}

#[test]
fn studio_page_and_unknown_routes_are_answered() {
    let folder = folder();
    let server = Server::start(&folder.path().join("data"), &["--store", "memory:"]);
    for (method, path, status, code) in [
        ("GET", "/v1/nope", 404, "route.unknown"),
        ("GET", "/nope", 404, "route.unknown"),
        ("POST", "/", 405, "method.unsupported"),
        ("DELETE", "/v1/runs", 405, "method.unsupported"),
    ] {
        let answer = server.ask(method, path, &[("x-request-id", "r-7")], "");
        assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{method} {path}");
        assert!(answer.head.contains("\r\nx-request-id: r-7"), "{}", answer.head);
        assert_eq!(status == 405, answer.head.contains("\r\nallow: "), "{}", answer.head);
    }
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nhost: evil.test\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut refused = String::new();
    stream.read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("host.refused"), "{refused}");
}

#[test]
fn wildcards_without_keys_are_refused_at_startup() {
    for setting in ["cors=*", "hosts=*"] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--set", setting];
        let output = command().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{setting}");
        let refused = String::from_utf8(output.stderr).unwrap();
        assert!(refused.contains("`*` needs keys"), "{refused}");
    }
}

#[test]
fn same_input_gives_the_same_text_in_every_dialect() {
    let folder = folder();
    let server = Server::start(&folder.path().join("data"), &["--store", "memory:"]);
    let expected = said(&server, "chat", "hello");
    for line in readme_lines() {
        let answer = run_line(&line, &server);
        let dialect = line.split("/v1/").nth(1).unwrap().split(['/', ' ']).next().unwrap().to_owned();
        let reduced = crate::run::headwater(&["reduce", "--dialect", &dialect], answer.as_str());
        assert_eq!(reduced.code, Some(0), "{dialect}: {reduced:?} of {answer}");
        let state = reduced.json();
        let parts = state["messages"].as_array().unwrap().iter().flat_map(|message| {
            message["parts"].as_array().unwrap().iter().filter(|part| part["type"] == "text")
        });
        let text: String = parts.map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(text, expected, "{dialect}");
    }
}

#[test]
fn readme_commands_work_and_can_be_repeated() {
    let folder = folder();
    let server = Server::start(&folder.path().join("data"), &[]);
    let lines = readme_lines();
    assert_eq!(lines.len(), 7, "{lines:?}");
    for line in lines {
        let first = run_line(&line, &server);
        assert!(first.contains("Hello!"), "{line}: {first}");
        let again = run_line(&line, &server);
        assert!(again.contains("Hello!"), "{line}: {again}");
    }
}

/// The lines of the README that call a server.
fn readme_lines() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let asks = |line: &&str| line.starts_with("$ curl ");
    readme.lines().filter(asks).map(|line| line.trim_start_matches("$ ").to_owned()).collect()
}

/// Runs a line of the README against the test's own server.
fn run_line(line: &str, server: &Server) -> String {
    let line = line.replace("127.0.0.1:8787", &server.address).replacen("curl", "curl -sS --max-time 60", 1);
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn reader_resumes_after_the_server_was_killed() {
    let folder = folder();
    let data = folder.path().join("data");
    let server = Server::start(&data, &["--set", "demo.pace=20ms"]);
    let address = server.address.clone();
    let run = server.post("/v1/runs", &json!({ "agent": "chat", "input": "hello" })).json()["run"].clone();
    let path = format!("/v1/runs/{}/events", run.as_str().unwrap());

    // Read some of the text, and the cursor after it.
    let mut lines = BufReader::new(server.send("GET", &path, &[], "")).lines();
    let (mut cursor, mut deltas) = (String::new(), 0);
    while deltas < 5 {
        let line = lines.next().unwrap().unwrap();
        if let Some(id) = line.strip_prefix("id: ") {
            id.clone_into(&mut cursor);
        } else if line == "event: block-delta" {
            deltas += 1;
        }
    }
    server.kill();

    let server = Server::start_on(&address, &data, &["--set", "demo.pace=0ms"]);
    let rest = server.ask("GET", &path, &[("last-event-id", &cursor)], "");
    let after = events(&rest.body);
    let names: Vec<_> = after.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"attempt-retracted"), "the attempt of the dead process is retracted: {names:?}");
    assert_eq!(*names.last().unwrap(), "run-finished", "{names:?}");
    assert_eq!(text(&rest), said(&server, "chat", "hello"), "and its text is sent again, complete");
}

#[test]
fn stopping_server_refuses_new_runs_and_lets_active_runs_end() {
    let folder = folder();
    let file = folder.path().join("slow.yaml");
    let agent = "name: slow\nworkflows: { w: { start: a, nodes: { a: { wait: 10s } } } }\n";
    std::fs::write(&file, agent).unwrap();
    let settings = [file.to_str().unwrap(), "--set", "shutdown=60s", "--lease", "5s"];
    let server = Server::start(&folder.path().join("data"), &settings);
    let run = server.post("/v1/runs", &json!({ "input": "x" })).json()["run"].clone();
    let path = format!("/v1/runs/{}/events", run.as_str().unwrap());
    let mut reader = BufReader::new(server.send("GET", &path, &[], ""));
    let mut seen = String::new();
    while !seen.contains("run-started") {
        assert!(reader.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    let kill = format!("kill -TERM {}", server.pid());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    server.wait_for_log("no new runs are accepted");
    while server.get("/readyz").status != 503 {}
    let refused = server.post("/v1/runs", &json!({ "input": "x" }));
    assert_eq!((refused.status, refused.json()["code"].clone()), (503, json!("server.stopping")));
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    reader.read_to_string(&mut seen).unwrap();
    assert!(seen.contains("event: run-finished"), "the reader gets the end: {seen}");
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn stopped_server_disconnects_readers_and_runs_continue_later() {
    let folder = folder();
    let data = folder.path().join("data");
    let server = Server::start(&data, &["--set", "demo.pace=1h", "--set", "shutdown=100ms"]);
    let run = server.post("/v1/runs", &json!({ "agent": "flaky", "input": "x" })).json()["run"].clone();
    let path = format!("/v1/runs/{}/events", run.as_str().unwrap());
    let mut reader = BufReader::new(server.send("GET", &path, &[], ""));
    let mut seen = String::new();
    while !seen.contains("attempt-started") {
        assert!(reader.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    assert_eq!(server.terminate(), Some(0));
    reader.read_to_string(&mut seen).unwrap();
    assert!(
        !seen.contains("event: run-finished") && !seen.contains("event: run-failed"),
        "a truncated stream looks truncated: {seen}"
    );

    let server = Server::start(&data, &[]);
    let whole = text(&server.get(&path));
    assert!(whole.contains("this is the second model"), "{whole}");
}

#[test]
fn port_or_folder_in_use_is_reported_with_a_remedy() {
    let folder = folder();
    let data = folder.path().join("data");
    let server = Server::start(&data, &[]);
    let other = folder.path().join("other");
    let refused = fails(&["serve", "--listen", &server.address, "--data", other.to_str().unwrap()]);
    assert!(refused.contains(&format!("{} is in use: stop the program", server.address)), "{refused}");
    assert!(refused.contains("--listen 127.0.0.1:0"), "{refused}");
    let refused = fails(&["serve", "--listen", &server.address, "--data", data.to_str().unwrap()]);
    let who = format!("stop the headwater process {}, which listens there", server.pid());
    assert!(refused.contains(&who), "{refused}");

    let refused = fails(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let who = format!("the headwater process {}, which listens on {}", server.pid(), server.address);
    assert!(refused.contains(&who), "{refused}");
    assert!(refused.contains("--data DIR"), "{refused}");
}

#[test]
fn public_address_without_keys_is_refused() {
    let folder = folder();
    let data = folder.path().join("data");
    let refused = fails(&["serve", "--listen", "0.0.0.0:0", "--data", data.to_str().unwrap()]);
    assert!(refused.contains("set a key") && refused.contains("or listen on 127.0.0.1"), "{refused}");
}

#[test]
fn requests_without_a_key_are_refused_when_keys_are_set() {
    let folder = folder();
    let args = ["--api-key", "ann=0123456789abcdef", "--store", "memory:"];
    let server = Server::start(&folder.path().join("data"), &args);
    assert!(server.greeting.contains("clients need an API key"), "{}", server.greeting);
    assert!(!server.greeting.contains("0123456789abcdef"), "a key is never printed");
    let body = r#"{"agent":"table","input":"x"}"#;
    assert_eq!(server.ask("POST", "/v1/runs", &[], body).status, 401);
    let wrong = [("authorization", "Bearer fedcba9876543210")];
    assert_eq!(server.ask("POST", "/v1/runs", &wrong, body).status, 401);
    let right = [("authorization", "Bearer 0123456789abcdef")];
    assert_eq!(server.ask("POST", "/v1/runs", &right, body).status, 201);
}

#[test]
fn watch_reloads_changed_files_and_keeps_broken_ones() {
    let folder = folder();
    let path = folder.path().join("hello.yaml");
    let write = |said: &str| {
        let text = format!(
            "name: hello\nworkflows: {{ w: {{ start: n, nodes: {{ n: {{ message: \"{said}\" }} }} }} }}\n"
        );
        fs::write(&path, text).unwrap();
    };
    write("One");
    let server = Server::start(&folder.path().join("data"), &[path.to_str().unwrap(), "--watch"]);
    assert!(server.greeting.contains("hello (default)"), "{}", server.greeting);
    assert_eq!(said(&server, "hello", "x"), "One");
    fs::write(&path, "name: hello\nworkflow: {}\n").unwrap();
    server.wait_for_log("did you mean `workflows`?");
    assert_eq!(said(&server, "hello", "x"), "One");
    write("Two, and longer");
    server.wait_for_log("agent reloaded");
    assert_eq!(said(&server, "hello", "x"), "Two, and longer");
}

#[test]
fn deleted_agent_file_refuses_new_turns_and_finishes_active_ones() {
    let folder = folder();
    let agents = folder.path().join("agents");
    fs::create_dir(&agents).unwrap();
    let asks = "name: asks\nworkflows: { w: { start: n, nodes: { n: { interrupt: { ask: Which?, \
                options: [{ id: a, label: A }] } } } } }\n";
    let says = "name: says\nworkflows: { w: { start: n, nodes: { n: { message: Hello } } } }\n";
    let path = agents.join("asks.yaml");
    fs::write(&path, asks).unwrap();
    fs::write(agents.join("says.yaml"), says).unwrap();
    let server = Server::start(&folder.path().join("data"), &[agents.to_str().unwrap(), "--watch"]);
    let begin =
        |agent: &str| server.post("/v1/runs", &json!({ "agent": agent, "input": "x", "session": "s" }));
    let begun = begin("asks");
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    let events = format!("/v1/runs/{run}/events?until=wait");
    assert!(server.get(&events).body.contains("run-waiting"));

    fs::remove_file(&path).unwrap();
    server.wait_for_log("agent file deleted");
    let refused = begin("asks");
    assert_eq!((refused.status, refused.json()["code"].clone()), (404, json!("agent.unknown")));
    let refused = server.post("/v1/sessions/s/messages", &json!({ "text": "x" }));
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (404, json!("agent.unknown")),
        "{refused:?}"
    );
    let unnamed = server.post("/v1/runs", &json!({ "input": "x" }));
    assert_eq!(unnamed.status, 404, "no other agent takes its place: {unnamed:?}");
    assert_eq!(said(&server, "says", "x"), "Hello");
    let answered = server.post(&format!("/v1/runs/{run}/answer"), &json!({ "answer": "a" }));
    assert_eq!(answered.status, 202, "{answered:?}");
    assert!(server.get(&format!("/v1/runs/{run}/events?until=end")).body.contains("event: run-finished"));

    fs::write(&path, asks).unwrap();
    server.wait_for_log("agent reloaded");
    assert_eq!(begin("asks").status, 201);
}

#[test]
fn recorded_provider_responses_are_replayed_without_the_provider() {
    let folder = folder();
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"From afar\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let provider = Provider::start([Reply::stream(body)]);
    let path = folder.path().join("far.yaml");
    let text = "name: far\nmodels: { m: \"openai-compatible:some-model\" }\n\
                workflows: { w: { start: n, nodes: { n: { reason: { model: m } } } } }\n";
    fs::write(&path, text).unwrap();
    let tapes = folder.path().join("tapes");
    let (path, tapes) = (path.to_str().unwrap(), tapes.to_str().unwrap());
    let url = provider.url();
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let start = |data: &str, flag: &str| {
        let data = folder.path().join(data);
        Server::start_with("127.0.0.1:0", &data, &[path, flag, tapes], &variables)
    };
    let recording = start("one", "--record");
    assert_eq!(said(&recording, "far", "hello"), "From afar");
    assert_eq!(recording.terminate(), Some(0));
    let playing = start("two", "--replay");
    assert_eq!(said(&playing, "far", "hello"), "From afar");
    assert_eq!(provider.asked().len(), 1, "the provider was not called the second time");
}

#[test]
fn served_run_is_replayed_while_its_server_runs_and_after_it() {
    let folder = folder();
    let data = folder.path().join("data");
    let server = Server::start(&data, &[]);
    let run = server.post("/v1/runs", &json!({ "agent": "tools", "input": "weather in Paris" })).json();
    let run = run["run"].as_str().unwrap();
    server.get(&format!("/v1/runs/{run}/events"));
    let replay = |name: &[&str]| {
        let output = command().args(name).args([run, "--store", data.to_str().unwrap()]).output().unwrap();
        assert!(output.status.success(), "{name:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    replay(&["runs", "replay"]);
    assert_eq!(server.terminate(), Some(0));
    replay(&["replay"]);
}

#[test]
fn config_shows_the_origin_of_settings_and_hides_secrets() {
    let folder = folder();
    let toml = "heartbeat = \"7s\"\n[api_keys]\nann = \"0123456789abcdef\"\n";
    fs::write(folder.path().join("headwater.toml"), toml).unwrap();
    let run = |args: &[&str]| {
        let mut command = command();
        command.current_dir(folder.path()).env("HEADWATER_DATA", "here").args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = run(&["config", "--listen", "127.0.0.1:1"]);
    for (name, value, origin) in [
        ("listen", "127.0.0.1:1", "--listen"),
        ("data", "here", "$HEADWATER_DATA"),
        ("store", "file:here/store", "default"),
        ("heartbeat", "7s", "headwater.toml:1"),
        ("api_keys", "ann=…", "headwater.toml:2"),
        ("limits.body", "1MiB", "default"),
    ] {
        let fits = |line: &str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields == [name, value, origin]
        };
        assert!(shown.lines().any(fits), "{name} {value} {origin} in {shown}");
    }
    let told: Value = serde_json::from_str(&run(&["config", "--json"])).unwrap();
    assert_eq!(told["heartbeat"]["value"], "7s");
    assert_eq!(told["heartbeat"]["variable"], "HEADWATER_HEARTBEAT");
    assert_eq!(told["api_keys"]["value"], json!({ "ann": "…" }));
    assert!(!told.to_string().contains("0123456789abcdef"));
}

#[test]
fn unknown_setting_is_refused_with_a_suggestion() {
    assert_eq!(
        fails(&["config", "--set", "heartbaet=1s"]),
        "error: --set heartbaet=1s: unknown setting `heartbaet`: did you mean `heartbeat`?\n"
    );
    assert_eq!(
        fails(&["serve", "--config", "no/such.toml"]),
        "error: cannot read no/such.toml: there is no such file\n"
    );
}

/// Runs a command that must fail, and returns its error output.
fn fails(args: &[&str]) -> String {
    let output = command().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}
