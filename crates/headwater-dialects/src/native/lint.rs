//! The rules of the native wire.

use headwater_protocol::{Frame, Record};
use serde_json::Value;

use crate::lint::{Findings, Lint, rules};

rules! {
    "framing": "frames of valid UTF-8 within the limits",
    "json": "the data of a frame is one JSON object",
    "record": "the object is a record: `seq` and an `event` with its fields",
    "event-name": "the `event:` line names the kind of the event",
    "sequence": "`seq` grows; a replay begins anew",
    "end-last": "nothing comes after the end of the run",
    "end-present": "the stream ends where the run ended or waits",
}

/// Checks a stream.
#[derive(Debug, Default)]
pub(super) struct NativeLinter {
    last: Option<u64>,
    replays: bool,
    ended: bool,
    waits: bool,
}

impl Lint for NativeLinter {
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        let value: Value = match serde_json::from_str(frame.data) {
            Ok(value) => value,
            Err(error) => return findings.add("json", error.to_string(), "a JSON object"),
        };
        let replay = value.get("replay") == Some(&Value::Bool(true));
        let record: Record = match serde_json::from_value(value) {
            Ok(record) => record,
            Err(error) => return findings.add("record", error.to_string(), "a record"),
        };
        let kind = record.event.kind();
        if let Some(name) = frame.event.filter(|name| *name != kind.name()) {
            findings.add("event-name", format!("`{name}`"), format!("`{kind}`"));
        }
        let began_anew = replay != std::mem::replace(&mut self.replays, replay);
        if let Some(last) = self.last.filter(|last| *last >= record.seq && !began_anew) {
            findings.add("sequence", format!("{} after {last}", record.seq), "a larger number");
        }
        if self.ended {
            findings.add("end-last", format!("`{kind}` after the end"), "the end of the stream");
        }
        self.last = Some(record.seq);
        self.ended |= kind.ends_run();
        self.waits = kind.waits_after(self.waits);
    }

    fn end(&mut self, findings: &mut Findings) {
        if !self.ended && !self.waits {
            findings.add("end-present", "no end: the stream was cut", "the end of the run, or a wait");
        }
    }
}
