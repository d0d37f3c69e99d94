//! Interrupts: open requests to a person or a page, and their answers.

use std::collections::{BTreeMap, BTreeSet};

use axum::{Extension, Json, extract::State};
use headwater_protocol::{RequestId, RunId};
use headwater_runtime::{Answer, AnswerValue, OpenQuestion, open_page, seal_page};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{list::owner_of_list, owned};
use crate::{
    ApiError, Principal, Server,
    agents::ServedAgent,
    audit::{self, Subject},
    extract::{JsonBody, Paging, PathParams, QueryParams},
    limits::ids,
    operation::AcceptedResponse,
    timestamp::Timestamp,
};

/// The name of the list in its cursors.
const INTERRUPTS: &str = "interrupts";

/// An answer to a question, a decision about a call, or the output of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AnswerRequest {
    /// The question; optional if the run waits for only one.
    #[schemars(with = "Option<String>")]
    request: Option<RequestId>,
    token: Option<String>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    answer: Option<Value>,
    approved: Option<bool>,
    reason: Option<String>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    input: Option<Value>,
    #[serde(default, deserialize_with = "headwater_json::present")]
    output: Option<Value>,
    error: Option<String>,
    #[serde(default)]
    declined: bool,
}

impl AnswerRequest {
    fn answer(&self) -> Result<AnswerValue, ApiError> {
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
            AnswerValue::Given(answer.clone())
        } else if let Some(approved) = self.approved {
            AnswerValue::Approval { approved, reason: self.reason.clone(), input: self.input.clone() }
        } else if let Some(output) = &self.output {
            AnswerValue::Output(output.clone())
        } else if let Some(error) = &self.error {
            AnswerValue::OutputError(error.clone())
        } else {
            AnswerValue::Declined
        })
    }
}

/// An answer that is kept: the run continues.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AnswerResponse {
    run: String,
    /// The number of the last event before the answer.
    since: u64,
}

/// `POST /v1/runs/{run}/answer`.
pub(crate) async fn answer(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
    JsonBody(mut body): JsonBody<AnswerRequest>,
) -> Result<AcceptedResponse<AnswerResponse>, ApiError> {
    let (served, run, summary) = owned(&server, &principal, &run).await?;
    let principal = principal.acting_for(summary.owner.as_deref());
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
                    "run {} has several open questions, name one as `request`: {}",
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
    PathParams(request): PathParams<String>,
    JsonBody(body): JsonBody<AnswerRequest>,
) -> Result<AcceptedResponse<AnswerResponse>, ApiError> {
    let request = RequestId::from(request);
    for served in server.agents().served() {
        let question = served.agent.asked_question(&request).await?;
        if let Some(question) = question.filter(|question| is_of(question, &principal)) {
            let (served, ..) = owned(&server, &principal, question.run.as_str()).await?;
            let principal = principal.acting_for(question.owner.as_deref());
            return give(&served, &principal, request, &body).await;
        }
    }
    Err(ApiError::no_request())
}

/// Whether a question is visible to the caller.
fn is_of(question: &OpenQuestion, principal: &Principal) -> bool {
    principal.may_access(question.owner.as_deref())
}

/// An answer to a run that no longer waits: a repeated answer gets the same response.
async fn give_again(
    served: &ServedAgent,
    principal: &Principal,
    run: &RunId,
    body: &AnswerRequest,
) -> Result<AcceptedResponse<AnswerResponse>, ApiError> {
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
    served: &ServedAgent,
    principal: &Principal,
    request: RequestId,
    body: &AnswerRequest,
) -> Result<AcceptedResponse<AnswerResponse>, ApiError> {
    let mut answered = Answer::new(request, body.answer()?).by(Some(principal.id().to_owned()));
    if let Some(token) = &body.token {
        answered = answered.token(token);
    }
    let run = served.agent.answer(answered).await?;
    Ok(AcceptedResponse(AnswerResponse { run: run.id().to_string(), since: run.since_seq() }))
}

