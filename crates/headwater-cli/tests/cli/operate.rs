//! The commands of an operator against a real server with two principals and an operator.

mod failures;
mod principals;
mod requests;
mod runs;
mod sessions;
mod tail;
#[cfg(target_os = "linux")]
mod watch;

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{CommandRun, headwater},
    server::Server,
};

const AGENTS: [(&str, &str); 4] = [
    (
        "says",
        "name: says\nworkflows: { w: { start: n, nodes: { n: { message: \"You said {{ input }}.\" } } } }\n",
    ),
    (
        "asks",
        "name: asks\nworkflows: { w: { start: n, nodes: { n: { interrupt: { ask: Which one?, \
         options: [{ id: a, label: Apple }, { id: b, label: Banana }] } } } } }\n",
    ),
    ("slow", "name: slow\nwhen_busy: queue\nworkflows: { w: { start: n, nodes: { n: { wait: 1h } } } }\n"),
    (
        "fails",
        "name: fails\nmodels: { m: { script: { name: m, rules: [{ when: { input_contains: never }, say: [{ text: x }] }] } } }\n\
         workflows: { w: { start: n, nodes: { n: { reason: { model: m, prompt: \"{{ input }}\" } } } } }\n",
    ),
];

const ANN: &str = "ann-0123456789abcdef";
const BOB: &str = "bob-0123456789abcdef";
const OPS: &str = "ops-0123456789abcdef";

/// A server whose operator is `ops`, and runs of `ann` and `bob`.
struct Desk {
    folder: TempDir,
    server: Server,
}

impl Desk {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agents = folder.path().join("agents");
        fs::create_dir(&agents).unwrap();
        for (name, text) in AGENTS {
            fs::write(agents.join(format!("{name}.yaml")), text).unwrap();
        }
        let keys = [("ann", ANN), ("bob", BOB), ("ops", OPS)].map(|(name, key)| format!("{name}={key}"));
        let mut args =
            vec![agents.to_str().unwrap(), "--set", "operators=ops", "--set", "default_agent=says"];
        args.extend(keys.iter().flat_map(|key| ["--api-key", key]));
        let server = Server::start(&folder.path().join("data"), &args);
        Self { folder, server }
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Runs a command as the owner of a key.
    fn ran(&self, key: &str, args: &[&str]) -> CommandRun {
        let url = self.url();
        headwater(&[args, &["--server", &url, "--key", key]].concat(), "")
    }

    /// The JSON of a command that succeeds.
    fn json(&self, key: &str, args: &[&str]) -> Value {
        let ran = self.ran(key, &[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    }

    /// The text of a command that succeeds.
    fn text(&self, key: &str, args: &[&str]) -> String {
        let ran = self.ran(key, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    }

    /// Starts a run. Returns its id.
    fn begin(&self, key: &str, agent: &str, input: &str, session: Option<&str>) -> String {
        let body = json!({ "agent": agent, "input": input, "session": session });
        let key = format!("Bearer {key}");
        let answer = self.server.ask("POST", "/v1/runs", &[("authorization", &key)], &body.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["run"].as_str().unwrap().to_owned()
    }

    /// Starts a run and waits until it waits or has ended.
    fn done(&self, key: &str, agent: &str, input: &str, session: Option<&str>) -> String {
        let run = self.begin(key, agent, input, session);
        self.ran(key, &["runs", "tail", &run, "--until-wait"]);
        run
    }
}

/// The values of a field in a list.
fn values<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}
