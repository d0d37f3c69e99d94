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
    reply::Body,
    transport::{AnswerStart, Timeouts, Transport, too_slow},
};
use crate::{
    ModelError, ModelErrorKind, ModelEvent,
    wire::{AnswerDecoder, AnswerPosition, EncodedRequest},
};

/// How long the end of the body may take after the answer is complete.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// Extra time for a body after a timer has fired. If the process was suspended or the stream was not polled,
/// timers fire before the buffered bytes have been read.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum size of an answer without streaming.
const LARGEST_WHOLE: usize = 64 * 1024 * 1024;

/// How often an answer is continued without a new event in between.
const RESUMES: u32 = 5;

type OpenFuture = Pin<Box<dyn Future<Output = Result<AnswerStart, ModelError>> + Send>>;

/// The stream of one answer. No task runs beside it, so dropping it closes the connection.
pub(super) struct AnswerStream {
    secrets: Arc<Secrets>,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    phase: AnswerPhase,
}

enum AnswerPhase {
    OpenFuture { opening: OpenFuture, reading: Option<Box<AnswerSetup>> },
    BodyReader(Box<BodyReader>),
    Over,
}

/// The parts needed to read the answer once it is open.
struct AnswerSetup {
    decoder: AnswerDecoder,
    is_whole: bool,
    provider: Arc<Provider>,
    transport: Transport,
    resumption: Option<Resumption>,
    /// Why the stream was lost that this one continues. If it cannot be continued, this is the error of the call:
    /// it says that the call may be made again.
    loss: Option<ModelError>,
}

/// How an answer is continued that the provider keeps.
#[derive(Default)]
struct Resumption {
    /// How often it was continued since its last event.
    attempts: u32,
    is_announced: bool,
}

struct BodyReader {
    decoder: AnswerDecoder,
    body: Body,
    /// The body of an answer without streaming, until it is complete.
    whole: Option<Vec<u8>>,
    /// Fires if no byte has arrived for too long.
    idle: Deadline,
    /// Fires if no event has arrived for too long.
    stalled: Deadline,
    provider: Arc<Provider>,
    transport: Transport,
    resumption: Option<Resumption>,
}

impl AnswerStream {
    pub(super) fn new(
        provider: Arc<Provider>,
        secrets: Arc<Secrets>,
        transport: Transport,
        mut encoded: EncodedRequest,
        decoder: AnswerDecoder,
        is_whole: bool,
    ) -> Self {
        let warnings = std::mem::take(&mut encoded.warnings);
        let ready = warnings.into_iter().map(|warning| Ok(ModelEvent::Warning(warning))).collect();
        let resumption = (encoded.is_resumable && transport.can_resume()).then(Resumption::default);
        let (provider_of_setup, transport_of_setup) = (Arc::clone(&provider), transport.clone());
        let reading = AnswerSetup {
            decoder,
            is_whole,
            provider: provider_of_setup,
            transport: transport_of_setup,
            resumption,
            loss: None,
        };
        let opening = Box::pin(async move { transport.open(&provider, &encoded, is_whole).await });
        Self { secrets, ready, phase: AnswerPhase::OpenFuture { opening, reading: Some(Box::new(reading)) } }
    }

    /// A stream that only reports an error: no request is made.
    pub(super) fn failed(error: ModelError, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ready: VecDeque::from([Err(error)]), phase: AnswerPhase::Over }
    }

    fn fail(&mut self, error: ModelError) {
        self.ready.push_back(Err(error));
        self.phase = AnswerPhase::Over;
    }
}

impl Stream for AnswerStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                // The only exit for errors: secrets are removed before journals, logs or readers see them.
                return Poll::Ready(Some(item.map_err(|error| error.without(&self.secrets))));
            }
            let this = &mut *self;
            match &mut this.phase {
                AnswerPhase::Over => return Poll::Ready(None),
                AnswerPhase::OpenFuture { opening, reading } => {
                    let opened = std::task::ready!(opening.as_mut().poll(cx));
                    match (opened, reading.take()) {
                        (Ok(opened), Some(reading)) => {
                            let mut reading = Box::new(reading.open(opened.rest, opened.is_json));
                            let taken = reading.take(&opened.first, &mut this.ready);
                            if reading.decoder.is_finished() {
                                reading.idle.reset(LAST_WAIT);
                            }
                            this.phase = AnswerPhase::BodyReader(reading);
                            if let Err(error) = taken {
                                self.fail(error);
                            }
                        }
                        (Err(error), setup) => {
                            self.fail(setup.and_then(|setup| setup.loss).unwrap_or(error));
                        }
                        (Ok(_), None) => this.phase = AnswerPhase::Over,
                    }
                }
                AnswerPhase::BodyReader(reading) if reading.decoder.is_over() => {
                    reading.drain(cx);
                    this.phase = AnswerPhase::Over;
                }
                AnswerPhase::BodyReader(reading) => {
                    match std::task::ready!(reading.poll(cx, &mut this.ready)) {
                        Ok(IsLast(false)) => {}
                        Ok(IsLast(true)) => this.phase = AnswerPhase::Over,
                        Err(error) if reading.can_resume(&error) => {
                            this.phase = this.phase.take().resumed(error);
                        }
                        Err(error) => self.fail(error),
                    }
                }
            }
        }
    }
}

