//! What is sent to a run from outside: answers, and the wish to stop it.

use headwater_protocol::{RequestId, RunId, ToolCallId};
use headwater_store::{Expect, JournalId};
use serde_json::Value;

use super::{Agent, AgentInner, OpenQuestion, Run, fresh_id, meta, question::Closed, run::unknown, token};
use crate::{
    Error, Result,
    error::ErrorKind,
    hooks::{check_answer, check_schema},
    journal::{Answer, History, WaitKind},
    run::{INBOX, Sent, inbox_key, request_id, stop_key},
};

/// An answer to a request, from whoever sent it.
///
/// ```
/// use headwater_runtime::Answered;
///
/// let answer = Answered::given("req_1", "send").token("the token that came with the question");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Answered {
    request: RequestId,
    token: Option<String>,
    owner: Option<Option<String>>,
    answer: Answer,
}

impl Answered {
    /// Answers a request in some way.
    pub fn new(request: impl Into<RequestId>, answer: Answer) -> Self {
        Self { request: request.into(), token: None, owner: None, answer }
    }

    /// Answers a question.
    pub fn given(request: impl Into<RequestId>, answer: impl Into<Value>) -> Self {
        Self::new(request, Answer::Given(answer.into()))
    }

    /// Declines to answer.
    pub fn declined(request: impl Into<RequestId>) -> Self {
        Self::new(request, Answer::Declined)
    }

    /// Allows a tool call.
    pub fn approved(request: impl Into<RequestId>) -> Self {
        Self::new(request, Answer::Approval { approved: true, reason: None, input: None })
    }

    /// Forbids a tool call.
    pub fn denied(request: impl Into<RequestId>, reason: Option<&str>) -> Self {
        let reason = reason.map(str::to_owned);
        Self::new(request, Answer::Approval { approved: false, reason, input: None })
    }

    /// Gives the token that came with the request.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Says who answers: the run must be theirs. Whoever was authenticated needs no token.
    pub fn by(mut self, owner: Option<String>) -> Self {
        self.owner = Some(owner);
        self
    }
}

impl Agent {
    /// Gives an answer to the run that waits for it. It is durable when this returns, and the run goes on.
    ///
    /// # Errors
    /// Each its own: [`ErrorKind::UnknownRequest`], [`ErrorKind::Token`], [`ErrorKind::Foreign`],
    /// [`ErrorKind::Answered`], [`ErrorKind::Expired`], [`ErrorKind::Ended`], [`ErrorKind::Answer`]. The question stays
    /// open where it was.
    pub async fn answer(&self, answered: Answered) -> Result<Run> {
        self.answer_all(vec![answered]).await
    }

    /// Gives several answers to the run that waits for them, at once: it goes on when it has them all, and in a session
    /// they are one turn. All are checked before any is given. Should somebody else answer one of them at the same moment,
    /// the others are given nevertheless.
    ///
    /// # Errors
    /// As [`Agent::answer`]; [`ErrorKind::Input`] when they belong to several runs, when one request is answered twice,
    /// and when there is none.
    pub async fn answer_all(&self, answers: Vec<Answered>) -> Result<Run> {
        let agent = &self.0;
        let mut fitting: Vec<(RequestId, Answer)> = Vec::new();
        let mut asked: Option<OpenQuestion> = None;
        for answered in answers {
            let question = agent.answerable(&answered).await?;
            if let Some(first) = asked.as_ref().filter(|first| first.run != question.run) {
                let message = format!(
                    "{} is asked by run {}, and {} by run {}: answer each run by itself",
                    first.request, first.run, question.request, question.run
                );
                return Err(Error::new(ErrorKind::Input, message).with_code("answers.several-runs"));
            }
            if fitting.iter().any(|(request, _)| *request == question.request) {
                let message = format!("request {} is answered twice: choose one answer", question.request);
                return Err(Error::new(ErrorKind::Input, message).with_code("answers.repeated"));
            }
            fitting.push((question.request.clone(), fits(&question, answered.answer)?));
            asked.get_or_insert(question);
        }
        let Some(OpenQuestion { run, session, .. }) = asked else {
            let message = "there is no answer: give at least one";
            return Err(Error::new(ErrorKind::Input, message).with_code("answers.none"));
        };
        agent.answering(session.as_ref(), &run, &fitting).await?;
        let since = agent.store.info(&JournalId::from(run.as_str())).await?.map_or(0, |info| info.tail.last);
        let mut late = None;
        for (request, answer) in fitting {
            match agent.give(&run, &request, answer).await {
                Err(error) if error.kind() == ErrorKind::Answered => {
                    late.get_or_insert(error);
                }
                given => given?,
            }
        }
        agent.go_on(&run).await;
        match late {
            Some(error) => Err(error),
            None => Ok(self.run(run).since(since)),
        }
    }

