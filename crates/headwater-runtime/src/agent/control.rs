//! What is sent to a run from outside: answers, and the wish to stop it.

use std::time::Duration;

use headwater_protocol::{Interrupt, RequestId, RunId, SessionId, ToolCall, ToolCallId};
use headwater_store::{Expect, JournalId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Agent, AgentInner, Run, fresh_id, run::unknown, token};
use crate::{
    Error, Result,
    error::ErrorKind,
    hooks::{check_answer, check_schema},
    journal::{Answer, Wait, WaitKind},
    run::{NodeRun, RunShared, Sent, inbox_key, request_id, stop_key},
};

/// The keys under which questions are kept, so that they can be listed and answered by their name alone.
const QUESTIONS: &str = "question/";
/// How many of them are looked at in one go.
const PAGE: usize = 100;

/// Something that waits for somebody.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The request: what an answer names.
    pub request: RequestId,
    /// The run that waits.
    pub run: RunId,
    /// Whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The node that asks.
    pub node: String,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// When it is given up.
    pub expires: u64,
    wait: Wait,
    /// Why it cannot be answered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    closed: Option<Closed>,
    /// The answer that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Closed {
    Answered,
    Expired,
    Ended,
    TakenBack,
}

impl OpenQuestion {
    /// The question to a person, if it is one.
    #[must_use]
    pub fn interrupt(&self) -> Option<&Interrupt> {
        match &self.wait.kind {
            WaitKind::Question { interrupt, .. } => Some(interrupt),
            _ => None,
        }
    }

    /// The tool call that a person must decide about, with its exact input, if it is one.
    #[must_use]
    pub fn approval(&self) -> Option<(&ToolCall, &Value)> {
        match &self.wait.kind {
            WaitKind::Approval { tool, input, .. } => Some((tool, input)),
            _ => None,
        }
    }

