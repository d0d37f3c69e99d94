//! One pass: one request to a model, with retries, emitted while it streams.

use std::{
    pin::Pin,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::{FutureExt as _, StreamExt as _};
use headwater_models::{ContentPart, Model, ModelError, ModelErrorKind, ModelMessage, ModelRequest};
use headwater_protocol::{AttemptId, AttemptRetracted, Event};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, Sleep};
use tracing::Instrument as _;

use super::{
    call::{PassVisibility, ReasonCall},
    model_reply::{ModelReply, ReplyPart, aborted},
    recorder::{AttemptOutcome, AttemptRecorder, retraction},
};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{Effect, HookOutcome},
    telemetry::{self, ModelCall},
};

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl ReasonCall {
    /// Makes one request to the model, or returns the recorded reply.
    pub(super) async fn pass(
        &self,
        key: &str,
        request: ModelRequest,
        shown: PassVisibility,
    ) -> Result<ModelReply> {
        let fingerprint = fingerprint(&request);
        if let Some(rehearsal) = &self.node.run.rehearsal {
            rehearsal.asks(key, serde_json::to_value(&request).unwrap_or_default());
        }
        // The event that ends the attempt is in the record that ends the pass: after a crash between the two,
        // the text would remain and be emitted again.
        let work = Box::pin(async {
            let mut guard = PassGuard { call: self, key, fingerprint: &fingerprint, is_over: false };
            let (said, told) = match self.attempts(key, request, shown).await {
                Ok((said, attempt)) => (said, Event::AttemptFinished { attempt }),
                Err(error) => (Err(error), Event::StepFinished { name: None }),
            };
            guard.is_over = true;
            drop(guard);
            (said, self.options.emit.then_some(told))
        });
        self.node.once_with_event(key, "pass", Some(fingerprint.clone()), &self.origin, work).await
    }

    /// Returns the reply or the refusal, with its attempt.
    async fn attempts(
        &self,
        key: &str,
        request: ModelRequest,
        shown: PassVisibility,
    ) -> Result<(Result<ModelReply>, AttemptId)> {
        self.begin_step(key)?;
        let mut asked = 0;
        let mut kept = String::new();
        let mut kept_attempts = Vec::new();
        let mut last = None;
        'models: for model in &self.models {
            for nth in 0..self.options.attempts {
                let mut request = request.clone();
                request.attempt = asked;
                asked += 1;
                if !kept.is_empty() {
                    let content = vec![ContentPart::Text { text: kept.clone(), provider_options: None }];
                    request.messages.push(ModelMessage::Assistant { content });
                }
                let error = match self.attempt(model, request, shown).await? {
                    AttemptOutcome::Answered(mut said, attempt) => {
                        if !kept.is_empty() {
                            said.parts.insert(0, ReplyPart::Text { text: kept, metadata: None });
                        }
                        return Ok((Ok(*said), attempt));
                    }
                    AttemptOutcome::Refused(error, attempt) => return Ok((Err(error), attempt)),
                    AttemptOutcome::Died { error, kept: None } => error,
                    AttemptOutcome::Died { error, kept: Some((attempt, said)) } => {
                        kept.push_str(&said);
                        kept_attempts.push(attempt);
                        error
                    }
                };
                telemetry::model_failed(self.node.run.labels(), model.name(), &error);
                if error.kind() == ModelErrorKind::Aborted {
                    last = Some(error);
                    break 'models;
                }
                let again = error.is_retryable() && nth + 1 < self.options.attempts;
                let pause = error.wait().unwrap_or_else(|| Duration::from_millis(100 << nth.min(10)));
                last = Some(error);
                if !again {
                    break;
                }
                self.pause(pause.min(LONGEST_PAUSE)).await?;
            }
        }
        // No attempt continues the text that was kept.
        for attempt in kept_attempts {
            let reason = last.as_ref().map(retraction);
            self.append(Event::AttemptRetracted(AttemptRetracted { attempt, reason, ..Default::default() }))?;
        }
        let error = last.map_or_else(|| Error::new(ErrorKind::Hook, "no model was given"), Error::from);
        Err(error)
    }

    async fn pause(&self, pause: Duration) -> Result<()> {
        let cancel = self.node.run.cancel.signal();
        tokio::select! {
            () = cancel.cancelled() => Err(stopped()),
            () = self.aborted() => Ok(()),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    /// Completes when the call is to be aborted.
    async fn aborted(&self) {
        match &self.options.abort {
            Some(signal) => signal.aborted().await,
            None => std::future::pending().await,
        }
    }

    async fn attempt(
        &self,
        model: &Arc<dyn Model>,
        request: ModelRequest,
        shown: PassVisibility,
    ) -> Result<AttemptOutcome> {
        let mut seen = ModelCall::new(model.name(), self.node.run.spec.session.as_ref());
        let span = seen.span.clone();
        // Boxed: a large future passed by value occupies space once for each level.
        let attempted = Box::pin(self.listen(model, request, shown, &mut seen)).instrument(span).await;
        let services = &self.node.run.services;
        match &attempted {
            Ok(AttemptOutcome::Answered(said, _)) => {
                seen.answered(&said.usage);
                services.models.health.answered(model.name(), services.env.now());
            }
            Ok(AttemptOutcome::Refused(error, _)) => seen.failed(error.code()),
            Ok(AttemptOutcome::Died { error, .. }) => {
                seen.failed(error.kind().code());
                if error.kind() != ModelErrorKind::Aborted {
                    services.models.health.failed(model.name(), error.kind().code(), services.env.now());
                }
            }
            Err(_) => {}
        }
        attempted
    }

    async fn listen(
        &self,
        model: &Arc<dyn Model>,
        request: ModelRequest,
        shown: PassVisibility,
        seen: &mut ModelCall,
    ) -> Result<AttemptOutcome> {
        let cancel = self.node.run.cancel.signal();
        if cancel.is_cancelled() {
            return Err(stopped());
        }
        // Already aborted: do not call the model.
        if self.aborted().now_or_never().is_some() {
            return Ok(AttemptOutcome::Died { error: aborted(), kept: None });
        }
        let mut recorder = AttemptRecorder::new(self, model.name(), shown)?;
        let mut stream = model.ask(request);
        let mut cancelled = std::pin::pin!(cancel.cancelled());
        let mut timeout = self.options.timeout.map(|limit| Box::pin(tokio::time::sleep(limit)));
        let mut abort = std::pin::pin!(self.aborted());
        let journal = &self.node.run.journal;
        loop {
            // While the store has no room, the model is not polled, and its timeout does not run.
            let mut room = (!cancel.is_cancelled()).then_some(Ok(()));
            if room.is_some() && !journal.has_room() {
                let waits_since = Instant::now();
                room = tokio::select! {
                    biased;
                    () = &mut cancelled => None,
                    () = &mut abort => Some(Err(aborted())),
                    room = journal.room() => {
                        self.node.keep(room)?;
                        Some(Ok(()))
                    }
                };
                if let Some(timeout) = &mut timeout {
                    let deadline = timeout.deadline() + waits_since.elapsed();
                    timeout.as_mut().reset(deadline);
                }
            }
            let item = match room {
                None => None,
                Some(Err(error)) => Some(Some(Err(error))),
                // Stop requests are checked above; usually polling the model is enough.
                Some(Ok(())) => tokio::select! {
                    biased;
                    () = &mut abort => Some(Some(Err(aborted()))),
                    item = stream.next() => Some(item),
                    () = &mut cancelled => None,
                    () = until(recorder.flush_at()) => {
                        recorder.flush()?;
                        continue;
                    }
                    () = time_out(&mut timeout) => {
                        Some(Some(Err(ModelError::new(ModelErrorKind::Timeout, "the model took too long"))))
                    }
                },
            };
            let Some(item) = item else {
                // Output emitted so far is kept.
                recorder.close()?;
                return Err(stopped());
            };
            match item {
                Some(Ok(event)) => {
                    seen.heard(&event);
                    if let Err(error) = recorder.measure(&event) {
                        recorder.close_parts()?;
                        return Ok(AttemptOutcome::Refused(error, recorder.attempt));
                    }
                    if recorder.on_event(event)? {
                        let (said, attempt) = recorder.finish()?;
                        return Ok(AttemptOutcome::Answered(Box::new(said), attempt));
                    }
                }
                Some(Err(error)) => return recorder.die(error),
                None => {
                    let message = "the answer ended before it was complete";
                    return recorder.die(ModelError::new(ModelErrorKind::Cut, message));
                }
            }
        }
    }

    fn begin_step(&self, key: &str) -> Result<()> {
        if !self.options.emit || self.node.run.fold().began.contains(key) {
            return Ok(());
        }
        let effect = Effect::Began { key: key.to_owned() };
        let started = Event::StepStarted { name: None };
        self.node.run.journal.effect_with_event(effect, &self.origin, started).map(drop)
    }

    /// Ends the step of a pass whose calls are complete, unless an earlier execution did.
    pub(super) fn end_step(&self, key: &str) -> Result<()> {
        if !self.options.emit {
            return Ok(());
        }
        let finished = Event::StepFinished { name: None };
        self.node.emit_once(&format!("{key}/end"), "step-end", &self.origin, finished)
    }

    /// Appends an event of an attempt. Readers see it when it is durable.
    pub(super) fn append(&self, event: Event) -> Result<()> {
        if self.options.emit {
            drop(self.node.keep(self.node.run.journal.fact(&self.origin, event))?);
        }
        Ok(())
    }
}

/// Records an abort if the node's code drops the pass: otherwise its partial answer would stay, and the model
/// would be called again when the run is resumed.
struct PassGuard<'a> {
    call: &'a ReasonCall,
    key: &'a str,
    fingerprint: &'a str,
    is_over: bool,
}

