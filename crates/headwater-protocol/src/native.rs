//! Headwater's own wire format: one journal record per frame.
//!
//! In SSE, `id:` is the cursor, `event:` the kind of the event and `data:` the record as JSON. In NDJSON,
//! each line is the record, with the cursor in an additional field. Nothing is omitted, renamed or split, so
//! reading returns exactly the written records. The format is described in `docs/native.md`.
//!
//! A reader that reconnects without a cursor gets the current state as the fewest records that rebuild it,
//! each marked `replay`. At the first of them the reader drops its state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, ErrorKind},
    event::{Event, Origin, Record, UnknownEvent},
    framing::FrameWriter,
    state::RunState,
};

/// The version of the format, contained in each `run-started` frame.
pub const VERSION: u32 = 1;

/// A record on the wire: the `data:` of an SSE frame, or a line of NDJSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NativeRecord"))]
pub struct NativeFrame<'a> {
    /// The version of the format, in the frame of `run-started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// Number of the record in its run. It increases, with gaps.
    seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(flatten)]
    origin: &'a Origin,
    /// Set on the records that rebuild the current state: a reader drops its state at the first of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replay: bool,
    event: &'a Event,
}

/// Writes a record.
///
/// ```
/// use headwater_protocol::{Event, FrameWriter, Framing, Record, native};
///
/// let mut out = FrameWriter::new(Framing::Sse);
/// native::write_record(&Record::new(3, Event::Message { content: "Hi".into() }), &mut out);
/// assert_eq!(
///     out.bytes(),
///     b"event: message\ndata: {\"seq\":3,\"event\":{\"type\":\"message\",\"content\":\"Hi\"}}\n\n",
/// );
/// ```
pub fn write_record(record: &Record, out: &mut FrameWriter) {
    write(record, false, out);
}

/// Writes the fewest records that rebuild a state, each marked `replay`.
///
/// ```
/// use headwater_protocol::{Event, FrameWriter, Framing, Record, RunState, native};
///
/// let mut state = RunState::default();
/// state.apply(&Record::new(3, Event::Message { content: "Hi".into() })).unwrap();
/// let mut out = FrameWriter::new(Framing::Ndjson);
/// native::write_replay(&state, &mut out);
/// assert!(out.bytes().windows(13).any(|bytes| bytes == b"\"replay\":true"));
/// ```
pub fn write_replay(state: &RunState, out: &mut FrameWriter) {
    for record in state.replay() {
        write(&record, true, out);
    }
}

fn write(record: &Record, replay: bool, out: &mut FrameWriter) {
    let starts = matches!(record.event, Event::RunStarted(_));
    let frame = NativeFrame {
        version: starts.then_some(VERSION),
        seq: record.seq,
        time: Some(record.time).filter(|time| *time != 0),
        origin: &record.origin,
        replay,
        event: &record.event,
    };
    // Names of kinds have no line breaks and keys of records are strings, so this cannot fail.
    let written = out.frame(Some(record.event.kind().name()), &frame);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRecord {
    /// The record. An event of an unknown kind is [`Event::Unknown`].
    pub record: Record,
    /// Whether it is one of the records that rebuild the current state.
    pub replay: bool,
    /// Parts that could not be read: a newer version of the format, an unknown event.
    pub problems: Vec<Error>,
}

/// Reads a record from the data of a frame.
///
/// ```
/// use headwater_protocol::{EventKind, native};
///
/// let read = native::read_record(r#"{"seq":3,"event":{"type":"message","content":"Hi"}}"#)?;
/// assert_eq!((read.record.seq, read.record.event.kind()), (3, EventKind::Message));
/// assert!(native::read_record(r#"{"seq":"three"}"#).is_err());
/// # Ok::<(), headwater_protocol::Error>(())
/// ```
///
/// # Errors
/// If the data is not JSON, or not a record.
pub fn read_record(data: &str) -> Result<ReadRecord, Error> {
    /// A record whose event is not parsed yet.
    #[derive(Deserialize)]
    struct Frame {
        #[serde(default)]
        version: Option<u32>,
        seq: u64,
        #[serde(default)]
        time: u64,
        #[serde(flatten)]
        origin: Origin,
        #[serde(default)]
        replay: bool,
        event: Value,
    }
    let Frame { version, seq, time, origin, replay, event } =
        serde_json::from_str(data).map_err(|error| {
            if error.is_data() {
                Error::new(ErrorKind::Field, format!("not a record: {error}"))
            } else {
                Error::new(ErrorKind::Json, format!("not JSON: {error}"))
            }
        })?;
    let mut problems = Vec::new();
    if let Some(version) = version.filter(|version| *version > VERSION) {
        let message = format!("unsupported version {version} of the stream: this reader supports {VERSION}");
        problems.push(Error::new(ErrorKind::Field, message));
    }
    let event = Event::deserialize(&event).unwrap_or_else(|error| {
        let name = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        problems.push(Error::new(ErrorKind::Field, format!("cannot read the event `{name}`: {error}")));
        Event::Unknown(UnknownEvent::new(name, event))
    });
    Ok(ReadRecord { record: Record { seq, time, origin, event }, replay, problems })
}
