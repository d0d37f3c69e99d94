//! What is sent to a run from outside: answers, and the wish to stop it.

use headwater_protocol::{RequestId, RunId, ToolCallId};
use headwater_store::{Expect, JournalId};
use serde_json::Value;

use super::{
    Agent, AgentInner, OpenQuestion, Run,
    question::{Closed, Taken, hash},
    run::unknown,
    takeover::Found,
    token,
};
use crate::{
    Error, Result,
    error::ErrorKind,
    hooks::{check_answer, check_schema},
    journal::{Answer, WaitKind},
    keys::{self, SessionKey},
    limits,
    run::{Sent, request_id},
};

/// An answer that fits what was asked.
enum Fitting {
    /// It can be given.
    Open(Answer),
    /// It was given before.
    Taken(Taken),
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
        self.answer_all(vec![answered]).await
    }

    /// Gives several answers to the run that waits for them, at once: it goes on when it has them all, and in a session
    /// they are one turn. All are checked before any is given. Should another caller answer one of them at the same moment,
    /// the others are given nevertheless. An answer that was given before, with the same content, is taken as given: the
    /// same request again gets the same run.
    ///
    /// # Errors
    /// As [`Agent::answer`]; [`ErrorKind::Input`] when they belong to several runs, when one request is answered twice,
    /// and when there is none.
    pub async fn answer_all(&self, answers: Vec<Answered>) -> Result<Run> {
        let agent = &self.0;
        let mut fitting: Vec<(RequestId, Answer)> = Vec::new();
        let mut taken: Vec<(RequestId, Taken)> = Vec::new();
        let mut asked: Option<OpenQuestion> = None;
        for answered in answers {
            let question = agent.asked(&answered).await?;
            if let Some(first) = asked.as_ref().filter(|first| first.run != question.run) {
                let message = format!(
                    "{} is asked by run {}, and {} by run {}: answer each run by itself",
                    first.request, first.run, question.request, question.run
                );
                return Err(Error::new(ErrorKind::Input, message).with_code("answers.several-runs"));
            }
            let given =
                fitting.iter().map(|(request, _)| request).chain(taken.iter().map(|(request, _)| request));
            if given.into_iter().any(|request| *request == question.request) {
                let message = format!("request {} is answered twice: choose one answer", question.request);
                return Err(Error::new(ErrorKind::Input, message).with_code("answers.repeated"));
            }
            match agent.check_open(&question, answered.answer)? {
                Fitting::Open(answer) => fitting.push((question.request.clone(), answer)),
                Fitting::Taken(before) => taken.push((question.request.clone(), before)),
            }
            asked.get_or_insert(question);
        }
        let Some(OpenQuestion { run, session, owner, .. }) = asked else {
            let message = "there is no answer: give at least one";
            return Err(Error::new(ErrorKind::Input, message).with_code("answers.none"));
        };
        if fitting.is_empty() {
            // The same answers again: nothing is begun by them.
            let since = taken.iter().map(|(_, taken)| taken.since).min().unwrap_or(0);
            return Ok(self.run(run).since(since));
        }
        let session = session.map(|session| SessionKey::new(owner.as_deref(), &session));
        agent.answering(session.as_ref(), &run, &fitting).await?;
        let mut since =
            agent.store.info(&JournalId::from(run.as_str())).await?.map_or(0, |info| info.tail.last);
        let mut late = None;
        for (request, answer) in fitting {
            match agent.give(&run, &request, answer, since).await {
                Ok(first) => since = since.min(first),
                Err(error) if error.kind() == ErrorKind::Answered => {
                    late.get_or_insert(error);
                }
                Err(error) => return Err(error),
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
        match agent.store.put(&keys::stop(run), reason.into(), Expect::Absent, Some(agent.options.keep)).await
        {
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
    /// The question that an answer is for, if its sender may answer it.
    async fn asked(&self, answered: &Answered) -> Result<OpenQuestion> {
        let question = self.question(&answered.request).await?;
        let question = question.ok_or_else(|| {
            let message =
                format!("there is no request {}: it never was, or is no longer kept", answered.request);
            Error::new(ErrorKind::UnknownRequest, message)
        })?;
        self.may_answer(&question, answered).await?;
        Ok(question)
    }

    /// Checks that a question can be answered so, or was answered so before.
    fn check_open(&self, question: &OpenQuestion, answer: Answer) -> Result<Fitting> {
        let request = &question.request;
        match question.closed {
            Some(Closed::Answered) => {
                let answer = fits(question, answer).map_err(|_| already(request))?;
                match &question.taken {
                    Some(taken) if taken.hash == hash(&answer) => Ok(Fitting::Taken(taken.clone())),
                    _ => Err(already(request)),
                }
            }
            Some(Closed::Expired) => Err(expired(request)),
            Some(Closed::TakenBack) => Err(taken_back(request)),
            Some(Closed::Ended) => {
                let message =
                    format!("run {} has ended: {request} cannot be answered any more", question.run);
                Err(Error::new(ErrorKind::Ended, message))
            }
            None if question.expires <= self.now() => Err(expired(request)),
            None => fits(question, answer).map(Fitting::Open),
        }
    }

    /// Puts an answer where the driver of the run finds it. Gives where the journal ended when it was first given.
    async fn give(&self, run: &RunId, request: &RequestId, answer: Answer, since: u64) -> Result<u64> {
        let content = hash(&answer);
        let first = self.send(run, request, answer, since).await?;
        // A different answer was accepted meanwhile, so this one is too late.
        let closed = self.question(request).await?.filter(|question| question.closed.is_some());
        match closed.map(|question| question.taken) {
            None => Ok(first),
            Some(taken) => {
                self.store.remove(&keys::answer(run, request), Expect::Any).await?;
                let same = taken.filter(|taken| taken.hash == content);
                same.map(|taken| taken.since).ok_or_else(|| already(request))
            }
        }
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

    /// Sends an answer, unless another one is there already: the same content is the same answer, also if a process that
    /// recovered the session has sent it first. Gives where the journal ended when it was first sent.
    async fn send(&self, run: &RunId, request: &RequestId, answer: Answer, since: u64) -> Result<u64> {
        let key = keys::answer(run, request);
        let sent = Sent { answer, since };
        let bytes = serde_json::to_vec(&sent).map_err(|error| {
            Error::new(ErrorKind::Answer, format!("the answer does not serialise: {error}"))
        })?;
        let ttl = Some(self.options.max_wait + self.options.keep);
        match self.store.put(&key, bytes.into(), Expect::Absent, ttl).await {
            Ok(_) => Ok(since),
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                let there = self.store.get(&key).await?;
                let there = there.and_then(|value| crate::codec::decode::<Sent>(&value.bytes).ok());
                let taken = match there {
                    Some(there) => Some(Taken { hash: hash(&there.answer), since: there.since }),
                    // It was taken just now.
                    None => self.question(request).await?.and_then(|question| question.taken),
                };
                let same = taken.filter(|taken| taken.hash == hash(&sent.answer));
                same.map(|taken| taken.since).ok_or_else(|| already(request))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives up a request, unless it was answered in time.
    pub(super) async fn expire(&self, run: &RunId, request: &RequestId) -> Result<()> {
        match self.send(run, request, Answer::Expired, 0).await {
            Err(error) if error.kind() != ErrorKind::Answered => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets whoever drives a run look at what was sent to it. What was sent is kept, whatever happens here.
    pub(crate) async fn go_on(self: &std::sync::Arc<Self>, run: &RunId) {
        if self.wake(run) {
            return;
        }
        match self.resume(run, Found::Addressed).await {
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
    pub(crate) async fn send_again(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: Answer,
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

impl AgentInner {
    /// Removes a run that has ended, with what it asked, although it would be kept longer. Gives whether it could be: not
    /// while it is driven.
    pub(crate) async fn forget_run(&self, run: &RunId) -> Result<bool> {
        let journal = JournalId::from(run.as_str());
        let info = self.store.info(&journal).await?;
        let asked = match &info {
            // What cannot be read can be forgotten: its questions expire by themselves.
            Some(_) => self.fold(run).await.map(|fold| fold.asked).unwrap_or_default(),
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
        self.remove_all(&keys::inbox(run)).await?;
        if let Some(summary) = self.load_summary(run).await.ok().flatten() {
            self.store.remove(&self.listed_run(&summary), Expect::Any).await?;
            self.uncount(&summary).await?;
        }
        self.store.remove(&keys::run(run), Expect::Any).await?;
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
    if let Answer::Given(value) | Answer::Output(value) | Answer::Approval { input: Some(value), .. } =
        &answer
    {
        limits::check(&limits::input(), "the answer", value)?;
    }
    match (&question.wait.kind, answer) {
        (WaitKind::Question { interrupt, .. }, Answer::Given(value)) => {
            Ok(Answer::Given(check_answer(interrupt, value)?))
        }
        // An unchanged input is not an edit; a denial has no input.
        (
            WaitKind::Approval { input: asked, .. },
            Answer::Approval { approved, reason, input: Some(input) },
        ) if !approved || input == *asked => Ok(Answer::Approval { approved, reason, input: None }),
        (WaitKind::Approval { editable: false, tool, .. }, Answer::Approval { input: Some(_), .. }) => {
            let message = format!(
                "the input of `{}` cannot be changed by its approval: approve it as it is, deny it, or let the tool be \
                 editable",
                tool.name
            );
            Err(Error::new(ErrorKind::Answer, message).with_code("approval.edited"))
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
