//! Headwater's own wire: one record of the journal is one frame.
//!
//! In SSE, `id:` is the cursor, `event:` the kind of the event and `data:` the record as JSON. In NDJSON each
//! line is the record, with the cursor in a field of its own. Nothing is left out, renamed or split, so
//! decoding gives back the very records that were encoded. The format is described in `docs/native.md`.
//!
//! A reader that reconnects without a cursor gets the current state as the fewest records that rebuild it,
//! each marked `replay`: it drops what it holds when the first of them arrives.

mod decode;
mod lint;

use serde::Serialize;
use serde_json::Value;

use crate::{
    decode::Decode,
    dialect::{CursorSupport, Dialect, KeepAlive, Profile, Reentry, Retraction, Support},
    encode::{Encode, EncodeOptions},
    error::{Error, ErrorKind},
    event::{Event, EventKind, Origin, Record},
    framing::{Frame, FrameWriter, Framing, Tail},
    lint::{Lint, Rule},
    reader::Reader,
    request::{ChatRequest, RawRequest},
    state::{Message, Rules, RunState},
};

/// The version of the wire. The frame of each `run-started` names it.
pub const VERSION: u32 = 1;

/// Headwater's own wire.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Encoder, Event, Record, dialects::native::Native};
///
/// let mut encoder = Encoder::new(&Native, &EncodeOptions::default());
/// encoder.record(&Record::new(3, Event::Message { content: "Hi".into() }));
/// assert_eq!(
///     encoder.bytes(),
///     b"event: message\ndata: {\"seq\":3,\"event\":{\"type\":\"message\",\"content\":\"Hi\"}}\n\n",
/// );
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Native;

static PROFILES: [Profile; 1] = [Profile {
    name: "default",
    clients: "Headwater's own clients, its page and its command line",
    retraction: Retraction::Exact,
    reentry: Reentry::Replay,
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    end_marker: None,
    framings: &[Framing::Sse, Framing::Ndjson],
    coalesce: true,
    wait_is_end: false,
}];

/// A record on the wire: the `data:` of an SSE frame, or a line of NDJSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NativeRecord"))]
pub struct NativeFrame<'a> {
    /// The version of the format, in the frame of `run-started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The number of the record in its run. It grows, with gaps.
    seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(flatten)]
    origin: &'a Origin,
    /// It is one of the records that rebuild the current state: a reader drops what it holds at the first of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replay: bool,
    event: &'a Event,
}

impl<'a> NativeFrame<'a> {
    fn new(record: &'a Record, replay: bool) -> Self {
        let starts = matches!(record.event, Event::RunStarted(_));
        Self {
            version: starts.then_some(VERSION),
            seq: record.seq,
            time: Some(record.time).filter(|time| *time != 0),
            origin: &record.origin,
            replay,
            event: &record.event,
        }
    }
}

/// Writes records as they are.
#[derive(Debug, Clone, Copy)]
struct NativeEncoder;

impl Encode for NativeEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        out.chunk(Some(record.event.kind().name()), &NativeFrame::new(record, false));
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        for record in state.replay() {
            out.chunk(Some(record.event.kind().name()), &NativeFrame::new(&record, true));
        }
    }

    fn finish(&mut self, _out: &mut FrameWriter) {}

    fn next_response(&mut self, _out: &mut FrameWriter) {}

    fn cursor_field(&self) -> Option<&'static str> {
        Some("cursor")
    }
}

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Headwater's own wire: every record of a run, exactly"
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn support(&self, _kind: EventKind, _profile: &Profile) -> Support {
        Support::Exact
    }

    fn encoder(&self, _options: &EncodeOptions) -> Box<dyn Encode> {
        Box::new(NativeEncoder)
    }

    fn parse_request(&self, _request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        let message = "the native wire has no chat route: start a run with `POST /v1/runs`";
        Err(Error::new(ErrorKind::Request, message))
    }

    fn page_message(&self, message: &Message) -> Value {
        serde_json::to_value(message).unwrap_or_default()
    }
}

impl Reader for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        let begins = ["{\"seq\":", "{\"version\":"].iter().any(|head| frame.data.starts_with(head));
        let named = frame.event.is_none_or(|name| EventKind::ALL.iter().any(|kind| kind.name() == name));
        match begins && frame.data.contains("\"event\":{\"type\":\"") {
            true if named => 100,
            true => 60,
            false => 0,
        }
    }

    fn tail(&self) -> Tail {
        Tail::Discard
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::<decode::NativeDecoder>::default()
    }

    fn rules(&self) -> Rules {
        Rules::default()
    }

    fn linter(&self) -> Box<dyn Lint> {
        Box::<lint::NativeLinter>::default()
    }

    fn lint_rules(&self) -> &'static [Rule] {
        lint::RULES
    }
}
