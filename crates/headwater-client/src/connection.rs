//! One stream over any number of connections.
//!
//! All pending state is in [`Connection`], so a caller may drop the future that polls it at any time and poll
//! again: a pause continues, and a pending request is not sent twice.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use reqwest::Response;

use crate::{
    Error, Options,
    http::ByteStream,
    platform::{self, BoxFuture},
};

/// An event on the connection.
#[derive(Debug)]
pub(crate) enum ConnectionEvent {
    /// The server responded, and the body follows.
    Open(Box<ResponseHead>),
    /// A piece of the body.
    Bytes(Bytes),
    /// The body came to its end, or broke off with an error.
    Ended(Option<Error>),
    /// There was no response.
    Refused(Error),
}

/// The head of a response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// The run, if a Headwater server sent it.
    pub(crate) run: Option<String>,
}

enum Link {
    Closed,
    Opening(BoxFuture<crate::Result<Response>>),
    Open(ByteStream),
    Pausing,
}

pub(crate) struct Connection {
    options: Arc<Options>,
    link: Link,
    /// Ends the pause, or finds that the stream stalls.
    timer: Option<BoxFuture<()>>,
    /// When bytes arrived last.
    last_activity: Duration,
    /// When new data last arrived. Attempts to reconnect stop some time after it.
    last_progress: Option<Duration>,
    attempt: u32,
    /// The reconnect delay that the server asked for in its stream.
    server_delay: Option<Duration>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            link: Link::Closed,
            timer: None,
            last_activity: Duration::ZERO,
            last_progress: None,
            attempt: 0,
            server_delay: None,
        }
    }

    /// Something new arrived, so the next cut is a first one.
    pub(crate) fn progress(&mut self) {
        self.attempt = 0;
        self.last_progress = None;
    }

    /// Sets the reconnect delay of the stream's `retry:` line.
    pub(crate) fn set_server_delay(&mut self, delay: Option<Duration>) {
        self.server_delay = delay;
    }

    pub(crate) fn close(&mut self) {
        self.link = Link::Closed;
        self.timer = None;
    }

    /// Schedules a pause before the next attempt, as set by the error or the options.
    ///
    /// # Errors
    /// If another attempt cannot help, or if attempts were made for too long.
    pub(crate) fn retry(&mut self, error: &Error) -> Result<Duration, Error> {
        self.close();
        self.attempt += 1;
        let now = platform::now();
        let since = *self.last_progress.get_or_insert(now);
        let delay =
            error.retry_after().or(self.server_delay).unwrap_or_else(|| self.options.delay(self.attempt));
        if (now + delay).saturating_sub(since) > self.options.give_up_after {
            return Err(Error::lost(error, self.options.give_up_after));
        }
        self.pause(delay);
        Ok(delay)
    }

    /// Pauses, without counting an attempt.
    pub(crate) fn pause(&mut self, delay: Duration) {
        self.link = Link::Pausing;
        self.timer = Some(platform::sleep(delay));
    }

    /// The next event. `open` creates the request of a new connection.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        open: impl Fn() -> BoxFuture<crate::Result<Response>>,
    ) -> Poll<ConnectionEvent> {
        loop {
            match &mut self.link {
                Link::Closed => {
                    self.link = Link::Opening(open());
                    self.watch_activity();
                }
                Link::Opening(opening) => match opening.as_mut().poll(cx) {
                    Poll::Ready(Ok(response)) => return Poll::Ready(self.opened(response)),
                    Poll::Ready(Err(error)) => {
                        self.close();
                        return Poll::Ready(ConnectionEvent::Refused(error));
                    }
                    Poll::Pending => {
                        ready!(self.poll_stall(cx));
                        self.close();
                        return Poll::Ready(ConnectionEvent::Refused(self.stalled()));
                    }
                },
                Link::Open(body) => match body.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(bytes))) => {
                        self.last_activity = platform::now();
                        return Poll::Ready(ConnectionEvent::Bytes(bytes));
                    }
                    Poll::Ready(end) => {
                        self.close();
                        let error = end.and_then(|piece: reqwest::Result<Bytes>| piece.err());
                        return Poll::Ready(ConnectionEvent::Ended(error.map(Error::of_network)));
                    }
                    Poll::Pending => {
                        ready!(self.poll_stall(cx));
                        self.close();
                        return Poll::Ready(ConnectionEvent::Ended(Some(self.stalled())));
                    }
                },
                Link::Pausing => {
                    if let Some(timer) = &mut self.timer {
                        ready!(timer.as_mut().poll(cx));
                    }
                    self.close();
                }
            }
        }
    }

    fn opened(&mut self, response: Response) -> ConnectionEvent {
        let run = response.headers().get("x-run-id").and_then(|run| run.to_str().ok()).map(str::to_owned);
        let head = ResponseHead { status: response.status().as_u16(), run };
        self.link = Link::Open(Box::pin(response.bytes_stream()));
        self.last_activity = platform::now();
        ConnectionEvent::Open(Box::new(head))
    }

    fn watch_activity(&mut self) {
        self.last_activity = platform::now();
        self.timer = Some(platform::sleep(self.options.stall_timeout));
    }

    /// Ready when nothing has arrived for too long. The timer is not reset for each piece: that would cost
    /// more than reading it.
    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(timer) = &mut self.timer else { return Poll::Pending };
            ready!(Pin::new(timer).poll(cx));
            let silent = platform::now().saturating_sub(self.last_activity);
            if silent >= self.options.stall_timeout {
                return Poll::Ready(());
            }
            self.timer = Some(platform::sleep(self.options.stall_timeout - silent));
        }
    }

    fn stalled(&self) -> Error {
        let limit = self.options.stall_timeout;
        Error::retryable("stream.stalled", format!("the server sent nothing for {limit:?}"))
    }
}
