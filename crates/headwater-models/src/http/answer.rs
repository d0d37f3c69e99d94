//! The stream of one answer over HTTP.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use headwater_protocol::Secrets;
use tokio::time::{Instant, Sleep, sleep};

use super::{
    Provider,
    transport::{Body, Opened, Timeouts, Transport, too_slow},
};
use crate::{
    ModelError, ModelErrorKind, ModelEvent,
    wire::{Decoder, Encoded},
};

/// How long the end of the body may take once the answer is complete.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// The largest answer in one piece.
const LARGEST_WHOLE: usize = 64 * 1024 * 1024;

type Opening = Pin<Box<dyn Future<Output = Result<Opened, ModelError>> + Send>>;

/// One answer. It is polled and nothing runs beside it, so dropping it closes the connection.
pub(super) struct Answer {
    secrets: Arc<Secrets>,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    phase: Phase,
}

enum Phase {
    Opening { opening: Opening, reading: Option<Box<Unopened>> },
    Reading(Box<Reading>),
    Over,
}

/// What is needed once the answer is open.
struct Unopened {
    decoder: Decoder,
    is_whole: bool,
    provider: Arc<Provider>,
    transport: Transport,
}

struct Reading {
    decoder: Decoder,
    body: Body,
    /// An answer in one piece, until it is complete.
    whole: Option<Vec<u8>>,
    /// Ends when no byte has come for too long.
    idle: Pin<Box<Sleep>>,
    /// Ends when nothing was said for too long.
    stalled: Pin<Box<Sleep>>,
    provider: Arc<Provider>,
    transport: Transport,
}

impl Answer {
    pub(super) fn new(
        provider: Arc<Provider>,
        secrets: Arc<Secrets>,
        transport: Transport,
        mut encoded: Encoded,
        decoder: Decoder,
        is_whole: bool,
    ) -> Self {
        let warnings = std::mem::take(&mut encoded.warnings);
        let ready = warnings.into_iter().map(|warning| Ok(ModelEvent::Warning(warning))).collect();
        let reading =
            Unopened { decoder, is_whole, provider: Arc::clone(&provider), transport: transport.clone() };
        let opening = Box::pin(async move { transport.open(&provider, &encoded, is_whole).await });
        Self { secrets, ready, phase: Phase::Opening { opening, reading: Some(Box::new(reading)) } }
    }

    /// An answer that was never asked for.
    pub(super) fn failed(error: ModelError, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ready: VecDeque::from([Err(error)]), phase: Phase::Over }
    }

    fn fail(&mut self, error: ModelError) {
        self.ready.push_back(Err(error));
        self.phase = Phase::Over;
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                // Here every error passes on its way to journals, logs and readers.
                return Poll::Ready(Some(item.map_err(|error| error.without(&self.secrets))));
            }
            let this = &mut *self;
            match &mut this.phase {
                Phase::Over => return Poll::Ready(None),
                Phase::Opening { opening, reading } => {
                    let opened = std::task::ready!(opening.as_mut().poll(cx));
                    match (opened, reading.take()) {
                        (Ok(opened), Some(reading)) => {
                            let mut reading = Box::new(reading.open(opened.rest, opened.is_json));
                            let taken = reading.take(&opened.first, &mut this.ready);
                            if reading.decoder.is_finished() {
                                reading.idle.as_mut().reset(Instant::now() + LAST_WAIT);
                            }
                            this.phase = Phase::Reading(reading);
                            if let Err(error) = taken {
                                self.fail(error);
                            }
                        }
                        (Err(error), _) => self.fail(error),
                        (Ok(_), None) => this.phase = Phase::Over,
                    }
                }
                Phase::Reading(reading) if reading.decoder.is_over() => {
                    reading.drain(cx);
                    this.phase = Phase::Over;
                }
                Phase::Reading(reading) => match std::task::ready!(reading.poll(cx, &mut this.ready)) {
                    Ok(IsLast(false)) => {}
                    Ok(IsLast(true)) => this.phase = Phase::Over,
                    Err(error) => self.fail(error),
                },
            }
        }
    }
}

/// Whether the body is at its end.
struct IsLast(bool);

impl Unopened {
    fn open(self: Box<Self>, body: Body, is_json: bool) -> Reading {
        let timeouts = self.transport.timeouts();
        let (idle, stalled) = (Box::pin(sleep(timeouts.silence)), Box::pin(sleep(timeouts.progress)));
        let whole = (self.is_whole || is_json).then(Vec::new);
        let Self { decoder, provider, transport, .. } = *self;
        Reading { decoder, body, whole, idle, stalled, provider, transport }
    }
}

impl Reading {
    /// Takes what has arrived; says whether that was all.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        ready: &mut VecDeque<Result<ModelEvent, ModelError>>,
    ) -> Poll<Result<IsLast, ModelError>> {
        let Timeouts { silence, progress, .. } = *self.transport.timeouts();
        // Pings come often enough to keep the other timer from ever being looked at.
        if !self.decoder.is_finished() && self.stalled.as_mut().poll(cx).is_ready() {
            let what = "the connection is alive, but the model said nothing";
            return Poll::Ready(Err(too_slow(self.provider.name(), what, progress)));
        }
        match self.body.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                let before = ready.len();
                self.take(&bytes, ready)?;
                let now = Instant::now();
                if ready.len() > before || self.whole.is_some() {
                    self.stalled.as_mut().reset(now + progress);
                }
                self.idle.as_mut().reset(now + if self.decoder.is_finished() { LAST_WAIT } else { silence });
                Poll::Ready(Ok(IsLast(false)))
            }
            // An answer that is complete does not suffer from what happens to the connection.
            Poll::Ready(Some(Err(error))) if !self.decoder.is_finished() => Poll::Ready(Err(error)),
            Poll::Ready(_) => Poll::Ready(Ok(self.end(ready))),
            Poll::Pending => match self.idle.as_mut().poll(cx) {
                Poll::Ready(()) if self.decoder.is_finished() => Poll::Ready(Ok(self.end(ready))),
                Poll::Ready(()) => {
                    Poll::Ready(Err(too_slow(self.provider.name(), "the answer did not go on", silence)))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }

    /// There is nothing more, or nobody waits for it.
    fn end(&mut self, ready: &mut VecDeque<Result<ModelEvent, ModelError>>) -> IsLast {
        match self.whole.take() {
            Some(whole) => self.decoder.whole(&whole, |item| ready.push_back(item)),
            None => self.decoder.finish(|item| ready.push_back(item)),
        }
        IsLast(true)
    }

    /// Takes the end of the body, if it is there already: then the connection can be used again. Nobody waits for it,
    /// because it says nothing more.
    fn drain(&mut self, cx: &mut Context<'_>) {
        for _ in 0..4 {
            if !matches!(self.body.as_mut().poll_next(cx), Poll::Ready(Some(Ok(_)))) {
                return;
            }
        }
    }

    fn take(
        &mut self,
        bytes: &[u8],
        ready: &mut VecDeque<Result<ModelEvent, ModelError>>,
    ) -> Result<(), ModelError> {
        match &mut self.whole {
            Some(whole) if whole.len() + bytes.len() > LARGEST_WHOLE => {
                let message = format!("the answer is larger than {LARGEST_WHOLE} bytes");
                Err(ModelError::new(ModelErrorKind::Malformed, message).provider(self.provider.name()))
            }
            Some(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
            None => {
                self.decoder.push(bytes, |item| ready.push_back(item));
                Ok(())
            }
        }
    }
}
