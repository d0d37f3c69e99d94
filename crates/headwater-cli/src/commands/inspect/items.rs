//! The decoded records and problems of a stream, in stream order.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
};

use headwater_dialects::{Finding, Reader};
use headwater_protocol::{Framing, Record, RunState, RunStatus};
use serde::Serialize;

use super::{
    entry::{EntryBody, Problem, ReadingEntry},
    summary::StreamSummary,
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
    pub(super) fn of(dialect: &dyn Reader, framing: Framing, stream: &[u8]) -> Self {
        let mut state = RunState::with_rules(dialect.rules());
        let mut entries = Vec::new();
        let mut walk = StreamWalk::new(dialect, framing);
        walk.through(stream, |place, found| match found {
            WalkItem::Record(record) => {
                let refused = state.apply(&record).err();
                entries.push(ReadingEntry { place, what: EntryBody::Record(record) });
                entries.extend(refused.map(|error| ReadingEntry::unreadable(place, &error)));
            }
            WalkItem::Error(error) => {
                entries.push(ReadingEntry::unreadable(place, &error));
                if error.is_fatal() {
                    state.fail(given_up(&error));
                }
            }
        });
        let cut = state.run().status == RunStatus::Running;
        state.end_of_stream();

        let findings = headwater_dialects::lint(dialect, framing, stream);
        merge(&mut entries, findings);
        entries.sort_by_key(|entry| entry.frame().unwrap_or(u64::MAX));

        let summary = StreamSummary::new(dialect, framing, &walk, &entries, &state, cut);
        Self { entries, summary }
    }

    /// Prints one JSON object per entry, then the summary.
    pub(super) fn print_json(&self, out: &mut impl Write) -> Result<(), CommandFailure> {
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
        for ReadingEntry { place, what } in &self.entries {
            let (record, problem) = match what {
                EntryBody::Record(record) => (Some(&**record), None),
                EntryBody::Problem(problem) => (None, Some(problem)),
            };
            let (frame, offset) = (place.map(|place| place.frame), place.map(|place| place.offset));
            serde_json::to_writer(&mut *out, &Line { frame, offset, record, problem })?;
            out.write_all(b"\n")?;
        }
        serde_json::to_writer(&mut *out, &serde_json::json!({ "summary": self.summary }))?;
        out.write_all(b"\n")?;
        Ok(())
    }
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