impl Drop for PassGuard<'_> {
    fn drop(&mut self) {
        let Self { call, key, fingerprint, is_over } = self;
        if *is_over || !call.node.gives_up() {
            return;
        }
        call.is_over.store(true, Ordering::Relaxed);
        // A failed write ends the run, which the next hook reports.
        let record = || -> Result<()> {
            let open = call.attempt.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(attempt) = open {
                call.invalidate()?;
                let reason = Some(retraction(&aborted()));
                call.append(Event::AttemptRetracted(AttemptRetracted {
                    attempt,
                    reason,
                    ..Default::default()
                }))?;
            }
            let told = call.options.emit.then_some((&call.origin, Event::StepFinished { name: None }));
            let outcome = HookOutcome::Error(Error::from(aborted()));
            let fingerprint = Some((*fingerprint).to_owned());
            call.node.keep(call.node.run.done(key, "pass", fingerprint, outcome, told)).map(drop)
        };
        let _ = record();
    }
}

/// Waits until a time, or forever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => Box::pin(tokio::time::sleep_until(time)).await,
        None => std::future::pending().await,
    }
}

/// Completes when the time limit of a call is over, if there is one.
async fn time_out(timeout: &mut Option<Pin<Box<Sleep>>>) {
    match timeout {
        Some(timeout) => timeout.as_mut().await,
        None => std::future::pending().await,
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Stopped, "the run was stopped")
}

/// A short fingerprint of a request.
fn fingerprint(request: &ModelRequest) -> String {
    let text = serde_json::to_vec(request).unwrap_or_default();
    let digest = Sha256::digest(text);
    let short: Vec<u8> = digest.iter().copied().take(12).collect();
    URL_SAFE_NO_PAD.encode(short)
}
