//! The body of a response: what a reader is given, with signs of life in between.

use std::{
    pin::Pin,
    time::{Duration, SystemTime},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use headwater_dialects::KeepAlive;
use headwater_protocol::{FrameWriter, Framing, Heartbeat};
use tokio::{
    sync::watch,
    time::{Instant, Sleep},
};

use super::reader::Reader;
use crate::{ApiError, Options, Server, seeing::OpenStream, sessions::events::SessionFeed};

/// How long what was written has to be sent before a stream is cut.
const FLUSH: Duration = Duration::from_millis(20);

/// When a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When the run has ended, or waits for somebody.
    AtWait,
    /// When the run has ended.
    AtEnd,
}

/// A reader that finds its place: the turn may wait for the turns before it, or an answer is about to be taken up.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Reader, ApiError>> + Send>>;

/// Where the frames come from.
pub(crate) enum Source {
    /// From a reader that has not yet found its place.
    Opening(Opening),
    Reading(Reader),
    /// From a session in place of a run.
    Session(Box<SessionFeed>),
    Over,
}

impl Source {
    /// What comes next, as soon as there is something; nothing at the end. May be dropped while it waits.
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let next = self.read().await;
        if !matches!(next, Ok(Some(_))) {
            *self = Self::Over;
        }
        next
    }

    async fn read(&mut self) -> Result<Option<Bytes>, ApiError> {
        if let Self::Opening(opening) = self {
            *self = Self::Reading(opening.await?);
        }
        match self {
            Self::Reading(reader) => reader.next().await,
            Self::Session(feed) => feed.next().await,
            Self::Opening(_) | Self::Over => Ok(None),
        }
    }
}

/// A source of frames and what keeps its connection alive.
struct Following {
    source: Source,
    sign_of_life: Bytes,
    heartbeat: Duration,
    /// Set once and looked at when it is over: to set it anew for each frame would cost more than the frame.
    silence: Pin<Box<Sleep>>,
    /// When something was sent last.
    spoke: Instant,
    padding: Option<Bytes>,
    /// What was read before the answer began.
    first: Option<Bytes>,
    /// Ends when the reader must reconnect: the server stops, or its token has expired. Kept, so that it is not waited for anew with each frame.
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Kept until the stream is over.
    stream: OpenStream,
}

/// The body of a response that follows a run or a session.
pub(crate) fn body(
    server: &Server,
    source: Source,
    keep_alive: KeepAlive,
    framing: Framing,
    stream: OpenStream,
) -> Result<Body, ApiError> {
    let Options { heartbeat, padding, .. } = *server.options();
    let closing = server.streams().closing();
    let state = Following {
        source,
        sign_of_life: sign_of_life(keep_alive, framing),
        heartbeat,
        silence: Box::pin(tokio::time::sleep(heartbeat)),
        spoke: Instant::now(),
        padding: (padding > 0).then(|| pad(keep_alive, framing, padding)),
        first: None,
        closing: match stream.expiry() {
            None => Box::pin(let_go(closing)),
            Some(time) => Box::pin(async move {
                tokio::select! {
                    () = let_go(closing) => {}
                    () = expired(time) => {}
                }
            }),
        },
        stream,
    };
    // In a box: it is moved for each frame.
    let mut state = Box::new(state);
    // What cannot be read at all has an answer of its own, rather than a stream that is cut before it begins.
    if let Some(first) = state.source.next().now_or_never() {
        match first? {
            Some(bytes) => state.first = Some(bytes),
            None => state.source = Source::Over,
        }
    }
    Ok(Body::from_stream(futures_util::stream::unfold(state, |mut state| async move {
        let Some(next) = state.next().await.transpose() else {
            state.stream.end();
            return None;
        };
        if let Ok(bytes) = &next {
            state.stream.sends(bytes);
        }
        Some((next, state))
    })))
}

async fn let_go(mut closing: watch::Receiver<bool>) {
    // A server that is gone has let go as well.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Waits until a time of the wall clock.
async fn expired(time: SystemTime) {
    // The clock may be set meanwhile, and a timer cannot run for centuries.
    while let Ok(left) = time.duration_since(SystemTime::now()) {
        tokio::time::sleep(left.clamp(Duration::from_millis(1), Duration::from_secs(60))).await;
    }
}

impl Following {
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        if let Some(padding) = self.padding.take() {
            return Ok(Some(padding));
        }
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let Self { source, sign_of_life, closing, heartbeat, silence, spoke, .. } = self;
        loop {
            tokio::select! {
                biased;
                next = source.next() => {
                    *spoke = Instant::now();
                    let error = match next {
                        Ok(next) => return Ok(next),
                        Err(error) => error,
                    };
                    tracing::error!(code = error.code(), error = ?error.message(), "a stream is cut");
                    // Failing the body now would also drop bytes already queued, so flush first.
                    tokio::time::sleep(FLUSH).await;
                    return Err(std::io::Error::other(error.message().to_owned()));
                }
                // The end without an end: whoever reads it comes back.
                () = closing.as_mut() => return Ok(None),
                () = silence.as_mut() => {
                    let now = Instant::now();
                    let silent = now.duration_since(*spoke) >= *heartbeat;
                    if silent {
                        *spoke = now;
                    }
                    silence.as_mut().reset(*spoke + *heartbeat);
                    if silent {
                        return Ok(Some(sign_of_life.clone()));
                    }
                }
            }
        }
    }
}

/// A sign of life that the reader tolerates.
fn sign_of_life(keep_alive: KeepAlive, framing: Framing) -> Bytes {
    let mut out = FrameWriter::new(framing);
    match keep_alive {
        KeepAlive::None => {}
        KeepAlive::Comment => out.heartbeat(Heartbeat::Comment),
        KeepAlive::Blank => out.heartbeat(Heartbeat::Blank),
        KeepAlive::Chunk(chunk) => out.raw(chunk),
    }
    out.take().into()
}

/// Bytes that say nothing.
fn pad(keep_alive: KeepAlive, framing: Framing, bytes: usize) -> Bytes {
    match (framing, keep_alive) {
        (Framing::Sse, KeepAlive::Comment) => format!(":{}\n\n", " ".repeat(bytes)).into(),
        _ => "\n".repeat(bytes).into(),
    }
}
