//! What a dialect is: how a server speaks it to its clients.
//!
//! The dialects themselves have a module each; everything that differs between them and
//! can be written as a table is written as a table here, and `docs/dialects.md` is made from it. How
//! streams of others are read is [`crate::Reader`].

use std::{borrow::Cow, fmt};

use headwater_protocol::{Error, EventKind, Framing, Message, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    documents::{self, AgentEntry, CheckpointReply, ErrorReply, HistoryPage, SessionList, WholeAnswer},
    encode::{Encode, EncodeOptions},
    request::{ChatRequest, RawRequest},
    ui_message,
};

/// A wire protocol that a chat UI speaks, as a server serves it: its routes and headers, its requests, its streams and its
/// documents. A server needs to know nothing else about it.
///
/// ```
/// use headwater_dialects::{EncodeOptions, Encoder};
/// use headwater_protocol::{Event, Record};
///
/// let dialect = headwater_dialects::find("kortyx").unwrap();
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

    /// The default profile.
    fn default_profile(&self) -> &'static Profile {
        self.profiles().first().unwrap_or(&Profile::PLAIN)
    }

    /// The profile of that name.
    fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles().iter().find(|profile| profile.name == name)
    }

    /// The profile of a chat request that does not show which client sent it. The agent may ask the page for something, or
    /// never `asks`.
    fn chat_profile(&self, asks: bool) -> &'static Profile {
        let _ = asks;
        self.default_profile()
    }

    /// What the developer of a page has to do whose requests cannot say what a person decided; none where they can.
    fn how_to_decide(&self) -> Option<&'static str> {
        None
    }

    /// How it says an event, under a profile.
    fn support(&self, kind: EventKind, profile: &Profile) -> Support;

    /// Its routes.
    fn routes(&self) -> &'static [Route] {
        const { &[Route::CHAT, Route::BELOW_CHAT] }
    }

    /// The headers that its clients send by themselves, beside those that all do. Pages of other origins may send them.
    fn request_headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The headers of its streams. Pages of other origins may read them.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The path and the query that a client means, where it puts them together wrongly.
    fn target<'a>(&self, request: &RawRequest<'a>) -> Cow<'a, str> {
        Cow::Borrowed(request.target)
    }

    /// Reads a request of one of its clients.
    ///
    /// # Errors
    /// Says which part of the request is not what its clients send.
    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error>;

    /// How its clients answer a run that waits.
    fn answers(&self) -> AnswerFlow {
        AnswerFlow::SameResponse
    }

    /// Whether a client that reconnects without a cursor wants a run that ended long ago.
    fn resumes_ended_runs(&self) -> bool {
        true
    }

    /// Whether its clients stop an answer by closing the connection, so that nothing tells a stop from a page that is closed.
    fn stops_by_leaving(&self) -> bool {
        true
    }

    /// Whether a client that comes back to nothing gets a stream that ends at once, rather than no content.
    fn resumes_with_a_stream(&self) -> bool {
        false
    }

    /// The names by which a client knows its run.
    fn reader_names(&self, request: &ChatRequest, server: ServerNames<'_>) -> ReaderNames {
        let _ = (request, server);
        ReaderNames::default()
    }

    /// A fresh encoder.
    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode>;

    /// A message in the form in which its pages keep it, and ask for it when they are opened again.
    fn page_message(&self, message: &Message) -> Value {
        ui_message::write(message)
    }

    /// Whether the document of a conversation names the run that the page has to follow. To look for it costs a read of
    /// that run.
    fn history_names_run(&self) -> bool {
        false
    }

    /// The document of a conversation.
    fn history(&self, page: &HistoryPage<'_>) -> Value {
        documents::history(page, |message| self.page_message(message))
    }

    /// The document of the list of conversations.
    fn session_list(&self, list: &SessionList<'_>) -> Value {
        documents::session_list(list)
    }

    /// The document of the list of agents.
    fn agent_list(&self, agents: &[AgentEntry<'_>]) -> Value {
        json!({ "agents": agents })
    }

    /// The document that answers a request about checkpoints.
    fn checkpoint_reply(&self, reply: &CheckpointReply<'_>) -> Value {
        documents::checkpoint_reply(reply, |message| self.page_message(message))
    }

    /// The document that is sent instead of a stream: what a run has said.
    fn whole_answer(&self, answer: &WholeAnswer<'_>) -> Value {
        documents::whole_answer(answer, |message| self.page_message(message))
    }

    /// Whether a request to stop a run is answered with the document of its answer.
    fn stop_gives_answer(&self) -> bool {
        false
    }

    /// The document of an error; none for the server's own.
    fn error_document(&self, error: &ErrorReply<'_>) -> Option<Value> {
        let _ = error;
        None
    }
}

