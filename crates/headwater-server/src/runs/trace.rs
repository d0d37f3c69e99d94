//! The steps of a run: the visits of nodes, and the calls of models and tools.

use axum::{Extension, Json, extract::State};
use headwater_protocol::ErrorInfo;
use headwater_runtime::{TraceCall, TraceNode, TraceStep, TraceStepKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{UsageDocument, owned};
use crate::{
    ApiError, Principal, Server, Visibility,
    extract::{PathParams, QueryParams, page_size},
    timestamp::Timestamp,
};

/// Which steps to list.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TraceQuery {
    /// Those after this sequence number: the `last` of the page before.
    after: Option<u64>,
    /// How many: 50, at most 500.
    limit: Option<usize>,
}

/// A page of the steps of a run, in the order in which they happened. It may hold fewer than asked for and still have more after it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct TraceDocument {
    steps: Vec<StepDocument>,
    /// The `after` of the next page, and of what a run that is active does later.
    last: u64,
    has_more: bool,
}

/// A step of a run, without any content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TraceStep", deny_unknown_fields)]
struct StepDocument {
    /// Its place among the events of the run.
    seq: u64,
    time: Timestamp,
    #[serde(rename = "type")]
    kind: StepKind,
    workflow: Option<String>,
    node: Option<String>,
    /// The number of the visit of the node, from 1.
    visit: Option<u32>,
    /// The parallel branch.
    branch: Option<String>,
    /// The call; null for other steps.
    call: Option<CallDocument>,
    error: Option<StepErrorDocument>,
}

/// What happened in a step.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TraceStepType")]
enum StepKind {
    NodeEntered,
    NodeFailed,
    NodeLeft,
    ModelCall,
    ToolCall,
    /// The process that drove the run was stopped.
    HandedOver,
    /// Another process continued the run.
    TakenOver,
}

/// A call of a model or a tool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TraceCall", deny_unknown_fields)]
struct CallDocument {
    /// The id of a tool call.
    id: Option<String>,
    started_at: Option<Timestamp>,
    model: Option<String>,
    /// How often models were asked, failed attempts included; null if that is unknown.
    attempts: Option<u32>,
    usage: UsageDocument,
    /// Whether the record of its end is an event of the run. Tool calls have events of their own.
    is_shown: bool,
}

/// Why a step failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TraceError", deny_unknown_fields)]
struct StepErrorDocument {
    code: String,
    message: String,
}

/// `GET /v1/runs/{run}/trace`.
pub(crate) async fn trace(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
    QueryParams(query): QueryParams<TraceQuery>,
) -> Result<Json<TraceDocument>, ApiError> {
    let (served, run, _) = owned(&server, &principal, &run).await?;
    let page = run.trace(query.after.unwrap_or(0), page_size(query.limit)).await?;
    let steps = page.steps.into_iter().map(|step| document(step, served.visibility)).collect();
    Ok(Json(TraceDocument { steps, last: page.last, has_more: page.has_more }))
}

fn document(step: TraceStep, visibility: Visibility) -> StepDocument {
    let TraceStep { seq, time, kind, node, call, error } = step;
    let kind = match kind {
        TraceStepKind::NodeEntered => StepKind::NodeEntered,
        TraceStepKind::NodeFailed => StepKind::NodeFailed,
        TraceStepKind::NodeLeft => StepKind::NodeLeft,
        TraceStepKind::ModelCall => StepKind::ModelCall,
        TraceStepKind::ToolCall => StepKind::ToolCall,
        TraceStepKind::HandedOver => StepKind::HandedOver,
        _ => StepKind::TakenOver,
    };
    let (workflow, node, visit, branch) = match node {
        Some(TraceNode { workflow, node, visit, branch }) => {
            (Some(workflow), Some(node), Some(visit), Some(branch).filter(|branch| !branch.is_empty()))
        }
        None => (None, None, None, None),
    };
    let error = error.map(|error| visible_error(error, visibility));
    let call = call.map(CallDocument::from);
    StepDocument { seq, time: Timestamp(time), kind, workflow, node, visit, branch, call, error }
}

impl From<TraceCall> for CallDocument {
    fn from(call: TraceCall) -> Self {
        let TraceCall { id, started, model, attempts, usage, is_shown } = call;
        let attempts = Some(attempts).filter(|attempts| *attempts > 0);
        Self { id, started_at: started.map(Timestamp), model, attempts, usage: usage.into(), is_shown }
    }
}

fn visible_error(error: ErrorInfo, visibility: Visibility) -> StepErrorDocument {
    let error = visibility.error_info(error);
    StepErrorDocument { code: error.code.unwrap_or_default(), message: error.message }
}
