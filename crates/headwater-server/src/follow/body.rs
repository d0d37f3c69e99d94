//! The body of a streaming response: frames, with heartbeats in between.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream::BoxStream};
use headwater_dialects::KeepAlive;
use headwater_protocol::{FrameWriter, Framing, Heartbeat};
use hyper::body::{Body as HttpBody, Frame};
use tokio::{
    sync::watch,
    time::{Instant, Sleep},
};

use super::{OpenStream, OpenStreams, journal_reader::JournalReader};
use crate::{ApiError, Options};

/// How long queued bytes may take to be sent before a stream is cut.
const FLUSH: Duration = Duration::from_millis(20);

/// A reader that is still finding its position: the turn is queued, or an answer is about to be applied.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<JournalReader, ApiError>> + Send>>;

/// The source of the frames.
pub(crate) enum FrameSource {
    /// A reader that has not found its position yet.
    Opening(Opening),
    Reading(JournalReader),
    /// Ready-made frames, of a session instead of a run.
    Frames(BoxStream<'static, Result<Bytes, ApiError>>),
    Over,
}

impl FrameSource {
    /// The next bytes, when available; `None` at the end. Cancel-safe.
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
            Self::Frames(frames) => frames.next().await.transpose(),
            Self::Opening(_) | Self::Over => Ok(None),
        }
    }
}

/// A source of frames and the state of its connection.
struct ResponseStream {
    source: FrameSource,
    sign_of_life: Bytes,
    heartbeat: Duration,
    /// Set once and checked when it fires: resetting it for each frame would cost more than the frame.
    silence: Pin<Box<Sleep>>,
    /// When the last bytes were sent.
    last_sent: Instant,
    padding: Option<Bytes>,
    /// Bytes read before the response started.
    first: Option<Bytes>,
    closing: Closing,
    /// The task woken by the end and the heartbeat, once both have its waker.
    armed: Option<Waker>,
    /// Held until the stream is over.
    stream: OpenStream,
}

/// Completes when the reader must reconnect: the server stops, or its token has expired.
struct Closing {
    server: watch::Receiver<bool>,
    expiry: Option<SystemTime>,
    /// Stored, so that it is not created again for each frame.
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

    /// Whether it may have completed. Reads one shared atomic, without a lock.
    fn may_be_over(&self) -> bool {
        self.expiry.is_some() || self.server.has_changed().unwrap_or(true)
    }
}

/// The body of a response that follows a run or a session.
pub(crate) fn body(
    options: &Options,
    streams: &OpenStreams,
    source: FrameSource,
    keep_alive: KeepAlive,
    framing: Framing,
    stream: OpenStream,
) -> Result<Body, ApiError> {
    let Options { heartbeat, padding, .. } = *options;
    let closing = streams.closing();
    let mut state = ResponseStream {
        source,
        sign_of_life: sign_of_life(keep_alive, framing),
        heartbeat,
        silence: Box::pin(tokio::time::sleep(heartbeat)),
        last_sent: Instant::now(),
        padding: (padding > 0).then(|| pad(keep_alive, framing, padding)),
        first: None,
        closing: Closing::new(closing, stream.expiry()),
        armed: None,
        stream,
    };
    // If the first read fails, respond with an error instead of a stream that is cut at once.
    if let Some(first) = state.source.next().now_or_never() {
        match first? {
            Some(bytes) => state.first = Some(bytes),
            None => state.source = FrameSource::Over,
        }
    }
    let next = PendingChunk::default();
    let sending = Box::pin(state.send(next.clone()));
    Ok(Body::new(StreamBody { sending, next, over: false }))
}

async fn let_go(mut closing: watch::Receiver<bool>) {
    // A dropped server counts as closing.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Waits until a time of the wall clock.
async fn expired(time: SystemTime) {
    // The clock may be changed in between, and a timer cannot run for centuries.
    while let Ok(left) = time.duration_since(SystemTime::now()) {
        tokio::time::sleep(left.clamp(Duration::from_millis(1), Duration::from_secs(60))).await;
    }
}

/// Slot for the next piece of a body.
#[derive(Clone, Default)]
struct PendingChunk(Arc<Mutex<Option<Result<Bytes, std::io::Error>>>>);

impl PendingChunk {
    fn lock(&self) -> MutexGuard<'_, Option<Result<Bytes, std::io::Error>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a piece, and waits until the body is polled for another one.
    async fn send(&self, piece: Result<Bytes, std::io::Error>) {
        *self.lock() = Some(piece);
        let mut sent = false;
        // Needs no waker: the body takes the piece, and is polled again.
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut sent, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// A body written by one future, from its first piece to its last. A separate future per piece would add
/// setup, moves and drops to each.
struct StreamBody {
    sending: Pin<Box<dyn Future<Output = ()> + Send>>,
    next: PendingChunk,
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

impl ResponseStream {
    /// Sends everything until the end.
    async fn send(mut self, next: PendingChunk) {
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

    async fn give(&mut self, bytes: Bytes, next: &PendingChunk) {
        self.stream.sends(&bytes);
        next.send(Ok(bytes)).await;
    }

    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        let Self { source, sign_of_life, closing, heartbeat, silence, last_sent, armed, .. } = self;
        // Right after a write, the end and the heartbeat need no poll: they already have the task's waker.
        let mut just_sent = true;
        loop {
            let mut reading = std::pin::pin!(source.next());
            let woken = std::future::poll_fn(|cx| {
                if let Poll::Ready(next) = reading.as_mut().poll(cx) {
                    return Poll::Ready(WakeReason::Read(next));
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
                    return Poll::Ready(WakeReason::Closing);
                }
                silence.as_mut().poll(cx).map(|()| WakeReason::Silence)
            })
            .await;
            match woken {
                WakeReason::Read(Ok(next)) => {
                    *last_sent = Instant::now();
                    return Ok(next);
                }
                WakeReason::Read(Err(error)) => {
                    tracing::error!(code = error.code(), error = ?error.message(), "a stream is cut");
                    // Failing the body now would also drop bytes already queued, so flush first.
                    tokio::time::sleep(FLUSH).await;
                    return Err(std::io::Error::other(error.message().to_owned()));
                }
                // Without the terminal chunk the client sees a cut stream, so it reconnects to another
                // server.
                WakeReason::Closing => return Ok(None),
                WakeReason::Silence => {
                    let now = Instant::now();
                    let silent = now.duration_since(*last_sent) >= *heartbeat;
                    if silent {
                        *last_sent = now;
                    }
                    silence.as_mut().reset(*last_sent + *heartbeat);
                    *armed = None;
                    if silent {
                        return Ok(Some(sign_of_life.clone()));
                    }
                }
            }
        }
    }
}

/// Why a stream wakes up.
enum WakeReason {
    Read(Result<Option<Bytes>, ApiError>),
    Closing,
    Silence,
}

/// A heartbeat that the reader's parser ignores.
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

/// Padding that the reader's parser ignores.
fn pad(keep_alive: KeepAlive, framing: Framing, bytes: usize) -> Bytes {
    match (framing, keep_alive) {
        (Framing::Sse, KeepAlive::Comment) => format!(":{}\n\n", " ".repeat(bytes)).into(),
        _ => "\n".repeat(bytes).into(),
    }
}
