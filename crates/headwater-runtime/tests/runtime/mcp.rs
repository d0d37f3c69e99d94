//! Tools of MCP servers: a server's tools are listed once, its calls are made once, and it is stopped
//! afterwards.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use headwater_models::scripted::{Script, ScriptedModel};
use headwater_protocol::{Event, RunStatus, ToolOutput};
use headwater_runtime::{AgentBuilder, AgentFile, Answer, AnswerValue, FileOptions, Start, replay};
use headwater_store::Memory;
use serde_json::{Value, json};

use crate::{
    harness::{TestRun, World},
    tracker,
};

fn has_node() -> bool {
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    let found = node.is_ok_and(|status| status.success());
    if !found {
        println!("skipped: node is not on the PATH");
    }
    found
}

fn world() -> World {
    let script = Script::from_yaml(include_str!("../../examples/issues/script.yaml")).unwrap();
    let model = ScriptedModel::new(script);
    World::build(|agent| {
        tracker::workflows().unwrap().into_iter().fold(agent, AgentBuilder::workflow).model("agent", model)
    })
}

async fn run(world: &World, name: &str) -> TestRun {
    world.start(Start::new("Which bug is the oldest?").workflow(name)).await
}

/// The number of processes whose command line contains this word.
fn processes_with(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.map(|entry| fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

fn outputs(ran: &TestRun) -> Vec<String> {
    let outputs = ran.events.iter().filter_map(|event| match event {
        Event::ToolOutput(ToolOutput { name, .. }) => name.clone(),
        _ => None,
    });
    outputs.collect()
}

#[tokio::test]
async fn model_looks_issues_up_and_answers() {
    if !has_node() {
        return;
    }
    let ran = run(&world(), "find").await;
    assert_eq!(ran.result(), &json!({ "calls": 2 }));
    assert_eq!(ran.text(), "It is about the export: issue 111.");
    assert_eq!(outputs(&ran), ["search_issues", "get_issue"]);
    assert!(ran.wire().contains("Export hangs for large projects"), "{}", ran.wire());
}

#[tokio::test]
async fn calls_can_be_hidden_from_readers() {
    if !has_node() {
        return;
    }
    let ran = run(&world(), "discreet").await;
    assert_eq!(ran.text(), "It is about the export: issue 111.");
    assert!(outputs(&ran).is_empty());
}

#[tokio::test]
async fn approval_is_granted_refused_or_edited() {
    if !has_node() {
        return;
    }
    // Approves the first call and refuses the second.
    let ran = run(&world(), "approved").await;
    let first = ran.approval().await;
    let ran = ran.send(Answer::approved(first.request.clone()).token(first.token().unwrap())).await.unwrap();
    let second = ran.approval().await;
    let refused = Answer::denied(second.request.clone(), Some("not this one"));
    let ran = ran.send(refused.token(second.token().unwrap())).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Finished);
    assert_eq!((ran.count("tool-denied"), outputs(&ran)), (1, vec!["search_issues".to_owned()]));

    // Edits the input of the first call.
    let ran = run(&world(), "approved").await;
    let first = ran.approval().await;
    let input = Some(json!({ "state": "closed", "limit": 1 }));
    let answer = AnswerValue::Approval { approved: true, reason: None, input };
    let edited = Answer::new(first.request.clone(), answer);
    let ran = ran.send(edited.token(first.token().unwrap())).await.unwrap();
    let again = ran.approval().await;
    let ran = ran.send(Answer::approved(again.request.clone()).token(again.token().unwrap())).await.unwrap();
    assert_eq!(outputs(&ran), ["search_issues"]);
    assert!(ran.wire().contains("closed"), "{}", ran.wire());
}

#[tokio::test]
async fn tools_come_before_a_question_or_after_it() {
    if !has_node() {
        return;
    }
    let ran = run(&world(), "tools-then-person").await;
    assert_eq!(ran.question().question.as_deref(), Some("Send this? It is about the export: issue 111."));
    let ran = ran.answer("send").await;
    assert!(ran.text().ends_with("Sent."), "{}", ran.text());
    assert_eq!(outputs(&ran).len(), 2, "what was done before the question is not done again");

    let ran = run(&world(), "person-then-tools").await;
    assert!(outputs(&ran).is_empty());
    let ran = ran.answer("the open bugs").await;
    assert_eq!((ran.status(), outputs(&ran).len()), (RunStatus::Finished, 2));
}

/// An agent whose server is a copy in its own folder.
fn copied() -> (tempfile::TempDir, AgentFile) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folder = tempfile::tempdir().unwrap();
    for name in ["server.mjs", "issues.json"] {
        fs::copy(root.join("mcp-issues").join(name), folder.path().join(name)).unwrap();
    }
    let text = fs::read_to_string(root.join("agents/issues.yaml")).unwrap();
    let text = text.replace("../mcp-issues/server.mjs", "server.mjs");
    let path: PathBuf = folder.path().join("issues.yaml");
    fs::write(&path, text).unwrap();
    (folder, AgentFile::read(path).unwrap())
}

