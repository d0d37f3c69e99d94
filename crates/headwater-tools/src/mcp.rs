//! Tools of MCP servers: programs that are started and spoken to over stdio, and servers over streamable HTTP.
//! The protocol itself is rmcp's; nothing of it shows outside this module.

mod cassette;
mod connection;
mod http;
mod list;
mod output;
mod process;
mod slot;
mod stdio;
mod tap;
mod tool;

use std::{
    ffi::OsString,
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use headwater_protocol::Secrets;

pub use self::list::{McpListing, McpTools};
use self::{
    cassette::{Folder, Tape},
    http::Address,
    process::Program,
    slot::Slot,
};
use crate::{Error, ErrorKind};

/// A client of one MCP server.
///
/// Unless it is told to [keep](McpClient::keep) its connection, each [`tools`](McpClient::tools) opens one of its own,
/// which is closed when the reason call that got the tools has ended. A connection that is gone, because it was closed or
/// because the server died, is opened anew by the next call.
///
/// ```no_run
/// use headwater_tools::McpClient;
///
/// # async fn example() -> Result<(), headwater_tools::Error> {
/// let issues = McpClient::http("https://example.com/mcp").bearer("secret");
/// let tools = issues.tools().include(["search_issues", "get_issue"]).await?;
/// assert_eq!(tools.len(), 2);
///
/// let files = McpClient::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]).keep();
/// let tools = tools.merge(files.tools().prefix("files_").await?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpClient {
    settings: Settings,
    /// The one connection that all share, made when it is first needed.
    kept: Option<Arc<OnceLock<Arc<Slot>>>>,
}

#[derive(Debug, Clone)]
struct Settings {
    endpoint: Endpoint,
    connect_timeout: Duration,
    call_timeout: Duration,
    longest_call: Duration,
    tape: Tape,
    /// What was set wrongly. It is told when the client is used, so that settings read as one chain.
    wrong: Option<Error>,
}

#[derive(Debug, Clone)]
enum Endpoint {
    Stdio(Program),
    Http(Address),
}

impl McpClient {
    /// A server that is a program: it is started, and spoken to over its standard input and output.
    ///
    /// It does not see the environment of this process, in which there may be keys, but only what a program needs to run
    /// (`PATH`, `HOME` and the like) and what [`env`](McpClient::env) gives.
    #[must_use]
    pub fn stdio<A: Into<OsString>>(command: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self::new(Endpoint::Stdio(Program::new(command.into(), args)))
    }

    /// A server at an address, over streamable HTTP.
    #[must_use]
    pub fn http(url: impl AsRef<str>) -> Self {
        let (address, wrong) = Address::new(url.as_ref());
        let mut client = Self::new(Endpoint::Http(address));
        client.settings.wrong = wrong;
        client
    }

    fn new(endpoint: Endpoint) -> Self {
        let settings = Settings {
            endpoint,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            longest_call: Duration::from_secs(15 * 60),
            tape: Tape::None,
            wrong: None,
        };
        Self { settings, kept: None }
    }

    /// Gives the program a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let pair = (name.into(), value.into());
        self.program("a variable of the environment", |program| program.env.push(pair));
        self
    }

    /// Starts the program in this folder.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.program("a folder", |program| program.cwd = Some(folder));
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.address("a header", |address| address.header(name, value));
        self
    }

    /// Sends a bearer token with every request.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// How long it may take until the server is there and has answered; 30 seconds unless set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// How long a call, or the list of the tools, may go on without a sign of life; 60 seconds unless set. Progress that
    /// the server reports is a sign of life.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.call_timeout = timeout;
        self
    }

    /// How long a call may take however lively it is; 15 minutes unless set.
    #[must_use]
    pub fn longest_call(mut self, limit: Duration) -> Self {
        self.settings.longest_call = limit;
        self
    }

    /// Keeps what the server offers and what its tools give in files of a folder, for tests without the server.
    #[must_use]
    pub fn recording(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.tape = Tape::Record(Folder::new(folder.into()));
        self
    }

    /// Answers with what was kept in a folder; the server is neither started nor asked. A call that was not kept is an
    /// error that the model is told.
    #[must_use]
    pub fn playing(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.tape = Tape::Play(Folder::new(folder.into()));
        self
    }

    /// Keeps one connection for all, until [`close`](McpClient::close) or until the last of its tools is dropped.
    #[must_use]
    pub fn keep(mut self) -> Self {
        self.kept = Some(Arc::default());
        self
    }

    /// The server's tools: await it, or first say which.
    pub fn tools(&self) -> McpTools {
        McpTools::new(self.slot(), self.kept.is_none())
    }

    /// Waits until the server says that its tools are others than those that were last listed. Only a kept connection
    /// hears of it.
    pub async fn changed(&self) {
        match &self.kept {
            Some(_) => self.slot().changed().await,
            None => std::future::pending().await,
        }
    }

    /// Ends a kept connection. The next call opens it anew.
    pub async fn close(&self) {
        if let Some(slot) = self.kept.as_ref().and_then(|kept| kept.get()) {
            slot.close().await;
        }
    }

    fn slot(&self) -> Arc<Slot> {
        let new = || Arc::new(Slot::new(self.settings.clone()));
        self.kept.as_ref().map_or_else(new, |kept| Arc::clone(kept.get_or_init(new)))
    }

    fn program(&mut self, what: &str, set: impl FnOnce(&mut Program)) {
        match &mut self.settings.endpoint {
            Endpoint::Stdio(program) => set(program),
            Endpoint::Http(_) => {
                self.wrong(format!("{what} is for a server that is started, not for one at an address"));
            }
        }
    }

    fn address(&mut self, what: &str, set: impl FnOnce(&mut Address) -> Result<(), String>) {
        let done = match &mut self.settings.endpoint {
            Endpoint::Http(address) => set(address),
            Endpoint::Stdio(_) => {
                Err(format!("{what} is for a server at an address, not for one that is started"))
            }
        };
        if let Err(message) = done {
            self.wrong(message);
        }
    }

    fn wrong(&mut self, message: String) {
        let error = Error::new(ErrorKind::Settings, message).of(&self.settings.to_string());
        self.settings.wrong.get_or_insert(error);
    }
}

impl Settings {
    /// What no error of the server may show.
    fn secrets(&self) -> Secrets {
        match &self.endpoint {
            Endpoint::Stdio(program) => program.secrets(),
            Endpoint::Http(address) => address.secrets(),
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Endpoint::Stdio(program) => write!(f, "the MCP server `{program}`"),
            Endpoint::Http(address) => write!(f, "the MCP server at {address}"),
        }
    }
}
