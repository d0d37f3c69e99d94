//! `headwater new`: writes a starter agent file.

use std::{fs::OpenOptions, io, io::Write, path::PathBuf};

use clap::Args;

use crate::{
    failure::{Failure, Verdict},
    style,
};

/// Write a starter agent file, NAME.yaml, with comments.
///
/// It needs no API key: its model is a script. An existing file is never overwritten.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The agent's name: letters, digits, `-` and `_`.
    name: String,
}

/// The file's content; `NAME` is replaced with the agent's name.
const STARTER: &str = include_str!("new/starter.yaml");

impl New {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let message = format!(
                "invalid agent name {:?}: use letters, digits, `-` and `_`, without an ending",
                self.name
            );
            return Err(Failure::new(message));
        }
        let path = PathBuf::from(format!("{}.yaml", self.name));
        let shown = path.display();
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| {
            match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Failure::new(format!("{shown} already exists: choose another name, or delete it"))
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