impl AnswerPhase {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Over)
    }

    /// Asks for the rest of the answer.
    fn resumed(self, loss: ModelError) -> Self {
        let Self::BodyReader(reading) = self else { return Self::Over };
        let BodyReader { mut decoder, provider, transport, resumption, .. } = *reading;
        let encoded = decoder.position().and_then(|position| provider.wire().resume(&position));
        let (Some(encoded), Some(mut resumption)) = (encoded, resumption) else { return Self::Over };
        resumption.attempts += 1;
        decoder.continued();
        let pause = transport.backoff(resumption.attempts);
        let setup = AnswerSetup {
            decoder,
            is_whole: false,
            provider: Arc::clone(&provider),
            transport: transport.clone(),
            resumption: Some(resumption),
            loss: Some(loss),
        };
        let opening = Box::pin(async move {
            sleep(pause).await;
            transport.open(&provider, &encoded, false).await
        });
        Self::OpenFuture { opening, reading: Some(Box::new(setup)) }
    }
}

/// Whether the body has ended.
struct IsLast(bool);

impl AnswerSetup {
    fn open(self: Box<Self>, body: Body, is_json: bool) -> BodyReader {
        let timeouts = self.transport.timeouts();
        let (idle, stalled) = (Deadline::new(timeouts.silence), Deadline::new(timeouts.progress));
        let whole = (self.is_whole || is_json).then(Vec::new);
        let Self { decoder, provider, transport, resumption, .. } = *self;
        BodyReader { decoder, body, whole, idle, stalled, provider, transport, resumption }
    }
}

/// A time limit for the next read.
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

    /// Whether both the time limit and the grace period have passed.
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

impl BodyReader {
    /// Reads the bytes that have arrived; returns whether the body has ended.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        ready: &mut VecDeque<Result<ModelEvent, ModelError>>,
    ) -> Poll<Result<IsLast, ModelError>> {
        let Timeouts { silence, progress, .. } = *self.transport.timeouts();
        // Timers count only if there is nothing to read: bytes that have arrived are in time.
        match self.body.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => {
                let before = ready.len();
                self.take(&bytes, ready)?;
                if ready.len() > before || self.whole.is_some() {
                    self.stalled.reset(progress);
                    if let Some(resumption) = &mut self.resumption {
                        resumption.attempts = 0;
                    }
                }
                self.idle.reset(if self.decoder.is_finished() { LAST_WAIT } else { silence });
                Poll::Ready(Ok(IsLast(false)))
            }
            // Errors of the connection do not matter once the answer is complete.
            Poll::Ready(Some(Err(error))) if !self.decoder.is_finished() => Poll::Ready(Err(error)),
            Poll::Ready(None) if !self.decoder.is_finished() && self.has_resumes() => {
                let message = "the answer ended before it was complete";
                let cut = ModelError::new(ModelErrorKind::Cut, message).provider(self.provider.name());
                Poll::Ready(Err(cut))
            }
            Poll::Ready(_) => Poll::Ready(Ok(self.end(ready))),
            Poll::Pending if self.decoder.is_finished() => {
                self.idle.sleep.as_mut().poll(cx).map(|()| Ok(self.end(ready)))
            }
            // Pings reset the idle timer but not this one.
            Poll::Pending if self.stalled.is_over(cx) => {
                let what = "the connection is alive, but no event arrived";
                Poll::Ready(Err(too_slow(self.provider.name(), what, progress)))
            }
            Poll::Pending if self.idle.is_over(cx) => Poll::Ready(Err(too_slow(
                self.provider.name(),
                "the answer stalled: no byte arrived",
                silence,
            ))),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whether the rest of the answer can be asked for.
    fn has_resumes(&self) -> bool {
        self.whole.is_none()
            && self.resumption.as_ref().is_some_and(|resumption| resumption.attempts < RESUMES)
            && self
                .decoder
                .position()
                .is_some_and(|position| self.provider.wire().resume(&position).is_some())
    }

    /// Whether the error is one of the connection, after which the rest of the answer can be asked for.
    fn can_resume(&self, error: &ModelError) -> bool {
        matches!(error.kind(), ModelErrorKind::Cut | ModelErrorKind::Timeout) && self.has_resumes()
    }

    /// Ends the answer: no more bytes, or no need to wait for them.
    fn end(&mut self, ready: &mut VecDeque<Result<ModelEvent, ModelError>>) -> IsLast {
        match self.whole.take() {
            Some(whole) => self.decoder.whole(&whole, |item| ready.push_back(item)),
            None => self.decoder.finish(|item| ready.push_back(item)),
        }
        IsLast(true)
    }

    /// Reads the end of the body if it has arrived already, so that the connection can be reused. Does not
    /// wait for it.
    fn drain(&mut self, cx: &mut Context<'_>) {
        for _ in 0..4 {
            if !matches!(self.body.as_mut().poll_next(cx), Poll::Ready(Some(Ok(_)))) {
                return;
            }
        }
    }

    /// Announces the id of an answer that the provider keeps, once.
    fn announce(&mut self, ready: &mut VecDeque<Result<ModelEvent, ModelError>>) {
        let Some(resumption) = self.resumption.as_mut().filter(|resumption| !resumption.is_announced) else {
            return;
        };
        if let Some(AnswerPosition { answer, .. }) = self.decoder.position() {
            resumption.is_announced = true;
            ready.push_back(Ok(ModelEvent::Resumable { answer }));
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
                self.announce(ready);
                Ok(())
            }
        }
    }
}
