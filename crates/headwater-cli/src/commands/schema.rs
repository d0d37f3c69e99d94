//! `headwater schema`: the JSON Schema of agent files.

use std::io::Write;

use clap::Args;
use headwater_runtime::AgentFile;

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Print the JSON Schema of agent files, for editors.
///
/// With `# yaml-language-server: $schema=agent.schema.json` at the top of a file, an editor completes and
/// checks it.
#[derive(Debug, Args)]
pub(crate) struct SchemaCommand {}

impl SchemaCommand {
    #[allow(clippy::unused_self, reason = "a command like the others")]
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut out = style::stdout(true);
        serde_json::to_writer_pretty(&mut out, &AgentFile::json_schema())?;
        writeln!(out)?;
        out.flush()?;
        Ok(ExitVerdict::Sound)
    }
}
