//! Tools of MCP servers: programs started and connected over stdio, and servers over streamable HTTP. The
//! protocol is implemented by rmcp, which is not visible outside this module.

mod cassette;
mod connection;
mod fetch;
mod http;
mod notifications;
mod output;
mod process;
mod reconnect;
mod stdio;
mod tool;
mod tool_list;
mod tool_selection;

use std::{
    ffi::OsString,
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use headwater_protocol::Secrets;

use self::{
    cassette::{McpCassette, McpTape},
    http::Address,
    process::Program,
    reconnect::ConnectionSlot,
};
pub use self::{tool_list::McpListing, tool_selection::McpTools};
use crate::{Error, ErrorKind};

/// A client of one MCP server.
///
/// Unless [`keep`](McpClient::keep) is set, each [`tools`](McpClient::tools) call opens its own connection,
/// which is closed when the reason call that uses the tools ends. A connection that was closed or lost is
/// reopened by the next call.
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
    settings: McpSettings,
    /// The shared connection, created on first use.
    kept: Option<Arc<OnceLock<Arc<ConnectionSlot>>>>,
}

#[derive(Debug, Clone)]
struct McpSettings {
    endpoint: Endpoint,
    connect_timeout: Duration,
    call_timeout: Duration,
    longest_call: Duration,
    tape: McpTape,
    /// The first invalid setting. It is reported when the client is used, so that settings can be chained.
    wrong: Option<Error>,
}

#[derive(Debug, Clone)]
enum Endpoint {
    Stdio(Program),
    Http(Address),
}

impl McpClient {
    /// A server that is started as a program and connected over its standard input and output.
    ///
    /// It does not inherit the environment of this process, which may hold keys. It gets only the variables
    /// that a program needs to run (`PATH`, `HOME` and similar) and those set with [`env`](McpClient::env).
    #[must_use]
    pub fn stdio<A: Into<OsString>>(command: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self::new(Endpoint::Stdio(Program::new(command.into(), args)))
    }

    /// A server at a URL, over streamable HTTP.
    #[must_use]
    pub fn http(url: impl AsRef<str>) -> Self {
        let (address, wrong) = Address::new(url.as_ref());
        let mut client = Self::new(Endpoint::Http(address));
        client.settings.wrong = wrong;
        client
    }

    fn new(endpoint: Endpoint) -> Self {
        let settings = McpSettings {
            endpoint,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            longest_call: Duration::from_secs(15 * 60),
            tape: McpTape::None,
            wrong: None,
        };
        Self { settings, kept: None }
    }

    /// Sets an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let pair = (name.into(), value.into());
        self.program("an environment variable", |program| program.env.push(pair));
        self
    }

    /// Sets the program's working directory.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.program("a working directory", |program| program.cwd = Some(folder));
        self
    }

    /// Sets a header of every request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.address("a header", |address| address.header(name, value));
        self
    }

    /// Sets a bearer token for every request.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Maximum time to start or reach the server and initialize the connection. Default 30 seconds.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Maximum time that a call or the tool list may take without a response. Default 60 seconds. Progress
    /// notifications reset it.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.call_timeout = timeout;
        self
    }

    /// Maximum duration of a call, regardless of progress. Default 15 minutes.
    #[must_use]
    pub fn longest_call(mut self, limit: Duration) -> Self {
        self.settings.longest_call = limit;
        self
    }

    /// Records the tool list and the results of calls in a folder, for tests without the server.
    #[must_use]
    pub fn recording(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.tape = McpTape::Record(McpCassette::new(folder.into()));
        self
    }

    /// Replays a recorded folder; the server is neither started nor contacted. A call that was not recorded
    /// is an error that the model sees.
    #[must_use]
    pub fn playing(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.tape = McpTape::Play(McpCassette::new(folder.into()));
        self
    }

    /// Keeps one shared connection, until [`close`](McpClient::close) or until the last of its tools is
    /// dropped.
    #[must_use]
    pub fn keep(mut self) -> Self {
        self.kept = Some(Arc::default());
        self
    }

    /// The server's tools. Await the result, or select tools first.
    pub fn tools(&self) -> McpTools {
        McpTools::new(self.slot(), self.kept.is_none())
    }

    /// Waits until the server reports that its tools have changed since they were last listed. Needs a kept
    /// connection.
    pub async fn changed(&self) {
        match &self.kept {
            Some(_) => self.slot().changed().await,
            None => std::future::pending().await,
        }
    }

    /// Closes a kept connection. The next call reopens it.
    pub async fn close(&self) {
        if let Some(slot) = self.kept.as_ref().and_then(|kept| kept.get()) {
            slot.close().await;
        }
    }

    fn slot(&self) -> Arc<ConnectionSlot> {
        let new = || Arc::new(ConnectionSlot::new(self.settings.clone()));
        self.kept.as_ref().map_or_else(new, |kept| Arc::clone(kept.get_or_init(new)))
    }

    fn program(&mut self, what: &str, set: impl FnOnce(&mut Program)) {
        match &mut self.settings.endpoint {
            Endpoint::Stdio(program) => set(program),
            Endpoint::Http(_) => {
                self.wrong(format!("{what} can be set only for a program, not for a server at an address"));
            }
        }
    }

    fn address(&mut self, what: &str, set: impl FnOnce(&mut Address) -> Result<(), String>) {
        let done = match &mut self.settings.endpoint {
            Endpoint::Http(address) => set(address),
            Endpoint::Stdio(_) => {
                Err(format!("{what} can be set only for a server at an address, not for a program"))
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

impl McpSettings {
    /// Secrets that errors of the server must not contain.
    fn secrets(&self) -> Secrets {
        match &self.endpoint {
            Endpoint::Stdio(program) => program.secrets(),
            Endpoint::Http(address) => address.secrets(),
        }
    }
}

impl fmt::Display for McpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Endpoint::Stdio(program) => write!(f, "the MCP server `{program}`"),
            Endpoint::Http(address) => write!(f, "the MCP server at {address}"),
        }
    }
}
