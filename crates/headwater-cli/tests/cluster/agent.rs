//! The agent that the nodes serve: it thinks, calls a tool that does something outside, and answers.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The name of the agent.
pub(crate) const NAME: &str = "cluster";

/// What its answers end with.
pub(crate) const ANSWER: &str = "one two three four five six seven eight nine ten eleven twelve.";

/// A run takes about a second, so that a fault meets it in any of its phases. A tool call that was under way when its node
/// died is made again with the same key: the ledger distinguishes such a repetition from a second effect.
const AGENT: &str = r#"
name: cluster
limits: { keep: KEEP, max_takeovers: 100 }
when_busy: queue
mcp:
  ledger: { url: "http://LEDGER/mcp", unfinished: repeat, keep: true }
  guarded: { url: "http://LEDGER/mcp", unfinished: repeat, keep: true, approval: true }
models:
  writer:
    script:
      name: writer
      rules:
        - when: { after_tool: record }
          say: [{ text: "{input}: ANSWER" }]
          chunk: 6
          pace: 50
        - when: { input_contains: quick }
          say: [{ text: "{input}: ANSWER" }]
        - when: { input_contains: endless }
          say: [{ text: "{input}: LONG" }]
          chunk: 8
          pace: 50
        - say: [{ reasoning: "About {input}." }, { tool: { name: record, input: { entry: "{input}" } } }]
          chunk: 4
          pace: 50
workflows:
  main:
    start: answer
    nodes:
      answer: { reason: { model: writer, mcp: [ledger], tool_options: { max_steps: 3 } } }
  approving:
    start: answer
    nodes:
      answer: { reason: { model: writer, mcp: [guarded], tool_options: { max_steps: 3 } } }
  asking:
    start: ask
    nodes:
      ask: { interrupt: { ask: "Shall it continue?" }, save: given }
      answer: { reason: { model: writer, mcp: [ledger], tool_options: { max_steps: 3 } } }
    edges:
      - { from: ask, to: answer }
client: { workflows: [approving, asking] }
"#;

/// Writes the agent's file into a folder. Its runs are kept for so long, such as `1h`.
pub(crate) fn write(folder: &Path, ledger: SocketAddr, keep: &str) -> PathBuf {
    let path = folder.join("cluster.yaml");
    let long = ANSWER.repeat(40);
    let text = AGENT.replace("LEDGER", &ledger.to_string()).replace("KEEP", keep);
    std::fs::write(&path, text.replace("ANSWER", ANSWER).replace("LONG", &long)).unwrap();
    path
}
