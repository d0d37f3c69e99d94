//! `headwater inspect`: a stream as a person would read it.
//!
//! The stream is read as a whole, because its linter judges it as a whole ([`Reading`]); then it is laid
//! out as a [`Timeline`], in which what came in pieces stands as one item where it began; then each item
//! becomes a row, and the rows are painted.

mod paint;
mod reading;
mod rows;
mod summary;
mod timeline;

use std::io::{BufWriter, Write};

use clap::Args;

use crate::{
    args::StreamArgs,
    failure::{Failure, Verdict},
};
use reading::Reading;
use timeline::Timeline;

/// Show a stream as a person would read it.
///
/// Text and reasoning stand whole where they began, with the number of their deltas; tools with their states, inputs and
/// outputs; and what is wrong with the stream at the frame where it is wrong.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    stream: StreamArgs,

    /// Do not abbreviate inputs, outputs and data.
    #[arg(long)]
    full: bool,

    /// Print one JSON object for each record and each problem, then one for the summary.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let stream = self.stream.open()?;
        let (dialect, framing) = (stream.dialect, stream.framing);
        let reading = Reading::of(dialect, framing, &stream.input.read_all()?);
        let mut out = BufWriter::new(anstream::stdout().lock());
        if self.json {
            reading.print_json(&mut out)?;
        } else {
            paint::print(&Timeline::of(&reading), &reading.summary, self.full, &mut out)?;
        }
        out.flush()?;
        Ok(Verdict::at_fault_if(reading.summary.is_at_fault()))
    }
}
