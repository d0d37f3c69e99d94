//! The body of a response: what a reader is given, with signs of life in between.

use std::{pin::Pin, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use headwater_protocol::{FrameWriter, Framing, Heartbeat, KeepAlive};
use tokio::{
    sync::watch,
    time::{Instant, Sleep},
};

use super::{reader::Reader, shared::Streams};
use crate::seeing::OpenStream;

/// When a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When the run has ended, or waits for somebody.
    AtWait,
    /// When the run has ended.
    AtEnd,
}

/// A reader and what keeps its connection alive.
struct Following {
    reader: Reader,
    heartbeat: Duration,
    /// Set once and looked at when it is over: to set it anew for each frame would cost more than the frame.
    silence: Pin<Box<Sleep>>,
    /// When something was sent last.
    spoke: Instant,
    padding: Option<Bytes>,
    /// Comes when the server lets go of its readers. Kept, so that it is not waited for anew with each frame.
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Kept until the stream is over.
    stream: OpenStream,
}

/// The body of a response that follows a run.
pub(crate) fn body(
    streams: &Streams,
    reader: Reader,
    heartbeat: Duration,
    padding: usize,
    stream: OpenStream,
) -> Body {
    let keep_alive = {
        let view = reader.view();
        view.dialect.profile(view.profile.as_deref()).keep_alive
    };
    let padding = (padding > 0).then(|| pad(keep_alive, reader.view().framing, padding));
    let state = Following {
        reader,
        heartbeat,
        silence: Box::pin(tokio::time::sleep(heartbeat)),
        spoke: Instant::now(),
        padding,
        closing: Box::pin(let_go(streams.closing())),
        stream,
    };
    // In a box: it is moved for each frame.
    let state = Box::new(state);
    Body::from_stream(futures_util::stream::unfold(state, |mut state| async move {
        let next = state.next().await.transpose()?;
        if let Ok(bytes) = &next {
            state.stream.sends(bytes);
        }
        Some((next, state))
    }))
}

async fn let_go(mut closing: watch::Receiver<bool>) {
    // A server that is gone has let go as well.
    let _ = closing.wait_for(|closing| *closing).await;
}

impl Following {
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        if let Some(padding) = self.padding.take() {
            return Ok(Some(padding));
        }
        let Self { reader, closing, heartbeat, silence, spoke, .. } = self;
        loop {
            tokio::select! {
                biased;
                next = reader.next() => {
                    *spoke = Instant::now();
                    return next.map_err(|error| {
                        tracing::error!(code = error.code(), "a stream is cut: {}", error.message());
                        std::io::Error::other(error.message().to_owned())
                    });
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
                        return Ok(Some(reader.heartbeat()));
                    }
                }
            }
        }
    }
}

/// A sign of life that the reader tolerates.
pub(super) fn heartbeat(keep_alive: KeepAlive, framing: Framing) -> Bytes {
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
