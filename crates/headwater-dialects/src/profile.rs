//! The capabilities in which the clients of one dialect differ.

use std::fmt;

use headwater_protocol::Framing;
use serde::{Deserialize, Serialize};

/// The capabilities of a group of a dialect's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The name of the profile.
    pub name: &'static str,
    /// The clients that it is for.
    pub clients: &'static str,
    /// How a failed attempt is retracted.
    pub retraction: Retraction,
    /// How a client that reconnects gets the state.
    pub reentry: Reentry,
    /// How the client tracks its position.
    pub cursor: CursorSupport,
    /// The keep-alive of an idle connection.
    pub keep_alive: KeepAlive,
    /// The frame after the last chunk.
    pub end_marker: Option<&'static str>,
    /// The framings that the clients read; the first is the default.
    pub framings: &'static [Framing],
    /// Whether deltas may be merged before they are sent.
    pub coalesce: bool,
    /// Whether waiting and ending use the same chunk.
    pub wait_is_end: bool,
}

impl Profile {
    /// The baseline that every client supports.
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

/// How a failed attempt is retracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retraction {
    /// The content of the attempt disappears from the page, as if it had never been sent.
    Exact,
    /// Its content stays, closed, and the next attempt begins a new part after a marker.
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

/// What a client gets when it reconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reentry {
    /// All chunks of the run, merged.
    Replay,
    /// A snapshot of the conversation, then the open parts.
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

/// How a client names its position in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorSupport {
    /// It has none, and an `id:` line would break its parser.
    None,
    /// It ignores `id:` lines.
    Ignored,
    /// `id:` lines return as `Last-Event-ID`.
    LastEventId,
    /// A number in each envelope. Numbers of frames lost in a crash are reused by the next process, so a
    /// client that resumes by number may get more than it missed. Clients that can also return `id:` lines as
    /// `Last-Event-ID`.
    Sequence,
    /// A number in each frame, named by a request. There are no `id:` lines.
    Number,
}

impl CursorSupport {
    /// Whether the number counts the frames of the stream.
    #[must_use]
    pub const fn counts_frames(self) -> bool {
        matches!(self, Self::Sequence | Self::Number)
    }
}

impl fmt::Display for CursorSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none (no `id:` lines)",
            Self::Ignored => "`id:` ignored",
            Self::LastEventId => "`id:` / Last-Event-ID",
            Self::Sequence => "`id:` / Last-Event-ID, or the sequence in the envelope",
            Self::Number => "the number of the event",
        })
    }
}

/// The keep-alive of an idle connection; it must not disturb the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAlive {
    /// None.
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

/// What TanStack's content chunks carry in `content`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentMode {
    /// Only what the client needs to begin a new segment.
    #[default]
    Compact,
    /// The text of the segment so far.
    Hybrid,
    /// The text of the whole response so far, exactly as documented by TanStack.
    Full,
}
