//! What each route does: its words, its parameters, its answers and the codes that are its own.

mod codes;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::schemas as s;
use crate::{control, sessions};

/// What a route does.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    method: &'static str,
    path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [(&'static str, &'static str)],
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) body: Option<MakeSchema>,
    pub(super) needs_body: bool,
    pub(super) answers: &'static [Answer],
    /// The codes beside those that all routes of its kind have.
    pub(super) codes: &'static [&'static str],
    /// Whether it needs no key.
    pub(super) open: bool,
}

type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

pub(super) enum Answer {
    Document(u16, &'static str, MakeSchema),
    Stream(&'static str),
    Text(&'static str),
    Nothing(&'static str),
}

impl Answer {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Document(status, ..) => *status,
            Self::Stream(_) | Self::Text(_) => 200,
            Self::Nothing(_) => 204,
        }
    }
}

/// What a route does. A path that was added for a dialect does what the dialect's own does.
pub(super) fn find(method: &str, path: &str) -> Option<&'static Operation> {
    let exact = || ALL.iter().find(|known| known.method == method && known.path == path);
    exact().or_else(|| {
        let own =
            if path.ends_with("/{*rest}") { "/v1/{dialect}/chat/{*rest}" } else { "/v1/{dialect}/chat" };
        let added = !path.starts_with("/v1/");
        ALL.iter().find(|known| added && known.method == method && known.path == own)
    })
}

#[cfg(test)]
pub(super) fn all() -> Vec<(&'static str, &'static str)> {
    ALL.iter().map(|known| (known.method, known.path)).collect()
}

/// What a part of a path names.
pub(super) fn path_parameter(name: &str) -> &'static str {
    match name {
        "dialect" => "The dialect that the client speaks.",
        "agent" => "The agent that answers.",
        "run" => "The run.",
        "request" => "The question, approval or call that waits.",
        "session" => "The session.",
        "checkpoint" => "The checkpoint.",
        "rest" => {
            "What the client adds: `{id}/stream` to come back, `{run}/stop` to stop, `answer` to answer. \
             It may have slashes."
        }
        _ => "",
    }
}

fn of<T: JsonSchema>(types: &mut SchemaGenerator) -> Schema {
    types.subschema_for::<T>()
}

const fn get(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation {
        method: "GET",
        path,
        id,
        summary,
        query: &[],
        headers: &[],
        body: None,
        needs_body: false,
        answers: &[],
        codes: &[],
        open: false,
    }
}

const fn post(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "POST", ..get(path, id, summary) }
}

/// A dialect's route that is read.
const fn read(path: &'static str, id: &'static str) -> Operation {
    Operation {
        query: &[
            ("agent", "The agent; otherwise the default."),
            ("profile", "The profile of the client; `docs/dialects.md` lists them."),
            ("framing", "`sse` or `ndjson`; otherwise by `Accept`."),
        ],
        headers: &[
            ("Last-Event-ID", "Where the reader was."),
            ("X-Run-Id", "What the page calls the run."),
            ("X-Request-Id", "What the sender calls the request."),
            ("Idempotency-Key", "The same key again is the same request again."),
        ],
        codes: codes::DIALECT,
        answers: &[
            Answer::Stream(
                "The run in the words of the dialect, or a document where the client asks for one.",
            ),
            Answer::Document(202, "The answer is kept, and the run goes on.", of::<s::Taken>),
            Answer::Nothing("There is nothing to come back to."),
        ],
        ..get(path, id, "Come back to a run, or read a conversation, as the dialect's client does it.")
    }
}

/// A dialect's route that is written to.
const fn write(path: &'static str, id: &'static str) -> Operation {
    Operation {
        method: "POST",
        summary: "Say something, answer or stop, as the dialect's client does it.",
        body: Some(of::<s::DialectRequest>),
        needs_body: true,
        ..read(path, id)
    }
}

const PAGING: &[(&str, &str)] =
    &[("after", "The last name of the page before."), ("limit", "How many: 50, at most 500.")];
const BEFORE: (&str, &str) = ("before", "What the page before gave as `before`.");
const LIMIT: (&str, &str) = ("limit", "How many: 50, at most 500.");
const UNDONE: &[Answer] = &[Answer::Document(200, "What was taken back.", of::<s::Undone>)];
const SENT: &[Answer] = &[Answer::Document(202, "The turn.", of::<s::Sent>)];
const TAKEN: &[Answer] = &[Answer::Document(202, "The answer is kept, and the run goes on.", of::<s::Taken>)];
const SESSION: Answer = Answer::Document(200, "The session.", of::<s::SessionInfo>);
const NEW_SESSION: Answer = Answer::Document(201, "The session.", of::<s::SessionInfo>);
const HEALTH: &[Answer] = &[Answer::Document(200, "It is well.", of::<s::Health>)];

