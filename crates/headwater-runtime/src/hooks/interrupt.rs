//! Asking a person: the run is parked until it is answered.

mod question;

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use headwater_protocol::RequestId;
use headwater_tools::Schema;
use serde_json::{Map, Value};

pub use question::{Choice, Form, MultiChoice, Question, Text};

use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{AnswerValue, Effect, WaitKind},
    node::{HookKey, NodeVisit},
    question::{Asker, asked_event, request_id},
};

/// Builder of a question. Await it to ask.
///
/// # Errors
/// [`ErrorKind::Expired`] when no answer came in time. When the person declines, the run ends as cancelled,
/// unless [`InterruptHook::declinable`] was called.
#[derive(Debug)]
#[must_use = "the question is not asked until it is awaited"]
pub struct InterruptHook<Q> {
    node: Arc<NodeVisit>,
    question: Q,
    id: Option<String>,
    expires: Option<Duration>,
    schema_id: Option<String>,
    schema_version: Option<String>,
    request_schema: Option<Schema>,
    response_schema: Option<Schema>,
    meta: Option<Map<String, Value>>,
}

impl<Q: Question> InterruptHook<Q> {
    pub(crate) fn new(node: Arc<NodeVisit>, question: Q) -> Self {
        Self {
            node,
            question,
            id: None,
            expires: None,
            schema_id: None,
            schema_version: None,
            request_schema: None,
            response_schema: None,
            meta: None,
        }
    }

    /// Sets the id that identifies the hook when the run resumes.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the time after which the question expires.
    pub fn expires(mut self, after: Duration) -> Self {
        self.expires = Some(after);
        self
    }

    /// Sets the schema id and version sent to the page.
    pub fn schema(mut self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.schema_id = Some(id.into());
        self.schema_version = Some(version.into());
        self
    }

    /// Sets the schema of the question.
    pub fn request_schema(mut self, schema: Schema) -> Self {
        self.request_schema = Some(schema);
        self
    }

    /// Sets the schema of the answer: one that does not match is refused, and the question stays open.
    pub fn response_schema(mut self, schema: Schema) -> Self {
        self.response_schema = Some(schema);
        self
    }

    /// Adds metadata for the page.
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Lets the person decline without ending the run: the hook then returns `None`.
    pub fn declinable(self) -> OptionalInterrupt<Q> {
        OptionalInterrupt(self)
    }

    /// The key is fixed when the hook is built, not when it is polled.
    fn ask(self, declinable: bool) -> impl Future<Output = Result<Option<Q::Answer>>> + Send {
        let key = self.node.key("interrupt", self.id.as_deref());
        async move { self.ask_as(key?, declinable).await }
    }

    async fn ask_as(self, key: HookKey, declinable: bool) -> Result<Option<Q::Answer>> {
        let request = request_id(&self.node.run.id, &key.text);
        let mut interrupt = self.question.interrupt(request.clone());
        interrupt.id = self.id;
        interrupt.workflow = Some(self.node.workflow_id().to_owned());
        interrupt.schema_id = self.schema_id;
        interrupt.schema_version = self.schema_version;
        if let Some(meta) = self.meta {
            interrupt.meta.get_or_insert_default().extend(meta);
        }
        if let Some(schema) = &self.response_schema {
            interrupt.response_schema = Some(schema.as_value().clone());
        }
        if let Some(schema) = &self.request_schema {
            let asked = serde_json::to_value(&interrupt).unwrap_or_default();
            schema.check(&asked).map_err(|wrong| {
                let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
                Error::new(
                    ErrorKind::Hook,
                    format!("the question does not fit its schema: {}", wrong.join("; ")),
                )
            })?;
        }
        let kind = WaitKind::Question { interrupt: Box::new(interrupt), declinable };
        match wait_for(&self.node, &key.text, key.kind, request.clone(), kind, self.expires).await? {
            AnswerValue::Given(value) => self.question.read(value).map(Some),
            AnswerValue::Declined if declinable => Ok(None),
            AnswerValue::Declined => {
                let error = Error::new(ErrorKind::Stopped, "the person did not want to answer")
                    .with_code(ErrorKind::Declined.code());
                self.node.run.fail(&error);
                Err(error)
            }
            AnswerValue::Expired => {
                Err(Error::new(ErrorKind::Expired, format!("no answer to {request} came in time")))
            }
            other => Err(self.node.diverged(&format!("`{}` was answered with {other:?}", key.text))),
        }
    }
}

impl<Q: Question> IntoFuture for InterruptHook<Q> {
    type Output = Result<Q::Answer>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let asked = self.ask(false);
        Box::pin(async {
            match asked.await? {
                Some(answer) => Ok(answer),
                None => Err(Error::new(ErrorKind::Declined, "the person did not want to answer")),
            }
        })
    }
}

/// A question that the person may decline. Await it to ask.
#[derive(Debug)]
#[must_use = "the question is not asked until it is awaited"]
pub struct OptionalInterrupt<Q>(InterruptHook<Q>);

impl<Q: Question> IntoFuture for OptionalInterrupt<Q> {
    type Output = Result<Option<Q::Answer>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.0.ask(true))
    }
}

/// Asks a person or the page, and waits until the answer is in the journal.
pub(crate) async fn wait_for(
    node: &NodeVisit,
    key: &str,
    hook: &'static str,
    request: RequestId,
    kind: WaitKind,
    expires: Option<Duration>,
) -> Result<AnswerValue> {
    node.asked_for(key);
    let run = &node.run;
    let before = run.fold().asked.get(key).cloned();
    match before {
        Some(before) if before.hook != hook => {
            return Err(node.diverged(&format!(
                "`{key}` is a `{}` in the journal and a `{hook}` in the code",
                before.hook
            )));
        }
        Some(_) => {}
        None => {
            node.may_begin(key, hook).await?;
            let _running = node.running();
            let asker = Asker {
                run: &run.id,
                owner: run.spec.owner.as_deref(),
                session: run.spec.session.as_ref(),
                node: &node.visit.node,
                lease: run.journal.lease(),
            };
            let asked = run.services.questions.ask(asker, hook, request.clone(), kind, expires).await;
            let wait = node.keep(asked)?;
            let effect = Effect::Asked { key: key.to_owned(), wait: Box::new(wait.clone()) };
            let origin = node.origin();
            node.keep(run.record(effect, asked_event(&wait).map(|event| (&origin, event))))?;
        }
    }
    loop {
        let answered = run.answered.notified();
        let mut answered = std::pin::pin!(answered);
        answered.as_mut().enable();
        let answer = run.fold().answers.get(&request).cloned();
        if let Some(answer) = answer {
            node.wait_is_over(key)?;
            return Ok(answer);
        }
        let _waiting = node.waiting(&request);
        answered.await;
    }
}
