//! The body of a response: what a reader is given, with signs of life in between.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt as _;
use headwater_dialects::KeepAlive;
use headwater_protocol::{FrameWriter, Framing, Heartbeat};
use hyper::body::{Body as HttpBody, Frame};
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
    closing: Closing,
    /// The task that the end and the heartbeat wake, once both know it.
    armed: Option<Waker>,
    /// Kept until the stream is over.
    stream: OpenStream,
}

/// Ends when the reader must reconnect: the server stops, or its token has expired.
struct Closing {
    server: watch::Receiver<bool>,
    expiry: Option<SystemTime>,
    /// Kept, so that it is not waited for anew with each frame.
    wait: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Closing {
    fn new(server: watch::Receiver<bool>, expiry: Option<SystemTime>) -> Self {
        let closing = server.clone();
        let wait: Pin<Box<dyn Future<Output = ()> + Send>> = match expiry {
            None => Box::pin(let_go(closing)),
            Some(time) => Box::pin(async move {
                tokio::select! {
                    () = let_go(closing) => {}
                    () = expired(time) => {}
                }
            }),
        };
        Self { server, expiry, wait }
    }

    /// Whether it may have ended. Reads one number that all streams share, and locks nothing.
    fn may_be_over(&self) -> bool {
        self.expiry.is_some() || self.server.has_changed().unwrap_or(true)
    }
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
    let mut state = Following {
        source,
        sign_of_life: sign_of_life(keep_alive, framing),
        heartbeat,
        silence: Box::pin(tokio::time::sleep(heartbeat)),
        spoke: Instant::now(),
        padding: (padding > 0).then(|| pad(keep_alive, framing, padding)),
        first: None,
        closing: Closing::new(closing, stream.expiry()),
        armed: None,
        stream,
    };
    // What cannot be read at all has an answer of its own, rather than a stream that is cut before it begins.
    if let Some(first) = state.source.next().now_or_never() {
        match first? {
            Some(bytes) => state.first = Some(bytes),
            None => state.source = Source::Over,
        }
    }
    let next = Slot::default();
    let sending = Box::pin(state.send(next.clone()));
    Ok(Body::new(StreamBody { sending, next, over: false }))
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

/// Where the next piece of a body is put.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<Result<Bytes, std::io::Error>>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Result<Bytes, std::io::Error>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a piece there, and waits until the body is asked for another one.
    async fn send(&self, piece: Result<Bytes, std::io::Error>) {
        *self.lock() = Some(piece);
        let mut sent = false;
        // Nothing has to wake it: the body gives the piece away, and is asked again.
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut sent, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// A body that one future writes, from its first piece to its last. A future for each piece would be set up, moved and
/// dropped with each.
struct StreamBody {
    sending: Pin<Box<dyn Future<Output = ()> + Send>>,
    next: Slot,
    over: bool,
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.over {
            return Poll::Ready(None);
        }
        self.over = self.sending.as_mut().poll(cx).is_ready();
        match self.next.lock().take() {
            Some(piece) => Poll::Ready(Some(piece.map(Frame::data))),
            None if self.over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Following {
    /// Sends everything, to the end.
    async fn send(mut self, next: Slot) {
        if let Some(padding) = self.padding.take() {
            self.give(padding, &next).await;
        }
        if let Some(first) = self.first.take() {
            self.give(first, &next).await;
        }
        loop {
            match self.next().await {
                Ok(Some(bytes)) => self.give(bytes, &next).await,
                Ok(None) => return self.stream.end(),
                Err(error) => return *next.lock() = Some(Err(error)),
            }
        }
    }

    async fn give(&mut self, bytes: Bytes, next: &Slot) {
        self.stream.sends(&bytes);
        next.send(Ok(bytes)).await;
    }

    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        let Self { source, sign_of_life, closing, heartbeat, silence, spoke, armed, .. } = self;
        // Right after a piece was sent, the end and the heartbeat need not be polled: they know which task to wake.
        let mut just_sent = true;
        loop {
            let mut reading = std::pin::pin!(source.next());
            let woken = std::future::poll_fn(|cx| {
                if let Poll::Ready(next) = reading.as_mut().poll(cx) {
                    return Poll::Ready(Woken::Read(next));
                }
                if std::mem::take(&mut just_sent)
                    && armed.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()))
                    && !closing.may_be_over()
                    && !silence.is_elapsed()
                {
                    return Poll::Pending;
                }
                *armed = Some(cx.waker().clone());
                if closing.wait.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Woken::Closing);
                }
                silence.as_mut().poll(cx).map(|()| Woken::Silence)
            })
            .await;
            match woken {
                Woken::Read(Ok(next)) => {
                    *spoke = Instant::now();
                    return Ok(next);
                }
                Woken::Read(Err(error)) => {
                    tracing::error!(code = error.code(), error = ?error.message(), "a stream is cut");
                    // Failing the body now would also drop bytes already queued, so flush first.
                    tokio::time::sleep(FLUSH).await;
                    return Err(std::io::Error::other(error.message().to_owned()));
                }
                // The end without an end: the reader reconnects.
                Woken::Closing => return Ok(None),
                Woken::Silence => {
                    let now = Instant::now();
                    let silent = now.duration_since(*spoke) >= *heartbeat;
                    if silent {
                        *spoke = now;
                    }
                    silence.as_mut().reset(*spoke + *heartbeat);
                    *armed = None;
                    if silent {
                        return Ok(Some(sign_of_life.clone()));
                    }
                }
            }
        }
    }
}

/// Why a stream goes on.
enum Woken {
    Read(Result<Option<Bytes>, ApiError>),
    Closing,
    Silence,
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
