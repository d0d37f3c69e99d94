//! Many readers, many runs, and damaged folders, on the real binary. `cargo xtask endure` runs all cases; the
//! normal test run takes some of each and checks the numbers in `docs/reliability.md`.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code"
)]

mod client;
mod damage;
mod readers;
mod report;
mod runs;
#[path = "../cli/server.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod server;
mod soak;
#[path = "../cli/table.rs"]
mod table;

use std::path::{Path, PathBuf};

/// An agent that answers at once, slowly, or after asking a person, with a short retention of its runs.
const AGENT: &str = r#"
name: endure
limits: { keep: 3s }
models:
  writer:
    script:
      name: writer
      rules:
        - when: { input_contains: slow }
          say: [{ text: "{input}: one two three four five six seven eight nine ten eleven twelve." }]
          chunk: 6
          pace: 25
        - say: [{ reasoning: "About {input}." }, { text: "{input}: this was asked, and this is the answer." }]
workflows:
  main:
    start: answer
    nodes:
      answer: { reason: { model: writer } }
  asking:
    start: ask
    nodes:
      ask: { interrupt: { ask: "Shall it continue?" }, save: given }
      answer: { reason: { model: writer } }
    edges:
      - { from: ask, to: answer }
client: { workflows: [asking] }
"#;

/// Writes the agent's file into a folder.
fn agent(folder: &Path) -> PathBuf {
    let path = folder.join("endure.yaml");
    std::fs::write(&path, AGENT).unwrap();
    path
}
