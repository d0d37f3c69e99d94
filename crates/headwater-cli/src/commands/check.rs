//! `headwater check`: validates agent files and draws their workflows.

mod draw;
mod mermaid;

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use headwater_runtime::{AgentFile, FileError};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style::{self, BLUE, BOLD, RED},
};

/// Check agent files and draw their workflows.
///
/// Each error is printed with file, line and column, and the exit code is 1. Models, tools and functions that
/// only a program can register are not checked.
#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// The files to check.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Draw the workflows as Mermaid, for a web page or a README.
    #[arg(long)]
    mermaid: bool,
}

impl CheckCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut out = style::stdout(false);
        let mut wrong = false;
        for path in &self.files {
            match AgentFile::read(path) {
                Ok(file) if self.mermaid => mermaid::draw(&file, &mut out)?,
                Ok(file) => draw::draw(&file, &mut out)?,
                Err(errors) => {
                    wrong = true;
                    // Flush the drawings of earlier files, so that errors appear after them.
                    out.flush()?;
                    let mut stderr = anstream::stderr().lock();
                    for error in &errors {
                        print_error(error, &mut stderr)?;
                    }
                }
            }
        }
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(wrong))
    }
}

/// Prints the message, the source line, and a caret under the position.
fn print_error(error: &FileError, out: &mut impl Write) -> io::Result<()> {
    let place = match error.line() {
        0 => error.file().to_owned(),
        line => format!("{}:{line}:{}", error.file(), error.column()),
    };
    let (place, message) = (style::printable(&place), style::printable(error.message()));
    writeln!(out, "{BOLD}{place}:{BOLD:#} {}error:{:#} {message}", RED.bold(), RED.bold())?;
    if error.line() == 0 || error.source_line().is_empty() {
        return Ok(());
    }
    let number = error.line().to_string();
    let gap = " ".repeat(number.len());
    let line = error.source_line().replace('\t', " ");
    let before: String = line.chars().take(error.column().saturating_sub(1)).collect();
    let under: String = line.chars().skip(before.chars().count()).take(error.width()).collect();
    let (indent, carets) = (" ".repeat(style::width(&before)), "^".repeat(style::width(&under).max(1)));
    writeln!(out, "{BLUE}{gap} |{BLUE:#}")?;
    writeln!(out, "{BLUE}{number} |{BLUE:#} {}", style::printable(line.trim_end()))?;
    writeln!(out, "{BLUE}{gap} |{BLUE:#} {indent}{}{carets}{:#}", RED.bold(), RED.bold())?;
    writeln!(out)
}