    /// Gives the output of a tool that the page executes.
    ///
    /// # Errors
    /// As [`Agent::answer`].
    pub async fn tool_output(
        &self,
        run: &RunId,
        call: &ToolCallId,
        owner: Option<String>,
        output: Result<Value, String>,
    ) -> Result<Run> {
        let request = client_request(run, call);
        let answer = match output {
            Ok(output) => Answer::Output(output),
            Err(error) => Answer::OutputError(error),
        };
        self.answer(Answered::new(request, answer).by(owner)).await
    }

    /// Stops a run: models and tools are told, what was said is kept, and it ends cancelled. Durable when this returns.
    ///
    /// # Errors
    /// When there is no such run, it has ended, or the store fails.
    pub async fn stop(&self, run: &RunId, reason: Option<&str>) -> Result<Run> {
        let agent = &self.0;
        let info = agent.store.info(&run.as_str().into()).await?.ok_or_else(|| unknown(run))?;
        if info.tail.closed {
            return Err(Error::new(ErrorKind::Ended, format!("run {run} has ended already")));
        }
        let reason = reason.unwrap_or_default().to_owned();
        match agent.store.put(&stop_key(run), reason.into(), Expect::Absent, Some(agent.options.keep)).await {
            Ok(_) => {}
            // Stopping twice is stopping once.
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        agent.go_on(run).await;
        Ok(self.run(run.clone()).since(info.tail.last))
    }
}

impl AgentInner {
    /// The question that an answer is for, if it can be answered by whoever sends that.
    async fn answerable(&self, answered: &Answered) -> Result<OpenQuestion> {
        let question = self.question(&answered.request).await?;
        let question = question.ok_or_else(|| {
            let message =
                format!("there is no request {}: it never was, or is no longer kept", answered.request);
            Error::new(ErrorKind::UnknownRequest, message)
        })?;
        self.may_answer(&question, answered).await?;
        let request = &question.request;
        match question.closed {
            Some(Closed::Answered) => Err(already(request)),
            Some(Closed::Expired) => Err(expired(request)),
            Some(Closed::TakenBack) => Err(taken_back(request)),
            Some(Closed::Ended) => {
                let message =
                    format!("run {} has ended: {request} cannot be answered any more", question.run);
                Err(Error::new(ErrorKind::Ended, message))
            }
            None if question.expires <= self.now() => Err(expired(request)),
            None => Ok(question),
        }
    }

    /// Puts an answer where the driver of the run finds it.
    async fn give(&self, run: &RunId, request: &RequestId, answer: Answer) -> Result<()> {
        let key = inbox_key(run, request);
        let sent = self.send(&key, answer, request).await?;
        // An answer that was taken meanwhile has made room for this one, which came too late.
        let closed = self.question(request).await?.filter(|question| question.closed.is_some());
        if closed.is_some_and(|question| question.taken.is_none_or(|taken| taken != sent)) {
            self.store.remove(&key, Expect::Any).await?;
            return Err(already(request));
        }
        Ok(())
    }

