//! Reads one answer of the server behind, and shows it.

use headwater_client::{ConnectionStatus, DialectChat, PendingRequest, Update};
use headwater_protocol::{
    ErrorInfo, Event, FinishReason, Interrupt, Message, Role, Rules, RunState, ToolDenied, Usage, check_id,
};
use headwater_runtime::{Relay, Result};
use serde::{Deserialize, Serialize};

use super::{
    failure::{failed, of_answer, of_client},
    shown::{AnswerDiffers, ShownEvents},
    steps::StepMarks,
    upstream::Upstream,
};

/// What the next request needs of an answer that waits for something; empty for one that does not.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnswerState {
    /// The messages since the person's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<Message>,
    /// The questions that it asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) questions: Vec<Interrupt>,
}

/// An answer that is being read.
struct AnswerReader<'a> {
    upstream: &'a Upstream,
    relay: Relay,
    shown: ShownEvents,
    steps: StepMarks,
    error: Option<ErrorInfo>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    has_snapshot: bool,
}

/// Sends the request, and shows the answer. `denied` are the calls that a person has denied.
pub(super) async fn read(
    upstream: &Upstream,
    relay: Relay,
    mut chat: DialectChat,
    denied: &[String],
) -> Result<AnswerState> {
    let mut reader = AnswerReader {
        upstream,
        relay,
        shown: ShownEvents::default(),
        steps: StepMarks::default(),
        error: None,
        finish: None,
        usage: None,
        has_snapshot: false,
    };
    let mut loss = None;
    loop {
        match chat.next().await {
            Ok(Some(Update::Event(update))) => match update.record.event {
                Event::AttemptRetracted(_) => {
                    let shown = ShownAnswer::of(&chat);
                    reader.show_again(shown).await?;
                }
                event => reader.event(event).await?,
            },
            Ok(Some(Update::Reset)) => reader.shown.begin_again(),
            Ok(Some(Update::Connection(ConnectionStatus::Lost { error, retry_in }))) => {
                tracing::info!(upstream = upstream.name, %error, ?retry_in, "the answer of the upstream was cut and is continued");
                loss = Some(error);
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => {
                return Err(of_client(&upstream.name, &error, loss.as_ref(), chat.is_answered()));
            }
        }
    }
    if let Some(problem) = chat.problems().first() {
        let (count, upstream) = (chat.problems().len(), &upstream.name);
        tracing::warn!(upstream, count, %problem, "parts of an answer of the upstream could not be read and are left out");
    }
    let (answer, pending, questions) =
        (ShownAnswer::of(&chat), chat.pending(), chat.open_questions().to_vec());
    drop(chat);
    let messages = answer.messages.clone();
    reader.end(answer, denied).await?;
    for request in &pending {
        check_request(upstream, request)?;
    }
    Ok(if pending.is_empty() { AnswerState::default() } else { AnswerState { messages, questions } })
}

impl AnswerReader<'_> {
    async fn event(&mut self, event: Event) -> Result<()> {
        match event {
            // The run here has its own.
            Event::RunStarted(_)
            | Event::RunWaiting(_)
            | Event::MessageStarted(_)
            | Event::MessageFinished { .. }
            | Event::AttemptStarted(_)
            | Event::AttemptFinished { .. }
            | Event::AttemptRetracted(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalAnswered(_)
            | Event::InterruptRequested(_)
            | Event::InterruptAnswered(_)
            | Event::InterruptExpired { .. }
            | Event::Checkpoint(_)
            | Event::Transition(_)
            | Event::Trace(_) => Ok(()),
            Event::RunFinished(finished) => {
                self.finish = finished.reason.or_else(|| self.finish.take());
                self.usage = finished.usage.or_else(|| self.usage.take());
                Ok(())
            }
            Event::RunFailed(error) => {
                self.error = Some(error);
                Ok(())
            }
            Event::Error(error) => {
                self.error = Some(error.error);
                Ok(())
            }
            Event::RunCancelled { reason } => {
                let text = reason.unwrap_or_else(|| "it cancelled its run".to_owned());
                Err(failed(&self.upstream.name, "upstream.cancelled", &text))
            }
            Event::Usage(usage) => {
                self.usage = Some(usage);
                Ok(())
            }
            // Its content was streamed before, and its messages have other names.
            Event::MessagesSnapshot { .. } => {
                self.has_snapshot = true;
                Ok(())
            }
            event => match self.shown.unseen(event) {
                Ok(Some(event)) => {
                    for mark in self.steps.before(&event) {
                        self.relay.event(mark).await?;
                    }
                    self.relay.event(event).await
                }
                Ok(None) => Ok(()),
                Err(AnswerDiffers) => {
                    let text = "the answer was cut, and what the server sent again is another one";
                    Err(failed(&self.upstream.name, "upstream.cut", text))
                }
            },
        }
    }

    /// Retracts what was shown, and shows what the answer has now: the server behind has retracted a part of it.
    async fn show_again(&mut self, answer: ShownAnswer) -> Result<()> {
        self.relay.restart("the server behind retracted a part of its answer")?;
        self.shown.clear();
        self.steps = StepMarks::default();
        self.show_state(answer).await
    }

    /// Shows the answer so far as a whole.
    async fn show_state(&mut self, answer: ShownAnswer) -> Result<()> {
        let state = RunState::with_rules(answer.rules).with_messages(answer.messages);
        for record in state.replay() {
            self.event(record.event).await?;
        }
        Ok(())
    }

    async fn end(mut self, answer: ShownAnswer, denied: &[String]) -> Result<()> {
        if self.has_snapshot && !self.shown.has_text() {
            // It streams nothing: the answer is in the messages at its end.
            self.show_state(answer).await?;
        }
        if let Some(mark) = self.steps.end() {
            self.relay.event(mark).await?;
        }
        for call in denied {
            if !self.relay.is_settled(call) {
                let denied = ToolDenied { call: call.as_str().into(), ..ToolDenied::default() };
                self.relay.event(denied.into()).await?;
            }
        }
        self.relay.finished(self.finish.take(), self.usage.take()).await?;
        self.error.map_or(Ok(()), |error| Err(of_answer(&self.upstream.name, &error)))
    }
}

/// Refuses what cannot be asked here, or answered there.
fn check_request(upstream: &Upstream, request: &PendingRequest) -> Result<()> {
    let call = match request {
        PendingRequest::Question(_) => return upstream.check_takes_answers(),
        PendingRequest::Approval { call, .. } | PendingRequest::ClientTool { call, .. } => call,
        _ => return Ok(()),
    };
    upstream.check_takes_calls()?;
    check_id(call).map_err(|error| {
        let text = format!("a tool call has an id that no client can answer: {error}");
        failed(&upstream.name, "upstream.invalid", &text)
    })
}

/// An answer as it is now.
struct ShownAnswer {
    rules: Rules,
    /// The messages since the person's.
    messages: Vec<Message>,
}

impl ShownAnswer {
    fn of(chat: &DialectChat) -> Self {
        let (rules, messages) = (chat.state().rules(), chat.state().messages());
        let from = messages.iter().rposition(|message| message.role == Role::User).map_or(0, |at| at + 1);
        Self { rules, messages: messages.iter().skip(from).cloned().collect() }
    }
}
