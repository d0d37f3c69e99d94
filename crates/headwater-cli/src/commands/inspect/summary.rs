//! The summary of a stream.

use headwater_dialects::Reader;
use headwater_protocol::{ErrorInfo, Framing, Part, RunState, RunStatus, Usage};
use serde::Serialize;

use super::entry::{EntryBody, ReadingEntry};
use crate::{
    decode_walk::StreamWalk,
    style::{count, thousands},
};

/// The last lines of `inspect`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamSummary {
    dialect: &'static str,
    framing: Framing,
    pub(super) status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    messages: u64,
    tools: u64,
    structured: u64,
    interrupts: u64,
    events: u64,
    frames: u64,
    bytes: u64,
    /// In milliseconds; `None` if the wire carries no timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    pub(super) problems: u64,
    /// The dialect's own client rejects the stream.
    rejected: bool,
    /// The stream ended before its run did.
    cut: bool,
}

/// What the summary says about the records and problems of a stream.
#[derive(Debug, Default)]
pub(super) struct EntryCounts {
    events: u64,
    problems: u64,
    rejected: bool,
    /// The first and the last timestamp on the wire.
    times: Option<(u64, u64)>,
}

impl EntryCounts {
    pub(super) fn add(&mut self, entry: &ReadingEntry) {
        match &entry.what {
            EntryBody::Record(record) => {
                self.events += 1;
                if record.time > 0 {
                    let (first, last) = self.times.unwrap_or((record.time, record.time));
                    self.times = Some((first.min(record.time), last.max(record.time)));
                }
            }
            EntryBody::Problem(problem) => {
                self.problems += 1;
                self.rejected |= problem.fatal;
            }
        }
    }
}

impl StreamSummary {
    pub(super) fn new(
        dialect: &dyn Reader,
        framing: Framing,
        walk: &StreamWalk,
        counts: &EntryCounts,
        state: &RunState,
        cut: bool,
    ) -> Self {
        let parts = state.messages().iter().flat_map(|message| &message.parts);
        let run = state.run();
        Self {
            dialect: dialect.name(),
            framing,
            status: run.status,
            finish_reason: run.finish_reason.as_ref().map(|reason| reason.as_str().to_owned()),
            error: run.error.clone(),
            usage: run.usage.clone(),
            messages: state.messages().len() as u64,
            tools: parts.filter(|part| matches!(part, Part::Tool(_))).count() as u64,
            structured: state.structured().iter().count() as u64,
            interrupts: state.interrupts().len() as u64,
            events: counts.events,
            frames: walk.frames,
            bytes: walk.bytes,
            duration: counts.times.map(|(first, last)| last - first),
            problems: counts.problems,
            rejected: counts.rejected,
            cut,
        }
    }

    pub(super) fn is_at_fault(&self) -> bool {
        self.rejected || self.cut
    }

    /// How the run ended, in words.
    pub(super) fn ending(&self) -> String {
        let mut parts = vec![self.status.as_str().to_owned()];
        if self.cut {
            parts.push("the stream was cut".to_owned());
        } else if self.rejected {
            parts.push("the dialect's own client gives up on it".to_owned());
        } else {
            parts.extend(self.finish_reason.clone());
            let failed = self.error.as_ref().filter(|_| self.status == RunStatus::Failed);
            parts.extend(failed.map(|error| error.message.clone()));
        }
        parts.join(" · ")
    }

    /// Counts of the messages, tools and other content.
    pub(super) fn content(&self) -> String {
        let counts = [
            (self.messages, "message"),
            (self.tools, "tool call"),
            (self.structured, "structured stream"),
            (self.interrupts, "open question"),
        ];
        let some = counts.iter().filter(|(number, _)| *number > 0);
        some.map(|(number, noun)| count(*number, noun)).collect::<Vec<_>>().join(" · ")
    }

    /// Token usage.
    pub(super) fn usage(&self) -> Option<String> {
        let usage = self.usage.as_ref()?;
        let counts = [
            (usage.input_tokens, "in"),
            (usage.output_tokens, "out"),
            (usage.total_tokens, "in all"),
            (usage.reasoning_tokens, "for thoughts"),
            (usage.cached_input_tokens, "from a cache"),
            (usage.cache_write_tokens, "into a cache"),
        ];
        let some = counts.iter().filter_map(|(number, what)| number.map(|number| (number, what)));
        let some = some.map(|(number, what)| format!("{} {what}", thousands(number)));
        Some(some.collect::<Vec<_>>().join(" · ")).filter(|text| !text.is_empty())
    }

    /// Frames, bytes and framing.
    pub(super) fn transport(&self) -> String {
        let mut parts =
            vec![count(self.events, "event"), count(self.frames, "frame"), count(self.bytes, "byte")];
        parts.extend(self.duration.map(seconds));
        parts.push(format!("{} over {}", self.dialect, self.framing));
        parts.join(" · ")
    }
}

/// Formats milliseconds as seconds with three decimals.
pub(super) fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03} s", milliseconds / 1_000, milliseconds % 1_000)
}
