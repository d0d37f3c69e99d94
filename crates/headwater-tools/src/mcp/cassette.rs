//! Recordings of a server's tool list and calls, replayed without the server.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::{CallToolResult, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool_list::McpListing;
use crate::{Error, ErrorKind, Result};

/// What a client sends its requests to.
#[derive(Debug, Clone, Default)]
pub(super) enum McpTape {
    /// No cassette: calls go to the server.
    #[default]
    None,
    /// The server, with its tool list and calls recorded.
    Record(McpCassette),
    /// A recording; the server is not started or contacted.
    Play(McpCassette),
}

/// The recordings of one server. Clones share the call counts.
#[derive(Debug, Clone)]
pub(super) struct McpCassette {
    path: PathBuf,
    /// How often each call was made.
    made: Arc<Mutex<HashMap<String, u32>>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedCall {
    tool: String,
    arguments: Option<JsonObject>,
    result: CallToolResult,
}

impl McpCassette {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, made: Arc::default() }
    }

    fn tools(&self, server: &str) -> PathBuf {
        self.path.join(format!("mcp-{}.tools.json", fingerprint(server)))
    }

    /// File name prefix of the recordings of one call.
    fn call(server: &str, tool: &str, arguments: Option<&JsonObject>) -> String {
        let arguments =
            arguments.map_or_else(String::new, |arguments| Value::from(arguments.clone()).to_string());
        // Tool names may contain characters that are not allowed in file names.
        let shown: String = tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("mcp-{}-{shown}-{}", fingerprint(server), fingerprint(&format!("{tool}\0{arguments}")))
    }

    pub(super) fn keep_tools(&self, server: &str, listing: &McpListing) -> Result<()> {
        self.write(&self.tools(server), listing)
    }

    pub(super) fn keep_call(
        &self,
        server: &str,
        tool: &str,
        arguments: Option<&JsonObject>,
        result: &CallToolResult,
    ) -> Result<()> {
        let name = Self::call(server, tool, arguments);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let number = made.entry(name.clone()).or_default();
        let path = loop {
            *number += 1;
            let path = self.path.join(format!("{name}-{number:03}.call.json"));
            if !path.exists() {
                break path;
            }
        };
        let kept =
            RecordedCall { tool: tool.to_owned(), arguments: arguments.cloned(), result: result.clone() };
        self.write(&path, &kept)
    }

    pub(super) fn play_tools(&self, server: &str) -> Result<McpListing> {
        let path = self.tools(server);
        self.read(&path)?
            .ok_or_else(|| self.missing(&format!("its tools were not recorded in {}", self.shown())))
    }

    /// The recorded result of a call: the n-th result for the n-th identical call, or the last one when there
    /// are no more.
    pub(super) fn play_call(
        &self,
        server: &str,
        tool: &str,
        arguments: Option<&JsonObject>,
    ) -> Result<CallToolResult> {
        let name = Self::call(server, tool, arguments);
        let number = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let number = made.entry(name.clone()).or_default();
            *number += 1;
            *number
        };
        for number in (1..=number).rev() {
            let kept: Option<RecordedCall> =
                self.read(&self.path.join(format!("{name}-{number:03}.call.json")))?;
            if let Some(kept) = kept {
                return Ok(kept.result);
            }
        }
        let asked = arguments
            .cloned()
            .map_or_else(|| "nothing".to_owned(), |arguments| Value::from(arguments).to_string());
        Err(self.missing(&format!("no call of \"{tool}\" with {asked} was recorded in {}", self.shown())))
    }

    fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    fn missing(&self, message: &str) -> Error {
        Error::new(ErrorKind::Missing, message.to_owned())
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, path: &Path) -> Result<Option<T>> {
        let broken = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Settings, format!("cannot read {}: {error}", path.display()))
        };
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| broken(&error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(broken(&error)),
        }
    }

    fn write(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        let written = || -> io::Result<()> {
            make_folder(&self.path)?;
            let mut text = serde_json::to_vec_pretty(value)?;
            text.push(b'\n');
            // Renamed into place, so concurrent readers never see a partial file.
            let unfinished = path.with_extension("part");
            create_private(&unfinished)?.write_all(&text)?;
            fs::rename(unfinished, path)
        };
        written().map_err(|error| {
            Error::new(ErrorKind::Settings, format!("cannot write {}: {error}", path.display()))
        })
    }
}

/// Creates a folder that only its owner may read.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file that only its owner may read, because calls may contain private data.
fn create_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A short hash of a text that may be long or private.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn cassette_is_readable_by_its_owner_only() {
        let parent = tempfile::tempdir().unwrap();
        let folder = McpCassette::new(parent.path().join("cassettes"));
        folder.keep_call("server", "read", None, &CallToolResult::success(Vec::new())).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.path), 0o700);
        let files: Vec<_> = fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    }
}
