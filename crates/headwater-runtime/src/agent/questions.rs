//! The open requests of an agent's runs, and the answers to them.

use headwater_protocol::{RequestId, RunId, ToolCallId};
use headwater_store::Watch;
use serde_json::Value;

use super::Agent;
use crate::{
    Answer, AnswerValue, OpenQuestion, QuestionPage, Result, Run, keys, node::ActiveRun,
    question::client_request, run::awaits,
};

impl Agent {
    /// The open requests, ordered by id, after an id.
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
    pub async fn questions_of_all_owners(
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

    /// The open requests of a run, ordered by id.
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

    /// All requests of a run so far, ordered by id, while they are kept.
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

    /// A request, open or closed, while it is kept.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn asked_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        self.runs.questions.find(request).await
    }

    /// A request, while it can be answered.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_question(&self, request: &RequestId) -> Result<Option<OpenQuestion>> {
        let question = self.runs.questions.find(request).await?;
        Ok(question.filter(|question| question.waits(self.env().now())))
    }

    /// Answers the waiting run. The answer is durable when this returns, and the run resumes.
    ///
    /// # Errors
    /// One kind for each cause: [`ErrorKind::UnknownRequest`](crate::ErrorKind::UnknownRequest),
    /// [`ErrorKind::Token`](crate::ErrorKind::Token), [`ErrorKind::Foreign`](crate::ErrorKind::Foreign),
    /// [`ErrorKind::Answered`](crate::ErrorKind::Answered),
    /// [`ErrorKind::Expired`](crate::ErrorKind::Expired), [`ErrorKind::Ended`](crate::ErrorKind::Ended),
    /// [`ErrorKind::Answer`](crate::ErrorKind::Answer). An open question stays open.
    pub async fn answer(&self, answered: Answer) -> Result<Run> {
        self.answer_all(vec![answered]).await
    }

    /// Gives several answers to the waiting run at once: it resumes when all its requests are answered, and
    /// in a session they are one turn. All are checked before any is sent. If another caller answers one of
    /// them concurrently, the others are still sent. The same answer again is accepted, so that a repeated
    /// request gets the same run.
    ///
    /// # Errors
    /// As [`Agent::answer`]; [`ErrorKind::Input`](crate::ErrorKind::Input) when they belong to several runs, when one request is answered twice,
    /// and when the list is empty.
    pub async fn answer_all(&self, answers: Vec<Answer>) -> Result<Run> {
        self.runs.answer_all(answers).await
    }

    /// Sends the output of a tool that the page executes.
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

    /// Whether a run driven by this process has a tool call of that id without a result, or a request of that
    /// id: it waits for the answer, or is about to.
    #[must_use]
    pub fn awaits(&self, owner: &str, id: &str) -> bool {
        let runs = self.runs.registry.active();
        let asks = |run: &ActiveRun| run.journal.with_state(|state| awaits(state, id));
        runs.iter().any(|run| run.spec.owner.as_deref() == Some(owner) && asks(run))
    }
}
