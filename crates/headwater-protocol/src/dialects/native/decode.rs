//! Frames in, the records that they hold out.

use serde::Deserialize;
use serde_json::Value;

use super::VERSION;
use crate::{
    decode::{Decode, Decoded},
    error::{Error, ErrorKind},
    event::{Event, Origin, Record, UnknownEvent},
    framing::Frame,
};

/// A record as it was read, before its event is.
#[derive(Debug, Deserialize)]
struct IncomingFrame {
    #[serde(default)]
    version: Option<u32>,
    seq: u64,
    #[serde(default)]
    time: u64,
    #[serde(flatten)]
    origin: Origin,
    event: Value,
}

/// Reads the wire. An event of a kind that this version does not know becomes [`Event::Unknown`].
#[derive(Debug, Default)]
pub(super) struct NativeDecoder {
    /// The run has ended, or waits: a stream may stop here.
    complete: bool,
    started: bool,
}

impl Decode for NativeDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Decoded) {
        self.started = true;
        let fail = |kind, message: String| Error::new(kind, message).at(frame.index, frame.offset);
        let read: IncomingFrame = match serde_json::from_str(frame.data) {
            Ok(read) => read,
            Err(error) if error.is_data() => {
                out.errors.push(fail(ErrorKind::Field, format!("not a record: {error}")));
                return;
            }
            Err(error) => {
                out.errors.push(fail(ErrorKind::Json, format!("not JSON: {error}")));
                return;
            }
        };
        if let Some(version) = read.version.filter(|version| *version > VERSION) {
            let message = format!("the stream has version {version}, and this reader knows {VERSION}");
            out.errors.push(fail(ErrorKind::Field, message));
        }
        let (event, wrong) = event(read.event);
        out.errors.extend(wrong.map(|wrong| fail(ErrorKind::Field, wrong)));
        self.complete = event.kind().ends_run() || matches!(event, Event::RunWaiting(_));
        out.records.push(Record { seq: read.seq, time: read.time, origin: read.origin, event });
    }

    fn end(&mut self, out: &mut Decoded) {
        if self.started && !self.complete {
            let message = "the stream ended before the run did: reconnect with the last cursor";
            out.errors.push(Error::new(ErrorKind::Cut, message));
        }
    }
}

/// The event, or what stands for one that cannot be read, with the reason.
fn event(value: Value) -> (Event, Option<String>) {
    match Event::deserialize(&value) {
        Ok(event) => (event, None),
        Err(error) => {
            let name = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            let wrong = format!("cannot read the event `{name}`: {error}");
            (Event::Unknown(UnknownEvent::new(name, value)), Some(wrong))
        }
    }
}
