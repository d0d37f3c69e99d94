//! Runs by their ids: start, list, get, follow, answer, stop.

mod interrupts;
mod list;
mod start;

pub(crate) use interrupts::{AnswerResponse, answer, answer_request, interrupts};
pub(crate) use list::list;
pub(crate) use start::start;

use axum::{Extension, Json, extract::State, http::HeaderMap};
use headwater_dialects::{ContentMode, ReaderNames, RequestCursor};
use headwater_protocol::{RunId, RunStatus, Usage};
use headwater_runtime::{ErrorKind, Run, RunSummary};
use interrupts::InterruptDocument;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ApiError, Principal, Server,
    agents::ServedAgent,
    audit::{self, Subject},
    dialect,
    extract::{LastEventId, PathParams, QueryParams},
    follow::{ReadFrom, ReaderView, StreamEnd},
    operation::EventStream,
    stop::ended_by_stop,
    stream_response::{Attachment, conversation_before, follow},
    timestamp::Timestamp,
};

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Run", deny_unknown_fields)]
pub(crate) struct RunDocument {
    id: String,
    agent: String,
    workflow: String,
    /// The version of the workflow.
    version: String,
    status: StatusDocument,
    /// The code of the error that ended it; `docs/http.md` lists them.
    error: Option<String>,
    /// The model that answers, if it is known from the start.
    model: Option<String>,
    usage: UsageDocument,
    /// Cost of its models, in the currency of the server's price list; null if a model has no price.
    cost: Option<f64>,
    /// The beginning of the input; null if the agent hides it.
    input: Option<String>,
    /// The principal that it belongs to.
    owner: Option<String>,
    session: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// When it stops waiting.
    expires_at: Option<Timestamp>,
    /// Why it cannot continue at present.
    stuck: Option<String>,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RunStatus")]
pub(crate) enum StatusDocument {
    Running,
    Waiting,
    Finished,
    Failed,
    Cancelled,
}

impl From<RunStatus> for StatusDocument {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Running => Self::Running,
            RunStatus::Waiting => Self::Waiting,
            RunStatus::Finished => Self::Finished,
            RunStatus::Failed => Self::Failed,
            RunStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl StatusDocument {
    fn status(self) -> RunStatus {
        match self {
            Self::Running => RunStatus::Running,
            Self::Waiting => RunStatus::Waiting,
            Self::Finished => RunStatus::Finished,
            Self::Failed => RunStatus::Failed,
            Self::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// The tokens that the models of a run used, as far as they counted them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Usage", deny_unknown_fields)]
struct UsageDocument {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl From<Usage> for UsageDocument {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        }
    }
}

impl From<RunSummary> for RunDocument {
    fn from(run: RunSummary) -> Self {
        Self {
            id: run.run.to_string(),
            agent: run.agent,
            workflow: run.workflow,
            version: run.version,
            status: run.status.into(),
            error: run.error,
            model: run.model,
            usage: run.usage.into(),
            cost: run.cost_nanos.map(currency),
            input: Some(run.input).filter(|input| !input.is_empty()),
            owner: run.owner,
            session: run.session.map(|session| session.to_string()),
            created_at: Timestamp(run.created),
            updated_at: Timestamp(run.updated),
            ended_at: run.ended.map(Timestamp),
            expires_at: run.until.map(Timestamp),
            stuck: run.stuck,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run costs millions")]
fn currency(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// A run of the caller, or any run for an operator.
pub(crate) async fn owned(
    server: &Server,
    principal: &Principal,
    run: &str,
) -> Result<(ServedAgent, Run, RunSummary), ApiError> {
    let id = RunId::from(run);
    let (served, summary) = server.agents().of_run(&id).await?;
    if !principal.may_access(summary.owner.as_deref()) {
        return Err(ApiError::no_run());
    }
    audit::access(principal, summary.owner.as_deref(), Subject { run: Some(run), session: None });
    let run = served.agent.run(id);
    Ok((served, run, summary))
}

/// A run and its open questions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct RunDetails {
    run: RunDocument,
    waits_for: Vec<InterruptDocument>,
}

/// `GET /v1/runs/{run}`.
pub(crate) async fn inspect(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
) -> Result<Json<RunDetails>, ApiError> {
    let (served, run, mut summary) = owned(&server, &principal, &run).await?;
    summary.agent.clone_from(&served.name);
    let open = served.agent.open_questions(run.id()).await?;
    if summary.ended.is_none() {
        // The journal is ahead of the summary.
        summary.status = if run.waits().await? { RunStatus::Waiting } else { RunStatus::Running };
    }
    let waits_for = open.iter().map(InterruptDocument::new).collect();
    Ok(Json(RunDetails { run: served.visibility.summary(summary).into(), waits_for }))
}

/// How to follow a run.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FollowQuery {
    /// The dialect to read it in: `native`.
    dialect: Option<String>,
    /// The profile of the client.
    profile: Option<String>,
    /// `sse` or `ndjson`; otherwise by `Accept`.
    framing: Option<String>,
    /// A cursor, the number of a frame, or `now` for the state so far in the fewest frames.
    after: Option<String>,
    /// `wait` ends the stream when the run waits, `end` when it has ended.
    until: Option<String>,
}

/// `GET /v1/runs/{run}/events`.
pub(crate) async fn events(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
    QueryParams(query): QueryParams<FollowQuery>,
    LastEventId(sent): LastEventId,
    headers: HeaderMap,
) -> Result<EventStream, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let wire = query.dialect.as_deref().map_or(Ok(headwater_dialects::NATIVE), dialect::find_wire)?;
    dialect::check_served(server.options(), wire)?;
    let named = query.profile.as_deref().map(|name| dialect::profile(wire, name)).transpose()?;
    let profile = named.unwrap_or_else(|| wire.default_profile());
    let framing = dialect::framing(wire, profile, &headers, query.framing.as_deref())?;
    let ending = match query.until.as_deref() {
        None => None,
        Some("wait") => Some(StreamEnd::AtWait),
        Some("end") => Some(StreamEnd::AtEnd),
        Some(other) => {
            let message = format!("`until` is `wait` or `end`, not `{other}`");
            return Err(ApiError::bad("until.unknown", message).known(["wait", "end"]));
        }
    };
    served.agent.ensure_driven(run.id()).await?;
    let from = match query.after.or(sent).filter(|after| !after.is_empty()) {
        None => ReadFrom::Start,
        Some(now) if now == "now" => ReadFrom::Reentry,
        Some(after) => {
            // Without frame numbers, a number is not a position.
            let counts = profile.cursor.counts_frames();
            let cursor = match after.parse() {
                Ok(sequence) if counts => RequestCursor::Sequence(sequence),
                _ => RequestCursor::EventId(after),
            };
            ReadFrom::cursor(&run, &cursor, 0).await?
        }
    };
    let options = server.options();
    let view = ReaderView {
        dialect: wire,
        profile,
        framing,
        content: ContentMode::default(),
        names: ReaderNames::default(),
        messages: served.shown(conversation_before(&served.agent, profile, &run).await?),
        thought: None,
        visibility: served.visibility,
        seam: options.seam.clone(),
        hold: options.hold,
        waits: true,
        ends_at_wait: false,
    };
    let permit = server.may_read(&principal)?;
    follow(&server, &served.agent, Attachment::at(run, from), view, ending, permit).await.map(EventStream)
}

/// Whether there was something to stop.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct StopRunResponse {
    run: String,
    /// False if it had ended already, or ended before the stop took effect.
    stopped: bool,
}

/// `POST /v1/runs/{run}/stop`.
pub(crate) async fn stop(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
) -> Result<Json<StopRunResponse>, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let stopped = match served.agent.stop(run.id(), Some("a person asked for it")).await {
        Ok(run) => ended_by_stop(&run).await?,
        Err(error) if error.kind() == ErrorKind::Ended => false,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(StopRunResponse { run: run.id().to_string(), stopped }))
}