    /// The token that lets one answer it.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        match &self.wait.kind {
            WaitKind::Question { interrupt, .. } => interrupt.token.as_deref(),
            WaitKind::Approval { signature, .. } => Some(signature),
            WaitKind::ClientTool { .. } => None,
        }
    }
}

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
        let agent = &self.0;
        let question = agent.question(&answered.request).await?;
        let question = question.ok_or_else(|| {
            let message =
                format!("there is no request {}: it never was, or is no longer kept", answered.request);
            Error::new(ErrorKind::UnknownRequest, message)
        })?;
        agent.may_answer(&question, &answered).await?;
        let request = &question.request;
        match question.closed {
            Some(Closed::Answered) => return Err(already(request)),
            Some(Closed::Expired) => return Err(expired(request)),
            Some(Closed::TakenBack) => return Err(taken_back(request)),
            Some(Closed::Ended) => {
                let message =
                    format!("run {} has ended: {request} cannot be answered any more", question.run);
                return Err(Error::new(ErrorKind::Ended, message));
            }
            None if question.expires <= agent.now() => return Err(expired(request)),
            None => {}
        }
        let answer = fits(&question, answered.answer)?;
        agent.answering(question.session.as_ref(), &question.run, request, &answer).await?;
        let since =
            agent.store.info(&JournalId::from(question.run.as_str())).await?.map_or(0, |info| info.tail.last);
        let key = inbox_key(&question.run, request);
        let sent = agent.send(&key, answer, request).await?;
        // An answer that was taken meanwhile has made room for this one, which came too late.
        let closed = agent.question(request).await?.filter(|question| question.closed.is_some());
        if closed.is_some_and(|question| question.taken.is_none_or(|taken| taken != sent)) {
            agent.store.remove(&key, Expect::Any).await?;
            return Err(already(request));
        }
        agent.go_on(&question.run).await;
        Ok(self.run(question.run).since(since))
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

    /// What waits for a person, ordered by request, after a request.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions(&self, after: Option<&RequestId>, limit: usize) -> Result<Vec<OpenQuestion>> {
        let mut after = after.map(|request| format!("{QUESTIONS}{request}"));
        let now = self.0.now();
        let mut open = Vec::new();
        loop {
            let page = self.0.store.list(QUESTIONS, after.as_deref(), PAGE).await?;
            let read = page.iter().filter_map(|(_, value)| serde_json::from_slice(&value.bytes).ok());
            let waits = |question: &OpenQuestion| question.closed.is_none() && question.expires > now;
            open.extend(read.filter(waits).take(limit - open.len()));
            match page.last() {
                Some((key, _)) if page.len() == PAGE && open.len() < limit => after = Some(key.clone()),
                _ => return Ok(open),
            }
        }
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
    /// Writes a question down, so that it can be answered, and signs it.
    pub(crate) async fn ask(
        &self,
        run: &RunShared,
        node: &NodeRun,
        hook: &str,
        request: RequestId,
        mut kind: WaitKind,
        expires: Option<Duration>,
    ) -> Result<Wait> {
        let secret = self.secret().await?;
        let now = self.now();
        let after = |wait: Duration| now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let given_up = after(expires.unwrap_or(self.options.max_wait).min(self.options.max_wait));
        match &mut kind {
            WaitKind::Question { interrupt, .. } => {
                interrupt.token = Some(token::sign(secret, &run.id, &request, None));
                if expires.is_some() {
                    interrupt.expires_at = Some(headwater_protocol::rfc3339(given_up));
                }
            }
            WaitKind::Approval { input, signature, .. } => {
                *signature = token::sign(secret, &run.id, &request, Some(input));
            }
            WaitKind::ClientTool { .. } => {}
        }
        let wait = Wait {
            hook: hook.to_owned(),
            request: request.clone(),
            kind,
            expires: expires.is_some().then_some(given_up),
        };
        let question = OpenQuestion {
            request,
            run: run.id.clone(),
            owner: run.begun.owner.clone(),
            session: run.begun.session.clone(),
            node: node.visit.node.clone(),
            asked: now,
            expires: given_up,
            wait: wait.clone(),
            closed: None,
            taken: None,
        };
        node.keep(self.put_question(&question).await)?;
        Ok(wait)
    }

    async fn put_question(&self, question: &OpenQuestion) -> Result<()> {
        let bytes = serde_json::to_vec(question).map_err(|error| {
            Error::new(ErrorKind::State, format!("a question does not serialise: {error}"))
        })?;
        let ttl = match question.closed {
            Some(_) => self.options.keep,
            None => Duration::from_millis(question.expires.saturating_sub(self.now())) + self.options.keep,
        };
        let key = format!("{QUESTIONS}{}", question.request);
        self.store.put(&key, bytes.into(), Expect::Any, Some(ttl)).await?;
        Ok(())
    }

    async fn question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let Some(value) = self.store.get(&format!("{QUESTIONS}{request}")).await? else { return Ok(None) };
        serde_json::from_slice(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("question {request} cannot be read: {error}"))
        })
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
            Err(error) if error.kind() == ErrorKind::Busy => tracing::debug!(run = %run, "{error}"),
            Err(error) => {
                tracing::error!(run = %run, %error, "a run cannot be resumed now; what it was sent is kept");
            }
        }
    }

    /// Closes the questions of a run that has ended: a late answer is told why it is too late.
    pub(super) async fn close_questions(&self, shared: &RunShared) -> Result<()> {
        let waits: Vec<_> = {
            let replay = shared.replay();
            let answer = |wait: &Wait| replay.answers.get(&wait.request).cloned();
            replay.asked.values().map(|wait| (wait.request.clone(), answer(wait))).collect()
        };
        for (request, answer) in waits {
            self.close_question(&shared.id, &request, answer.as_ref(), None).await?;
        }
        self.store.remove(&stop_key(&shared.id), Expect::Any).await?;
        Ok(())
    }

    /// Closes a question whose answer is in the journal, or that can never be answered, and takes the answer out of
    /// the inbox. In this order: whoever answers at the same time finds one of the two.
    pub(crate) async fn close_question(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: Option<&Answer>,
        sent: Option<String>,
    ) -> Result<()> {
        let why = match answer {
            Some(Answer::Expired) => Closed::Expired,
            Some(_) => Closed::Answered,
            None => Closed::Ended,
        };
        if let Some(mut question) = self.question(request).await?
            && question.closed.is_none()
        {
            question.closed = Some(why);
            question.taken = sent;
            self.put_question(&question).await?;
        }
        self.store.remove(&inbox_key(run, request), Expect::Any).await?;
        Ok(())
    }

    /// Whether a request is one that an answer can still be taken for.
    pub(super) async fn is_open(&self, request: &RequestId) -> Result<bool> {
        Ok(self.question(request).await?.is_some_and(|question| question.closed.is_none()))
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

    /// Closes a question that its session has left behind.
    pub(crate) async fn take_back(&self, request: &RequestId) -> Result<()> {
        if let Some(mut question) = self.question(request).await?
            && question.closed.is_none()
        {
            question.closed = Some(Closed::TakenBack);
            self.put_question(&question).await?;
        }
        Ok(())
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
