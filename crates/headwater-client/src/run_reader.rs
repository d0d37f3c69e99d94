//! Reads the native wire, from bytes to updates. No I/O, so that every cut can be tested.

use std::{collections::VecDeque, ops::Range};

use headwater_protocol::{Event, Frame, Framing, Message, Record, RunState, SseReader, native};

use crate::{
    Error, Result,
    update::{Change, EventUpdate, Update},
};

/// A run as it is read, over any number of connections.
///
/// ```
/// use headwater_client::{RunReader, Update};
///
/// let mut reader = RunReader::new();
/// reader.connected();
/// reader.push(b"id: c1\nevent: message\ndata: {\"seq\":1,\"event\":{\"type\":\"message\",\"content\":\"Hi\"}}\n\n")?;
/// assert!(matches!(reader.next_update(), Some(Update::Event(_))));
/// assert_eq!(reader.state().messages()[0].plain_text(), "Hi");
/// assert_eq!(reader.cursor(), Some("c1"));
/// # Ok::<(), headwater_client::Error>(())
/// ```
#[derive(Debug)]
pub struct RunReader {
    state: RunState,
    /// The messages of a fresh state.
    history: Vec<Message>,
    cursor: String,
    frames: SseReader,
    max_event: usize,
    max_bytes: usize,
    read_bytes: usize,
    /// Nothing of this connection was recognised yet.
    first: Vec<u8>,
    is_recognised: bool,
    pending: VecDeque<PendingEvent>,
    /// The cursors of the pending events, one after the other.
    cursors: String,
    /// Whether the last event was one of a replay.
    in_replay: bool,
    /// Whether the state came from a replay, so that a cut before its first cursor asks for one again.
    began_now: bool,
    has_ended: bool,
}

#[derive(Debug)]
struct PendingEvent {
    record: Record,
    replay: bool,
    cursor: Option<Range<usize>>,
}

impl Default for RunReader {
    fn default() -> Self {
        Self::new()
    }
}

impl RunReader {
    /// A reader at the start of a run.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(8 << 20, 256 << 20)
    }

    pub(crate) fn with_limits(max_event: usize, max_bytes: usize) -> Self {
        Self {
            state: RunState::default(),
            history: Vec::new(),
            cursor: String::new(),
            frames: SseReader::new(),
            max_event,
            max_bytes,
            read_bytes: 0,
            first: Vec::new(),
            is_recognised: false,
            pending: VecDeque::new(),
            cursors: String::new(),
            in_replay: false,
            began_now: false,
            has_ended: false,
        }
    }

    /// The same reader for a conversation that already has these messages.
    #[must_use]
    pub fn with_messages(mut self, messages: Vec<Message>) -> Self {
        self.state = RunState::default().with_messages(messages.clone());
        self.history = messages;
        self
    }

    pub(crate) fn begin_after(&mut self, cursor: &str) {
        cursor.clone_into(&mut self.cursor);
    }

    pub(crate) fn begin_now(&mut self) {
        self.began_now = true;
    }

    /// The state after the last update.
    #[must_use]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    pub(crate) fn into_state(self) -> RunState {
        self.state
    }

    /// The cursor of the last update, to continue after it.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        Some(self.cursor.as_str()).filter(|cursor| !cursor.is_empty())
    }

    /// Whether a request without a cursor must ask for the current state instead of the first record.
    #[must_use]
    pub fn begins_now(&self) -> bool {
        self.began_now && self.cursor.is_empty()
    }

    /// Whether the end of the run was yielded.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The pause before a reconnect that the server asked for.
    #[must_use]
    pub fn retry_delay(&self) -> Option<std::time::Duration> {
        self.frames.retry().map(std::time::Duration::from_millis)
    }

    /// Starts a connection: drops an incomplete event of the previous one.
    pub fn connected(&mut self) {
        self.frames = SseReader::new().with_limit(self.max_event);
        self.in_replay = false;
        self.is_recognised = false;
        self.first.clear();
    }

    /// Reads bytes of the connection.
    ///
    /// # Errors
    /// If they are not events of a run, or if there are too many of them. Another attempt would get the same.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.read_bytes = self.read_bytes.saturating_add(bytes.len());
        if self.read_bytes > self.max_bytes {
            let message =
                format!("the run has more than {} bytes: raise `max_response_bytes`", self.max_bytes);
            return Err(Error::new("stream.too-large", message));
        }
        if self.is_recognised {
            return self.read(bytes);
        }
        self.first.extend_from_slice(bytes);
        self.is_recognised = check_start(&self.first)?;
        if !self.is_recognised {
            return Ok(());
        }
        let first = std::mem::take(&mut self.first);
        self.read(&first)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let Self { frames, pending, cursors, .. } = self;
        if pending.is_empty() {
            cursors.clear();
        }
        let mut failure = None;
        frames.push(bytes, |frame| {
            if failure.is_none() {
                failure = frame.map_err(too_large).and_then(|frame| keep(&frame, pending, cursors)).err();
            }
        });
        failure.map_or(Ok(()), Err)
    }

    /// The next update, which is part of the state after this call.
    pub fn next_update(&mut self) -> Option<Update> {
        let replay = self.pending.front()?.replay;
        if replay && !self.in_replay {
            self.in_replay = true;
            self.began_now = true;
            self.cursor.clear();
            self.state = RunState::default().with_messages(self.history.clone());
            return Some(Update::Reset);
        }
        let PendingEvent { record, replay, cursor } = self.pending.pop_front()?;
        self.in_replay = replay;
        if let Some(cursor) = cursor.and_then(|range| self.cursors.get(range)) {
            cursor.clone_into(&mut self.cursor);
        }
        let problem = self.state.apply(&record).err();
        self.has_ended |= record.event.kind().ends_run();
        let change = Change::of(&record, &self.state);
        Some(Update::Event(Box::new(EventUpdate { record, change, replay, problem })))
    }
}

fn keep(frame: &Frame<'_>, pending: &mut VecDeque<PendingEvent>, cursors: &mut String) -> Result<()> {
    let read = native::read_record(frame.data).map_err(|error| {
        let text: String = frame.data.chars().take(80).collect();
        Error::new("stream.json", format!("unexpected event `{text}` ({error}): check the URL"))
    })?;
    let cursor = frame.id.filter(|id| !id.is_empty()).map(|id| {
        let start = cursors.len();
        cursors.push_str(id);
        start..cursors.len()
    });
    pending.push_back(PendingEvent { record: read.record, replay: read.replay, cursor });
    Ok(())
}

pub(crate) fn too_large(error: headwater_protocol::FramingError) -> Error {
    Error::new("stream.too-large", format!("{error} (`max_event_bytes`)"))
}

/// Whether bytes start an event stream; false while that is unknown. The content type may be wrong, the first
/// bytes are not.
pub(crate) fn check_start(bytes: &[u8]) -> Result<bool> {
    /// A stream that is not recognised by then is not an event stream.
    const LONGEST_START: usize = 1024;
    if let Some(framing) = Framing::recognise(bytes) {
        return match framing {
            Framing::Sse => Ok(true),
            Framing::Ndjson => {
                Err(Error::new("stream.json", "a JSON document instead of an event stream: check the URL"))
            }
        };
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => Err(Error::new("stream.html", "a web page instead of an event stream: check the URL")),
        Some(_) if bytes.len() > LONGEST_START => {
            Err(Error::new("stream.invalid", "the response is not an event stream: check the URL"))
        }
        _ => Ok(false),
    }
}

/// Whether the event ends the run or makes it wait.
pub(crate) fn is_waiting(event: &Event) -> bool {
    matches!(event, Event::RunWaiting(_))
}
