//! `headwater completions`: lets a shell complete the command line.

use std::io::Write as _;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Print the completions of a shell, to be read by it when it starts.
///
/// For bash: headwater completions bash > ~/.local/share/bash-completion/completions/headwater
#[derive(Debug, Args)]
pub(crate) struct CompletionsCommand {
    /// The shell.
    shell: Shell,
}

impl CompletionsCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut script = Vec::new();
        generate(self.shell, &mut crate::command_line(), "headwater", &mut script);
        let mut out = style::stdout(true);
        out.write_all(&script)?;
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}
