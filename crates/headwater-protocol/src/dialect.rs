//! What a dialect is: how it encodes, decodes, checks and asks, and what it is able to say.
//!
//! The dialects themselves are under [`crate::dialects`]; everything that differs between them and
//! can be written as a table is written as a table here, and `docs/dialects.md` is made from it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    decode::Decode,
    encode::{Encode, EncodeOptions},
    error::Error,
    event::EventKind,
    framing::{Frame, Framing, Tail},
    lint::{Lint, Rule},
    request::{ChatRequest, RawRequest},
    state::{Message, Rules, RunState},
    ui_message,
};

/// A wire protocol that a chat UI speaks.
///
/// ```
/// use headwater_protocol::{EncodeOptions, Encoder, Event, Record, dialects};
///
/// let dialect = dialects::find("kortyx").unwrap();
/// let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
/// encoder.record(&Record::new(0, Event::Message { content: "Hi".into() }));
/// assert_eq!(encoder.bytes(), b"data: {\"type\":\"message\",\"content\":\"Hi\"}\n\n");
/// ```
pub trait Dialect: fmt::Debug + Sync {
    /// Its name in URLs and on the command line.
    fn name(&self) -> &'static str;

    /// In one line, who speaks it.
    fn about(&self) -> &'static str;

    /// Its profiles: where its clients differ, the encoder follows one of them. The first is the default.
    fn profiles(&self) -> &'static [Profile];

    /// How it says an event, under a profile.
    fn support(&self, kind: EventKind, profile: &Profile) -> Support;

    /// Where its clients build other messages from the same events than we do.
    fn rules(&self) -> Rules {
        Rules { objects_leave_no_part: true, ..Rules::default() }
    }

    /// A fresh encoder.
    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode>;

    /// What its clients do with a last block that no blank line ended.
    fn tail(&self) -> Tail {
        Tail::Discard
    }

    /// A fresh decoder.
    fn decoder(&self) -> Box<dyn Decode>;

    /// A fresh linter.
    fn linter(&self) -> Box<dyn Lint>;

    /// The rules that its linter knows.
    fn lint_rules(&self) -> &'static [Rule];

    /// Reads a request of one of its clients.
    ///
    /// # Errors
    /// Says which part of the request is not what its clients send.
    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error>;

    /// A message in the form in which its pages keep it, and ask for it when they are opened again.
    fn page_message(&self, message: &Message) -> Value {
        ui_message::write(message)
    }

    /// What a run waits for, in the form in which a page finds it when it is loaded again; empty where pages find it in
    /// the messages.
    fn pending_interrupts(&self, state: &RunState, run: &str) -> Vec<Value> {
        let _ = (state, run);
        Vec::new()
    }

    /// How its clients use HTTP.
    fn habits(&self) -> &'static Habits {
        &Habits::PLAIN
    }

    /// How sure it is, from 0 to 100, that the frame is its own.
    fn recognise(&self, frame: &Frame<'_>) -> u8;

    /// The profile of that name, or the default.
    fn profile(&self, name: Option<&str>) -> &'static Profile {
        let profiles = self.profiles();
        let named = profiles.iter().find(|profile| Some(profile.name) == name);
        named.or_else(|| profiles.first()).unwrap_or(&Profile::PLAIN)
    }
}

/// What one kind of a dialect's clients can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// Which clients it is for.
    pub clients: &'static str,
    /// How what a failed attempt said is taken back.
    pub retraction: Retraction,
    /// How a client that was away comes back.
    pub reentry: Reentry,
    /// Whether the client tolerates an `id:` line, or carries a number of its own.
    pub cursor: CursorSupport,
    /// What keeps a silent connection open.
    pub keep_alive: KeepAlive,
    /// What is sent after the last chunk.
    pub end_marker: Option<&'static str>,
    /// The framings that the clients read; the first is the default.
    pub framings: &'static [Framing],
    /// Whether deltas may be merged before they are sent.
    pub coalesce: bool,
    /// Whether that a run waits is said by what says that a run has ended.
    pub wait_is_end: bool,
}