static ALL: &[Operation] = &[
    read("/v1/{dialect}/chat", "readChat"),
    write("/v1/{dialect}/chat", "chat"),
    read("/v1/{dialect}/chat/{*rest}", "resumeChat"),
    write("/v1/{dialect}/chat/{*rest}", "answerChat"),
    read("/v1/{dialect}/checkpoints", "readCheckpoints"),
    write("/v1/{dialect}/checkpoints", "changeCheckpoints"),
    read("/v1/{dialect}/onboarding", "readOnboarding"),
    write("/v1/{dialect}/onboarding", "onboard"),
    read("/v1/{dialect}/{agent}/chat", "readChatOfAgent"),
    write("/v1/{dialect}/{agent}/chat", "chatWithAgent"),
    read("/v1/{dialect}/{agent}/chat/{*rest}", "resumeChatOfAgent"),
    write("/v1/{dialect}/{agent}/chat/{*rest}", "answerChatOfAgent"),
    read("/v1/{dialect}/{agent}/checkpoints", "readCheckpointsOfAgent"),
    write("/v1/{dialect}/{agent}/checkpoints", "changeCheckpointsOfAgent"),
    Operation {
        query: PAGING,
        codes: &["page.invalid"],
        answers: &[Answer::Document(200, "A page of them, the newest first.", of::<s::RunList>)],
        ..get("/v1/runs", "listRuns", "Your runs.")
    },
    Operation {
        headers: &[("Idempotency-Key", "The same key again is the same run again.")],
        body: Some(of::<control::StartBody>),
        needs_body: true,
        codes: codes::START,
        answers: &[Answer::Document(201, "The run.", of::<s::Started>)],
        ..post("/v1/runs", "startRun", "Start a run.")
    },
    Operation {
        codes: &["run.unknown"],
        answers: &[Answer::Document(200, "The run.", of::<s::RunDetails>)],
        ..get("/v1/runs/{run}", "getRun", "A run.")
    },
    Operation {
        query: &[
            ("dialect", "The dialect to read it in: `agents`."),
            ("profile", "The profile of the client."),
            ("framing", "`sse` or `ndjson`; otherwise by `Accept`."),
            (
                "after",
                "A cursor, the number of a frame, or `now` for what there is so far in the fewest frames.",
            ),
            ("until", "`wait` ends the stream when the run waits, `end` when it has ended."),
        ],
        headers: &[("Last-Event-ID", "As `after`.")],
        codes: codes::FOLLOW,
        answers: &[Answer::Stream("The events of the run.")],
        ..get("/v1/runs/{run}/events", "followRun", "Follow a run, live or long after, in any dialect.")
    },
    Operation {
        codes: &["run.unknown", "run.busy", "workflow.version"],
        answers: &[Answer::Document(200, "Whether there was something to stop.", of::<s::Stopped>)],
        ..post("/v1/runs/{run}/stop", "stopRun", "Stop a run.")
    },
    Operation {
        body: Some(of::<control::AnswerBody>),
        needs_body: true,
        codes: codes::ANSWER,
        answers: TAKEN,
        ..post("/v1/runs/{run}/answer", "answerRun", "Answer what a run waits for.")
    },
    Operation {
        query: PAGING,
        codes: &["page.invalid"],
        answers: &[Answer::Document(200, "A page of it.", of::<s::QuestionList>)],
        ..get("/v1/interrupts", "listInterrupts", "What waits for you.")
    },
    Operation {
        body: Some(of::<control::AnswerBody>),
        needs_body: true,
        codes: codes::ANSWER,
        answers: TAKEN,
        ..post("/v1/interrupts/{request}", "answerInterrupt", "Answer something by its name alone.")
    },
    Operation {
        query: &[
            ("agent", "The agent; otherwise the default."),
            ("after", "What the page before gave as `next`."),
            LIMIT,
        ],
        codes: &["agent.unknown", "page.invalid"],
        answers: &[Answer::Document(200, "A page of them.", of::<s::SessionList>)],
        ..get("/v1/sessions", "listSessions", "Your sessions.")
    },
    Operation {
        body: Some(of::<sessions::Create>),
        codes: &[
            "agent.unknown",
            "session.invalid",
            "session.unknown",
            "session.exists",
            "session.too-large",
            "document.invalid",
            "import.refused",
            "value.too-deep",
        ],
        answers: &[NEW_SESSION],
        ..post("/v1/sessions", "createSession", "Begin a session, or import one.")
    },
    Operation {
        codes: codes::SESSION,
        answers: &[SESSION],
        ..get("/v1/sessions/{session}", "getSession", "A session.")
    },
    Operation {
        method: "DELETE",
        codes: &["session.unknown"],
        answers: &[Answer::Nothing("It is gone.")],
        ..get("/v1/sessions/{session}", "deleteSession", "Delete a session and all that belongs to it.")
    },
    Operation {
        query: &[
            ("dialect", "In whose words; otherwise our own."),
            ("at", "The checkpoint; otherwise the newest."),
            BEFORE,
            ("limit", "How many turns: 50, at most 500."),
        ],
        codes: &["session.unknown", "dialect.unknown", "checkpoint.unknown", "checkpoint.retired"],
        answers: &[Answer::Document(200, "A page of it, the newest last.", of::<s::MessageList>)],
        ..get("/v1/sessions/{session}/messages", "listMessages", "The conversation.")
    },
    Operation {
        body: Some(of::<sessions::Say>),
        needs_body: true,
        headers: &[("Idempotency-Key", "The same key again is the same turn again.")],
        codes: codes::TURN,
        answers: SENT,
        ..post("/v1/sessions/{session}/messages", "sendMessage", "Say something in a session.")
    },
    Operation {
        codes: codes::SESSION,
        answers: &[Answer::Document(200, "The run that was told to stop.", of::<s::SessionStopped>)],
        ..post("/v1/sessions/{session}/stop", "stopSession", "Stop what is going in a session.")
    },
    Operation {
        codes: codes::CHECKPOINT,
        answers: UNDONE,
        ..post("/v1/sessions/{session}/undo", "undoTurn", "Take back the last turn.")
    },
    Operation {
        codes: &["session.unknown", "session.too-large"],
        answers: &[Answer::Document(200, "What `POST /v1/sessions` takes as `import`.", of::<s::Exported>)],
        ..get("/v1/sessions/{session}/export", "exportSession", "A session as a document.")
    },
    Operation {
        query: &[BEFORE, LIMIT],
        codes: codes::SESSION,
        answers: &[Answer::Document(200, "A page of them, the newest first.", of::<s::CheckpointList>)],
        ..get("/v1/sessions/{session}/checkpoints", "listCheckpoints", "The checkpoints of a session.")
    },
    Operation {
        codes: codes::CHECKPOINT,
        answers: &[Answer::Document(200, "The checkpoint.", of::<s::CheckpointDetails>)],
        ..get(
            "/v1/sessions/{session}/checkpoints/{checkpoint}",
            "getCheckpoint",
            "A checkpoint, and the session as it stood there.",
        )
    },
    Operation {
        codes: codes::CHECKPOINT,
        answers: UNDONE,
        ..post(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/rollback",
            "rollBack",
            "Go back to a checkpoint.",
        )
    },
    Operation {
        body: Some(of::<sessions::Fork>),
        codes: codes::FORK,
        answers: &[NEW_SESSION],
        ..post(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/fork",
            "forkSession",
            "A new session that goes on from a checkpoint.",
        )
    },
    Operation {
        headers: &[("Idempotency-Key", "The same key again is the same turn again.")],
        codes: codes::TURN,
        answers: SENT,
        ..post(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/regenerate",
            "regenerateTurn",
            "Do a turn again.",
        )
    },
    Operation {
        headers: &[("Idempotency-Key", "The same key again is the same turn again.")],
        body: Some(of::<sessions::Edit>),
        needs_body: true,
        codes: codes::TURN,
        answers: SENT,
        ..post(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/edit",
            "editTurn",
            "Do a turn again with another text.",
        )
    },
    Operation {
        codes: codes::CHECKPOINT,
        answers: &[Answer::Document(200, "All of them, the oldest first.", of::<s::VariantList>)],
        ..get(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/variants",
            "listVariants",
            "The turns that were done in the place of this one.",
        )
    },
    Operation {
        codes: codes::CHECKPOINT,
        answers: UNDONE,
        ..post(
            "/v1/sessions/{session}/checkpoints/{checkpoint}/select",
            "selectVariant",
            "Go on with another variant.",
        )
    },
    Operation {
        open: true,
        answers: HEALTH,
        codes: &["store.stopped"],
        ..get("/healthz", "health", "Whether the process lives, and its store takes writes.")
    },
    Operation {
        open: true,
        answers: HEALTH,
        codes: &["server.leaving", "store.busy", "store.failed", "store.slow", "store.stopped"],
        ..get("/readyz", "readiness", "Whether the server can serve.")
    },
    Operation {
        open: true,
        answers: &[Answer::Text("The text format.")],
        codes: &["metrics.off"],
        ..get("/metrics", "metrics", "What is counted, for Prometheus.")
    },
    Operation {
        open: true,
        answers: &[Answer::Document(200, "The document.", of::<s::Document>)],
        ..get("/openapi.json", "openapi", "This document.")
    },
];
