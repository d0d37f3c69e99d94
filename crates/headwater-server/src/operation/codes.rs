//! The codes of routes that have many.

/// Of the dialects' own routes, which combine nearly all operations.
#[rustfmt::skip]
pub(crate) const DIALECT: &[&str] = &[
    "dialect.unknown", "route.unknown", "agent.unknown", "workflow.unknown", "workflow.version", "request.invalid",
    "profile.unknown", "framing.unknown", "framing.unsupported", "run.missing", "run.unknown", "run.busy", "run.in-use",
    "session.invalid", "session.missing", "session.unknown", "session.unreadable", "session.busy", "session.exists", "session.other-agent", "label.invalid", "previous.unknown", "history.differs", "turn.replaced", "session.queue-full", "session.too-large",
    "checkpoint.unknown", "checkpoint.retired", "checkpoint.run-gone",
    "cursor.malformed", "cursor.forged", "cursor.foreign", "cursor.future", "cursor.unknown-epoch", "cursor.trimmed",
    "request.not-open", "request.answered", "request.retracted", "interrupt.expired", "token.invalid",
    "answer.invalid", "approval.edited", "answers.none", "answers.repeated", "answers.several-runs",
    "turn.answer", "turn.no-answer", "turn.seeded", "page.invalid", "idempotency.mismatch", "input.invalid", "tool-choice.invalid", "answer-format.invalid", "approval.undecided",
    "state.invalid", "state.too-large", "limit", "messages.too-many", "runs.too-many", "streams.too-many", "server.leaving",
    "value.too-deep", "value.too-many-values", "value.string-too-long", "value.key-too-long", "value.reserved-key", "value.too-large",
];

/// Of starting a run.
#[rustfmt::skip]
pub(crate) const START: &[&str] = &[
    "agent.unknown", "workflow.unknown", "session.invalid", "session.unknown", "session.unreadable", "session.busy",
    "session.queue-full", "session.too-large", "data.refused", "idempotency.mismatch", "input.invalid", "state.invalid", "state.too-large", "limit", "runs.too-many",
    "value.too-deep",
];

/// Of following a run.
#[rustfmt::skip]
pub(crate) const FOLLOW: &[&str] = &[
    "run.unknown", "run.busy", "dialect.unknown", "profile.unknown", "framing.unknown", "framing.unsupported", "until.unknown",
    "cursor.malformed", "cursor.forged", "cursor.foreign", "cursor.future", "cursor.unknown-epoch", "cursor.trimmed",
    "workflow.version", "streams.too-many",
];

/// Of answering.
#[rustfmt::skip]
pub(crate) const ANSWER: &[&str] = &[
    "run.unknown", "run.ended", "run.busy", "request.unknown", "request.ambiguous", "request.not-open",
    "request.answered", "request.retracted", "interrupt.expired", "answer.unclear", "answer.invalid", "approval.edited",
    "token.invalid", "workflow.version",
    "value.too-deep", "value.too-many-values", "value.string-too-long", "value.key-too-long", "value.reserved-key", "value.too-large",
];

/// Of looking at a session.
pub(crate) const SESSION: &[&str] = &["session.unknown", "session.unreadable"];

/// Of watching a session.
pub(crate) const WATCH: &[&str] = &["session.unknown", "session.unreadable", "streams.too-many"];

/// Of changing a session.
pub(crate) const CHANGE: &[&str] = &["session.unknown", "session.unreadable", "label.invalid"];

/// Of a checkpoint.
pub(crate) const CHECKPOINT: &[&str] = &[
    "session.unknown",
    "session.unreadable",
    "session.busy",
    "checkpoint.unknown",
    "checkpoint.retired",
    "checkpoint.run-gone",
];

/// Of branching off.
#[rustfmt::skip]
pub(crate) const FORK: &[&str] = &[
    "session.invalid", "session.unknown", "session.unreadable", "session.exists", "session.too-large",
    "checkpoint.unknown", "checkpoint.retired", "checkpoint.run-gone",
];

/// Of a turn.
#[rustfmt::skip]
pub(crate) const TURN: &[&str] = &[
    "agent.unknown", "session.unknown", "session.unreadable", "session.busy", "session.queue-full", "session.too-large",
    "checkpoint.unknown", "checkpoint.retired", "checkpoint.run-gone", "turn.answer", "turn.seeded",
    "workflow.unknown", "workflow.version", "idempotency.mismatch", "input.invalid", "runs.too-many",
];

/// Of creating a session.
#[rustfmt::skip]
pub(crate) const CREATE: &[&str] = &[
    "agent.unknown", "session.invalid", "session.unknown", "session.exists", "session.too-large", "document.invalid",
    "import.refused", "value.too-deep",
];

/// Of reading messages.
#[rustfmt::skip]
pub(crate) const MESSAGES: &[&str] = &[
    "session.unknown", "session.unreadable", "dialect.unknown", "checkpoint.unknown", "checkpoint.retired",
];

/// Of a message that waits for its turn.
#[rustfmt::skip]
pub(crate) const QUEUE: &[&str] = &[
    "session.unknown", "session.unreadable", "session.too-large", "run.unknown", "queue.begun",
];

/// Of readiness.
pub(crate) const READY: &[&str] =
    &["server.leaving", "store.busy", "store.failed", "store.full", "store.slow", "store.stopped"];