/// A route of a dialect. The request says what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The path, without a slash at its beginning.
    pub path: &'static str,
    /// Where the path lies.
    pub base: RouteBase,
    /// The names of its operations in the description of the server.
    pub operations: Operations,
}

/// The names of a route's operations. A method without one is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operations {
    /// Of GET.
    pub read: Option<&'static str>,
    /// Of POST.
    pub write: Option<&'static str>,
    /// Of PATCH.
    pub change: Option<&'static str>,
    /// Of DELETE.
    pub remove: Option<&'static str>,
}

impl Operations {
    /// Of a route with both methods.
    #[must_use]
    pub const fn new(read: &'static str, write: &'static str) -> Self {
        Self { read: Some(read), ..Self::write(write) }
    }

    /// Of a route that is only read.
    #[must_use]
    pub const fn read(read: &'static str) -> Self {
        Self { read: Some(read), ..Self::NONE }
    }

    /// Of a route that is only written to.
    #[must_use]
    pub const fn write(write: &'static str) -> Self {
        Self { write: Some(write), ..Self::NONE }
    }

    /// Of a route whose document is changed and removed.
    #[must_use]
    pub const fn edit(change: &'static str, remove: &'static str) -> Self {
        Self { change: Some(change), remove: Some(remove), ..Self::NONE }
    }

    const NONE: Self = Self { read: None, write: None, change: None, remove: None };
}

/// Where the path of a route lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteBase {
    /// Below `/v1/{dialect}`.
    Dialect,
    /// Below `/v1/{dialect}`, and below `/v1/{dialect}/{agent}` with these names of its operations.
    DialectAndAgent(Operations),
    /// Below `/v1`: the clients know the path, and it belongs to this dialect alone.
    Version,
}

impl Route {
    /// The chat route.
    pub const CHAT: Self = Self {
        path: "chat",
        base: RouteBase::DialectAndAgent(Operations::new("readChatOfAgent", "chatWithAgent")),
        operations: Operations::new("readChat", "chat"),
    };
    /// What lies below the chat route: a stream to reconnect to, a run to stop.
    pub const BELOW_CHAT: Self = Self {
        path: "chat/{*rest}",
        base: RouteBase::DialectAndAgent(Operations::new("resumeChatOfAgent", "answerChatOfAgent")),
        operations: Operations::new("resumeChat", "answerChat"),
    };

    /// The path on a server, for the default agent.
    ///
    /// ```
    /// let dialect = headwater_dialects::find("kortyx").unwrap();
    /// assert_eq!(dialect.routes()[0].url(dialect.name()), "/v1/kortyx/chat");
    /// ```
    #[must_use]
    pub fn url(&self, dialect: &str) -> String {
        match self.base {
            RouteBase::Version => format!("/v1/{}", self.path),
            RouteBase::Dialect | RouteBase::DialectAndAgent(_) => format!("/v1/{dialect}/{}", self.path),
        }
    }
}

/// How the clients of a dialect answer a run that waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFlow {
    /// The response to the answer is the stream that goes on.
    SameResponse,
    /// The answer is acknowledged, and another request reads on.
    OtherResponse,
    /// The answer is acknowledged, and the stream in which the question came is still open and goes on.
    OpenStream,
    /// The response to the answer is another one with a name of its own. Each can be read again by its name and is the same
    /// for every reader, so a response ends at the first wait of its run, also where that was answered since.
    NewResponse,
}

/// How the server names a request, and the response to it.
#[derive(Debug, Clone, Copy)]
pub struct ServerNames<'a> {
    /// The id of the request.
    pub request: &'a str,
    /// The path that was called.
    pub path: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The run that answers.
    pub run: &'a RunId,
    /// The last record of the responses of this run before this one; 0 for the first.
    pub since: u64,
}

/// The names by which a reader knows a run, where they are not our own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ReaderNames {
    /// The run.
    pub run: Option<String>,
    /// The HTTP request.
    pub request: Option<String>,
    /// The path that was called.
    pub endpoint: Option<String>,
    /// What answers: the model, or the agent.
    pub model: Option<String>,
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
    /// Whether waiting and ending use the same chunk.
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
    /// A number in each frame, which a request names. There are no `id:` lines.
    Number,
}

impl CursorSupport {
    /// Whether a number is a place in the stream.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
