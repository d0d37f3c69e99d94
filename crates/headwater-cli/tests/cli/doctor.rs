//! `headwater doctor`.

use std::{fs, net::TcpListener, path::Path};

use serde_json::Value;

use crate::{
    reason::provider::{Provider, Reply},
    run::CommandRun,
    server::{Server, command},
};

/// Runs the check of a server with its data in a folder, on a free port unless the arguments name one.
fn doctor(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> CommandRun {
    let mut command = command();
    command.arg("doctor").args(["--set", "listen=127.0.0.1:0"]).args(args).envs(variables.iter().copied());
    for key in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        if !variables.iter().any(|(name, _)| *name == key) {
            command.env(key, "");
        }
    }
    let output = command.env("COLUMNS", "140").current_dir(folder).output().unwrap();
    CommandRun {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The state and the message of a check.
fn check(ran: &CommandRun, name: &str) -> (String, String) {
    let report = ran.json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("{ran:?}"));
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    (text("state"), text("message"))
}

#[test]
fn sound_setup_is_good_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let ran = doctor(folder.path(), &[], &[]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let checks: Vec<_> =
        ran.stdout.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>()).collect();
    assert_eq!(checks, [["✓", "settings"], ["✓", "keys"], ["✓", "store"], ["✓", "port"], ["✓", "agents"]]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is created");
}

#[test]
fn running_server_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data, &[]);
    let data = data.to_str().unwrap();
    let ran = doctor(folder.path(), &["--data", data, "--listen", &server.address, "--json"], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let pid = format!("is in use by process {}", server.pid());
    assert!(check(&ran, "store").1.contains(&pid), "{ran:?}");
    assert_eq!(check(&ran, "port"), ("good".to_owned(), format!("a server answers at {}", server.address)));
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let broken = folder.path().join("broken.yaml");
    fs::write(&broken, "name: broken\nworkflow: {}\n").unwrap();
    let inside = file.join("store");
    let cases: [(&str, &[&str], &str); 5] = [
        ("settings", &["--set", "heartbeat=soon"], "invalid duration `soon`"),
        ("keys", &["--api-key", "web=0123456789abcdef", "--set", "jwt.jwks=no-such.json"], "no-such.json"),
        ("store", &["--data", inside.to_str().unwrap()], "cannot write to"),
        ("port", &["--listen", &taken], "is in use: stop"),
        ("agents", &[broken.to_str().unwrap()], "did you mean `workflows`?"),
    ];
    // Accepts the question of the check and closes the connection.
    std::thread::spawn(move || other.incoming().for_each(drop));
    for (name, args, message) in cases {
        let ran = doctor(folder.path(), &[args, &["--json"]].concat(), &[]);
        assert_eq!(ran.code, Some(1), "{name} {ran:?}");
        let (state, text) = check(&ran, name);
        assert_eq!(state, "wrong", "{ran:?}");
        assert!(text.contains(message), "{message} in {text}");
    }
    let ran =
        doctor(folder.path(), &["--api-key", "web=0123456789abcdef", "--store", "memory:", "--json"], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(check(&ran, "keys"), ("good".to_owned(), "1 API key".to_owned()));
    assert_eq!(check(&ran, "store").0, "warning");
    assert!(!ran.stdout.contains("0123456789abcdef"), "no key is shown: {ran:?}");
}

#[test]
fn models_need_a_key_and_an_address_that_answers() {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("far.yaml");
    let text = "name: far\nmodels: { m: \"openai:gpt-5-mini\" }\n\
                workflows: { w: { start: a, nodes: { a: { reason: { model: m, prompt: \"{{ input }}\" } } } } }\n";
    fs::write(&agent, text).unwrap();
    let agent = agent.to_str().unwrap();

    let ran = doctor(folder.path(), &[agent, "--json"], &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(check(&ran, "model").1, "openai:gpt-5-mini: no API key: set OPENAI_API_KEY");

    let provider = Provider::start([Reply::status(404, "{}")]);
    let variables = [("OPENAI_API_KEY", "sk-secret"), ("OPENAI_BASE_URL", &*provider.url())];
    let ran = doctor(folder.path(), &[agent, "--json"], &variables);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        check(&ran, "model"),
        ("good".to_owned(), format!("openai:gpt-5-mini: {} answers", provider.url()))
    );

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    let ran = doctor(
        folder.path(),
        &[agent, "--json"],
        &[("OPENAI_API_KEY", "sk-secret"), ("OPENAI_BASE_URL", &url)],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(check(&ran, "model").1.contains(&format!("no answer from {url}")), "{ran:?}");
    let report: Value = ran.json();
    assert!(!report.to_string().contains("sk-secret"), "{ran:?}");
}
