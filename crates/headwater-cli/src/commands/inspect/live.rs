//! Rows of a stream that still grows, printed as soon as they are complete.

use std::{collections::VecDeque, io::Write, rc::Rc};

use headwater_protocol::{Event, Place, Record};

use super::{
    entry::{EntryBody, Problem, ReadingEntry},
    print::{ColumnLayout, stamp},
    rows,
    summary::StreamSummary,
    timeline::{ItemBody, Timeline},
};
use crate::failure::CommandFailure;

/// The width of the column of times: the last one is not known before the end.
const STAMP: usize = 8;

/// Prints the items of a timeline as it grows. Text is printed line by line, and what follows a text waits for its end;
/// other items are printed when they are complete.
pub(in super::super) struct LiveRows {
    timeline: Timeline,
    /// The indexes of the items that were not printed, in order, and the first index that is not among them.
    pending: VecDeque<usize>,
    known: usize,
    layout: ColumnLayout,
    last_stamp: String,
    /// The text whose first lines were printed.
    begun: Option<BegunText>,
}

#[derive(Debug, Clone)]
struct BegunText {
    item: usize,
    lines: usize,
    stamp: String,
    /// The bytes of the text at that time: it is not wrapped again for each word.
    bytes: usize,
}

/// After so many further bytes a text may have another line.
const LINE: usize = 32;

impl LiveRows {
    pub(in super::super) fn new(full: bool) -> Self {
        Self {
            timeline: Timeline::default(),
            pending: VecDeque::new(),
            known: 0,
            layout: ColumnLayout::new(STAMP, full),
            last_stamp: String::new(),
            begun: None,
        }
    }

    pub(super) fn add(&mut self, entry: &ReadingEntry, out: &mut dyn Write) -> Result<(), CommandFailure> {
        match &entry.what {
            EntryBody::Record(record) => self.record(entry.place, record, out),
            EntryBody::Problem(problem) => self.problem(entry.place, problem),
        }
    }

    /// Adds a record. When the run ends or waits, all that is there is printed.
    pub(in super::super) fn record(
        &mut self,
        place: Option<Place>,
        record: &Rc<Record>,
        out: &mut dyn Write,
    ) -> Result<(), CommandFailure> {
        let is_end = matches!(
            record.event,
            Event::RunFinished(_) | Event::RunFailed(_) | Event::RunCancelled { .. } | Event::RunWaiting(_)
        );
        if is_end {
            self.finish(out)?;
        }
        self.timeline.record(place, record);
        Ok(())
    }

    fn problem(&mut self, place: Option<Place>, problem: &Rc<Problem>) -> Result<(), CommandFailure> {
        self.timeline.problem(place, problem);
        Ok(())
    }

    /// Prints what is complete.
    pub(in super::super) fn print(&mut self, out: &mut dyn Write) -> Result<(), CommandFailure> {
        self.pending.extend(self.known..self.timeline.items.len());
        self.known = self.timeline.items.len();
        if let Some(begun) = self.begun.clone() {
            if !self.is_complete(begun.item) {
                return self.begin(begun.item, out);
            }
            self.pending.retain(|at| *at != begun.item);
            self.write(begun.item, out)?;
        }
        let mut waiting = VecDeque::new();
        while let Some(at) = self.pending.pop_front() {
            if self.is_complete(at) {
                self.write(at, out)?;
                continue;
            }
            waiting.push_back(at);
            if self.timeline.items.get(at).is_some_and(|item| matches!(item.body, ItemBody::Text(_))) {
                self.begin(at, out)?;
                break;
            }
        }
        waiting.append(&mut self.pending);
        self.pending = waiting;
        Ok(())
    }

    /// Prints everything, complete or not.
    pub(in super::super) fn finish(&mut self, out: &mut dyn Write) -> Result<(), CommandFailure> {
        self.print(out)?;
        if let Some(begun) = self.begun.clone() {
            self.pending.retain(|at| *at != begun.item);
            self.write(begun.item, out)?;
        }
        while let Some(at) = self.pending.pop_front() {
            self.write(at, out)?;
        }
        Ok(())
    }

    pub(super) fn summary(&self, summary: &StreamSummary, out: &mut dyn Write) -> Result<(), CommandFailure> {
        self.layout.summary(summary, out)
    }

    fn is_complete(&self, at: usize) -> bool {
        self.timeline.items.get(at).is_some_and(super::timeline::TimelineItem::is_complete)
    }

    /// Prints the complete lines of a text.
    fn begin(&mut self, at: usize, out: &mut dyn Write) -> Result<(), CommandFailure> {
        let Some(item) = self.timeline.items.get(at) else { return Ok(()) };
        let ItemBody::Text(block) = &item.body else { return Ok(()) };
        let bytes = block.text.len();
        let (written, shown) = match &self.begun {
            Some(begun) if bytes < begun.bytes + LINE => return Ok(()),
            Some(begun) => (begun.lines, begun.stamp.clone()),
            None => (0, self.shown(&stamp(item, self.timeline.epoch))),
        };
        let lines = self.layout.beginning(&shown, &rows::row(item), written, out)?;
        if lines > 0 {
            self.begun = Some(BegunText { item: at, lines, stamp: shown, bytes });
        }
        Ok(())
    }

    fn write(&mut self, at: usize, out: &mut dyn Write) -> Result<(), CommandFailure> {
        let Some(item) = self.timeline.items.get(at) else { return Ok(()) };
        let row = rows::row(item);
        let stamp = stamp(item, self.timeline.epoch);
        match self.begun.take_if(|begun| begun.item == at) {
            Some(begun) => self.layout.row(&begun.stamp, &row, begun.lines, out)?,
            None => self.layout.row(&self.shown(&stamp), &row, 0, out)?,
        }
        self.last_stamp = stamp;
        self.timeline.release(at);
        Ok(())
    }

    /// A repeated time is printed only once.
    fn shown(&self, stamp: &str) -> String {
        if stamp == self.last_stamp { String::new() } else { stamp.to_owned() }
    }
}
