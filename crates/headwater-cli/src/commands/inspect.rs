//! `headwater inspect`: shows a stream in readable form.
//!
//! The stream is read completely first, because the linter judges it as a whole ([`StreamReading`]). A [`Timeline`]
//! then joins the pieces of each text, tool input and object into one item at the place where it began. Each
//! item becomes a row, and the rows are printed.

mod entry;
mod items;
mod print;
mod rows;
mod summary;
mod timeline;

use std::io::Write;

use clap::Args;

use crate::{
    args::StreamArgs,
    failure::{CommandFailure, ExitVerdict},
    style,
};
use items::StreamReading;
use timeline::Timeline;

/// Show a stream in readable form.
///
/// Text and reasoning blocks are shown whole, with the number of their deltas; tool calls with their state,
/// input and output; problems at the frame where they occur.
#[derive(Debug, Args)]
pub(crate) struct InspectCommand {
    #[command(flatten)]
    stream: StreamArgs,

    /// Do not abbreviate inputs, outputs and data.
    #[arg(long)]
    full: bool,

    /// Print one JSON object for each record and each problem, then one for the summary.
    #[arg(long)]
    json: bool,
}

impl InspectCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let stream = self.stream.open()?;
        let (dialect, framing) = (stream.dialect, stream.framing);
        let reading = StreamReading::of(dialect, framing, &stream.input.read_all()?);
        let mut out = style::stdout(self.json);
        if self.json {
            reading.print_json(&mut out)?;
        } else {
            print::print(&Timeline::of(&reading), &reading.summary, self.full, &mut out)?;
        }
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(reading.summary.is_at_fault()))
    }
}
