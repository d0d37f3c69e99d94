//! MCP servers, as they are written.

use std::collections::BTreeMap;

use headwater_tools::Unfinished;
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::Length;
use crate::file::place::{Named, Placed};

/// An MCP server: a program that is started (`command`), or one at an address (`url`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct McpText {
    /// The program to start. It is spoken to over its standard input and output.
    pub(in crate::file) command: Option<Placed<String>>,
    /// The arguments of the program.
    #[serde(default)]
    pub(in crate::file) args: Vec<String>,
    /// Variables of the program's environment. It sees no others, but `PATH`, `HOME` and the like.
    #[serde(default)]
    pub(in crate::file) env: Named<String>,
    /// Variables of our own environment that the program gets too, such as a token.
    #[serde(default)]
    pub(in crate::file) pass_env: Vec<Placed<String>>,
    /// The folder that the program starts in, named from the folder of this file, which it is otherwise.
    pub(in crate::file) cwd: Option<String>,
    /// The address of a server over streamable HTTP.
    pub(in crate::file) url: Option<Placed<String>>,
    /// Headers of every request.
    #[serde(default)]
    pub(in crate::file) headers: Named<String>,
    /// The variable of our environment that holds the bearer token.
    pub(in crate::file) bearer_env: Option<Placed<String>>,
    /// Only these of its tools; otherwise all.
    pub(in crate::file) include: Option<Vec<String>>,
    /// What is put before the names of its tools, to tell two servers apart.
    pub(in crate::file) prefix: Option<String>,
    /// Whether every call of its tools needs a person's approval, or a list of the tools that do.
    pub(in crate::file) approval: Option<ToolChoiceText>,
    /// Whether the person who approves a call may change its input, or a list of the tools where they may: no.
    pub(in crate::file) edit: Option<ToolChoiceText>,
    /// What to do with a call of which nobody knows whether it took effect, because the process died: `fail` (the model is
    /// told), `repeat` (with the same idempotency key) or `ask` (a person decides). For all its tools, or by tool.
    pub(in crate::file) unfinished: Option<UnfinishedText>,
    /// Whether its own hints are believed: which tools only read, and which destroy.
    #[serde(default)]
    pub(in crate::file) trust_hints: bool,
    /// Whether one connection is kept for all runs; otherwise each model call has its own.
    #[serde(default)]
    pub(in crate::file) keep: bool,
    /// How long it may take until the server is there: 30s.
    pub(in crate::file) connect_timeout: Option<Length>,
    /// How long a call may go on without a sign of life: 60s.
    pub(in crate::file) call_timeout: Option<Length>,
}

/// Some of a server's tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`true`, `false`, or a list of tools")]
pub(in crate::file) enum ToolChoiceText {
    /// All, or none.
    All(bool),
    /// These, by their names at the server.
    Of(Vec<String>),
}

/// What to do with calls whose outcome is unknown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`fail`, `repeat`, `ask`, or a mapping from tools to one of these")]
pub(in crate::file) enum UnfinishedText {
    /// With calls of all tools.
    All(UnfinishedWord),
    /// With those of single tools, by their names at the server.
    Of(BTreeMap<String, UnfinishedWord>),
}

/// What to do with a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum UnfinishedWord {
    /// Tell the model.
    Fail,
    /// Call again, with the same idempotency key.
    Repeat,
    /// Ask a person.
    Ask,
}

impl From<UnfinishedWord> for Unfinished {
    fn from(word: UnfinishedWord) -> Self {
        match word {
            UnfinishedWord::Fail => Self::Fail,
            UnfinishedWord::Repeat => Self::Repeat,
            UnfinishedWord::Ask => Self::Ask,
        }
    }
}
