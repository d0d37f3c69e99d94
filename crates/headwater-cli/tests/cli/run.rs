//! Runs the binary.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

/// The dialects, each of which has an example stream.
pub(crate) const DIALECTS: [&str; 7] =
    ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui", "responses"];

/// Variables of model providers; tests must not call real ones.
const KEYS: [&str; 18] = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_BASE_URL",
    "DEEPSEEK_API_KEY",
    "DEEPSEEK_BASE_URL",
    "GROQ_API_KEY",
    "GROQ_BASE_URL",
    "MISTRAL_API_KEY",
    "MISTRAL_BASE_URL",
    "OLLAMA_API_KEY",
    "OLLAMA_BASE_URL",
    "OPENAI_COMPATIBLE_API_KEY",
    "OPENAI_COMPATIBLE_BASE_URL",
];

/// The result of running the binary.
#[derive(Debug)]
pub(crate) struct CommandRun {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandRun {
    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Standard output as one JSON value per line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        self.stdout.lines().map(line).collect()
    }
}

/// Runs the binary with this standard input.
pub(crate) fn headwater(args: &[&str], stdin: impl Into<Vec<u8>>) -> CommandRun {
    let mut child = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(args)
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(KEYS.map(|key| (key, "")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let bytes = stdin.into();
    // The child may exit before it has read everything.
    let writer = thread::spawn(move || drop(pipe.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    CommandRun {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The path of an example stream.
pub(crate) fn example(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/streams").join(name);
    path.into_os_string().into_string().unwrap()
}

/// The bytes of an example stream.
pub(crate) fn read_example(name: &str) -> Vec<u8> {
    std::fs::read(example(name)).unwrap()
}
