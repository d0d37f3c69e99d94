//! Runs as those see them who serve them to others.

use headwater_protocol::{CheckpointId, Message, RequestId, RunId, RunStatus, SessionId};
use headwater_store::{JournalId, ReadLimit};

use super::{Agent, OpenQuestion, Run, drivers::awaits, run::read_error, takeover::Found};
use crate::{Result, TurnInput, error::ErrorKind, journal::RecordReader, keys};

/// How many messages of a conversation are told again at most.
const MESSAGES: usize = 1_000;

impl Agent {
    /// What a run waits for, in the order of the requests.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn open_questions(&self, run: &RunId) -> Result<Vec<OpenQuestion>> {
        let fold = self.0.fold(run).await?;
        let mut open = Vec::new();
        for wait in fold.open_waits() {
            if let Some(question) = self.find_question(&wait.request).await?
                && self.0.awaits(&question).await?
            {
                open.push(question);
            }
        }
        open.sort_by(|one, other| one.request.as_str().cmp(other.request.as_str()));
        Ok(open)
    }

    /// What a run has asked for so far, in the order of the requests, as long as it is kept.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn asked_questions(&self, run: &RunId) -> Result<Vec<OpenQuestion>> {
        let fold = self.0.fold(run).await?;
        let mut asked = Vec::new();
        for wait in fold.asked.values() {
            asked.extend(self.0.question(&wait.request).await?);
        }
        asked.sort_by(|one, other| one.request.as_str().cmp(other.request.as_str()));
        Ok(asked)
    }

    /// What a request asks for or asked for, as long as it is kept.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn asked_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        self.0.question(request).await
    }

    /// What a request asks for, as long as it can be answered.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let question = self.0.question(request).await?;
        Ok(question.filter(|question| question.waits(self.0.now())))
    }

    /// Whether something was sent to a run that it has not taken yet: an answer, or the wish to stop it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_mail(&self, run: &RunId) -> Result<bool> {
        Ok(!self.0.store.list(&keys::inbox(run), None, 1).await?.is_empty())
    }

    /// The session in which a checkpoint was made.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`], or when the store fails.
    pub async fn session_of_checkpoint(&self, id: &CheckpointId) -> Result<SessionId> {
        Ok(self.0.node(id).await?.checkpoint.session)
    }

    /// Sees to it that a run is driven that should be: if its process died, this one takes it over.
    ///
    /// # Errors
    /// When the store fails, or the run needs a version of its workflow that is not registered here.
    pub async fn take_up(&self, run: &RunId) -> Result<()> {
        self.resumed(run).await;
        if self.0.drives(run) {
            return Ok(());
        }
        let running =
            self.0.load_summary(run).await?.is_some_and(|summary| summary.status == RunStatus::Running);
        if !running {
            return Ok(());
        }
        let resumed = self.0.resume(run, Found::Addressed).await;
        // Recovery may have been quicker.
        self.resumed(run).await;
        match resumed {
            // It is driven already, here or by another process.
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Foreign) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }
}

impl Run {
    /// Whether this run, if another process drives it, has made one of these calls and has no result yet, or has asked one
    /// of these questions. For runs that are driven here there is [`Agent::awaits`].
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn awaits_elsewhere(&self, ids: &[&str]) -> Result<bool> {
        if self.agent().0.drives(self.id()) {
            return Ok(false);
        }
        let (mut after, mut state) = self.snapshot().await?.unwrap_or_default();
        let mut reader = RecordReader::default();
        let journal = JournalId::from(self.id().as_str());
        loop {
            let page = self.agent().0.store.read(&journal, after, ReadLimit::default()).await;
            let page = page.map_err(|error| read_error(self.id(), error))?;
            for record in &page.records {
                after = record.seq;
                if let Some(record) = reader.visible_event(record)? {
                    // The journal has only what its writer's state could take.
                    let _ = state.apply(&record);
                }
            }
            if after >= page.tail.last {
                return Ok(ids.iter().any(|id| awaits(&state, id)));
            }
        }
    }

    /// The conversation before what this run says: the turns before it, and the message that it answers.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn conversation(&self) -> Result<Vec<Message>> {
        let summary = self.summary().await?;
        let Some(id) = summary.session else { return Ok(Vec::new()) };
        let session = self.agent().session(id, summary.owner.as_deref());
        if let Some((base, message)) = session.going(self.id()).await? {
            let mut messages = match &base {
                Some(base) => session.history(Some(base), None, MESSAGES).await?.messages,
                None => Vec::new(),
            };
            messages.push(message);
            return Ok(messages);
        }
        let Some(first) = session.checkpoints_of(self.id()).await?.pop() else { return Ok(Vec::new()) };
        let mut messages = match &first.parent {
            Some(parent) => session.history(Some(parent), None, MESSAGES).await?.messages,
            None => Vec::new(),
        };
        if let TurnInput::Message(said) = session.input(&first.id).await? {
            messages.push(*said);
        }
        Ok(messages)
    }
}
