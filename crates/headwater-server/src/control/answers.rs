//! What waits for somebody, and what they answer.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use headwater_protocol::{RequestId, RunId};
use headwater_runtime::{Answer, Answered, OpenQuestion, open_page, seal_page};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Paging, owned, read_json};
use crate::{
    ApiError, Principal, Server,
    agents::Served,
    extract::{Path, Query},
    limits::ids,
};

/// The name of the list in its cursors.
const INTERRUPTS: &str = "interrupts";

/// An answer to a question, a decision about a call, or the output of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AnswerBody {
    /// The question; may be left out where the run waits for one thing only.
    #[schemars(with = "Option<String>")]
    request: Option<RequestId>,
    token: Option<String>,
    #[serde(default, deserialize_with = "present")]
    answer: Option<Value>,
    approved: Option<bool>,
    reason: Option<String>,
    #[serde(default, deserialize_with = "present")]
    input: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    output: Option<Value>,
    error: Option<String>,
    #[serde(default)]
    declined: bool,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl AnswerBody {
    fn answer(&self) -> Result<Answer, ApiError> {
        let given = [
            self.answer.is_some(),
            self.approved.is_some(),
            self.output.is_some(),
            self.error.is_some(),
            self.declined,
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            let message = "give one of `answer`, `approved`, `output`, `error` and `declined`";
            return Err(ApiError::bad("answer.unclear", message));
        }
        Ok(if let Some(answer) = &self.answer {
            Answer::Given(answer.clone())
        } else if let Some(approved) = self.approved {
            Answer::Approval { approved, reason: self.reason.clone(), input: self.input.clone() }
        } else if let Some(output) = &self.output {
            Answer::Output(output.clone())
        } else if let Some(error) = &self.error {
            Answer::OutputError(error.clone())
        } else {
            Answer::Declined
        })
    }
}

/// `POST /v1/runs/{run}/answer`.
pub(crate) async fn answer(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
    body: Body,
) -> Result<Response, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let mut body: AnswerBody = read_json(body).await?;
    ids::check_all([("request", body.request.as_ref().map(RequestId::as_str))])?;
    let request = match body.request.take() {
        Some(request) => match served.agent.asked_question(&request).await? {
            Some(question) if question.run == *run.id() && is_of(&question, &principal) => request,
            _ => return Err(ApiError::no_request()),
        },
        None => match served.agent.open_questions(run.id()).await?.as_slice() {
            [only] => only.request.clone(),
            [] => return give_again(&served, &principal, run.id(), &body).await,
            several => {
                let names: Vec<_> = several.iter().map(|question| question.request.to_string()).collect();
                let message = format!(
                    "run {} waits for several things, name one as `request`: {}",
                    run.id(),
                    names.join(", ")
                );
                return Err(ApiError::conflict("request.ambiguous", message));
            }
        },
    };
    give(&served, &principal, request, &body).await
}

/// `POST /v1/interrupts/{request}`.
pub(crate) async fn answer_request(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Response, ApiError> {
    let body: AnswerBody = read_json(body).await?;
    let request = RequestId::from(request);
    for served in server.agents().served() {
        let question = served.agent.asked_question(&request).await?;
        if let Some(question) = question.filter(|question| is_of(question, &principal)) {
            let (served, ..) = owned(&server, &principal, question.run.as_str()).await?;
            return give(&served, &principal, request, &body).await;
        }
    }
    Err(ApiError::no_request())
}

/// Whether a question is theirs who ask.
fn is_of(question: &OpenQuestion, principal: &Principal) -> bool {
    question.owner.as_deref() == Some(principal.id())
}

/// An answer to a run that waits for nothing any more: the same answer as before gets the same response.
async fn give_again(
    served: &Served,
    principal: &Principal,
    run: &RunId,
    body: &AnswerBody,
) -> Result<Response, ApiError> {
    for question in
        served.agent.asked_questions(run).await?.iter().filter(|question| is_of(question, principal))
    {
        match give(served, principal, question.request.clone(), body).await {
            Ok(given) => return Ok(given),
            Err(error) if error.code() == "answer.unclear" => return Err(error),
            // Not the one that was answered so.
            Err(_) => {}
        }
    }
    Err(ApiError::conflict("request.not-open", format!("run {run} waits for nothing")))
}

async fn give(
    served: &Served,
    principal: &Principal,
    request: RequestId,
    body: &AnswerBody,
) -> Result<Response, ApiError> {
    let mut answered = Answered::new(request, body.answer()?).by(Some(principal.id().to_owned()));
    if let Some(token) = &body.token {
        answered = answered.token(token);
    }
    let run = served.agent.answer(answered).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "run": run.id(), "since": run.since_seq() }))).into_response())
}

/// `GET /v1/interrupts`.
pub(crate) async fn interrupts(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Query(paging): Query<Paging>,
) -> Result<Response, ApiError> {
    let all = server.agents().served();
    let Some(first) = all.first() else {
        return Ok(Json(json!({ "interrupts": [], "next": null })).into_response());
    };
    let (owner, limit) = (Some(principal.id()), paging.limit());
    let secret = first.agent.secret().await?;
    let after = match &paging.after {
        Some(after) => Some(RequestId::from(open_page(secret, INTERRUPTS, owner, after)?.1)),
        None => None,
    };
    let mut open: BTreeMap<RequestId, OpenQuestion> = BTreeMap::new();
    let mut unreadable: BTreeSet<RequestId> = BTreeSet::new();
    for served in &all {
        // Agents that share a store have each request once.
        let found = served.agent.questions_of(owner, after.as_ref(), limit + 1).await?;
        open.extend(found.questions.into_iter().map(|question| (question.request.clone(), question)));
        unreadable.extend(found.unreadable);
    }
    let more = open.len() > limit;
    let open: Vec<_> = open.into_values().take(limit).collect();
    let last = open.last().filter(|_| more);
    // The list is ordered by request alone.
    let next = last.map(|last| seal_page(secret, INTERRUPTS, owner, 0, last.request.as_str()));
    let interrupts: Vec<_> = open.iter().map(question).collect();
    let unreadable: Vec<_> = unreadable.into_iter().collect();
    Ok(super::page(json!({ "interrupts": interrupts, "next": next }), &unreadable))
}

/// A question as a document.
pub(crate) fn question(question: &OpenQuestion) -> Value {
    let mut shown = json!({
        "request": question.request,
        "run": question.run,
        "session": question.session,
        "node": question.node,
        "askedAt": question.asked,
        "expiresAt": question.expires,
        "token": question.token(),
    });
    let Value::Object(fields) = &mut shown else { return shown };
    if let Some(interrupt) = question.interrupt() {
        fields.insert("kind".to_owned(), json!("question"));
        fields.insert("interrupt".to_owned(), json!(interrupt));
    } else if let Some((tool, input)) = question.approval() {
        fields.insert("kind".to_owned(), json!("approval"));
        fields.insert("tool".to_owned(), json!(tool));
        fields.insert("input".to_owned(), input.clone());
    } else if let Some((tool, input)) = question.client_tool() {
        fields.insert("kind".to_owned(), json!("client-tool"));
        fields.insert("tool".to_owned(), json!(tool));
        fields.insert("input".to_owned(), input.clone());
    }
    shown
}
