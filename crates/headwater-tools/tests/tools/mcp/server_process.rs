//! A server process that a test starts itself and reaches over HTTP.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
};

/// A process that ends with the test.
pub(crate) struct ServerProcess {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    errors: Lines<BufReader<ChildStderr>>,
}

impl ServerProcess {
    pub(crate) fn node(args: &[&str], env: &[(&str, String)]) -> Self {
        let mut child = Command::new("node")
            .args(args)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let errors = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, output, errors }
    }

    /// Waits for a line that begins with `start`.
    pub(crate) async fn line(&mut self, start: &str) -> String {
        loop {
            let line = tokio::select! {
                line = self.output.next_line() => line,
                line = self.errors.next_line() => line,
            };
            let line = line.unwrap().expect("the server prints the expected line before it exits");
            if line.starts_with(start) {
                return line;
            }
        }
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
