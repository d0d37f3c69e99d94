//! The trait of a dialect, as a server serves it.
//!
//! Each dialect has its own module. Differences between dialects that fit a table are tables here, and
//! `docs/dialects.md` is generated from them. Decoding of streams is in [`crate::Reader`].

use std::{borrow::Cow, fmt};

use headwater_protocol::{Error, EventKind, Message};
use serde_json::{Value, json};

use crate::{
    documents::{self, AgentEntry, CheckpointReply, ConversationPage, ErrorReply, SessionList, WholeAnswer},
    encode::{Encode, EncodeOptions},
    names::{ReaderNames, ServerNames},
    profile::Profile,
    request::{ChatRequest, RawRequest},
    ui_message,
};

/// A wire protocol of a chat UI, as a server serves it: its routes and headers, requests, streams and
/// documents. A server needs nothing else to serve it.
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
    /// The name in URLs and on the command line.
    fn name(&self) -> &'static str;

    /// One line about its clients.
    fn about(&self) -> &'static str;

    /// The profiles, one per group of clients that differ. The first is the default.
    fn profiles(&self) -> &'static [Profile];

    /// The default profile.
    fn default_profile(&self) -> &'static Profile {
        self.profiles().first().unwrap_or(&Profile::PLAIN)
    }

    /// The profile with this name.
    fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles().iter().find(|profile| profile.name == name)
    }

    /// The profile of a chat request that does not identify its client. `asks` is whether the agent may ask
    /// the page for something.
    fn chat_profile(&self, asks: bool) -> &'static Profile {
        let _ = asks;
        self.default_profile()
    }

    /// What the developer of a page must do if its requests cannot carry decisions; `None` if they can.
    fn decision_hint(&self) -> Option<&'static str> {
        None
    }

    /// How the dialect shows an event under a profile.
    fn support(&self, kind: EventKind, profile: &Profile) -> Support;

    /// The paths below the base path of an agent. The default is a chat route and one below it, to reconnect.
    fn routes(&self) -> &'static [Route] {
        const { &[Route::CHAT, Route::BELOW_CHAT] }
    }

    /// Headers that its clients send on their own, besides the common ones. CORS allows them.
    fn request_headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The headers of its streams. CORS exposes them.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The path and query that a client intended, for clients that assemble them incorrectly.
    fn target<'a>(&self, request: &RawRequest<'a>) -> Cow<'a, str> {
        Cow::Borrowed(request.target)
    }

    /// Parses a request of one of its clients.
    ///
    /// # Errors
    /// Names the part of the request that is invalid.
    fn parse_request(&self, request: &RawRequest<'_>) -> Result<ChatRequest, Error>;

    /// How its clients answer a waiting run.
    fn answers(&self) -> AnswerFlow {
        AnswerFlow::SameResponse
    }

    /// Whether a client that reconnects without a cursor gets a run that ended long ago.
    fn resumes_ended_runs(&self) -> bool {
        true
    }

    /// Whether its clients stop an answer by closing the connection, so that a stop looks the same as a
    /// closed page.
    fn stops_by_leaving(&self) -> bool {
        true
    }

    /// Whether a client that reconnects to nothing gets a stream that ends at once, rather than no content.
    fn resumes_with_a_stream(&self) -> bool {
        false
    }

    /// The names that a client uses for its run.
    fn reader_names(&self, request: &ChatRequest, server: ServerNames<'_>) -> ReaderNames {
        let _ = (request, server);
        ReaderNames::default()
    }

    /// A fresh encoder.
    fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode>;

    /// A message in the form that its pages store and load.
    fn page_message(&self, message: &Message) -> Value {
        ui_message::write(message)
    }

    /// Whether the history document names the active run of the conversation. Looking it up costs a read of
    /// that run.
    fn history_names_run(&self) -> bool {
        false
    }

    /// The history document of a conversation.
    fn history(&self, page: &ConversationPage<'_>) -> Value {
        documents::history(page, |message| self.page_message(message))
    }

    /// The document with the list of conversations.
    fn session_list(&self, list: &SessionList<'_>) -> Value {
        documents::session_list(list)
    }

    /// The document with the list of agents.
    fn agent_list(&self, agents: &[AgentEntry<'_>]) -> Value {
        json!({ "agents": agents })
    }

    /// The response to a checkpoint request.
    fn checkpoint_reply(&self, reply: &CheckpointReply<'_>) -> Value {
        documents::checkpoint_reply(reply, |message| self.page_message(message))
    }

    /// The response to a request without streaming: the answer of a run.
    fn whole_answer(&self, answer: &WholeAnswer<'_>) -> Value {
        documents::whole_answer(answer, |message| self.page_message(message))
    }

    /// Whether a stop request is answered with the document of the answer.
    fn stop_gives_answer(&self) -> bool {
        false
    }

    /// The document of an error; `None` for the server's own format.
    fn error_document(&self, error: &ErrorReply<'_>) -> Option<Value> {
        let _ = error;
        None
    }
}

/// A route of a dialect; its handler is chosen by parsing the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The path, without a leading slash.
    pub path: &'static str,
    /// The base of the path.
    pub base: RouteBase,
    /// The names of its operations in the OpenAPI description.
    pub operations: Operations,
}

/// The names of a route's operations. A method without a name is not served.
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
    /// A route with GET and POST.
    #[must_use]
    pub const fn new(read: &'static str, write: &'static str) -> Self {
        Self { read: Some(read), ..Self::write(write) }
    }

    /// A route with GET only.
    #[must_use]
    pub const fn read(read: &'static str) -> Self {
        Self { read: Some(read), ..Self::NONE }
    }

    /// A route with POST only.
    #[must_use]
    pub const fn write(write: &'static str) -> Self {
        Self { write: Some(write), ..Self::NONE }
    }

    /// A route with PATCH and DELETE.
    #[must_use]
    pub const fn edit(change: &'static str, remove: &'static str) -> Self {
        Self { change: Some(change), remove: Some(remove), ..Self::NONE }
    }

    const NONE: Self = Self { read: None, write: None, change: None, remove: None };
}

/// The base of a route's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteBase {
    /// Below `/v1/{dialect}`.
    Dialect,
    /// Below `/v1/{dialect}`, and below `/v1/{dialect}/{agent}` with these operation names.
    DialectAndAgent(Operations),
    /// Below `/v1`: a path that clients hard-code and that belongs to this dialect alone.
    Version,
}

impl Route {
    /// The chat route.
    pub const CHAT: Self = Self {
        path: "chat",
        base: RouteBase::DialectAndAgent(Operations::new("readChatOfAgent", "chatWithAgent")),
        operations: Operations::new("readChat", "chat"),
    };
    /// Paths below the chat route: a stream to reconnect to, a run to stop.
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

/// How the clients of a dialect answer a waiting run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFlow {
    /// The response to the answer continues the stream.
    SameResponse,
    /// The answer is acknowledged; another request reads on.
    OtherResponse,
    /// The answer is acknowledged; the stream with the question is still open and continues.
    OpenStream,
    /// The response to the answer is a new one with its own id. Each response can be read again by id and is
    /// the same for every reader, so it ends at the first wait of its run, even if that has been answered
    /// since.
    NewResponse,
}

/// How a page shows an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The dialect has an equivalent chunk; decoding it gives the event back.
    Exact,
    /// The page shows it in its own vocabulary, as described.
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
