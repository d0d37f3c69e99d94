//! Answers on their way to a run: authorization, validation, and delivery to the driver.

use headwater_protocol::{RequestId, RunId};
use headwater_store::Expect;
use serde_json::Value;

use super::{
    OpenQuestion, Questions,
    check::fits,
    inbox::QueuedAnswer,
    store::{AcceptedAnswer, CloseReason, hash},
    token,
};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{AnswerValue, WaitKind},
    keys,
};

/// The result of checking an answer against its question.
#[derive(Debug)]
pub(crate) enum AnswerCheck {
    /// The answer is valid and new.
    Open(AnswerValue),
    /// The answer was accepted before.
    Accepted(AcceptedAnswer),
}

/// An answer to a question, with the token or the owner that authorizes it.
///
/// ```
/// use headwater_runtime::Answer;
///
/// let answer = Answer::given("req_1", "send").token("the token that came with the question");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Answer {
    pub(crate) request: RequestId,
    pub(crate) token: Option<String>,
    owner: Option<Option<String>>,
    pub(crate) answer: AnswerValue,
}

impl Answer {
    /// Answers a request with the given value.
    pub fn new(request: impl Into<RequestId>, answer: AnswerValue) -> Self {
        Self { request: request.into(), token: None, owner: None, answer }
    }

    /// Answers a question.
    pub fn given(request: impl Into<RequestId>, answer: impl Into<Value>) -> Self {
        Self::new(request, AnswerValue::Given(answer.into()))
    }

    /// Declines to answer.
    pub fn declined(request: impl Into<RequestId>) -> Self {
        Self::new(request, AnswerValue::Declined)
    }

    /// Approves a tool call.
    pub fn approved(request: impl Into<RequestId>) -> Self {
        Self::new(request, AnswerValue::Approval { approved: true, reason: None, input: None })
    }

    /// Denies a tool call.
    pub fn denied(request: impl Into<RequestId>, reason: Option<&str>) -> Self {
        let reason = reason.map(str::to_owned);
        Self::new(request, AnswerValue::Approval { approved: false, reason, input: None })
    }

    /// Sets the token that came with the request.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the authenticated owner: the run must belong to them, and they need no token.
    pub fn by(mut self, owner: Option<String>) -> Self {
        self.owner = Some(owner);
        self
    }
}

impl Questions {
    /// The question for an answer, if its sender is authorized.
    pub(crate) async fn answerable(&self, answered: &Answer) -> Result<OpenQuestion> {
        let question = self.find(&answered.request).await?;
        let question = question.ok_or_else(|| {
            let message =
                format!("there is no request {}: it never was, or is no longer kept", answered.request);
            Error::new(ErrorKind::UnknownRequest, message)
        })?;
        self.may_answer(&question, answered).await?;
        Ok(question)
    }

    /// Checks an answer against its question, or against the answer accepted before.
    pub(crate) fn check_open(&self, question: &OpenQuestion, answer: AnswerValue) -> Result<AnswerCheck> {
        let request = &question.request;
        match question.closed {
            Some(CloseReason::Answered) => {
                let answer = fits(question, answer).map_err(|_| already(request))?;
                match &question.taken {
                    Some(taken) if taken.hash == hash(&answer) => Ok(AnswerCheck::Accepted(taken.clone())),
                    _ => Err(already(request)),
                }
            }
            Some(CloseReason::Expired) => Err(expired(request)),
            Some(CloseReason::Retracted) => Err(retracted(request)),
            Some(CloseReason::Ended) => {
                let message =
                    format!("run {} has ended: {request} cannot be answered any more", question.run);
                Err(Error::new(ErrorKind::Ended, message))
            }
            None if question.expires <= self.env.now() => Err(expired(request)),
            None => fits(question, answer).map(AnswerCheck::Open),
        }
    }

