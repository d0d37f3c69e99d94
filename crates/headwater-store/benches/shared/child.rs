//! The processes that the bench starts. Each prints `ready`, waits for a line, does its work, prints its figures as
//! `name=value` in one line, and stays until its input ends, so that its time on the processor can still be read.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{ChildStdout, Command, Stdio},
};

use crate::{engine::processor_time, node};

pub(crate) struct Child {
    process: std::process::Child,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// This program again, with a role.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(node::FLAG).args(arguments);
        Self::of(command)
    }

    /// `resumable-stream` in Node, if it is installed.
    pub(crate) fn node(arguments: &[&str]) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/resumable-stream");
        folder.join("node_modules/resumable-stream").exists().then_some(())?;
        let mut command = Command::new("node");
        command.current_dir(folder).arg("bench.mjs").args(arguments).env("NODE_ENV", "production");
        Some(Self::of(command))
    }

    fn of(mut command: Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut child = Self { process, output };
        let line = child.line();
        assert_eq!(line, "ready", "{command:?}");
        child
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Lets it begin.
    pub(crate) fn go(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// What it found, when it is done.
    pub(crate) fn result(&mut self) -> HashMap<String, f64> {
        let line = self.line();
        let figures = line.split_whitespace().filter_map(|word| word.split_once('='));
        let figures: HashMap<_, _> =
            figures.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect();
        assert!(!figures.is_empty(), "a process ended early: {line}");
        figures
    }

    /// The seconds that it was on a core.
    pub(crate) fn processor(&self) -> f64 {
        processor_time(&[self.process.id()])
    }

    /// The bytes of memory that it takes.
    pub(crate) fn resident(&self) -> f64 {
        crate::engine::resident(&[self.process.id()])
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
