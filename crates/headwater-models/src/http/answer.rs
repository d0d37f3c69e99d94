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

/// How long a body may still give something after its time is over. When the process was suspended or the stream was not
/// read, timers end before the bytes that lie there have been read.
const GRACE: Duration = Duration::from_millis(500);

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
    idle: Deadline,
    /// Ends when nothing was said for too long.
    stalled: Deadline,
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
                                reading.idle.reset(LAST_WAIT);
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
        let (idle, stalled) = (Deadline::new(timeouts.silence), Deadline::new(timeouts.progress));
        let whole = (self.is_whole || is_json).then(Vec::new);
        let Self { decoder, provider, transport, .. } = *self;
        Reading { decoder, body, whole, idle, stalled, provider, transport }
    }
}

/// A time by which something must have been read.
struct Deadline {
    sleep: Pin<Box<Sleep>>,
    is_extended: bool,
}

impl Deadline {
    fn new(time: Duration) -> Self {
        Self { sleep: Box::pin(sleep(time)), is_extended: false }
    }

    fn reset(&mut self, time: Duration) {
        self.is_extended = false;
        self.sleep.as_mut().reset(Instant::now() + time);
    }

    /// Whether the time is over and the grace after it.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if self.sleep.as_mut().poll(cx).is_pending() {
            return false;
        }
        if std::mem::replace(&mut self.is_extended, true) {
            return true;
        }
        self.sleep.as_mut().reset(Instant::now() + GRACE);
        self.sleep.as_mut().poll(cx).is_ready()
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
        // The timers are looked at when there is nothing to read: what has arrived is in time.
        match self.body.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                let before = ready.len();
                self.take(&bytes, ready)?;
                if ready.len() > before || self.whole.is_some() {
                    self.stalled.reset(progress);
                }
                self.idle.reset(if self.decoder.is_finished() { LAST_WAIT } else { silence });
                Poll::Ready(Ok(IsLast(false)))
            }
            // An answer that is complete does not suffer from what happens to the connection.
            Poll::Ready(Some(Err(error))) if !self.decoder.is_finished() => Poll::Ready(Err(error)),
            Poll::Ready(_) => Poll::Ready(Ok(self.end(ready))),
            Poll::Pending if self.decoder.is_finished() => {
                self.idle.sleep.as_mut().poll(cx).map(|()| Ok(self.end(ready)))
            }
            // Pings keep the connection from being silent.
            Poll::Pending if self.stalled.is_over(cx) => {
                let what = "the connection is alive, but the model said nothing";
                Poll::Ready(Err(too_slow(self.provider.name(), what, progress)))
            }
            Poll::Pending if self.idle.is_over(cx) => {
                Poll::Ready(Err(too_slow(self.provider.name(), "the answer did not go on", silence)))
            }
            Poll::Pending => Poll::Pending,
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
