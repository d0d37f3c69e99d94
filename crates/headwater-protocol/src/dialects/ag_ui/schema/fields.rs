//! The fields of each event, as tables.

/// One field of an object.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
}

/// A field that must be there.
pub(super) const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

/// A field that may be there.
pub(super) const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

/// What a value must be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    OneOf(&'static [&'static str]),
    Pointer,
    Integer,
    Count,
    Flag,
    /// Any object.
    Record,
    /// Anything but null.
    NotNull,
    /// Anything.
    Present,
    Parts,
    TextOrParts,
    Object(&'static [Field]),
    List(&'static Shape),
    NonEmpty(&'static Shape),
    /// Objects told apart by a field.
    Union(&'static str, &'static [(&'static str, &'static [Field])]),
}

impl Shape {
    pub(super) const fn expected(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::OneOf(_) => "one of the known words",
            Self::Pointer => "a JSON pointer",
            Self::Integer => "an integer",
            Self::Count => "an integer that is not negative",
            Self::Flag => "true or false",
            Self::Record | Self::Object(_) | Self::Union(..) => "an object",
            Self::NotNull => "a value that is not null",
            Self::Present => "a value",
            Self::TextOrParts => "a string or a list of parts",
            Self::Parts | Self::List(_) | Self::NonEmpty(_) => "a list",
        }
    }
}

const TEXT: Shape = Shape::Text;
const TYPE: Field = must("type", TEXT);
const TIMESTAMP: Field = may("timestamp", Shape::Integer);
const RAW_EVENT: Field = may("rawEvent", Shape::NotNull);
const METADATA: Field = may("metadata", Shape::Record);
const SUBAGENT: Field = may("subagentRunId", TEXT);
const MESSAGE_ID: Field = must("messageId", TEXT);
const TOOL_CALL_ID: Field = must("toolCallId", TEXT);
const ROLE: Field = may("role", Shape::OneOf(&["developer", "system", "assistant", "user"]));

/// The fields of an event that may belong to a subagent.
macro_rules! event {
    ($($field:expr),* $(,)?) => { const { &[TYPE, TIMESTAMP, RAW_EVENT, METADATA, SUBAGENT, $($field),*] } };
}

/// The fields of an event that belongs to the run.
macro_rules! run_event {
    ($($field:expr),* $(,)?) => { const { &[TYPE, TIMESTAMP, RAW_EVENT, METADATA, $($field),*] } };
}

/// The fields of an event that begins or ends a subagent.
macro_rules! subagent_event {
    ($($field:expr),* $(,)?) => {
        const { &[TYPE, TIMESTAMP, RAW_EVENT, METADATA, must("subagentRunId", TEXT), $($field),*] }
    };
}

macro_rules! message {
    ($($field:expr),* $(,)?) => { &[SUBAGENT, must("id", TEXT), must("role", TEXT), METADATA, $($field),*] };
}

pub(super) const OPERATION: Shape = Shape::Union(
    "op",
    &[
        ("add", &[must("op", TEXT), must("path", Shape::Pointer), must("value", Shape::Present)]),
        ("remove", &[must("op", TEXT), must("path", Shape::Pointer)]),
        ("replace", &[must("op", TEXT), must("path", Shape::Pointer), must("value", Shape::Present)]),
        ("move", &[must("op", TEXT), must("from", Shape::Pointer), must("path", Shape::Pointer)]),
        ("copy", &[must("op", TEXT), must("from", Shape::Pointer), must("path", Shape::Pointer)]),
        ("test", &[must("op", TEXT), must("path", Shape::Pointer), must("value", Shape::Present)]),
    ],
);

const NAME: Field = may("name", TEXT);
const ENCRYPTED: Field = may("encryptedValue", TEXT);

const CALL: Shape = Shape::Object(&[
    must("id", TEXT),
    must("type", Shape::OneOf(&["function"])),
    must("function", Shape::Object(&[must("name", TEXT), must("arguments", TEXT)])),
    ENCRYPTED,
    METADATA,
]);

pub(super) const MESSAGE: Shape = Shape::Union(
    "role",
    &[
        ("developer", message!(NAME, ENCRYPTED, must("content", TEXT))),
        ("system", message!(NAME, ENCRYPTED, must("content", TEXT))),
        ("assistant", message!(NAME, ENCRYPTED, may("content", TEXT), may("toolCalls", Shape::List(&CALL)))),
        ("user", message!(NAME, ENCRYPTED, must("content", Shape::TextOrParts))),
        ("tool", message!(must("content", Shape::TextOrParts), TOOL_CALL_ID, may("error", TEXT), ENCRYPTED)),
        ("activity", message!(must("activityType", TEXT), must("content", Shape::Record))),
        ("reasoning", message!(must("content", TEXT), ENCRYPTED)),
    ],
);

const INPUT: Shape = Shape::Object(&[
    must("threadId", TEXT),
    must("runId", TEXT),
    may("protocolVersion", TEXT),
    may("parentRunId", TEXT),
    may("state", Shape::Present),
    must("messages", Shape::List(&MESSAGE)),
    may(
        "tools",
        Shape::List(&Shape::Object(&[
            must("name", TEXT),
            must("description", TEXT),
            may("parameters", Shape::NotNull),
            METADATA,
        ])),
    ),
    may("context", Shape::List(&Shape::Object(&[must("description", TEXT), must("value", TEXT)]))),
    may("forwardedProps", Shape::NotNull),
    may(
        "resume",
        Shape::List(&Shape::Object(&[
            must("interruptId", TEXT),
            must("status", Shape::OneOf(&["resolved", "cancelled"])),
            may("payload", Shape::NotNull),
            METADATA,
        ])),
    ),
]);

const INTERRUPT: Shape = Shape::Object(&[
    SUBAGENT,
    must("id", TEXT),
    must("reason", TEXT),
    may("message", TEXT),
    may("toolCallId", TEXT),
    may("responseSchema", Shape::Record),
    may("expiresAt", TEXT),
    METADATA,
]);

const OUTCOME: Shape = Shape::Union(
    "type",
    &[
        ("success", &[TYPE, may("pendingToolCallIds", Shape::List(&TEXT))]),
        ("interrupt", &[TYPE, must("interrupts", Shape::NonEmpty(&INTERRUPT))]),
        ("cancelled", &[TYPE]),
    ],
);

const SUBAGENT_OUTCOME: Shape = Shape::Union(
    "type",
    &[("success", &[TYPE]), ("suspended", &[TYPE, may("interruptIds", Shape::List(&TEXT))])],
);

const USAGE: Field = may(
    "usage",
    Shape::List(&Shape::Object(&[
        may("provider", TEXT),
        may("model", TEXT),
        may("inputTokens", Shape::Count),
        may("outputTokens", Shape::Count),
        may("totalTokens", Shape::Count),
        may("reasoningTokens", Shape::Count),
        may("cachedInputTokens", Shape::Count),
        may("cacheWriteInputTokens", Shape::Count),
    ])),
);

const STEP: &[Field] = event!(must("stepName", TEXT));
const MESSAGE_REF: &[Field] = event!(MESSAGE_ID);
const MESSAGE_DELTA: &[Field] = event!(MESSAGE_ID, must("delta", TEXT));

/// The fields of an event, by its type.
pub(super) fn fields(name: &str) -> Option<&'static [Field]> {
    Some(match name {
        "RUN_STARTED" => run_event!(
            must("threadId", TEXT),
            must("runId", TEXT),
            may("protocolVersion", TEXT),
            may("parentRunId", TEXT),
            may("input", INPUT),
        ),
        "RUN_FINISHED" => run_event!(
            must("threadId", TEXT),
            must("runId", TEXT),
            may("result", Shape::NotNull),
            may("outcome", OUTCOME),
            USAGE,
        ),
        "RUN_ERROR" => run_event!(must("message", TEXT), may("code", TEXT), USAGE),
        "STEP_STARTED" | "STEP_FINISHED" => STEP,
        "TEXT_MESSAGE_START" => event!(MESSAGE_ID, ROLE, NAME),
        "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => MESSAGE_DELTA,
        "TEXT_MESSAGE_END" | "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END" => MESSAGE_REF,
        "TEXT_MESSAGE_CHUNK" => event!(may("messageId", TEXT), ROLE, may("delta", TEXT), NAME),
        "TOOL_CALL_START" => event!(TOOL_CALL_ID, must("toolCallName", TEXT), may("parentMessageId", TEXT)),
        "TOOL_CALL_ARGS" => event!(TOOL_CALL_ID, must("delta", TEXT)),
        "TOOL_CALL_END" => event!(TOOL_CALL_ID),
        "TOOL_CALL_CHUNK" => event!(
            may("toolCallId", TEXT),
            may("toolCallName", TEXT),
            may("parentMessageId", TEXT),
            may("delta", TEXT),
        ),
        "TOOL_CALL_RESULT" => event!(
            MESSAGE_ID,
            TOOL_CALL_ID,
            must("content", Shape::TextOrParts),
            may("role", Shape::OneOf(&["tool"])),
        ),
        "STATE_SNAPSHOT" => event!(must("snapshot", Shape::Present)),
        "STATE_DELTA" => event!(must("delta", Shape::List(&OPERATION))),
        "MESSAGES_SNAPSHOT" => run_event!(must("messages", Shape::List(&MESSAGE))),
        "ACTIVITY_SNAPSHOT" => event!(
            MESSAGE_ID,
            must("activityType", TEXT),
            must("content", Shape::Record),
            may("replace", Shape::Flag),
        ),
        "ACTIVITY_DELTA" => {
            event!(MESSAGE_ID, must("activityType", TEXT), must("patch", Shape::List(&OPERATION)))
        }
        "REASONING_MESSAGE_START" => event!(MESSAGE_ID, must("role", Shape::OneOf(&["reasoning"]))),
        "REASONING_MESSAGE_CHUNK" => event!(may("messageId", TEXT), may("delta", TEXT)),
        "REASONING_ENCRYPTED_VALUE" => event!(
            must("subtype", Shape::OneOf(&["tool-call", "message"])),
            must("entityId", TEXT),
            must("encryptedValue", TEXT),
        ),
        "SUBAGENT_STARTED" => subagent_event!(
            must("name", TEXT),
            may("description", TEXT),
            may("parentSubagentRunId", TEXT),
            may("parentToolCallId", TEXT),
            may("parentMessageId", TEXT),
        ),
        "SUBAGENT_FINISHED" => {
            subagent_event!(may("result", Shape::NotNull), may("outcome", SUBAGENT_OUTCOME))
        }
        "SUBAGENT_ERROR" => subagent_event!(must("message", TEXT), may("code", TEXT)),
        "RAW" => event!(must("event", Shape::Present), may("source", TEXT)),
        "CUSTOM" => event!(must("name", TEXT), must("value", Shape::Present)),
        _ => return None,
    })
}

/// Whether it is the type of an event of AG-UI 1.0.
pub(in super::super) fn is_event(name: &str) -> bool {
    fields(name).is_some()
}
