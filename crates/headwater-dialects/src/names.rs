//! The names of a run on both sides: the server's, and those of the client that reads it.

use headwater_protocol::RunId;

/// The server's names for a request and its response.
#[derive(Debug, Clone, Copy)]
pub struct ServerNames<'a> {
    /// The id of the request.
    pub request: &'a str,
    /// The path that was called.
    pub path: &'a str,
    /// The name of the agent.
    pub agent: &'a str,
    /// The run that answers.
    pub run: &'a RunId,
    /// The last record of the run's earlier responses; 0 for the first one.
    pub since: u64,
}

/// The names that a reader uses for a run, if they differ from ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ReaderNames {
    /// The id of the run.
    pub run: Option<String>,
    /// The id of the HTTP request.
    pub request: Option<String>,
    /// The path that was called.
    pub endpoint: Option<String>,
    /// The name of the model or agent.
    pub model: Option<String>,
}