#[tokio::test]
async fn replay_of_a_file_needs_no_mcp_server() {
    if !has_node() {
        return;
    }
    let (folder, file) = copied();
    let agent = file.build(FileOptions::new(Arc::new(Memory::new()))).unwrap();
    let ran = TestRun::of(&agent, agent.start(Start::new("What hangs?")).await.unwrap()).await;
    // One of the two tools needs an approval.
    assert_eq!(outputs(&ran), ["search_issues"]);
    let asked = ran.approval().await;
    let ran = ran.send(Answer::approved(asked.request.clone()).token(asked.token().unwrap())).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Finished, "{:?}", ran.outcome.state.run().error);
    assert_eq!(ran.text(), "The export hangs for large projects.");
    let word = folder.path().to_str().unwrap().to_owned();
    assert_eq!(processes_with(&word), 0, "no server is left");

    let listed = ran.run.entries().await.unwrap().into_iter().filter(|entry| match entry {
        headwater_runtime::JournalEntry::Effect(effect) => {
            effect.pointer("/done/kind").and_then(Value::as_str) == Some("mcp")
        }
        _ => false,
    });
    assert_eq!(listed.count(), 1, "what the server offers is asked once");
    fs::remove_file(folder.path().join("server.mjs")).unwrap();
    let replayed = replay(&agent, ran.id().clone()).await.unwrap();
    assert!(replayed.is_same(), "{:?}", replayed.divergence);
}

#[tokio::test]
async fn server_that_cannot_start_fails_the_node_and_is_named() {
    let text = "name: a\nmcp: { gone: { command: no-such-program } }\nmodels: { m: { script: { name: m, rules: [{ say: [{ text: Hi }] }] } } }\n\
                workflows: { w: { start: n, nodes: { n: { reason: { model: m, mcp: [gone] } } } } }\n";
    let file = AgentFile::parse("a.yaml", text).unwrap();
    let agent = file.build(FileOptions::new(Arc::new(Memory::new()))).unwrap();
    let ran = TestRun::of(&agent, agent.start(Start::new("Hi")).await.unwrap()).await;
    assert_eq!(ran.code(), "mcp.start");
    assert!(ran.error().contains("no-such-program"), "{}", ran.error());
}

#[test]
fn errors_in_a_server_definition_have_positions() {
    let with = |mcp: &str, reason: &str| {
        format!(
            "name: a\nmcp: {{ tracker: {mcp} }}\nmodels: {{ m: \"p:m\" }}\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: {{ reason: {{ model: m, mcp: [{reason}] }} }}\n"
        )
    };
    for (mcp, reason, says) in [
        ("{ command: x }", "traker", "a.yaml:8:38: there is no MCP server `traker`: did you mean `tracker`?"),
        ("{ command: x }", "tracker, tracker", "a.yaml:8:47: the MCP server `tracker` is listed twice"),
        ("{}", "tracker", "a.yaml:2:8: the MCP server `tracker` has neither a `command` nor a `url`"),
        (
            "{ command: x, url: \"http://h\" }",
            "tracker",
            "a.yaml:2:8: the MCP server `tracker` has both a `command` and a `url`",
        ),
        ("{ url: \"http://h\", args: [a] }", "tracker", "a.yaml:2:8: `args` needs a server with a `command`"),
        ("{ command: x, bearer_env: T }", "tracker", "a.yaml:2:8: `bearer_env` needs a server with a `url`"),
        ("{ url: example.com }", "tracker", "a.yaml:2:24: invalid URL `example.com`"),
        ("{ comand: x }", "tracker", "unknown field `comand`: did you mean `command`?"),
        ("{ command: x, approval: maybe }", "tracker", "`true`, `false`, or a list of tools"),
    ] {
        let errors = AgentFile::parse("a.yaml", with(mcp, reason)).unwrap_err().to_string();
        assert!(errors.contains(says), "{says:?} is not in {errors}");
    }
    let file = AgentFile::parse("a.yaml", with("{ url: \"http://h\", bearer_env: NOT_SET_HERE }", "tracker"))
        .unwrap();
    let error = file.build(FileOptions::new(Arc::new(Memory::new()))).unwrap_err().to_string();
    assert!(error.contains("there is no model") || error.contains("NOT_SET_HERE"), "{error}");
}

#[test]
fn definitions_of_the_docs_that_need_keys_or_servers_are_valid() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/yaml.md");
    let docs = fs::read_to_string(docs).unwrap();
    let schema = headwater_tools::Schema::new(AgentFile::json_schema()).unwrap();
    for kind in ["servers", "models", "http"] {
        let (_, rest) = docs.split_once(&format!("```yaml {kind}\n")).unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        AgentFile::parse("docs.yaml", example).unwrap_or_else(|errors| panic!("{errors}\n{example}"));
        let value: Value = serde_saphyr::from_str(example).unwrap();
        schema.check(&value).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    }
}
