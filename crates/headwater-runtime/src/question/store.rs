//! Storage of questions: one value each, and an entry in the owner's list while they are open.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use headwater_protocol::{RequestId, RunId, SessionId};
use headwater_store::{Expect, JournalId, Lease};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{OpenQuestion, Questions, inbox::QueuedAnswer, token};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{AnswerValue, Wait, WaitKind},
    keys,
};

/// Error code for an unreadable question.
pub(super) const UNREADABLE: &str = "request.unreadable";

/// The asking run and node, with the driver's lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) owner: Option<&'a str>,
    pub(crate) session: Option<&'a SessionId>,
    pub(crate) node: &'a str,
    pub(crate) lease: &'a Lease,
}

/// An accepted answer, with enough data to recognise a repetition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AcceptedAnswer {
    /// The hash of its content.
    pub(crate) hash: String,
    /// The end of the journal when it was given.
    pub(crate) since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CloseReason {
    Answered,
    Expired,
    Ended,
    Retracted,
}

impl Questions {
    /// Stores and signs a question, so that it can be answered.
    pub(crate) async fn ask(
        &self,
        asker: Asker<'_>,
        hook: &str,
        request: RequestId,
        mut kind: WaitKind,
        expires: Option<Duration>,
    ) -> Result<Wait> {
        let secret = self.env.secret().await?;
        let now = self.env.now();
        let after = |wait: Duration| now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let given_up = after(expires.unwrap_or(self.env.options.max_wait).min(self.env.options.max_wait));
        match &mut kind {
            WaitKind::Question { interrupt, .. } => {
                interrupt.token = Some(token::sign(secret, asker.run, &request, None));
                if expires.is_some() {
                    interrupt.expires_at = Some(headwater_protocol::rfc3339(given_up));
                }
            }
            WaitKind::Approval { input, signature, .. } => {
                *signature = token::sign(secret, asker.run, &request, Some(input));
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
            run: asker.run.clone(),
            owner: asker.owner.map(str::to_owned),
            session: asker.session.cloned(),
            node: asker.node.to_owned(),
            asked: now,
            expires: given_up,
            wait: wait.clone(),
            epoch: asker.lease.epoch,
            closed: None,
            taken: None,
        };
        self.open_question(&question, asker.lease).await?;
        Ok(wait)
    }

    /// Stores a question of a lease holder.
    ///
    /// Values are not fenced by leases as records are, and a stalled driver may get here after another one
    /// has taken the run over. So a question of a higher epoch is not replaced, and the lease is confirmed
    /// afterwards: if it was lost before the question was written, no driver would accept an answer to it,
    /// and the question is removed.
    async fn open_question(&self, question: &OpenQuestion, lease: &Lease) -> Result<()> {
        let version = self.put_unless_newer(question).await?;
        if let Err(error) = self.env.store.renew(lease, self.env.options.lease).await {
            let key = keys::question(&question.request);
            // A question written by another driver since has another version.
            if let Err(error) = self.env.store.remove(&key, Expect::Version(version)).await
                && !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. })
            {
                tracing::warn!(run = %question.run, request = %question.request, error = ?error.to_string(),
                    "cannot remove the question of a driver that lost its run");
            }
            return Err(error.into());
        }
        let listed = keys::open_question(&self.env.owner_tag(question.owner.as_deref()), &question.request);
        let of = Bytes::from(format!("{}\n{}", question.run, self.env.agent));
        self.env.store.put(&listed, of, Expect::Any, Some(self.question_ttl(question))).await?;
        Ok(())
    }

    /// Replaces a question of an earlier driver, and returns its version.
    ///
    /// # Errors
    /// The error of a lost lease, if a later driver has written it.
    async fn put_unless_newer(&self, question: &OpenQuestion) -> Result<u64> {
        let key = keys::question(&question.request);
        let mut expect = Expect::Absent;
        loop {
            let put = self.env.store.put(&key, encode(question)?, expect, Some(self.question_ttl(question)));
            match put.await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                version => return Ok(version?),
            }
            let before = match self.env.store.get(&key).await {
                // A damaged question cannot be answered, so it is replaced.
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

    /// How long a question is stored: until it expires, plus the retention of runs.
    fn question_ttl(&self, question: &OpenQuestion) -> Duration {
        match question.closed {
            Some(_) => self.env.options.keep,
            None => {
                Duration::from_millis(question.expires.saturating_sub(self.env.now())) + self.env.options.keep
            }
        }
    }

    /// Stores the closed state of a question.
    async fn put_closed(&self, question: &OpenQuestion) -> Result<()> {
        let key = keys::question(&question.request);
        let ttl = Some(self.question_ttl(question));
        self.env.store.put(&key, encode(question)?, Expect::Any, ttl).await?;
        let listed = keys::open_question(&self.env.owner_tag(question.owner.as_deref()), &question.request);
        self.env.store.remove(&listed, Expect::Any).await?;
        Ok(())
    }

    pub(crate) async fn remove(&self, request: &RequestId) -> Result<()> {
        if let Some(question) = self.find(request).await? {
            let listed = keys::open_question(&self.env.owner_tag(question.owner.as_deref()), request);
            self.env.store.remove(&listed, Expect::Any).await?;
            self.env.store.remove(&keys::question(request), Expect::Any).await?;
        }
        Ok(())
    }

    pub(crate) async fn find(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let value = self.env.store.get(&keys::question(request)).await;
        let value = value.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))?;
        let Some(value) = value else { return Ok(None) };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("question {request} cannot be read: {error}"))
                .with_code(UNREADABLE)
        })
    }

    /// Closes the questions of an ended run, so that a late answer gets a matching error.
    pub(crate) async fn close_all(
        &self,
        run: &RunId,
        asked: Vec<(RequestId, Option<AnswerValue>)>,
    ) -> Result<()> {
        for (request, answer) in asked {
            self.close(run, &request, answer.as_ref(), None).await?;
        }
        self.env.store.remove(&keys::stop(run), Expect::Any).await?;
        Ok(())
    }

    /// Closes a question whose answer is in the journal, or that can never be answered, and removes the
    /// answer from the inbox. In this order, so that a concurrent answer always finds one of the two.
    pub(crate) async fn close(
        &self,
        run: &RunId,
        request: &RequestId,
        answer: Option<&AnswerValue>,
        sent: Option<&QueuedAnswer>,
    ) -> Result<()> {
        let why = match answer {
            Some(AnswerValue::Expired) => CloseReason::Expired,
            Some(_) => CloseReason::Answered,
            None => CloseReason::Ended,
        };
        if let Some(mut question) = self.find(request).await?
            && question.closed.is_none()
        {
            question.closed = Some(why);
            question.taken = answer.map(|answer| AcceptedAnswer {
                hash: hash(answer),
                since: sent.map_or(0, |sent| sent.since),
            });
            self.put_closed(&question).await?;
        }
        self.env.store.remove(&keys::answer(run, request), Expect::Any).await?;
        Ok(())
    }

    /// Whether the question is still open: no answer was accepted and none is queued.
    pub(crate) async fn awaits(&self, question: &OpenQuestion) -> Result<bool> {
        let sent = match self.env.store.get(&keys::answer(&question.run, &question.request)).await {
            // The run's driver removes an unreadable answer, and the question can be answered again.
            Err(error) if *error.kind() == headwater_store::ErrorKind::Corrupt => None,
            sent => sent?,
        };
        Ok(question.waits(self.env.now()) && sent.is_none())
    }

    /// Whether a request still accepts an answer.
    pub(crate) async fn is_open(&self, request: &RequestId) -> Result<bool> {
        Ok(self.find(request).await?.is_some_and(|question| question.closed.is_none()))
    }

    /// Closes a question that its session has abandoned.
    pub(crate) async fn retract(&self, request: &RequestId) -> Result<()> {
        if let Some(mut question) = self.find(request).await?
            && question.closed.is_none()
        {
            question.closed = Some(CloseReason::Retracted);
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

/// The hash that identifies repeated answers: equal content is the same answer.
pub(super) fn hash(answer: &AnswerValue) -> String {
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}