    async fn may_answer(&self, question: &OpenQuestion, answered: &Answered) -> Result<()> {
        if answered.owner.as_ref().is_some_and(|owner| *owner != question.owner) {
            let message = format!("request {} belongs to somebody else", question.request);
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        let bound = match &question.wait.kind {
            WaitKind::Approval { input, .. } => Some(input),
            _ => None,
        };
        match &answered.token {
            Some(token)
                if !token::verify(self.secret().await?, token, &question.run, &question.request, bound) =>
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

    /// Sends an answer, unless one is there already. Gives what tells it apart from others.
    async fn send(&self, key: &str, answer: Answer, request: &RequestId) -> Result<String> {
        let sent = Sent { id: fresh_id("answer")?, answer };
        let bytes = serde_json::to_vec(&sent).map_err(|error| {
            Error::new(ErrorKind::Answer, format!("the answer does not serialise: {error}"))
        })?;
        let ttl = Some(self.options.max_wait + self.options.keep);
        match self.store.put(key, bytes.into(), Expect::Absent, ttl).await {
            Ok(_) => Ok(sent.id),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                Err(already(request))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives up a request, unless it was answered in time.
    pub(super) async fn expire(&self, run: &RunId, request: &RequestId) -> Result<()> {
        match self.send(&inbox_key(run, request), Answer::Expired, request).await {
            Err(error) if error.kind() != ErrorKind::Answered => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets whoever drives a run look at what was sent to it. What was sent is kept, whatever happens here.
    pub(crate) async fn go_on(self: &std::sync::Arc<Self>, run: &RunId) {
        if self.wake(run) {
            return;
        }
        match self.resume(run).await {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Busy => {
                tracing::debug!(run = %run, error = ?error.message(), "the run is driven elsewhere");
            }
            // What it was sent is kept.
            Err(error) => self.skip("run", run.as_str(), &error),
        }
    }
}

impl AgentInner {
    /// Sends an answer again that its sender may not have come to send.
    pub(crate) async fn send_again(&self, run: &RunId, request: &RequestId, answer: Answer) -> Result<()> {
        if !self.is_open(request).await? {
            return Ok(());
        }
        match self.send(&inbox_key(run, request), answer, request).await {
            Err(error) if error.kind() != ErrorKind::Answered => Err(error),
            _ => Ok(()),
        }
    }
}

impl AgentInner {
    /// Removes a run that has ended, with what it asked, although it would be kept longer. Gives whether it could be: not
    /// while it is driven.
    pub(crate) async fn forget_run(&self, run: &RunId) -> Result<bool> {
        let journal = JournalId::from(run.as_str());
        let info = self.store.info(&journal).await?;
        let asked = match &info {
            Some(_) => History::read(&*self.store, &journal).await?.asked,
            None => Default::default(),
        };
        // A run that has ended goes last, because it tells what else is to go. One that has not may be driven.
        if info.is_some_and(|info| !info.tail.closed) {
            match self.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    return Ok(false);
                }
                deleted => deleted?,
            }
        }
        for wait in asked.values() {
            self.remove_question(&wait.request).await?;
        }
        self.remove_all(&format!("{INBOX}{run}/")).await?;
        self.store.remove(&meta::key(run), Expect::Any).await?;
        self.store.delete(&journal).await?;
        Ok(true)
    }
}

/// The request by which the page gives the output of a tool call.
pub(crate) fn client_request(run: &RunId, call: &ToolCallId) -> RequestId {
    request_id(run, &format!("client-tool/{call}"))
}

/// Checks an answer against what was asked.
fn fits(question: &OpenQuestion, answer: Answer) -> Result<Answer> {
    match (&question.wait.kind, answer) {
        (WaitKind::Question { interrupt, .. }, Answer::Given(value)) => {
            Ok(Answer::Given(check_answer(interrupt, value)?))
        }
        (WaitKind::Approval { schema, .. }, Answer::Approval { approved, reason, input: Some(input) }) => {
            check_schema(schema, &input)?;
            Ok(Answer::Approval { approved, reason, input: Some(input) })
        }
        (WaitKind::Question { .. }, answer @ Answer::Declined)
        | (WaitKind::Approval { .. }, answer @ Answer::Approval { .. })
        | (WaitKind::ClientTool { .. }, answer @ (Answer::Output(_) | Answer::OutputError(_))) => Ok(answer),
        (WaitKind::Approval { .. }, Answer::Declined) => {
            Ok(Answer::Approval { approved: false, reason: None, input: None })
        }
        (kind, _) => {
            let wanted = match kind {
                WaitKind::Question { .. } => "an answer",
                WaitKind::Approval { .. } => "a decision",
                WaitKind::ClientTool { .. } => "the output of a tool",
            };
            Err(Error::new(ErrorKind::Answer, format!("request {} asks for {wanted}", question.request)))
        }
    }
}

fn already(request: &RequestId) -> Error {
    Error::new(ErrorKind::Answered, format!("request {request} was answered already"))
}

fn expired(request: &RequestId) -> Error {
    Error::new(ErrorKind::Expired, format!("request {request} has expired"))
}

pub(crate) fn taken_back(request: &RequestId) -> Error {
    let message = format!(
        "request {request} was taken back: its session went on without it, or back to before it; look for a newer one"
    );
    Error::new(ErrorKind::TakenBack, message)
}
