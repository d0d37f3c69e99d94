//! The native wire, [`headwater_protocol::native`], as a dialect.

mod decode;
mod lint;

use headwater_protocol::{
    Error, ErrorKind, EventKind, Frame, FrameWriter, Framing, Message, Record, Rules, RunState, native,
};
use serde_json::Value;

use crate::{
    decode::Decode,
    dialect::{Dialect, Support},
    encode::{Encode, EncodeOptions},
    lint::{Lint, LintRule},
    profile::{CursorSupport, KeepAlive, Profile, Retraction},
    reader::Reader,
    request::{ChatRequest, RawRequest},
};

/// Headwater's native wire.
///
/// ```
/// use headwater_dialects::{EncodeOptions, Encoder, native::Native};
/// use headwater_protocol::{Event, Record};
///
/// let mut encoder = Encoder::new(&Native, &EncodeOptions::default());
/// encoder.record(&Record::new(3, Event::Message { content: "Hi".into() }));
/// assert_eq!(
///     encoder.bytes(),
///     b"event: message\ndata: {\"seq\":3,\"event\":{\"type\":\"message\",\"content\":\"Hi\"}}\n\n",
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Native;

static PROFILES: [Profile; 1] = [Profile {
    name: "default",
    clients: "Headwater's own clients, its page and its command line",
    retraction: Retraction::Exact,
    cursor: CursorSupport::LastEventId,
    keep_alive: KeepAlive::Comment,
    framings: &[Framing::Sse, Framing::Ndjson],
    ..Profile::PLAIN
}];

/// Writes records unchanged.
#[derive(Debug, Clone, Copy)]
struct NativeEncoder;

impl Encode for NativeEncoder {
    fn record(&mut self, record: &Record, out: &mut FrameWriter) {
        native::write_record(record, out);
    }

    fn reentry(&mut self, state: &RunState, out: &mut FrameWriter) {
        native::write_replay(state, out);
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
    fn recognise(&self, frame: &Frame<'_>) -> u8 {
        let begins = ["{\"seq\":", "{\"version\":"].iter().any(|head| frame.data.starts_with(head));
        let named = frame.event.is_none_or(|name| EventKind::ALL.iter().any(|kind| kind.name() == name));
        match begins && frame.data.contains("\"event\":{\"type\":\"") {
            true if named => 100,
            true => 60,
            false => 0,
        }
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

    fn lint_rules(&self) -> &'static [LintRule] {
        lint::RULES
    }
}
