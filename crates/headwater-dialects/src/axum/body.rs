//! Events as the body of a response.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_core::Stream;
use headwater_protocol::{
    BlockDelta, BlockEnded, BlockKind, BlockStarted, ErrorInfo, Event, FinishReason, MessageStarted, Origin,
    PartId, Record, Role, RunFinished, RunStarted,
};

use crate::Encoder;

/// Events that are ready go out in one piece, up to about this many bytes.
const PIECE: usize = 16 << 10;

/// Encodes events as they become ready.
pub(super) struct EventBody {
    events: Pin<Box<dyn Stream<Item = Event> + Send>>,
    encoder: Encoder,
    origin: Origin,
    next: u64,
    /// The run has ended; later events are dropped.
    ended: bool,
    /// The end of the stream has been encoded.
    finished: bool,
}

impl EventBody {
    pub(super) fn new(
        events: Pin<Box<dyn Stream<Item = Event> + Send>>,
        encoder: Encoder,
        start: RunStarted,
        message: String,
    ) -> Self {
        let origin = Origin { message: Some(message.clone().into()), ..Origin::default() };
        let mut body = Self { events, encoder, origin, next: 0, ended: false, finished: false };
        body.encode(Event::RunStarted(start));
        body.encode(Event::MessageStarted(MessageStarted {
            message: message.into(),
            role: Role::Assistant,
            ..MessageStarted::default()
        }));
        body
    }

    fn encode(&mut self, event: Event) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = u64::try_from(now.as_millis()).unwrap_or_default();
        self.ended = matches!(
            event,
            Event::RunFinished(_) | Event::RunFailed(_) | Event::RunCancelled { .. } | Event::RunWaiting(_)
        );
        self.encoder.record(&Record::new(self.next, event).at(time).from(self.origin.clone()));
        self.next += 1;
    }

    fn finish(&mut self) {
        if !self.ended {
            let reason = Some(FinishReason::Stop);
            self.encode(Event::RunFinished(RunFinished { reason, ..RunFinished::default() }));
        }
        self.encoder.finish();
        self.finished = true;
    }
}

impl Stream for EventBody {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let body = &mut *self;
        while !body.finished && body.encoder.bytes().len() < PIECE {
            if body.ended {
                body.finish();
                break;
            }
            match body.events.as_mut().poll_next(cx) {
                Poll::Ready(Some(event)) => body.encode(event),
                Poll::Ready(None) => body.finish(),
                Poll::Pending if body.encoder.bytes().is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        let bytes = body.encoder.take();
        Poll::Ready((!bytes.is_empty()).then(|| Ok(bytes.into())))
    }
}

/// One block of text from tokens.
pub(super) struct TextEvents<S> {
    tokens: Pin<Box<S>>,
    ready: VecDeque<Event>,
    ended: bool,
}

impl<S> TextEvents<S> {
    const BLOCK: &'static str = "text-1";

    pub(super) fn new(tokens: S) -> Self {
        let start = Event::BlockStarted(BlockStarted::new(BlockKind::Text, Self::BLOCK));
        Self { tokens: Box::pin(tokens), ready: VecDeque::from([start]), ended: false }
    }

    fn end(&mut self, error: Option<String>) {
        self.ended = true;
        self.ready.push_back(Event::BlockEnded(BlockEnded::new(BlockKind::Text, Self::BLOCK)));
        if let Some(message) = error {
            self.ready.push_back(Event::RunFailed(ErrorInfo { message, ..ErrorInfo::default() }));
        }
    }
}

impl<S, T, E> Stream for TextEvents<S>
where
    S: Stream<Item = Result<T, E>>,
    T: Into<String>,
    E: fmt::Display,
{
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match self.tokens.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(token))) => {
                    let delta = BlockDelta::new(BlockKind::Text, PartId::from(Self::BLOCK), token);
                    return Poll::Ready(Some(Event::BlockDelta(delta)));
                }
                Poll::Ready(Some(Err(error))) => self.end(Some(error.to_string())),
                Poll::Ready(None) => self.end(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
