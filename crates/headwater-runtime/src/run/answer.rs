//! Sending answers and stop requests to a run.

use std::sync::Arc;

use headwater_protocol::{RequestId, RunId};
use headwater_store::{Expect, JournalId, remove_all};

use super::{Run, Runs, takeover::ResumeCause, unknown::unknown_run};
use crate::{
    Answer, Error, OpenQuestion, Result,
    error::ErrorKind,
    journal::AnswerValue,
    keys::{self, SessionKey},
    question::{AcceptedAnswer, AnswerCheck},
};

impl Runs {
    /// Gives several answers to the waiting run at once: it resumes when all its requests are answered, and
    /// in a session they are one turn. All are checked before any is stored. If another caller answers one of
    /// them concurrently, the others are still stored. An answer repeated with the same content is accepted:
    /// the same call returns the same run.
    ///
    /// # Errors
    /// As [`Agent::answer`]; [`ErrorKind::Input`] when they belong to several runs, when one request is answered twice,
    /// and when the list is empty.
    pub(crate) async fn answer_all(self: &Arc<Self>, answers: Vec<Answer>) -> Result<Run> {
        let mut fitting: Vec<(RequestId, AnswerValue)> = Vec::new();
        let mut taken: Vec<(RequestId, AcceptedAnswer)> = Vec::new();
        let mut asked: Option<OpenQuestion> = None;
        for answered in answers {
            let question = self.questions.answerable(&answered).await?;
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
            match self.questions.check_open(&question, answered.answer)? {
                AnswerCheck::Open(answer) => fitting.push((question.request.clone(), answer)),
                AnswerCheck::Accepted(before) => taken.push((question.request.clone(), before)),
            }
            asked.get_or_insert(question);
        }
        let Some(OpenQuestion { run, session, owner, .. }) = asked else {
            let message = "there is no answer: give at least one";
            return Err(Error::new(ErrorKind::Input, message).with_code("answers.none"));
        };
        if fitting.is_empty() {
            // Repeated answers start nothing.
            let since = taken.iter().map(|(_, taken)| taken.since).min().unwrap_or(0);
            return Ok(self.handle(run).since(since));
        }
        if let Some(session) = session.map(|session| SessionKey::new(owner.as_deref(), &session)) {
            self.turns()?.before_answers(&session, &run, &fitting).await?;
        }
        let mut since =
            self.env.store.info(&JournalId::from(run.as_str())).await?.map_or(0, |info| info.tail.last);
        let mut late = None;
        for (request, answer) in fitting {
            match self.questions.give(&run, &request, answer, since).await {
                Ok(first) => since = since.min(first),
                Err(error) if error.kind() == ErrorKind::Answered => {
                    late.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        self.wake_or_resume(&run).await;
        match late {
            Some(error) => Err(error),
            None => Ok(self.handle(run).since(since)),
        }
    }

    /// Stops a run: its models and tools are cancelled, and it ends as cancelled. Durable when this returns.
    ///
    /// # Errors
    /// When there is no such run, it has ended, or the store fails.
    pub(crate) async fn stop(self: &Arc<Self>, run: &RunId, reason: Option<&str>) -> Result<Run> {
        let info = self.env.store.info(&run.as_str().into()).await?.ok_or_else(|| unknown_run(run))?;
        if info.tail.closed {
            return Err(Error::new(ErrorKind::Ended, format!("run {run} has ended already")));
        }
        let reason = reason.unwrap_or_default().to_owned();
        match self
            .env
            .store
            .put(&keys::stop(run), reason.into(), Expect::Absent, Some(self.env.options.keep))
            .await
        {
            Ok(_) => {}
            // A second stop changes nothing.
            Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.wake_or_resume(run).await;
        Ok(self.handle(run.clone()).since(info.tail.last))
    }

    /// Whether a run's inbox has an answer or a stop request that its driver has not processed.
    pub(crate) async fn has_mail(&self, run: &RunId) -> Result<bool> {
        Ok(!self.env.store.list(&keys::inbox(run), None, 1).await?.is_empty())
    }

    /// Makes the driver of a run read its inbox: wakes it, or resumes the run here. The inbox is kept if
    /// neither works.
    pub(crate) async fn wake_or_resume(self: &Arc<Self>, run: &RunId) {
        if self.registry.wake(run) {
            return;
        }
        match self.resume(run, ResumeCause::Addressed).await {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Busy => {
                tracing::debug!(run = %run, error = ?error.message(), "the run is driven elsewhere");
            }
            // The inbox keeps its content for the next attempt.
            Err(error) => self.env.skipped.skip("run", run.as_str(), &error),
        }
    }

    /// Removes an ended run and its requests before their retention is over. Returns whether it could be: not
    /// while it is driven.
    pub(crate) async fn forget_run(&self, run: &RunId) -> Result<bool> {
        let journal = JournalId::from(run.as_str());
        let info = self.env.store.info(&journal).await?;
        let asked = match &info {
            // An unreadable run can be removed too: its requests expire by themselves.
            Some(_) => self.fold(run).await.map(|fold| fold.asked).unwrap_or_default(),
            None => Default::default(),
        };
        // The journal of an ended run goes last, because it lists what else to remove. A run that has not
        // ended may be driven.
        if info.is_some_and(|info| !info.tail.closed) {
            match self.env.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    return Ok(false);
                }
                deleted => deleted?,
            }
        }
        for wait in asked.values() {
            self.questions.remove(&wait.request).await?;
        }
        remove_all(&*self.env.store, &keys::inbox(run)).await?;
        if let Some(summary) = self.summaries.load(run).await.ok().flatten() {
            self.summaries.delist(&summary).await?;
            self.summaries.uncount(&summary).await?;
        }
        self.env.store.remove(&keys::run(run), Expect::Any).await?;
        self.env.store.delete(&journal).await?;
        Ok(true)
    }
}
