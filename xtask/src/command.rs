//! Running other programs: what they print is kept, and shown only when there is a reason to.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a task could not continue. The text says what to do about it.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a program ended, and all that it printed.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) ok: bool,
    pub(crate) output: String,
}

/// `program`, to be run in `folder` without a question on the terminal.
pub(crate) fn command(folder: &Path, program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// The cargo that runs this task.
///
/// It does not see the variables that describe the package `xtask`: build scripts that watch them (that of `ring` does)
/// would run again, and all that depends on them would be built again, each time cargo is called here and from a shell in turn.
pub(crate) fn cargo(folder: &Path, args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(folder, program, args);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs to the end; standard output and errors are kept together, in the order in which they were written.
pub(crate) fn run(command: Command) -> Result<CommandOutput, Failure> {
    follow(command, |_| {})
}

/// Does the same as [`run`], and has each line looked at as soon as it is there.
pub(crate) fn follow(mut command: Command, mut line: impl FnMut(&str)) -> Result<CommandOutput, Failure> {
    let described = describe(&command);
    let mut attempt = || -> io::Result<CommandOutput> {
        let (reader, writer) = io::pipe()?;
        let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // The command holds the pipe's other end: only without it does the output come to an end.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (mut reader, mut output, mut bytes) = (BufReader::new(reader), String::new(), Vec::new());
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            let text = String::from_utf8_lossy(&bytes);
            line(text.trim_end());
            output.push_str(&text);
            bytes.clear();
        }
        let status = child.wait()?;
        Ok(CommandOutput { ok: status.success(), output })
    };
    attempt().map_err(|error| Failure::new(format!("cannot run `{described}`: {error}")))
}

/// Runs to the end and gives its standard output; errors and progress go to the terminal.
pub(crate) fn output_of(mut command: Command) -> Result<String, Failure> {
    let described = describe(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cannot run `{described}`: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{described}` ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
