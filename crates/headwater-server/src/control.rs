//! Runs by their names: start, list, look at, follow, answer, stop.

mod start;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use headwater_protocol::{RequestCursor, RequestId, RunId};
use headwater_runtime::{Answer, Answered, ErrorKind, OpenQuestion, Run, RunMeta};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use start::{StartBody, start};

use crate::{
    ApiError, Principal, Server,
    agents::Served,
    chat,
    extract::{Path, Query},
    follow::{Ending, From, Names, View},
};

/// A run that belongs to whoever asks.
pub(crate) async fn owned(
    server: &Server,
    principal: &Principal,
    run: &str,
) -> Result<(Served, Run, RunMeta), ApiError> {
    let id = RunId::from(run);
    let (served, meta) = server.agents().of_run(&id).await?;
    if meta.owner.as_deref() != Some(principal.id()) {
        let message = format!("there is no run {id}: it never was, or is no longer kept");
        return Err(ApiError::not_found("run.unknown", message));
    }
    let run = served.agent.run(id);
    Ok((served, run, meta))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Paging {
    after: Option<String>,
    limit: Option<usize>,
}

impl Paging {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(50).clamp(1, 500)
    }
}

/// `GET /v1/runs`.
pub(crate) async fn list(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Query(paging): Query<Paging>,
) -> Result<Response, ApiError> {
    let mut runs: Vec<RunMeta> = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for served in server.agents().served() {
        let store = std::sync::Arc::as_ptr(served.agent.store()).cast::<()>().addr();
        if seen.contains(&store) {
            continue;
        }
        seen.push(store);
        let mut after = paging.after.as_deref().map(RunId::from);
        loop {
            let page = served.agent.runs(after.as_ref(), 200).await?;
            after = page.last().map(|meta| meta.run.clone());
            let full = page.len() == 200;
            runs.extend(page.into_iter().filter(|meta| meta.owner.as_deref() == Some(principal.id())));
            if !full || runs.len() >= paging.limit() {
                break;
            }
        }
    }
    runs.truncate(paging.limit());
    let next = (runs.len() == paging.limit()).then(|| runs.last().map(|meta| meta.run.clone())).flatten();
    Ok(Json(json!({ "runs": runs, "next": next })).into_response())
}

/// `GET /v1/runs/{run}`.
pub(crate) async fn inspect(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    let (served, run, meta) = owned(&server, &principal, &run).await?;
    let open = served.agent.open_questions(run.id()).await?;
    let open: Vec<_> = open.iter().map(question).collect();
    Ok(Json(json!({ "run": meta, "agent": served.name, "waitsFor": open })).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Following {
    dialect: Option<String>,
    profile: Option<String>,
    framing: Option<String>,
    after: Option<String>,
    until: Option<String>,
}

/// `GET /v1/runs/{run}/events`.
pub(crate) async fn events(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
    Query(query): Query<Following>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    served.agent.take_up(run.id()).await?;
    let dialect = chat::find(query.dialect.as_deref().unwrap_or("agents"))?;
    let framing = chat::framing(dialect, query.profile.as_deref(), &headers, query.framing.as_deref())?;
    let sent = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let from = match query.after.or(sent).filter(|after| !after.is_empty()) {
        None => From::Start,
        Some(now) if now == "now" => From::Reentry,
        Some(after) => {
            let cursor = match after.parse() {
                Ok(sequence) => RequestCursor::Sequence(sequence),
                Err(_) => RequestCursor::EventId(after),
            };
            From::cursor(&run, &cursor).await?
        }
    };
    let ending = match query.until.as_deref() {
        None => None,
        Some("wait") => Some(Ending::AtWait),
        Some("end") => Some(Ending::AtEnd),
        Some(other) => {
            return Err(ApiError::bad("until.unknown", format!("`until` is `wait` or `end`, not `{other}`")));
        }
    };
    let options = server.options();
    let view = View {
        dialect,
        profile: query.profile,
        framing,
        names: Names::default(),
        messages: chat::told_again(dialect, &run).await?,
        shows: served.shows,
        seam: options.seam.clone(),
        hold: options.hold,
        waits: true,
    };
    chat::follow(&server, &principal, run, view, from, ending).await
}

/// `POST /v1/runs/{run}/stop`.
pub(crate) async fn stop(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let stopped = match served.agent.stop(run.id(), Some("a person asked for it")).await {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::Ended => false,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(json!({ "run": run.id(), "stopped": stopped })).into_response())
}

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
    fn into_answer(self) -> Result<Answer, ApiError> {
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
        Ok(if let Some(answer) = self.answer {
            Answer::Given(answer)
        } else if let Some(approved) = self.approved {
            Answer::Approval { approved, reason: self.reason, input: self.input }
        } else if let Some(output) = self.output {
            Answer::Output(output)
        } else if let Some(error) = self.error {
            Answer::OutputError(error)
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
    let mut body: AnswerBody = read_json(&server, body).await?;
    let request = match body.request.take() {
        Some(request) => request,
        None => match served.agent.open_questions(run.id()).await?.as_slice() {
            [only] => only.request.clone(),
            [] => {
                return Err(ApiError::conflict(
                    "request.not-open",
                    format!("run {} waits for nothing", run.id()),
                ));
            }
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
    give(&served, &principal, request, body).await
}

/// `POST /v1/interrupts/{request}`.
pub(crate) async fn answer_request(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Path(request): Path<String>,
    body: Body,
) -> Result<Response, ApiError> {
    let body: AnswerBody = read_json(&server, body).await?;
    let request = RequestId::from(request);
    for served in server.agents().served() {
        if let Some(question) = served.agent.find_question(&request).await? {
            let (served, ..) = owned(&server, &principal, question.run.as_str()).await?;
            return give(&served, &principal, request, body).await;
        }
    }
    let message = format!("there is no request {request}: it never was, or is no longer kept");
    Err(ApiError::not_found("request.unknown", message))
}

async fn give(
    served: &Served,
    principal: &Principal,
    request: RequestId,
    body: AnswerBody,
) -> Result<Response, ApiError> {
    let token = body.token.clone();
    let mut answered = Answered::new(request, body.into_answer()?).by(Some(principal.id().to_owned()));
    if let Some(token) = token {
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
    let after = paging.after.as_deref().map(RequestId::from);
    let mut open: Vec<OpenQuestion> = Vec::new();
    for served in server.agents().served() {
        let found = served.agent.questions_of(Some(principal.id()), after.as_ref(), paging.limit()).await?;
        open.extend(
            found
                .into_iter()
                .filter(|question| open.iter().all(|known| known.request != question.request))
                .collect::<Vec<_>>(),
        );
    }
    let listed: Vec<_> = open.iter().take(paging.limit()).map(question).collect();
    Ok(Json(json!({ "interrupts": listed })).into_response())
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

/// Reads a JSON body.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(
    server: &Server,
    body: Body,
) -> Result<T, ApiError> {
    let limits = &server.options().limits;
    let bytes = chat::read_body(body, limits.body, limits.body_time).await?;
    let bytes = if bytes.is_empty() { &b"{}"[..] } else { &bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::bad("body.invalid", format!("the body cannot be read: {error}")))
}
