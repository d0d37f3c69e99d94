//! `headwater check`, `headwater new` and `headwater schema`: agent files.

use std::{fs, path::Path, process::Command};

use crate::run::{CommandRun, headwater};

fn agent(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(name);
    path.into_os_string().into_string().unwrap()
}

/// Runs the binary in a folder.
fn headwater_in(folder: &Path, args: &[&str]) -> CommandRun {
    let output =
        Command::new(env!("CARGO_BIN_EXE_headwater")).args(args).current_dir(folder).output().unwrap();
    CommandRun {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn examples_pass_the_check_and_are_drawn() {
    let ran = headwater(&["check", &agent("email.yaml"), &agent("support.yaml")], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let expected = "\
  ● approve  interrupt
  │   ├─ send ─▶ sent
  │   └─ revise ─▶ wish
";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    assert!(ran.stdout.contains("└─▶ compose ↑"), "{}", ran.stdout);
    assert!(ran.stdout.contains("└─ on error ─▶ sorry"), "{}", ran.stdout);
}

#[test]
fn check_shows_the_line_of_a_mistake() {
    let folder = folder("check-mistake");
    let text = "name: a\nworkflows:\n  w:\n    start: grete\n    nodes:\n      greet: { message: \"é {{ inptu }}\" }\n";
    fs::write(folder.join("a.yaml"), text).unwrap();
    let ran = headwater_in(&folder, &["check", "a.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let expected = "\
a.yaml:4:12: error: there is no node `grete`: did you mean `greet`? (known: greet)
  |
4 |     start: grete
  |            ^^^^^

a.yaml:6:31: error: there is no name `inptu`: did you mean `input`? (known: input, data, state, shared, context, client, run, session)
  |
6 |       greet: { message: \"é {{ inptu }}\" }
  |                               ^^^^^

";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn check_reports_a_missing_file() {
    let ran = headwater(&["check", "no-such.yaml"], "");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr, "no-such.yaml: error: there is no such file\n");
}

#[test]
fn mermaid_draws_every_workflow_and_their_transitions() {
    let ran = headwater(&["check", "--mermaid", &agent("support.yaml")], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("flowchart TD\n  subgraph w0[\"support\"]\n"), "{}", ran.stdout);
    for line in [
        "    w0start([start]) --> w0n0",
        "    w0n0{\"understand<br/><small>route router</small>\"}",
        "    w0n0 -- \"order\" --> w0n1",
        "    w0n1 -. on error .-> w0n3",
        "  w0n2 -.-> w1start",
    ] {
        assert!(ran.stdout.lines().any(|there| there == line), "{line} is not in\n{}", ran.stdout);
    }
}

#[test]
fn new_agent_passes_the_check_and_is_never_overwritten() {
    let folder = folder("new-agent");
    let ran = headwater_in(&folder, &["new", "my-agent"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let ran = headwater_in(&folder, &["check", "my-agent.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.starts_with("✓ my-agent"), "{}", ran.stdout);
    let ran = headwater_in(&folder, &["new", "my-agent"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("my-agent.yaml already exists"), "{}", ran.stderr);
    for name in ["../up", "a.yaml", ""] {
        assert_eq!(headwater_in(&folder, &["new", name]).code, Some(2), "{name}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn schema_equals_the_one_in_the_docs() {
    let ran = headwater(&["schema"], "");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent.schema.json");
    assert_eq!(ran.stdout, fs::read_to_string(docs).unwrap());
}
