//! Listing open questions.

use headwater_protocol::RequestId;
use headwater_store::ValuePages;

use super::{OpenQuestion, Questions, store::UNREADABLE};
use crate::{
    Result,
    keys::{self, QUESTIONS},
};

/// A page of an owner's open questions, ordered by request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct QuestionPage {
    /// The questions.
    pub questions: Vec<OpenQuestion>,
    /// Unreadable questions within the page.
    pub unreadable: Vec<RequestId>,
}

impl Questions {
    /// The open questions, ordered by request, after a request.
    pub(crate) async fn list(&self, after: Option<&RequestId>, limit: usize) -> Result<Vec<OpenQuestion>> {
        let mut pages = ValuePages::new(&*self.env.store, QUESTIONS).after(after.map(keys::question));
        let mut open = Vec::new();
        while open.len() < limit
            && let Some(page) = pages.next().await?
        {
            for (_, value) in &page {
                let Ok(question) = crate::codec::decode::<OpenQuestion>(&value.bytes) else { continue };
                if open.len() < limit && self.awaits(&question).await? {
                    open.push(question);
                }
            }
        }
        Ok(open)
    }

    /// The open questions of an owner's runs of this agent, ordered by request, after a request. Answered
    /// questions are not read.
    pub(crate) async fn list_of(
        &self,
        owner: Option<&str>,
        after: Option<&RequestId>,
        limit: usize,
    ) -> Result<QuestionPage> {
        let tag = self.env.owner_tag(owner);
        let prefix = keys::open_questions(&tag);
        let after = after.map(|request| keys::open_question(&tag, request));
        let mut pages = ValuePages::new(&*self.env.store, prefix.as_str()).after(after);
        let mut found = QuestionPage::default();
        while let Some(page) = pages.next().await? {
            for (key, _) in &page {
                let request =
                    headwater_store::key::split(&prefix, key).and_then(|ids| ids.into_iter().next());
                let Some(request) = request.map(RequestId::from) else { continue };
                let question = match self.find(&request).await {
                    Err(error) if error.code() == UNREADABLE => {
                        self.env.skipped.unlisted("question", request.as_str(), &error);
                        found.unreadable.push(request);
                        continue;
                    }
                    question => question?,
                };
                if let Some(question) = question
                    && question.owner.as_deref() == owner
                    && self.awaits(&question).await?
                {
                    found.questions.push(question);
                }
                if found.questions.len() >= limit {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}
