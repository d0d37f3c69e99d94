//! Prints rows in columns: time, label, content.

use std::io::Write;

use anstyle::Style;
use headwater_protocol::RunStatus;
use serde_json::Value;

use super::{
    rows::{self, RowPiece, TimelineRow},
    summary::StreamSummary,
    timeline::{Timeline, TimelineItem},
};
use crate::{
    failure::CommandFailure,
    style::{self, BOLD, DIM, GREEN, PLAIN, RED, YELLOW, abbreviate, width, wrap},
};

/// The width of the label column.
const WORD: usize = 11;
/// The number of lines after which a value is abbreviated.
const LINES: usize = 2;

/// Prints the timeline, then the summary.
pub(super) fn print(
    timeline: &Timeline,
    summary: &StreamSummary,
    full: bool,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let stamps: Vec<_> = timeline.items.iter().map(|item| stamp(item, timeline.epoch)).collect();
    let first = stamps.iter().map(|stamp| width(stamp)).max().unwrap_or(0);
    let page = ColumnLayout::new(first, full);
    let mut last = "";
    for (item, stamp) in timeline.items.iter().zip(&stamps) {
        // Print a repeated time only once.
        let shown = if stamp == last { "" } else { stamp };
        last = stamp;
        page.row(shown, &rows::row(item), 0, out)?;
    }
    page.summary(summary, out)
}

/// The time of an item: seconds since the first timestamp on the wire, or the record's number.
pub(super) fn stamp(item: &TimelineItem, epoch: Option<u64>) -> String {
    match (&item.record, epoch) {
        (Some(record), Some(epoch)) if record.time > 0 => {
            let elapsed = record.time.saturating_sub(epoch);
            format!("+{}.{:03}", elapsed / 1_000, elapsed % 1_000)
        }
        (Some(record), None) => format!("#{}", record.seq),
        _ => String::new(),
    }
}

#[derive(Debug)]
pub(super) struct ColumnLayout {
    /// The width of the first column.
    first: usize,
    columns: usize,
    full: bool,
}

impl ColumnLayout {
    /// A layout with a first column of this width.
    pub(super) fn new(first: usize, full: bool) -> Self {
        Self { first, columns: style::terminal_width(), full }
    }

    fn indent(&self) -> usize {
        self.first + 2 + 2 + WORD + 1
    }

    fn room(&self) -> usize {
        self.columns.saturating_sub(self.indent()).max(20)
    }

    /// Writes a row, without the lines of its first text that [`beginning`](Self::beginning) wrote.
    pub(super) fn row(
        &self,
        stamp: &str,
        row: &TimelineRow,
        written: usize,
        out: &mut dyn Write,
    ) -> Result<(), CommandFailure> {
        let mut used = None;
        if written == 0 {
            self.label(stamp, row, out)?;
        } else {
            used = Some(self.room());
        }
        for (at, piece) in row.pieces.iter().enumerate() {
            match piece {
                RowPiece::Text(style, text) => {
                    let lines = wrap(text, self.room());
                    let rest = lines.get(if at == 0 { written } else { 0 }..).unwrap_or_default();
                    self.lines(*style, rest, &mut used, out)?;
                }
                RowPiece::Value(value) => self.lines(PLAIN, &self.value(value), &mut used, out)?,
                RowPiece::Note(note) => {
                    let note = style::printable(note);
                    match used {
                        Some(at) if at + 2 + width(&note) <= self.room() => {
                            write!(out, "  {DIM}{note}{DIM:#}")?;
                            used = Some(at + 2 + width(&note));
                        }
                        _ => self.lines(DIM, &wrap(&note, self.room()), &mut used, out)?,
                    }
                }
            }
        }
        writeln!(out)?;
        Ok(())
    }

    /// Writes the lines of a row's text that no further text changes, all but the last. Returns how many are written now.
    pub(super) fn beginning(
        &self,
        stamp: &str,
        row: &TimelineRow,
        written: usize,
        out: &mut dyn Write,
    ) -> Result<usize, CommandFailure> {
        let Some(RowPiece::Text(style, text)) = row.pieces.first() else { return Ok(written) };
        let lines = wrap(text, self.room());
        let complete = lines.len().saturating_sub(1);
        let Some(new) = lines.get(written..complete).filter(|new| !new.is_empty()) else {
            return Ok(written);
        };
        let mut used = (written > 0).then(|| self.room());
        if written == 0 {
            self.label(stamp, row, out)?;
        }
        self.lines(*style, new, &mut used, out)?;
        Ok(complete)
    }

    fn label(&self, stamp: &str, row: &TimelineRow, out: &mut dyn Write) -> Result<(), CommandFailure> {
        let TimelineRow { sign, word, style, pieces } = row;
        let blanks = " ".repeat(self.first.saturating_sub(width(stamp)));
        let columns = if pieces.is_empty() { 0 } else { WORD };
        write!(out, "{blanks}{DIM}{stamp}{DIM:#}  {style}{sign} {word:columns$}{style:#}")?;
        Ok(())
    }

    /// Writes lines below each other; `used` is the number of columns already taken on the current line.
    fn lines(
        &self,
        style: Style,
        lines: &[String],
        used: &mut Option<usize>,
        out: &mut dyn Write,
    ) -> Result<(), CommandFailure> {
        for line in lines {
            if used.is_some() {
                write!(out, "\n{}", " ".repeat(self.indent()))?;
            } else {
                write!(out, " ")?;
            }
            write!(out, "{style}{line}{style:#}")?;
            *used = Some(width(line));
        }
        Ok(())
    }

    fn value(&self, value: &Value) -> Vec<String> {
        let text = match value {
            Value::String(text) => text.clone(),
            value if self.full => serde_json::to_string_pretty(value).unwrap_or_default(),
            value => value.to_string(),
        };
        if self.full {
            return wrap(&text, self.room());
        }
        let mut lines = wrap(&text.replace('\n', "␊"), self.room());
        if lines.len() > LINES {
            lines.truncate(LINES);
            if let Some(last) = lines.last_mut() {
                *last = format!("{}…", abbreviate(last, self.room() - 1).trim_end_matches('…'));
            }
        }
        lines
    }

    pub(super) fn summary(&self, summary: &StreamSummary, out: &mut dyn Write) -> Result<(), CommandFailure> {
        let style = match summary.status {
            RunStatus::Finished => GREEN,
            RunStatus::Failed => RED,
            RunStatus::Running | RunStatus::Waiting | RunStatus::Cancelled => YELLOW,
        };
        let rule = "─".repeat(self.columns);
        writeln!(out, "{DIM}{rule}{DIM:#}")?;
        let problems = match summary.problems {
            0 => None,
            problems => Some(style::count(problems, "problem")),
        };
        let content = Some(summary.content()).filter(|content| !content.is_empty());
        let lines = [
            ("run", style.bold(), Some(summary.ending())),
            ("holds", PLAIN, content),
            ("tokens", PLAIN, summary.usage()),
            ("stream", PLAIN, Some(summary.transport())),
            ("faults", RED, problems),
        ];
        for (word, style, text) in lines {
            for (at, line) in text.iter().flat_map(|text| wrap(text, self.columns - 8)).enumerate() {
                let word = if at == 0 { word } else { "" };
                writeln!(out, "{BOLD}{word:<8}{BOLD:#}{style}{line}{style:#}")?;
            }
        }
        Ok(())
    }
}