    /// Delivers an answer to the driver of the run. Returns the end of the journal when it was first
    /// delivered.
    pub(crate) async fn give(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: AnswerValue,
        since: u64,
    ) -> Result<u64> {
        let content = hash(&answer);
        let first = self.send(run, request, answer, since).await?;
        // A different answer was accepted in the meantime, so this one is too late.
        let closed = self.find(request).await?.filter(|question| question.closed.is_some());
        match closed.map(|question| question.taken) {
            None => Ok(first),
            Some(taken) => {
                self.env.store.remove(&keys::answer(run, request), Expect::Any).await?;
                let same = taken.filter(|taken| taken.hash == content);
                same.map(|taken| taken.since).ok_or_else(|| already(request))
            }
        }
    }

    async fn may_answer(&self, question: &OpenQuestion, answered: &Answer) -> Result<()> {
        if answered.owner.as_ref().is_some_and(|owner| *owner != question.owner) {
            let message = format!("request {} belongs to another owner", question.request);
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        let bound = match &question.wait.kind {
            WaitKind::Approval { input, .. } => Some(input),
            _ => None,
        };
        match &answered.token {
            Some(token)
                if !token::verify(
                    self.env.secret().await?,
                    token,
                    &question.run,
                    &question.request,
                    bound,
                ) =>
            {
                let message = format!("the token is not the one that came with request {}", question.request);
                Err(Error::new(ErrorKind::Token, message))
            }
            None if answered.owner.is_none() => {
                let message = format!("request {} needs the token that came with it", question.request);
                Err(Error::new(ErrorKind::Token, message).with_code("token.missing"))
            }
            _ => Ok(()),
        }
    }

    /// Sends an answer, unless there is one already: equal content counts as the same answer, also if
    /// recovery of the session has sent it first. Returns the end of the journal when it was first sent.
    async fn send(&self, run: &RunId, request: &RequestId, answer: AnswerValue, since: u64) -> Result<u64> {
        let key = keys::answer(run, request);
        let sent = QueuedAnswer { answer, since };
        let bytes = serde_json::to_vec(&sent).map_err(|error| {
            Error::new(ErrorKind::Answer, format!("the answer does not serialise: {error}"))
        })?;
        let ttl = Some(self.env.options.max_wait + self.env.options.keep);
        match self.env.store.put(&key, bytes.into(), Expect::Absent, ttl).await {
            Ok(_) => Ok(since),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                let there = self.env.store.get(&key).await?;
                let there = there.and_then(|value| crate::codec::decode::<QueuedAnswer>(&value.bytes).ok());
                let taken = match there {
                    Some(there) => Some(AcceptedAnswer { hash: hash(&there.answer), since: there.since }),
                    // It was accepted just now.
                    None => self.find(request).await?.and_then(|question| question.taken),
                };
                let same = taken.filter(|taken| taken.hash == hash(&sent.answer));
                same.map(|taken| taken.since).ok_or_else(|| already(request))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Expires a request, unless it was answered in time.
    pub(crate) async fn expire(&self, run: &RunId, request: &RequestId) -> Result<()> {
        match self.send(run, request, AnswerValue::Expired, 0).await {
            Err(error) if error.kind() != ErrorKind::Answered => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends an answer again in case its sender died before sending it.
    pub(crate) async fn send_again(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: AnswerValue,
        since: u64,
    ) -> Result<()> {
        if !self.is_open(request).await? {
            return Ok(());
        }
        match self.send(run, request, answer, since).await {
            Err(error) if error.kind() != ErrorKind::Answered => Err(error),
            _ => Ok(()),
        }
    }
}

fn already(request: &RequestId) -> Error {
    Error::new(ErrorKind::Answered, format!("request {request} was answered already"))
}

fn expired(request: &RequestId) -> Error {
    Error::new(ErrorKind::Expired, format!("request {request} has expired"))
}

pub(crate) fn retracted(request: &RequestId) -> Error {
    let message = format!(
        "request {request} was retracted: its session continued without it, or was rolled back; look for a newer one"
    );
    Error::new(ErrorKind::Retracted, message)
}
