//! The forms of what routes answer, for the document. A test holds them to what the routes really answer.
#![expect(dead_code, reason = "only their forms are looked at")]

use std::collections::HashMap;

use schemars::JsonSchema;
use serde_json::Value;

/// What a request is told that cannot be answered.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Error {
    /// What went wrong, for people.
    error: String,
    /// What went wrong, for machines.
    code: String,
}

/// A run that was begun.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Started {
    run: String,
    agent: String,
    /// Whether it waits for the turns of its session before it: it can be followed when it has begun.
    queued: bool,
    /// Whether it had been started before, with the same key.
    repeated: bool,
}

/// A run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RunInfo {
    run: String,
    agent: String,
    workflow: String,
    version: String,
    phase: Phase,
    owner: Option<String>,
    session: Option<String>,
    /// Milliseconds since 1970.
    created: u64,
    updated: u64,
    /// The newest snapshot in the journal.
    snapshot: u64,
    /// How long it waits at most, in milliseconds since 1970.
    until: Option<u64>,
    /// Why it cannot go on.
    stuck: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Phase {
    Running,
    Waiting,
    Ended,
}

/// Runs, ordered by their names.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct RunList {
    runs: Vec<RunInfo>,
    /// What to give as `after` for more.
    next: Option<String>,
    /// Runs that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<Vec<String>>,
}

/// A run, and what it waits for.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RunDetails {
    run: RunInfo,
    agent: String,
    waits_for: Vec<Question>,
}

/// Something that waits for somebody.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Question {
    request: String,
    run: String,
    session: Option<String>,
    node: String,
    /// Milliseconds since 1970.
    asked_at: u64,
    expires_at: u64,
    /// Goes with the answer.
    token: Option<String>,
    kind: QuestionKind,
    /// What is asked, of a question.
    interrupt: Option<Value>,
    /// The call, of an approval or a tool of the page.
    tool: Option<Value>,
    input: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum QuestionKind {
    Question,
    Approval,
    ClientTool,
}

/// What waits for the principal.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct QuestionList {
    interrupts: Vec<Question>,
    /// What to give as `after` for more.
    next: Option<String>,
    /// Questions that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<Vec<String>>,
}

/// Whether there was something to stop.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Stopped {
    run: String,
    stopped: bool,
}

/// An answer that is kept.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Taken {
    run: String,
    /// What the responses before it have told.
    since: u64,
}

/// A session.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SessionInfo {
    id: String,
    label: Option<String>,
    created_at: String,
    updated_at: String,
    turns: u64,
    checkpoint: Option<String>,
    forked_from: Option<ForkedFrom>,
    last_run: Option<String>,
    going: Option<String>,
    waiting: Option<String>,
    queued: u64,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ForkedFrom {
    session: String,
    checkpoint: String,
}

/// Sessions, the newest first.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SessionList {
    agent: String,
    sessions: Vec<SessionInfo>,
    /// What to give as `after` for more.
    next: Option<String>,
    /// Sessions of the page that cannot be read. They can be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<Vec<String>>,
}

/// A turn that was sent.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Sent {
    run: String,
    checkpoint: String,
    /// Whether it waits for the turns before it.
    queued: bool,
    /// Whether it had been sent before.
    repeated: bool,
}

/// A page of a conversation.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct MessageList {
    /// In the words of the dialect that was asked for.
    messages: Vec<Value>,
    /// What to give as `before` for older ones.
    before: Option<u64>,
}

/// The checkpoints of a session, the newest first.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct CheckpointList {
    checkpoints: Vec<HashMap<String, Value>>,
    /// What to give as `before` for older ones.
    before: Option<u64>,
}

/// A checkpoint, and the session as it stood there.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CheckpointDetails {
    checkpoint: HashMap<String, Value>,
    messages: Vec<Value>,
    structured: Value,
    workflow_state: Value,
}

/// What was taken back.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Undone {
    streams: Vec<String>,
    requests: Vec<String>,
}

/// The variants of a turn.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct VariantList {
    variants: Vec<Variant>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Variant {
    checkpoint: Value,
    selected: bool,
}

/// What was stopped in a session.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SessionStopped {
    stopped: Option<String>,
}

/// How the server is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Health {
    status: String,
}

/// A session as a document, to be imported elsewhere.
#[derive(JsonSchema)]
pub(super) struct Exported(HashMap<String, Value>);

/// Any document.
#[derive(JsonSchema)]
pub(super) struct Document(HashMap<String, Value>);

/// What the clients of a dialect send; `docs/dialects.md` has it for each.
#[derive(JsonSchema)]
pub(super) struct DialectRequest(HashMap<String, Value>);
