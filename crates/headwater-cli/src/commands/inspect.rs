//! `headwater inspect`: shows a stream in readable form.
//!
//! A [`Timeline`] joins the pieces of each text, tool input and object into one item at the place where it began. Each
//! item becomes a row, and the rows are printed.
//!
//! A file is read completely first, because the linter judges a stream as a whole ([`StreamReading`]). A stream that
//! still arrives is printed as it grows ([`LiveRows`]), and the findings of the linter come at its end.

mod entry;
mod items;
mod live;
mod print;
mod rows;
mod summary;
mod timeline;

use std::{collections::HashSet, io::Write};

use clap::Args;

use crate::{
    args::StreamArgs,
    dialect_detection::DetectedInput,
    failure::{CommandFailure, ExitVerdict},
    style,
};
use entry::ReadingEntry;
use items::{GrowingReading, StreamReading, print_entry, print_summary};
pub(super) use live::LiveRows;
use summary::EntryCounts;
use timeline::Timeline;

/// Show a stream in readable form.
///
/// Text and reasoning blocks are shown whole, with the number of their deltas; tool calls with their state,
/// input and output; problems at the frame where they occur.
///
/// FILE may be a URL. What arrives through a URL or a pipe is shown as it arrives; then the problems that a rule of the
/// dialect finds come at the end.
#[derive(Debug, Args)]
pub(crate) struct InspectCommand {
    #[command(flatten)]
    stream: StreamArgs,

    // Not from the environment: the URL may be that of any server.
    /// The API key or token to send to a URL.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Do not abbreviate inputs, outputs and data.
    #[arg(long)]
    full: bool,

    /// Print one JSON object for each record and each problem, then one for the summary.
    #[arg(long)]
    json: bool,
}

impl InspectCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let stream = self.stream.open_with(self.key.as_deref())?;
        let mut out = style::stdout(self.json);
        let is_at_fault = match stream.input.is_live() {
            true => self.follow(stream, &mut out)?,
            false => self.show(stream, &mut out)?,
        };
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(is_at_fault))
    }

    fn show(&self, stream: DetectedInput, out: &mut Box<dyn Write>) -> Result<bool, CommandFailure> {
        let (dialect, framing) = (stream.dialect, stream.framing);
        let reading = StreamReading::of(dialect, framing, &stream.input.read_all()?);
        if self.json {
            reading.print_json(out)?;
        } else {
            print::print(&Timeline::of(&reading), &reading.summary, self.full, out)?;
        }
        Ok(reading.summary.is_at_fault())
    }

    /// Shows a stream while it arrives.
    fn follow(&self, stream: DetectedInput, out: &mut Box<dyn Write>) -> Result<bool, CommandFailure> {
        let (dialect, framing) = (stream.dialect, stream.framing);
        let mut reading = GrowingReading::new(dialect, framing);
        let mut rows = LiveRows::new(self.full);
        let mut counts = EntryCounts::default();
        // The frames that have a problem already, and all bytes: for the linter.
        let (mut judged, mut whole) = (HashSet::new(), Vec::new());
        let mut show = |entry: &ReadingEntry, rows: &mut LiveRows, out: &mut Box<dyn Write>| {
            counts.add(entry);
            if entry.is_problem() {
                judged.insert(entry.frame());
            }
            if self.json { print_entry(entry, out) } else { rows.add(entry, out) }
        };
        stream.input.for_each(|bytes| {
            whole.extend_from_slice(bytes);
            for entry in reading.push(bytes) {
                show(&entry, &mut rows, out)?;
            }
            rows.print(out)?;
            Ok(out.flush()?)
        })?;
        for entry in reading.end() {
            show(&entry, &mut rows, out)?;
        }
        let findings = headwater_dialects::lint(dialect, framing, &whole);
        for finding in findings.into_iter().filter(|finding| !judged.contains(&finding.frame)) {
            let entry = ReadingEntry::found(finding, None);
            counts.add(&entry);
            if self.json { print_entry(&entry, out)? } else { rows.add(&entry, out)? }
        }
        let summary = reading.summary_of(&counts);
        if self.json {
            print_summary(&summary, out)?;
        } else {
            rows.finish(out)?;
            rows.summary(&summary, out)?;
        }
        Ok(summary.is_at_fault())
    }
}
