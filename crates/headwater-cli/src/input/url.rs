//! The response of a URL, read like a file.

use std::io::{self, Read};

use headwater_client::{Client, WireStream};
use tokio::runtime::Runtime;

use crate::{failure::CommandFailure, style};

/// Reads a response while it arrives. A connection that is lost ends it, with a warning.
pub(super) struct UrlReader {
    runtime: Runtime,
    body: WireStream,
    /// Received bytes, read up to `at`.
    rest: Vec<u8>,
    at: usize,
}

impl UrlReader {
    pub(super) fn open(url: &str, key: Option<&str>) -> Result<Self, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
        let client = match key {
            Some(key) => Client::new(url).key(key),
            None => Client::new(url),
        };
        let body = runtime.block_on(client.read_url())?;
        Ok(Self { runtime, body, rest: Vec::new(), at: 0 })
    }
}

impl Read for UrlReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.rest.len() {
            match self.runtime.block_on(self.body.next()) {
                Ok(Some(bytes)) => (self.rest, self.at) = (bytes.to_vec(), 0),
                Ok(None) => return Ok(0),
                Err(error) => {
                    style::warning(&format!("the connection was lost: {error}"));
                    return Ok(0);
                }
            }
        }
        let mut left = self.rest.get(self.at..).unwrap_or_default();
        let read = left.read(into)?;
        self.at += read;
        Ok(read)
    }
}
