//! The raw bytes of a response that is not read as events.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use headwater_protocol::Framing;

use crate::{
    Client, Error, Result, RunHandle,
    http::{ByteStream, Request, accept_events, path, query, within},
};

/// The body of a response as it arrives. It is not reconnected: a cut is an error.
pub struct WireStream {
    bytes: ByteStream,
    /// Maximum silence. Headwater sends heartbeats; other streams may be silent without a limit.
    stall: Option<Duration>,
}

impl fmt::Debug for WireStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WireStream")
    }
}

impl WireStream {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// If the connection is lost, or silent for [`stall_timeout`](crate::Options::stall_timeout), if that
    /// applies.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let next = self.bytes.next();
        let next = match self.stall {
            Some(stall) => within(stall, next).await?,
            None => next.await,
        };
        next.transpose().map_err(Error::of_network)
    }
}

impl Client {
    /// The response of the client's own URL, which may be any stream.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn read_url(&self) -> Result<WireStream> {
        self.read(accept_events(Request::get_url(self.url().to_owned())), None).await
    }

    async fn read(&self, request: Request, stall: Option<Duration>) -> Result<WireStream> {
        let response = within(self.http.options.request_timeout, self.http.open(request)).await??;
        Ok(WireStream { bytes: Box::pin(response.bytes_stream()), stall })
    }
}

impl RunHandle {
    /// The stream of the run in a dialect, from its first event until it ends or waits.
    ///
    /// ```no_run
    /// use headwater_protocol::Framing;
    ///
    /// # async fn example(run: headwater_client::RunHandle) -> headwater_client::Result<()> {
    /// let mut stream = run.export("native", Framing::Ndjson).await?;
    /// while let Some(bytes) = stream.next().await? {
    ///     println!("{} bytes", bytes.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no such run or dialect, or the server cannot be reached.
    pub async fn export(&self, dialect: &str, framing: Framing) -> Result<WireStream> {
        let framing = framing.to_string();
        let parameters = [("dialect", dialect), ("framing", &framing), ("until", "wait")];
        let query = query(parameters.map(|(name, value)| (name, Some(value.to_owned()))));
        let request = Request::get(path(["runs", self.id().as_str(), "events"]) + &query);
        self.client().read(request, Some(self.client().http.options.stall_timeout)).await
    }
}
