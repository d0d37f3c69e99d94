//! One exchange as a file: JSON that a person can read, and bytes that come back exactly.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Encoded;

/// The version of the format. A file of another one is refused.
pub(super) const FORMAT: u32 = 1;

/// The ending of every file of a cassette.
pub(super) const ENDING: &str = ".exchange.json";

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) format: u32,
    pub(super) provider: String,
    pub(super) request: Asked,
    pub(super) response: Answered,
}

/// What was asked, without the key and the address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The path below the provider's address.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<Piece>,
    pub(super) end: End,
}

/// Some bytes as they arrived, and when: milliseconds after the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Piece {
    pub(super) at: u64,
    #[serde(flatten)]
    pub(super) bytes: Content,
}

/// Bytes, as text where they are text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Content {
    Text(String),
    Base64(String),
}

/// How the body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum End {
    /// It was complete.
    Complete,
    /// The connection broke.
    Broken,
    /// Nobody read on: the answer said that it was over, or it was cancelled.
    Left,
}

impl Content {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    pub(super) fn bytes(&self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text(text) => Ok(Bytes::copy_from_slice(text.as_bytes())),
            Self::Base64(text) => STANDARD.decode(text).map(Into::into),
        }
    }
}

impl Asked {
    pub(super) fn new(encoded: &Encoded) -> Self {
        Self {
            path: without_key(&encoded.path),
            headers: encoded
                .headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            body: encoded.body.clone(),
        }
    }

    /// A few characters that are the same for the same request: the name of its file.
    pub(super) fn mark(&self) -> String {
        // FNV-1a: it only finds candidates, which are then compared.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.path.bytes().chain(self.body.to_string().into_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut mark = String::new();
        let _ = write!(mark, "{hash:016x}");
        mark
    }
}

/// A path without a key in its query.
fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<_> = query.split('&').filter(|field| !field.starts_with("key=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// Makes a file that only its owner may read: a cassette holds whole conversations.
fn for_owner(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Exchange {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let read: Self = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if read.format == FORMAT {
            Ok(read)
        } else {
            Err(format!("its format is {}, not {FORMAT}", read.format))
        }
    }

    /// Writes a file that is not there yet; whoever reads the folder meanwhile sees it whole or not at all.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let unfinished = path.with_extension("part");
        let mut file = for_owner(&unfinished)?;
        file.write_all(&text)?;
        fs::rename(unfinished, path)
    }
}
