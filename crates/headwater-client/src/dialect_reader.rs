//! Reads the response of a server of a dialect, from bytes to updates. No I/O.

use std::collections::VecDeque;

use headwater_dialects::{DecodeOutput, Decoder, Reader};
use headwater_protocol::{
    ErrorKind, FrameReader, Framing, Message, NdjsonReader, Record, Rules, RunState, SseReader,
};

use crate::{
    Error, Result,
    run_reader::too_large,
    update::{Change, EventUpdate, Update},
};

/// One response, over any number of connections.
#[derive(Debug)]
pub(crate) struct DialectReader {
    reader: &'static dyn Reader,
    /// The conversation before the response, from which a replay starts.
    history: Vec<Message>,
    state: RunState,
    decoder: Decoder,
    frames: Option<FrameReader>,
    first: Vec<u8>,
    pending: VecDeque<Record>,
    /// Whether the next update is a reset.
    resets: bool,
    problems: Vec<headwater_protocol::Error>,
    cursor: Option<String>,
    max_event: usize,
    max_bytes: usize,
    read_bytes: usize,
    /// Whether the end was read: of the run, or the marker of the AI SDK.
    ended: bool,
}

impl DialectReader {
    pub(crate) fn new(reader: &'static dyn Reader, history: Vec<Message>, limits: (usize, usize)) -> Self {
        let state = RunState::with_rules(rules(reader)).with_messages(history.clone());
        Self {
            reader,
            state,
            decoder: new_decoder(reader, &history),
            history,
            frames: None,
            first: Vec::new(),
            pending: VecDeque::new(),
            resets: false,
            problems: Vec::new(),
            cursor: None,
            max_event: limits.0,
            max_bytes: limits.1,
            read_bytes: 0,
            ended: false,
        }
    }

    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    pub(crate) fn set_state(&mut self, state: RunState) {
        self.state = state;
    }

    pub(crate) fn problems(&self) -> &[headwater_protocol::Error] {
        &self.problems
    }

    pub(crate) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Starts a connection that continues the previous one.
    pub(crate) fn continued(&mut self) {
        self.frames = None;
        self.first.clear();
    }

    /// Starts a connection that repeats the whole response.
    pub(crate) fn restarted(&mut self) {
        self.continued();
        self.pending.clear();
        (self.cursor, self.ended) = (None, false);
        self.decoder = new_decoder(self.reader, &self.history);
        self.resets = true;
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.read_bytes = self.read_bytes.saturating_add(bytes.len());
        if self.read_bytes > self.max_bytes {
            let message =
                format!("the response has more than {} bytes: raise `max_response_bytes`", self.max_bytes);
            return Err(Error::new("stream.too-large", message));
        }
        if self.frames.is_some() {
            return self.read(bytes);
        }
        self.first.extend_from_slice(bytes);
        let Some(framing) = framing_of(&self.first)? else { return Ok(()) };
        self.frames = Some(match framing {
            Framing::Sse => {
                FrameReader::Sse(SseReader::new().with_limit(self.max_event).with_tail(self.reader.tail()))
            }
            Framing::Ndjson => FrameReader::Ndjson(NdjsonReader::new().with_limit(self.max_event)),
        });
        let first = std::mem::take(&mut self.first);
        self.read(&first)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let Self { frames: Some(frames), decoder, cursor, ended, .. } = self else { return Ok(()) };
        let (mut decoded, mut failure) = (DecodeOutput::default(), None);
        frames.push(bytes, |frame| match frame {
            Ok(frame) => {
                if let Some(id) = frame.id.filter(|id| !id.is_empty()) {
                    id.clone_into(cursor.get_or_insert_default());
                }
                *ended |= frame.data == "[DONE]";
                decoder.frame(&frame, &mut decoded);
            }
            Err(error) => failure = failure.take().or_else(|| Some(too_large(error))),
        });
        self.take(decoded)?;
        failure.map_or(Ok(()), Err)
    }

    /// Handles the end of the body. Returns whether the response is complete.
    pub(crate) fn finish(&mut self) -> Result<bool> {
        let mut decoded = DecodeOutput::default();
        if let Some(frames) = &mut self.frames {
            let decoder = &mut self.decoder;
            frames.finish(|frame| {
                if let Ok(frame) = frame {
                    decoder.frame(&frame, &mut decoded);
                }
            });
        }
        if self.frames.is_none() {
            return Err(Error::new(
                "stream.empty",
                "the response has no events: check the URL and the dialect",
            ));
        }
        self.decoder.finish(&mut decoded);
        let is_cut = decoded.errors.iter().any(|error| error.kind() == ErrorKind::Cut);
        decoded.errors.retain(|error| error.kind() != ErrorKind::Cut);
        self.take(decoded)?;
        // The decoder takes any end, as the AI SDK's own client does.
        let lacks_end = self.reader.name() == "ai-sdk" && !self.ended;
        Ok(!is_cut && !lacks_end)
    }

    fn take(&mut self, mut decoded: DecodeOutput) -> Result<()> {
        let fatal = decoded.fatal().map(ToString::to_string);
        self.ended |= decoded.records.iter().any(|record| record.event.kind().ends_run());
        self.pending.extend(decoded.records.drain(..));
        self.problems.append(&mut decoded.errors);
        match fatal {
            None => Ok(()),
            Some(problem) => {
                let message = format!("not a stream of the {} dialect: {problem}", self.reader.name());
                Err(Error::new("stream.invalid", message))
            }
        }
    }

    pub(crate) fn next_update(&mut self) -> Option<Update> {
        if std::mem::take(&mut self.resets) {
            self.state = RunState::with_rules(rules(self.reader)).with_messages(self.history.clone());
            return Some(Update::Reset);
        }
        let record = self.pending.pop_front()?;
        let problem = self.state.apply(&record).err();
        let change = Change::of(&record, &self.state);
        Some(Update::Event(Box::new(EventUpdate { record, change, replay: false, problem })))
    }
}

/// A response is read to the end of its body: TanStack's server finishes a run for each step of it.
pub(crate) fn rules(reader: &dyn Reader) -> Rules {
    Rules { goes_on_after_end: true, ..reader.rules() }
}

fn new_decoder(reader: &'static dyn Reader, history: &[Message]) -> Decoder {
    // Frames are split here, so the framing of the decoder itself does not matter.
    Decoder::new(reader, Framing::Sse).with_messages(history)
}

/// The framing of a response; `None` while that is not known.
fn framing_of(bytes: &[u8]) -> Result<Option<Framing>> {
    /// A stream that is not recognised by then is not an event stream.
    const LONGEST_START: usize = 1024;
    if let Some(framing) = Framing::recognise(bytes) {
        return Ok(Some(framing));
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => Err(Error::new("stream.html", "a web page instead of an event stream: check the URL")),
        Some(_) if bytes.len() > LONGEST_START => {
            Err(Error::new("stream.invalid", "the response is not an event stream: check the URL"))
        }
        _ => Ok(None),
    }
}
