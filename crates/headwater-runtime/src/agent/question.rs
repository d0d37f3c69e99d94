//! What waits for somebody: kept beside the journals, so that it can be listed, and answered by its name alone.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use headwater_protocol::{Interrupt, RequestId, RunId, SessionId, ToolCall};
use headwater_store::{Expect, JournalId, Lease};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Agent, AgentInner, token};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{Answer, Wait, WaitKind},
    keys::{self, OPEN_QUESTIONS, QUESTIONS},
    run::{NodeRun, RunShared, Sent},
    seeing,
};

/// How many of them are looked at in one go.
const PAGE: usize = 100;
/// How many open questions are counted in one go.
const COUNTED: usize = 500;
/// The code of an error about a question that cannot be read.
const UNREADABLE: &str = "request.unreadable";

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
    pub(super) wait: Wait,
    /// The epoch of the driver that asked.
    pub(super) epoch: u64,
    /// Why it cannot be answered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) closed: Option<Closed>,
    /// The answer that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<Taken>,
}

/// An answer that was taken, as far as it is needed to know it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    /// The hash of its content.
    pub(super) hash: String,
    /// The end of the journal when it was given.
    pub(super) since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Closed {
    Answered,
    Expired,
    Ended,
    TakenBack,
}

impl OpenQuestion {
    pub(super) fn waits(&self, now: u64) -> bool {
        self.closed.is_none() && self.expires > now
    }

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

