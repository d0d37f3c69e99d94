//! `headwater new`: writes a starter agent file, or a starter program.

use std::{
    fs::{self, OpenOptions},
    io,
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Write a starter agent file, NAME.yaml, with comments; with --rust a program in a folder NAME.
///
/// Neither needs an API key: the model is a script. Existing files are never overwritten.
#[derive(Debug, Args)]
pub(crate) struct NewCommand {
    /// The agent's name: letters, digits, `-` and `_`.
    name: String,

    /// Write a Rust program instead of an agent file.
    #[arg(long)]
    rust: bool,
}

/// The content of the agent file; `NAME` is replaced with the agent's name.
const STARTER: &str = include_str!("new/starter.yaml");

/// The files of a program. `examples/rust/minimal` is the same program.
const MANIFEST: &str = include_str!("new/Cargo.toml.txt");
const MAIN: &str = include_str!("new/main.rs.txt");

impl NewCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let message = format!(
                "invalid agent name {:?}: use letters, digits, `-` and `_`, without an ending",
                self.name
            );
            return Err(CommandFailure::new(message));
        }
        let mut out = style::stdout(false);
        if self.rust {
            let folder = PathBuf::from(&self.name);
            let manifest = MANIFEST.replace("NAME", &self.name).replace("VERSION", env!("CARGO_PKG_VERSION"));
            write_new(&folder.join("Cargo.toml"), &manifest)?;
            write_new(&folder.join("src/main.rs"), MAIN)?;
            writeln!(out, "wrote {0}/Cargo.toml and {0}/src/main.rs: now `cd {0} && cargo run`", self.name)?;
            // Cargo's own message does not say how to continue from a checkout.
            let version = env!("CARGO_PKG_VERSION");
            writeln!(
                out,
                "if cargo finds no headwater {version}: in Cargo.toml, replace `version = \"{version}\"` by `path = \"CHECKOUT/crates/headwater\"`"
            )?;
        } else {
            let path = PathBuf::from(format!("{}.yaml", self.name));
            write_new(&path, &STARTER.replace("NAME", &self.name))?;
            let shown = path.display();
            writeln!(out, "wrote {shown}: look at it, then run `headwater check {shown}`")?;
        }
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}

/// Writes a file that does not exist yet, and the folders above it.
fn write_new(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let shown = path.display();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CommandFailure::new(format!("{shown} already exists: choose another name, or delete it"))
        }
        _ => CommandFailure::new(format!("cannot write {shown}: {error}")),
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::{MAIN, MANIFEST};

    #[test]
    fn starter_program_is_the_example_that_is_compiled() {
        let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rust/minimal");
        assert_eq!(std::fs::read_to_string(example.join("src/main.rs")).unwrap(), MAIN);
        let manifest = std::fs::read_to_string(example.join("Cargo.toml")).unwrap();
        for line in MANIFEST.lines().filter(|line| line.starts_with("axum") || line.starts_with("tokio")) {
            assert!(manifest.contains(line), "the example has another {line}");
        }
    }
}
