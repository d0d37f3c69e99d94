//! The MCP servers of a file.

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
};

use headwater_tools::{Approval, McpClient, McpTools};

use super::{
    error::{FileError, FileErrorKind},
    format::mcp::{McpText, ToolSelectionText, UnfinishedText},
    load::{AgentParts, SourceDefinition},
    span::{SourceText, WithSpan},
};

/// The clients, by server name. A client that keeps its connection keeps it for the agent's lifetime.
#[derive(Debug, Default)]
pub(super) struct Servers(HashMap<String, McpClient>);

/// Whether the servers' traffic is recorded, or replayed from a recording.
#[derive(Debug, Clone)]
pub(super) enum Cassette {
    Record(PathBuf),
    Play(PathBuf),
}

impl Servers {
    /// Creates the clients without connecting.
    pub(super) fn new(parts: &AgentParts, cassette: Option<&Cassette>, errors: &mut Vec<FileError>) -> Self {
        let clients = parts.mcp.iter().map(|server| {
            let client = client(server, errors);
            let client = match cassette {
                Some(Cassette::Record(folder)) => client.recording(folder),
                Some(Cassette::Play(folder)) => client.playing(folder),
                None => client,
            };
            (server.name.value.clone(), client)
        });
        Self(clients.collect())
    }

    /// The tools of a server, with the options of its definition.
    pub(super) fn tools(&self, parts: &AgentParts, name: &str) -> Option<McpTools> {
        let text = &parts.mcp.iter().find(|server| server.name.value == name)?.value;
        let mut tools = self.0.get(name)?.tools();
        if let Some(include) = &text.include {
            tools = tools.include(include);
        }
        if let Some(prefix) = &text.prefix {
            tools = tools.prefix(prefix);
        }
        tools = match &text.approval {
            Some(ToolSelectionText::All(true)) => tools.approval(Approval::Needed),
            Some(ToolSelectionText::Of(names)) => tools.approval_for(names),
            Some(ToolSelectionText::All(false)) | None => tools,
        };
        tools = match &text.edit {
            Some(ToolSelectionText::All(true)) => tools.editable(),
            Some(ToolSelectionText::Of(names)) => tools.editable_for(names),
            Some(ToolSelectionText::All(false)) | None => tools,
        };
        tools = match &text.unfinished {
            Some(UnfinishedText::All(word)) => tools.unfinished((*word).into()),
            Some(UnfinishedText::Of(words)) => {
                words.iter().fold(tools, |tools, (name, word)| tools.unfinished_for(name, (*word).into()))
            }
            None => tools,
        };
        Some(if text.trust_hints { tools.trust_hints() } else { tools })
    }
}

fn client(server: &SourceDefinition<McpText>, errors: &mut Vec<FileError>) -> McpClient {
    let text = &server.value;
    let mut client = match (&text.command, &text.url) {
        (Some(command), _) => program(text, command, &server.source, errors),
        (None, url) => {
            let mut client = McpClient::http(url.as_ref().map_or("", |url| url.value.as_str()));
            for (name, value) in &text.headers.0 {
                client = client.header(&name.value, value);
            }
            if let Some(name) = &text.bearer_env {
                client = client.bearer(&variable(name, &server.source, errors));
            }
            client
        }
    };
    if let Some(limit) = text.connect_timeout {
        client = client.connect_timeout(limit.0);
    }
    if let Some(limit) = text.call_timeout {
        client = client.call_timeout(limit.0);
    }
    if text.keep { client.keep() } else { client }
}

fn program(
    text: &McpText,
    command: &WithSpan<String>,
    source: &SourceText,
    errors: &mut Vec<FileError>,
) -> McpClient {
    let mut client = McpClient::stdio(&command.value, &text.args);
    for (name, value) in &text.env.0 {
        client = client.env(&name.value, value);
    }
    for name in &text.pass_env {
        client = client.env(&name.value, variable(name, source, errors));
    }
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let folder = text.cwd.as_ref().map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
    if folder.as_os_str().is_empty() { client } else { client.cwd(folder) }
}

/// Reads an environment variable.
pub(super) fn variable(name: &WithSpan<String>, source: &SourceText, errors: &mut Vec<FileError>) -> String {
    env::var(&name.value).unwrap_or_else(|_| {
        let message = format!("the environment variable {} is not set", name.value);
        errors.push(FileError::new(FileErrorKind::Missing, source, name.span, message));
        String::new()
    })
}
