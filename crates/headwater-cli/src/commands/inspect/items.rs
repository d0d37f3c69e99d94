//! The decoded records and problems of a stream, in stream order.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
};

use headwater_dialects::{Finding, Reader};
use headwater_protocol::{Framing, Place, Record, RunState, RunStatus};
use serde::Serialize;

use super::{
    entry::{EntryBody, Problem, ReadingEntry},
    summary::{EntryCounts, StreamSummary},
};
use crate::{
    decode_walk::{StreamWalk, WalkItem, given_up},
    failure::CommandFailure,
};

/// A stream that has been read to its end.
#[derive(Debug)]
pub(super) struct StreamReading {
    pub(super) entries: Vec<ReadingEntry>,
    pub(super) summary: StreamSummary,
}

impl StreamReading {
    pub(super) fn of(dialect: &'static dyn Reader, framing: Framing, stream: &[u8]) -> Self {
        let mut growing = GrowingReading::new(dialect, framing);
        let mut entries = growing.push(stream);
        entries.extend(growing.end());
        let findings = headwater_dialects::lint(dialect, framing, stream);
        merge(&mut entries, findings);
        entries.sort_by_key(|entry| entry.frame().unwrap_or(u64::MAX));
        let summary = growing.summary(&entries);
        Self { entries, summary }
    }

    /// Prints one JSON object per entry, then the summary.
    pub(super) fn print_json(&self, out: &mut impl Write) -> Result<(), CommandFailure> {
        for entry in &self.entries {
            print_entry(entry, out)?;
        }
        print_summary(&self.summary, out)
    }
}

/// A stream that is being read: it is decoded and reduced as it arrives.
#[derive(Debug)]
pub(super) struct GrowingReading {
    dialect: &'static dyn Reader,
    framing: Framing,
    walk: StreamWalk,
    state: RunState,
    cut: bool,
}

impl GrowingReading {
    pub(super) fn new(dialect: &'static dyn Reader, framing: Framing) -> Self {
        let (walk, state) = (StreamWalk::new(dialect, framing), RunState::with_rules(dialect.rules()));
        Self { dialect, framing, walk, state, cut: false }
    }

    /// The entries that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<ReadingEntry> {
        let mut entries = Vec::new();
        let Self { walk, state, .. } = self;
        walk.push(bytes, &mut |place, found| apply(state, place, found, &mut entries));
        entries
    }

    /// The entries that the end of the stream adds, without the findings of the linter.
    pub(super) fn end(&mut self) -> Vec<ReadingEntry> {
        let mut entries = Vec::new();
        let Self { walk, state, .. } = self;
        walk.finish(&mut |place, found| apply(state, place, found, &mut entries));
        self.cut = self.state.run().status == RunStatus::Running;
        self.state.end_of_stream();
        entries
    }

    /// The summary of an ended stream with these entries.
    pub(super) fn summary<'a>(&self, entries: impl IntoIterator<Item = &'a ReadingEntry>) -> StreamSummary {
        let mut counts = EntryCounts::default();
        entries.into_iter().for_each(|entry| counts.add(entry));
        self.summary_of(&counts)
    }

    pub(super) fn summary_of(&self, counts: &EntryCounts) -> StreamSummary {
        StreamSummary::new(self.dialect, self.framing, &self.walk, counts, &self.state, self.cut)
    }
}

/// Adds a record or an error, and the problems that it has in the state before it.
fn apply(state: &mut RunState, place: Option<Place>, found: WalkItem, entries: &mut Vec<ReadingEntry>) {
    match found {
        WalkItem::Record(record) => {
            let refused = state.apply(&record).err();
            entries.push(ReadingEntry { place, what: EntryBody::Record(record.into()) });
            entries.extend(refused.map(|error| ReadingEntry::unreadable(place, &error)));
        }
        WalkItem::Error(error) => {
            entries.push(ReadingEntry::unreadable(place, &error));
            if error.is_fatal() {
                state.fail(given_up(&error));
            }
        }
    }
}

/// Prints an entry as one JSON object.
pub(super) fn print_entry(entry: &ReadingEntry, out: &mut impl Write) -> Result<(), CommandFailure> {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        frame: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        record: Option<&'a Record>,
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<&'a Problem>,
    }
    let ReadingEntry { place, what } = entry;
    let (record, problem) = match what {
        EntryBody::Record(record) => (Some(&**record), None),
        EntryBody::Problem(problem) => (None, Some(&**problem)),
    };
    let (frame, offset) = (place.map(|place| place.frame), place.map(|place| place.offset));
    serde_json::to_writer(&mut *out, &Line { frame, offset, record, problem })?;
    out.write_all(b"\n")?;
    Ok(())
}

pub(super) fn print_summary(summary: &StreamSummary, out: &mut impl Write) -> Result<(), CommandFailure> {
    serde_json::to_writer(&mut *out, &serde_json::json!({ "summary": summary }))?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Adds the findings of the linter. If both linter and decoder report a frame, the linter's message is kept
/// with the decoder's severity.
fn merge(entries: &mut Vec<ReadingEntry>, findings: Vec<Finding>) {
    let judged: HashSet<Option<u64>> = findings.iter().map(|finding| finding.frame).collect();
    let mut unreadable: HashMap<Option<u64>, bool> = HashMap::new();
    entries.retain(|entry| match &entry.what {
        EntryBody::Problem(problem) if judged.contains(&entry.frame()) => {
            *unreadable.entry(entry.frame()).or_default() |= problem.fatal;
            false
        }
        _ => true,
    });
    for finding in findings {
        let fatal = unreadable.remove(&finding.frame);
        entries.push(ReadingEntry::found(finding, fatal));
    }
}
