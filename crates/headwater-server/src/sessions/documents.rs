//! The documents of sessions and checkpoints.

use headwater_runtime::{
    Checkpoint, CheckpointStatus, RollbackSummary, SessionInfo, SessionState, TurnHandle, Variant,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::timestamp::Timestamp;

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session", deny_unknown_fields)]
pub(crate) struct SessionResource {
    id: String,
    /// The label set by its owner, else that of its first turn.
    label: Option<String>,
    /// Whether lists leave it out.
    archived: bool,
    /// The principal that it belongs to.
    owner: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The number of turns.
    turns: u64,
    /// The newest checkpoint.
    checkpoint: Option<String>,
    forked_from: Option<ForkedFrom>,
    /// The newest run.
    last_run: Option<String>,
    /// The run that is active.
    active_run: Option<String>,
    /// The run that waits for an answer.
    waiting_run: Option<String>,
    /// The number of queued messages.
    queued: usize,
}

/// The origin of a fork.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ForkedFrom {
    session: String,
    checkpoint: String,
}

impl From<SessionInfo> for SessionResource {
    fn from(info: SessionInfo) -> Self {
        let text = |run: headwater_protocol::RunId| run.to_string();
        Self {
            id: info.id.to_string(),
            label: info.label,
            archived: info.archived,
            owner: info.owner,
            created_at: Timestamp(info.created),
            updated_at: Timestamp(info.updated),
            turns: info.turns,
            checkpoint: info.checkpoint.map(|checkpoint| checkpoint.to_string()),
            forked_from: info.forked.map(|(session, checkpoint)| ForkedFrom {
                session: session.to_string(),
                checkpoint: checkpoint.to_string(),
            }),
            last_run: info.last_run.map(text),
            active_run: info.going.map(text),
            waiting_run: info.waiting.map(text),
            queued: info.queued,
        }
    }
}

/// A page of sessions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionList", deny_unknown_fields)]
pub(crate) struct SessionListDocument {
    pub(super) agent: String,
    pub(super) sessions: Vec<SessionResource>,
    /// The `after` of the next page; null at the end of the list.
    pub(super) next: Option<String>,
    /// Sessions in between that cannot be read. They can be deleted.
    pub(super) unreadable: Vec<String>,
}

/// A turn that was sent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SendTurnResponse {
    run: String,
    /// The checkpoint that the turn will leave.
    checkpoint: String,
    /// Whether it waits for the turns before it.
    queued: bool,
    /// Whether it was sent before, with the same key.
    repeated: bool,
}

impl From<&TurnHandle> for SendTurnResponse {
    fn from(sent: &TurnHandle) -> Self {
        Self {
            run: sent.run.to_string(),
            checkpoint: sent.checkpoint.to_string(),
            queued: sent.queued,
            repeated: sent.repeated,
        }
    }
}

/// A page of messages, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct MessageList {
    /// In the format of the requested dialect; `docs/native.md` has the native one.
    pub(super) messages: Vec<Value>,
    /// The `before` of the page of older messages; null on the first page of the session.
    pub(super) before: Option<u64>,
}

/// The run that was stopped.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct StopSessionResponse {
    /// The run that was stopped.
    pub(super) stopped: Option<String>,
}

/// A session as a document, accepted by `POST /v1/sessions` as `import`.
#[derive(Debug, Serialize)]
pub(crate) struct ExportDocument(pub(super) headwater_runtime::SessionDocument);

impl JsonSchema for ExportDocument {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExportedSession".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A session as a document, which `POST /v1/sessions` takes as `import`.",
            "type": "object",
            "properties": { "format": { "const": "headwater.session/1" } },
            "required": ["format"],
        })
    }
}

/// A checkpoint: the session at the end of a turn.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Checkpoint", deny_unknown_fields)]
pub(crate) struct CheckpointDocument {
    id: String,
    /// The session that created it. Forks of that session share it.
    session: String,
    /// The number of the turn, from 1.
    turn: u64,
    label: Option<String>,
    /// When the turn ended.
    created_at: Timestamp,
    /// The run of the turn.
    run: String,
    /// The checkpoint before it.
    parent: Option<String>,
    status: TurnStatus,
    /// The workflow of the run, with its version.
    workflow: String,
    /// The node visits that were in progress.
    position: Vec<String>,
    /// The interrupts that the run waited for.
    requests: Vec<String>,
}

/// How a turn ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TurnStatus {
    Finished,
    Waiting,
    Failed,
    Cancelled,
}

impl From<Checkpoint> for CheckpointDocument {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            id: checkpoint.id.to_string(),
            session: checkpoint.session.to_string(),
            turn: checkpoint.turn,
            label: checkpoint.label,
            created_at: Timestamp(checkpoint.created_at),
            run: checkpoint.run.to_string(),
            parent: checkpoint.parent.map(|parent| parent.to_string()),
            status: match checkpoint.status {
                CheckpointStatus::Waiting => TurnStatus::Waiting,
                CheckpointStatus::Failed => TurnStatus::Failed,
                CheckpointStatus::Cancelled => TurnStatus::Cancelled,
                _ => TurnStatus::Finished,
            },
            workflow: checkpoint.workflow,
            position: checkpoint.position,
            requests: checkpoint.questions.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A page of checkpoints, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct CheckpointList {
    pub(super) checkpoints: Vec<CheckpointDocument>,
    /// The `before` of the page of older checkpoints; null for the oldest ones.
    pub(super) before: Option<u64>,
}

/// A checkpoint, and the session in that state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct CheckpointDetails {
    pub(super) checkpoint: CheckpointDocument,
    /// The messages so far, in the native form.
    pub(super) messages: Vec<Value>,
    /// The structured streams, by id.
    pub(super) structured: Value,
    /// The state of the workflow, if the agent makes it visible.
    pub(super) workflow_state: Map<String, Value>,
}

/// The retracted turns.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RolledBack", deny_unknown_fields)]
pub(crate) struct RolledBackDocument {
    /// The structured streams that are no longer valid.
    streams: Vec<String>,
    /// The retracted questions.
    requests: Vec<String>,
}

impl From<RollbackSummary> for RolledBackDocument {
    fn from(undone: RollbackSummary) -> Self {
        let requests = undone.requests.iter().map(ToString::to_string).collect();
        Self { streams: undone.streams, requests }
    }
}

/// The variants of a turn, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct VariantList {
    pub(super) variants: Vec<VariantDocument>,
}

/// A variant of a turn.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Variant", deny_unknown_fields)]
pub(crate) struct VariantDocument {
    checkpoint: CheckpointDocument,
    /// Whether the session continues from it.
    selected: bool,
}

impl From<Variant> for VariantDocument {
    fn from(variant: Variant) -> Self {
        Self { checkpoint: variant.checkpoint.into(), selected: variant.selected }
    }
}

/// The structured streams of a state, by id.
pub(crate) fn structured(state: &SessionState) -> Value {
    json!(state.structured)
}
