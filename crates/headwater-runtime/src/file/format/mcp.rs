//! The definition of an MCP server.

use std::collections::BTreeMap;

use headwater_tools::UnfinishedPolicy;
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::Length;
use crate::file::span::{NameMap, WithSpan};

/// An MCP server: a program to start (`command`), or an address (`url`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct McpText {
    /// The program to start. It communicates over standard input and output.
    pub(in crate::file) command: Option<WithSpan<String>>,
    /// The arguments of the program.
    #[serde(default)]
    pub(in crate::file) args: Vec<String>,
    /// Environment variables of the program. Beside these it only gets `PATH`, `HOME` and the like.
    #[serde(default)]
    pub(in crate::file) env: NameMap<String>,
    /// Variables of the server's own environment to pass to the program, such as a token.
    #[serde(default)]
    pub(in crate::file) pass_env: Vec<WithSpan<String>>,
    /// The working folder of the program, relative to this file. Default: the folder of this file.
    pub(in crate::file) cwd: Option<String>,
    /// The URL of a server over streamable HTTP.
    pub(in crate::file) url: Option<WithSpan<String>>,
    /// Headers of every request.
    #[serde(default)]
    pub(in crate::file) headers: NameMap<String>,
    /// The environment variable that holds the bearer token.
    pub(in crate::file) bearer_env: Option<WithSpan<String>>,
    /// The tools to use. Default: all.
    pub(in crate::file) include: Option<Vec<String>>,
    /// A prefix for the names of its tools, to distinguish servers.
    pub(in crate::file) prefix: Option<String>,
    /// Whether calls of its tools need a person's approval: for all, or a list of tools.
    pub(in crate::file) approval: Option<ToolSelectionText>,
    /// Whether a person may edit the input of a call when approving it: for all, or a list of tools. Default:
    /// no.
    pub(in crate::file) edit: Option<ToolSelectionText>,
    /// What to do with a call whose outcome is unknown because the process died: `fail` (the model gets an
    /// error), `repeat` (with the same idempotency key) or `ask` (a person decides). For all tools, or by
    /// tool.
    pub(in crate::file) unfinished: Option<UnfinishedText>,
    /// Whether to trust its annotations about which tools only read and which are destructive.
    #[serde(default)]
    pub(in crate::file) trust_hints: bool,
    /// Whether all runs share one connection. Otherwise each model call opens its own.
    #[serde(default)]
    pub(in crate::file) keep: bool,
    /// Time limit for connecting. Default: 30s.
    pub(in crate::file) connect_timeout: Option<Length>,
    /// How long a call may go without progress. Default: 60s.
    pub(in crate::file) call_timeout: Option<Length>,
}

/// A selection of a server's tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`true`, `false`, or a list of tools")]
pub(in crate::file) enum ToolSelectionText {
    /// All, or none.
    All(bool),
    /// These, by their names at the server.
    Of(Vec<String>),
}

/// What to do with calls whose outcome is unknown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`fail`, `repeat`, `ask`, or a mapping from tools to one of these")]
pub(in crate::file) enum UnfinishedText {
    /// For calls of all tools.
    All(UnfinishedWord),
    /// For calls of single tools, by their names at the server.
    Of(BTreeMap<String, UnfinishedWord>),
}

/// What to do with a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum UnfinishedWord {
    /// Report an error to the model.
    Fail,
    /// Call again, with the same idempotency key.
    Repeat,
    /// Ask a person.
    Ask,
}

impl From<UnfinishedWord> for UnfinishedPolicy {
    fn from(word: UnfinishedWord) -> Self {
        match word {
            UnfinishedWord::Fail => Self::Fail,
            UnfinishedWord::Repeat => Self::Repeat,
            UnfinishedWord::Ask => Self::Ask,
        }
    }
}
