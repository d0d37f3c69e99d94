//! What an agent's runs wait for, and the answers to that.

use headwater_protocol::{RequestId, RunId, ToolCallId};
use headwater_store::Watch;
use serde_json::Value;

use super::Agent;
use crate::{
    Answer, AnswerValue, OpenQuestion, QuestionPage, Result, Run, keys, node::ActiveRun,
    question::client_request, run::awaits,
};

impl Agent {
    /// What waits for a person, ordered by request, after a request.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions(&self, after: Option<&RequestId>, limit: usize) -> Result<Vec<OpenQuestion>> {
        self.runs.questions.list(after, limit).await
    }

    /// The open questions of all owners and of all agents that share the store, ordered by request, after a request: for
    /// operators.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions_of_everyone(
        &self,
        after: Option<&RequestId>,
        limit: usize,
    ) -> Result<QuestionPage> {
        let questions = self.questions(after, limit).await?;
        Ok(QuestionPage { questions, ..QuestionPage::default() })
    }

    /// Wakes when a question of an owner of this agent's runs is asked or closed, in this process or another. Begin to watch
    /// before you look for questions, so that no change is missed in between.
    #[must_use]
    pub fn watch_questions(&self, owner: Option<&str>) -> Watch {
        let env = self.env();
        env.store.watch(&keys::open_questions(&env.owner_tag(owner)))
    }

    /// The open questions of an owner of this agent's runs, ordered by request, after a request. Answered questions are not
    /// read. Questions that cannot be read are listed apart, and logged once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn questions_of(
        &self,
        owner: Option<&str>,
        after: Option<&RequestId>,
        limit: usize,
    ) -> Result<QuestionPage> {
        self.runs.questions.list_of(owner, after, limit).await
    }

    /// What a run waits for, in the order of the requests.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn open_questions(&self, run: &RunId) -> Result<Vec<OpenQuestion>> {
        let fold = self.runs.fold_of_kept(run).await?;
        let mut open = Vec::new();
        for wait in fold.open_waits() {
            if let Some(question) = self.find_question(&wait.request).await?
                && self.runs.questions.awaits(&question).await?
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
        let fold = self.runs.fold(run).await?;
        let mut asked = Vec::new();
        for wait in fold.asked.values() {
            asked.extend(self.runs.questions.find(&wait.request).await?);
        }
        asked.sort_by(|one, other| one.request.as_str().cmp(other.request.as_str()));
        Ok(asked)
    }

    /// What a request asks for or asked for, as long as it is kept.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn asked_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        self.runs.questions.find(request).await
    }

    /// What a request asks for, as long as it can be answered.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let question = self.runs.questions.find(request).await?;
        Ok(question.filter(|question| question.waits(self.env().now())))
    }

    /// Gives an answer to the run that waits for it. It is durable when this returns, and the run goes on.
    ///
    /// # Errors
    /// Each its own: [`ErrorKind::UnknownRequest`](crate::ErrorKind::UnknownRequest), [`ErrorKind::Token`](crate::ErrorKind::Token), [`ErrorKind::Foreign`](crate::ErrorKind::Foreign),
    /// [`ErrorKind::Answered`](crate::ErrorKind::Answered), [`ErrorKind::Expired`](crate::ErrorKind::Expired), [`ErrorKind::Ended`](crate::ErrorKind::Ended), [`ErrorKind::Answer`](crate::ErrorKind::Answer). The question stays
    /// open where it was.
    pub async fn answer(&self, answered: Answer) -> Result<Run> {
        self.answer_all(vec![answered]).await
    }

    /// Gives several answers to the run that waits for them, at once: it goes on when it has them all, and in a session
    /// they are one turn. All are checked before any is sent. Should another caller answer one of them at the same moment,
    /// the others are sent nevertheless. The same answer again is accepted, so that a repeated request gets the same run.
    ///
    /// # Errors
    /// As [`Agent::answer`]; [`ErrorKind::Input`](crate::ErrorKind::Input) when they belong to several runs, when one request is answered twice,
    /// and when the list is empty.
    pub async fn answer_all(&self, answers: Vec<Answer>) -> Result<Run> {
        self.runs.answer_all(answers).await
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
            Ok(output) => AnswerValue::Output(output),
            Err(error) => AnswerValue::OutputError(error),
        };
        self.answer(Answer::new(request, answer).by(owner)).await
    }

    /// Whether a run that this process drives has made a call that has no result yet, or has asked a question of that id:
    /// it waits for the answer, or is about to.
    #[must_use]
    pub fn awaits(&self, owner: &str, id: &str) -> bool {
        let runs = self.runs.registry.active();
        let asks = |run: &ActiveRun| run.journal.with_state(|state| awaits(state, id));
        runs.iter().any(|run| run.spec.owner.as_deref() == Some(owner) && asks(run))
    }
}
