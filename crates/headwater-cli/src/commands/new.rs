//! `headwater new`: a small agent to begin with.

use std::{fs::OpenOptions, io, io::Write, path::PathBuf};

use clap::Args;

use crate::{
    failure::{Failure, Verdict},
    style,
};

/// Write a small agent to begin with, as NAME.yaml, with comments.
///
/// It needs no key: its model is a script. A file that is there already is left alone.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The agent's name: letters, digits, `-` and `_`.
    name: String,
}

/// What is written; `NAME` is the agent's.
const STARTER: &str = include_str!("new/starter.yaml");

impl New {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let message = format!(
                "an agent cannot be called {:?}: use letters, digits, `-` and `_`, without an ending",
                self.name
            );
            return Err(Failure::new(message));
        }
        let path = PathBuf::from(format!("{}.yaml", self.name));
        let shown = path.display();
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| {
            match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Failure::new(format!("{shown} is there already: choose another name, or remove it"))
                }
                _ => Failure::new(format!("cannot write {shown}: {error}")),
            }
        })?;
        file.write_all(STARTER.replace("NAME", &self.name).as_bytes())?;
        let mut out = style::stdout(false);
        writeln!(out, "wrote {shown}: look at it, then run `headwater check {shown}`")?;
        out.flush()?;
        Ok(Verdict::Sound)
    }
}