/// A question, an approval or a call of a page's tool that waits for an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Interrupt", deny_unknown_fields)]
pub(crate) struct InterruptDocument {
    /// The id to use in an answer.
    request: String,
    run: String,
    session: Option<String>,
    /// The principal that it belongs to.
    owner: Option<String>,
    /// The node that asks.
    node: String,
    asked_at: Timestamp,
    expires_at: Timestamp,
    /// Goes with the answer.
    token: Option<String>,
    kind: InterruptDocumentKind,
    /// The question, of kind `question`; `docs/native.md` has its form.
    interrupt: Option<Value>,
    /// The call, of the other kinds; `docs/native.md` has its form.
    tool: Option<Value>,
    /// The input of the call.
    input: Option<Value>,
}

/// The kind of an open request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "InterruptKind")]
enum InterruptDocumentKind {
    Question,
    Approval,
    ClientTool,
}

impl InterruptDocument {
    pub(super) fn new(question: &OpenQuestion) -> Self {
        let (kind, call) = match (question.approval(), question.client_tool()) {
            (Some(call), _) => (InterruptDocumentKind::Approval, Some(call)),
            (_, Some(call)) => (InterruptDocumentKind::ClientTool, Some(call)),
            _ => (InterruptDocumentKind::Question, None),
        };
        Self {
            request: question.request.to_string(),
            run: question.run.to_string(),
            session: question.session.as_ref().map(ToString::to_string),
            owner: question.owner.clone(),
            node: question.node.clone(),
            asked_at: Timestamp(question.asked),
            expires_at: Timestamp(question.expires),
            token: question.token().map(str::to_owned),
            kind,
            interrupt: question.interrupt().map(|interrupt| json!(interrupt)),
            tool: call.map(|(tool, _)| json!(tool)),
            input: call.map(|(_, input)| input.clone()),
        }
    }
}

/// A page of the caller's open requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct InterruptList {
    interrupts: Vec<InterruptDocument>,
    /// The `after` of the next page; null at the end of the list.
    next: Option<String>,
    /// Interrupts in between that cannot be read.
    unreadable: Vec<String>,
}

/// `GET /v1/interrupts`.
pub(crate) async fn interrupts(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    QueryParams(paging): QueryParams<Paging>,
) -> Result<Json<InterruptList>, ApiError> {
    let all = server.agents().served();
    let Some(first) = all.first() else {
        return Ok(Json(InterruptList { interrupts: Vec::new(), next: None, unreadable: Vec::new() }));
    };
    let (owner, limit) = (owner_of_list(&principal), paging.limit());
    audit::access(&principal, None, Subject::default());
    let secret = first.agent.secret().await?;
    let after = match &paging.after {
        Some(after) => Some(RequestId::from(open_page(secret, INTERRUPTS, owner, after)?.1)),
        None => None,
    };
    let mut open: BTreeMap<RequestId, OpenQuestion> = BTreeMap::new();
    let mut unreadable: BTreeSet<RequestId> = BTreeSet::new();
    for served in &all {
        // Agents that share a store have each request once.
        let found = match owner {
            Some(_) => served.agent.questions_of(owner, after.as_ref(), limit + 1).await?,
            None => served.agent.questions_of_everyone(after.as_ref(), limit + 1).await?,
        };
        open.extend(found.questions.into_iter().map(|question| (question.request.clone(), question)));
        unreadable.extend(found.unreadable);
    }
    let more = open.len() > limit;
    let open: Vec<_> = open.into_values().take(limit).collect();
    let last = open.last().filter(|_| more);
    // The list is ordered by request alone.
    let next = last.map(|last| seal_page(secret, INTERRUPTS, owner, 0, last.request.as_str()));
    let interrupts = open.iter().map(InterruptDocument::new).collect();
    let unreadable = unreadable.iter().map(ToString::to_string).collect();
    Ok(Json(InterruptList { interrupts, next, unreadable }))
}