    /// The tool call whose output the page is to give, with its exact input, if it is one.
    #[must_use]
    pub fn client_tool(&self) -> Option<(&ToolCall, &Value)> {
        match &self.wait.kind {
            WaitKind::ClientTool { tool, input } => Some((tool, input)),
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

/// Some questions that wait for an owner, ordered by request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct QuestionPage {
    /// The questions.
    pub questions: Vec<OpenQuestion>,
    /// Questions in between that cannot be read.
    pub unreadable: Vec<RequestId>,
}

impl Agent {
    /// What waits for a person, ordered by request, after a request.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions(&self, after: Option<&RequestId>, limit: usize) -> Result<Vec<OpenQuestion>> {
        let mut after = after.map(keys::question);
        let mut open = Vec::new();
        loop {
            let page = self.0.store.list(QUESTIONS, after.as_deref(), PAGE).await?;
            for (_, value) in &page {
                let Ok(question) = crate::codec::decode::<OpenQuestion>(&value.bytes) else { continue };
                if open.len() < limit && self.0.awaits(&question).await? {
                    open.push(question);
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE && open.len() < limit => after = Some(key.clone()),
                _ => return Ok(open),
            }
        }
    }

    /// What waits for an owner of runs of this agent, ordered by request, after a request. What was answered long ago costs
    /// nothing. Questions that cannot be read are named apart, and logged once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions_of(
        &self,
        owner: Option<&str>,
        after: Option<&RequestId>,
        limit: usize,
    ) -> Result<QuestionPage> {
        let agent = &self.0;
        let tag = agent.owned(owner);
        let prefix = keys::open_questions(&tag);
        let mut after = after.map(|request| keys::open_question(&tag, request));
        let mut found = QuestionPage::default();
        loop {
            let page = agent.store.list(&prefix, after.as_deref(), PAGE).await?;
            for (key, _) in &page {
                let request =
                    headwater_store::key::split(&prefix, key).and_then(|ids| ids.into_iter().next());
                let Some(request) = request.map(RequestId::from) else { continue };
                let question = match agent.question(&request).await {
                    Err(error) if error.code() == UNREADABLE => {
                        agent.unlisted("question", request.as_str(), &error);
                        found.unreadable.push(request);
                        continue;
                    }
                    question => question?,
                };
                if let Some(question) = question
                    && question.owner.as_deref() == owner
                    && agent.awaits(&question).await?
                {
                    found.questions.push(question);
                }
                if found.questions.len() >= limit {
                    return Ok(found);
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => after = Some(key.clone()),
                _ => return Ok(found),
            }
        }
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
            epoch: run.journal.lease().epoch,
            closed: None,
            taken: None,
        };
        node.keep(self.open_question(&question, run.journal.lease()).await)?;
        Ok(wait)
    }

    /// Writes a question that the holder of a lease asks.
    ///
    /// Values are not fenced by leases as records are, and a driver that stood still may get here after another one has
    /// taken the run over. So a question of a higher epoch is not replaced, and the lease is confirmed afterwards: if
    /// it was lost before the question was written, nobody would take an answer to it, and it is removed.
    async fn open_question(&self, question: &OpenQuestion, lease: &Lease) -> Result<()> {
        let version = self.put_unless_newer(question).await?;
        if let Err(error) = self.store.renew(lease, self.options.lease).await {
            let key = keys::question(&question.request);
            // What another driver has written since has another version.
            if let Err(error) = self.store.remove(&key, Expect::Version(version)).await
                && !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. })
            {
                tracing::warn!(run = %question.run, request = %question.request, error = ?error.to_string(),
                    "cannot remove the question of a driver that lost its run");
            }
            return Err(error.into());
        }
        let listed = keys::open_question(&self.owned(question.owner.as_deref()), &question.request);
        let of = Bytes::from(format!("{}\n{}", question.run, self.name));
        self.store.put(&listed, of, Expect::Any, Some(self.question_ttl(question))).await?;
        Ok(())
    }

    /// Puts a question in place of one that an earlier driver had asked, and returns its version.
    ///
    /// # Errors
    /// As of a lost lease, if a later driver has asked it.
    async fn put_unless_newer(&self, question: &OpenQuestion) -> Result<u64> {
        let key = keys::question(&question.request);
        let mut expect = Expect::Absent;
        loop {
            let put = self.store.put(&key, encode(question)?, expect, Some(self.question_ttl(question)));
            match put.await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                version => return Ok(version?),
            }
            let before = match self.store.get(&key).await {
                // Nobody could answer it.
                Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => {
                    expect = Expect::Any;
                    continue;
                }
                before => before?,
            };
            expect = before.as_ref().map_or(Expect::Absent, |before| Expect::Version(before.version));
            let asked = before.and_then(|before| crate::codec::decode::<OpenQuestion>(&before.bytes).ok());
            let journal = JournalId::from(question.run.as_str());
            if let Some(newer) = asked.filter(|asked| asked.epoch > question.epoch) {
                return Err(headwater_store::Error::stale(&journal, question.epoch, Some(newer.epoch)).into());
            }
        }
    }

    /// How long a question is kept: until it can be answered no more, and as long as runs are kept after that.
    fn question_ttl(&self, question: &OpenQuestion) -> Duration {
        match question.closed {
            Some(_) => self.options.keep,
            None => Duration::from_millis(question.expires.saturating_sub(self.now())) + self.options.keep,
        }
    }

    /// Writes that a question is closed.
    async fn put_closed(&self, question: &OpenQuestion) -> Result<()> {
        let key = keys::question(&question.request);
        let ttl = Some(self.question_ttl(question));
        self.store.put(&key, encode(question)?, Expect::Any, ttl).await?;
        let listed = keys::open_question(&self.owned(question.owner.as_deref()), &question.request);
        self.store.remove(&listed, Expect::Any).await?;
        Ok(())
    }

    pub(super) async fn remove_question(&self, request: &RequestId) -> Result<()> {
        if let Some(question) = self.question(request).await? {
            let listed = keys::open_question(&self.owned(question.owner.as_deref()), request);
            self.store.remove(&listed, Expect::Any).await?;
            self.store.remove(&keys::question(request), Expect::Any).await?;
        }
        Ok(())
    }

    /// Corrects what is known about the runs that wait: other processes have some, and so had this one before it was
    /// started anew. Looks at one page of the open questions, however many there are, and at the next page with the next
    /// call.
    pub(super) async fn count_waiting(&self) -> Result<()> {
        let after = self.drivers().counted_to();
        let page = self.store.list(OPEN_QUESTIONS, after.as_deref(), COUNTED).await?;
        let runs = page.iter().filter_map(|(_, value)| {
            let (run, agent) = std::str::from_utf8(&value.bytes).ok()?.split_once('\n')?;
            (agent == self.name).then(|| RunId::from(run))
        });
        let next = (page.len() == COUNTED).then(|| page.last().map(|(key, _)| key.clone())).flatten();
        if let Some(waiting) = self.drivers().count_waiting(runs, next) {
            seeing::runs_waiting(&self.name, waiting);
        }
        Ok(())
    }

    pub(super) async fn question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let value = self.store.get(&keys::question(request)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))?;
        let Some(value) = value else { return Ok(None) };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("question {request} cannot be read: {error}"))
                .with_code(UNREADABLE)
        })
    }

    /// Closes the questions of a run that has ended: a late answer is told why it is too late.
    pub(super) async fn close_questions(&self, shared: &RunShared) -> Result<()> {
        let waits: Vec<_> = {
            let fold = shared.fold();
            let answer = |wait: &Wait| fold.answers.get(&wait.request).cloned();
            fold.asked.values().map(|wait| (wait.request.clone(), answer(wait))).collect()
        };
        for (request, answer) in waits {
            self.close_question(&shared.id, &request, answer.as_ref(), None).await?;
        }
        self.store.remove(&keys::stop(&shared.id), Expect::Any).await?;
        Ok(())
    }

    /// Closes a question whose answer is in the journal, or that can never be answered, and takes the answer out of
    /// the inbox. In this order: whoever answers at the same time finds one of the two.
    pub(crate) async fn close_question(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: Option<&Answer>,
        sent: Option<&Sent>,
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
            question.taken =
                answer.map(|answer| Taken { hash: hash(answer), since: sent.map_or(0, |sent| sent.since) });
            self.put_closed(&question).await?;
        }
        self.store.remove(&keys::answer(run, request), Expect::Any).await?;
        Ok(())
    }

    /// Whether the question is still open: no answer was accepted and none is queued.
    pub(super) async fn awaits(&self, question: &OpenQuestion) -> Result<bool> {
        let sent = match self.store.get(&keys::answer(&question.run, &question.request)).await {
            // The run's driver removes an answer that cannot be read, and the question can be answered anew.
            Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => None,
            sent => sent?,
        };
        Ok(question.waits(self.now()) && sent.is_none())
    }

    /// Whether a request is one that an answer can still be taken for.
    pub(super) async fn is_open(&self, request: &RequestId) -> Result<bool> {
        Ok(self.question(request).await?.is_some_and(|question| question.closed.is_none()))
    }

    /// Closes a question that its session has left behind.
    pub(crate) async fn take_back(&self, request: &RequestId) -> Result<()> {
        if let Some(mut question) = self.question(request).await?
            && question.closed.is_none()
        {
            question.closed = Some(Closed::TakenBack);
            self.put_closed(&question).await?;
        }
        Ok(())
    }
}

fn encode(question: &OpenQuestion) -> Result<Bytes> {
    let bytes = serde_json::to_vec(question);
    let bytes = bytes
        .map_err(|error| Error::new(ErrorKind::State, format!("a question does not serialise: {error}")))?;
    Ok(bytes.into())
}

/// By what an answer is known again: the same content is the same answer.
pub(super) fn hash(answer: &Answer) -> String {
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}
