//! The file of one exchange: readable JSON that restores the exact bytes.

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

use crate::wire::EncodedRequest;

/// Version of the format; other versions are refused.
pub(super) const FORMAT: u32 = 1;

/// File name suffix of every exchange.
pub(super) const ENDING: &str = ".exchange.json";

/// One request and its response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) format: u32,
    pub(super) provider: String,
    pub(super) request: RecordedRequest,
    pub(super) response: RecordedResponse,
}

/// A request without key and host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedRequest {
    /// Path below the provider's base URL.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<RecordedPiece>,
    pub(super) end: BodyEnd,
}

/// Bytes as they arrived, and when: milliseconds after the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedPiece {
    pub(super) at: u64,
    #[serde(flatten)]
    pub(super) bytes: BodyBytes,
}

/// Bytes, stored as text if they are UTF-8.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyBytes {
    Text(String),
    Base64(String),
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyEnd {
    /// The body was complete.
    Complete,
    /// The connection broke here. Replaying breaks it at the same byte.
    Broken,
    /// The reader stopped early: the answer was complete or cancelled.
    Left,
}

impl BodyBytes {
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

impl RecordedRequest {
    pub(super) fn new(encoded: &EncodedRequest) -> Self {
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

    /// A hash of the request, used in its file name.
    pub(super) fn fingerprint(&self) -> String {
        // FNV-1a is enough: the hash only selects candidates, which are then compared.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.path.bytes().chain(self.body.to_string().into_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut fingerprint = String::new();
        let _ = write!(fingerprint, "{hash:016x}");
        fingerprint
    }
}

/// A path without the key in its query.
fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<_> = query.split('&').filter(|field| !field.starts_with("key=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// Creates a file that only its owner may read, because a cassette holds whole conversations.
fn create_private(path: &Path) -> io::Result<fs::File> {
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
            Err(format!("unsupported format {}: expected {FORMAT}", read.format))
        }
    }

    /// Writes a new file. It is renamed into place, so concurrent readers never see a partial file.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let unfinished = path.with_extension("part");
        let mut file = create_private(&unfinished)?;
        file.write_all(&text)?;
        fs::rename(unfinished, path)
    }
}