impl Profile {
    /// What every client can do.
    pub const PLAIN: Self = Self {
        name: "default",
        clients: "",
        retraction: Retraction::Seam,
        reentry: Reentry::Replay,
        cursor: CursorSupport::None,
        keep_alive: KeepAlive::None,
        end_marker: None,
        framings: &[Framing::Sse],
        coalesce: true,
        wait_is_end: false,
    };
}

/// How the clients of a dialect use HTTP: what a server must know beside the streams themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    /// The headers that they look for in the response of a stream.
    pub headers: &'static [(&'static str, &'static str)],
    /// The profile of a client that does not say which it is, where that is not the default one.
    pub safe_profile: Option<&'static str>,
    /// They send an answer in a request of its own, and read on in another one.
    pub answers_apart: bool,
    /// They read on in the stream in which they were asked.
    pub reads_on_after_wait: bool,
    /// They hold the conversation, and a snapshot replaces all of it.
    pub replaces_conversation: bool,
    /// A conversation that they ask for says which run is going, and what it waits for: they join it.
    pub joins_runs: bool,
    /// They have names of their own for runs.
    pub names_runs: bool,
    /// They want to be told the id and the path of their request.
    pub wants_request: bool,
    /// They keep what has ended, and ask without a cursor for what is going alone.
    pub keeps_ended: bool,
}

impl Habits {
    /// Those of a client that sends a message and reads the response.
    pub const PLAIN: Self = Self {
        headers: &[],
        safe_profile: None,
        answers_apart: false,
        reads_on_after_wait: false,
        replaces_conversation: false,
        joins_runs: false,
        names_runs: false,
        wants_request: false,
        keeps_ended: false,
    };
}

/// How what a failed attempt said is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retraction {
    /// It disappears.
    Exact,
    /// It stays, closed, and the next attempt begins in a new part after a marker.
    Seam,
}

impl fmt::Display for Retraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Seam => "seam",
        })
    }
}

/// What a re-entry is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reentry {
    /// The run's chunks from the first one, merged.
    Replay,
    /// A snapshot of the conversation, then what is open.
    Snapshot,
}

impl fmt::Display for Reentry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replay => "merged replay",
            Self::Snapshot => "snapshot",
        })
    }
}

/// How a client says where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorSupport {
    /// It cannot, and an `id:` line would break its reader.
    None,
    /// It ignores `id:` lines.
    Ignored,
    /// `id:` lines come back as `Last-Event-ID`.
    LastEventId,
    /// A number in each envelope. What a process told and lost had numbers too, which the next one gives again: whoever
    /// comes back with a number may be told more than was missing, and `id:` lines come back as `Last-Event-ID` where the
    /// client can do that.
    Sequence,
}

impl fmt::Display for CursorSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none (no `id:` lines)",
            Self::Ignored => "`id:` ignored",
            Self::LastEventId => "`id:` / Last-Event-ID",
            Self::Sequence => "`id:` / Last-Event-ID, or the sequence in the envelope",
        })
    }
}

impl CursorSupport {
    /// Whether `id:` lines may be sent.
    #[must_use]
    pub const fn allows_id(self) -> bool {
        !matches!(self, Self::None)
    }
}

/// What keeps a silent connection open without disturbing the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAlive {
    /// Nothing does.
    None,
    /// An SSE comment.
    Comment,
    /// A chunk that the client ignores.
    Chunk(&'static str),
    /// An empty SSE block, or a blank line in NDJSON.
    Blank,
}

impl fmt::Display for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Comment => f.write_str("comment"),
            Self::Chunk(chunk) => write!(f, "`{chunk}`"),
            Self::Blank => f.write_str("blank line"),
        }
    }
}

/// What a page shows of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The dialect has a chunk that means the same; decoding it gives the event back.
    Exact,
    /// The page shows it in this way, in its own vocabulary.
    Shown(&'static str),
    /// The page cannot show it, and it is not sent.
    Hidden,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Shown(how) => write!(f, "shown as {how}"),
            Self::Hidden => f.write_str("not sent"),
        }
    }
}

/// How `content` is filled in TanStack's content chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentMode {
    /// Only where the client needs it to begin a new segment.
    #[default]
    Compact,
    /// The text of the segment so far.
    Hybrid,
    /// The text of the whole response so far, to the letter of its documentation.
    Full,
}
