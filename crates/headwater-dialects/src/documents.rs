//! The JSON documents that pages ask for beside streams: what is in them, and the form that they have unless a dialect has one
//! of its own.

use headwater_protocol::{
    CheckpointId, Interrupt, Message, Record, RequestId, RunId, RunState, SessionId, ToolCall, rfc3339,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::dialect::ReaderNames;

/// A part of a conversation, the newest message last.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryPage<'a> {
    /// The messages.
    pub messages: &'a [Message],
    /// Where the part before this one ends, if there is one.
    pub before: Option<u64>,
    /// The run that the page has to follow, where the dialect names it.
    pub run: Option<&'a RunId>,
    /// The run that waits for an answer, where the dialect names it, with its state.
    pub waiting: Option<(&'a RunId, &'a RunState)>,
}

/// A conversation in a list.
#[derive(Debug, Clone, Copy)]
pub struct SessionEntry<'a> {
    /// The session.
    pub id: &'a SessionId,
    /// What people call it.
    pub title: Option<&'a str>,
    /// Whether it is archived.
    pub archived: bool,
    /// When it began, in milliseconds since 1970.
    pub created: u64,
    /// When it last changed, in milliseconds since 1970.
    pub updated: u64,
}

/// A part of the list of conversations, the newest first.
#[derive(Debug, Clone)]
pub struct SessionList<'a> {
    /// The agent that they are with.
    pub agent: &'a str,
    /// The conversations.
    pub sessions: Vec<SessionEntry<'a>>,
    /// What to ask for the next part with, if there is one.
    pub next: Option<&'a str>,
}

/// An agent in a list.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AgentEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does, for people.
    pub description: Option<&'a str>,
}

/// A checkpoint of a session.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointEntry<'a> {
    /// Its name.
    pub id: &'a CheckpointId,
    /// The session in which it was made.
    pub session_id: &'a SessionId,
    /// The number of the turn, from 1; 0 is the beginning of the session.
    pub turn_index: u64,
    /// A label for people.
    pub label: Option<&'a str>,
    /// When the turn ended, in milliseconds since 1970.
    pub created_at: u64,
    /// The run of the turn; the beginning of a session has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<&'a RunId>,
    /// The checkpoint before it.
    pub parent_checkpoint_id: Option<&'a CheckpointId>,
    /// The workflow that the run was in, with its version.
    pub workflow: &'a str,
    /// The visits of nodes that were active.
    pub nodes: &'a [String],
    /// How the turn ended.
    pub status: &'a str,
}

/// The reply to a request about checkpoints.
#[derive(Debug, Clone)]
pub enum CheckpointReply<'a> {
    /// The checkpoints of a session, the oldest first.
    List(Vec<CheckpointEntry<'a>>),
    /// One of them.
    Checkpoint {
        /// The checkpoint.
        entry: CheckpointEntry<'a>,
        /// The conversation up to it.
        messages: &'a [Message],
        /// The structured objects at it, by stream.
        structured: Value,
    },
    /// The session went back to one.
    RolledBack {
        /// The session.
        session: &'a SessionId,
        /// The checkpoint.
        checkpoint: CheckpointEntry<'a>,
        /// What it waits for now.
        pending: Vec<PendingQuestion<'a>>,
        /// The structured streams that no longer hold.
        streams: &'a [String],
        /// The questions that are no longer open.
        requests: &'a [RequestId],
        /// The tokens of these questions.
        tokens: &'a [String],
    },
    /// A session was begun from one.
    Forked {
        /// The new session.
        session: &'a SessionId,
        /// The session that has the checkpoint.
        parent: &'a SessionId,
        /// The checkpoint.
        checkpoint: CheckpointEntry<'a>,
        /// What the new session waits for.
        pending: Vec<PendingQuestion<'a>>,
    },
}

/// Something that a session waits for.
#[derive(Debug, Clone, Copy)]
pub struct PendingQuestion<'a> {
    /// The run that waits.
    pub run: &'a RunId,
    /// The node that asks.
    pub node: &'a str,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// What is asked.
    pub kind: PendingKind<'a>,
}

/// What a session waits for.
#[derive(Debug, Clone, Copy)]
pub enum PendingKind<'a> {
    /// The answer to a question.
    Interrupt(&'a Interrupt),
    /// A decision about a tool call.
    Approval {
        /// The request.
        request: &'a RequestId,
        /// The call.
        tool: &'a ToolCall,
        /// Its input.
        input: &'a Value,
        /// What allows to decide.
        signature: &'a str,
    },
}

/// What is sent instead of a stream.
#[derive(Debug, Clone, Copy)]
pub struct WholeAnswer<'a> {
    /// The records of the run, from its beginning: as far as the answer goes, or as far as there are any.
    pub records: &'a [Record],
    /// The last record of the answers before this one, each of which ended where the run waited; 0 for the first.
    pub since: u64,
    /// The names by which the reader knows the run.
    pub names: &'a ReaderNames,
    /// When the run was asked for, in milliseconds since 1970.
    pub created: u64,
}

/// An error that a request is answered with.
#[derive(Debug, Clone, Copy)]
pub struct ErrorReply<'a> {
    /// The status of the response.
    pub status: u16,
    /// A code for machines; `docs/http.md` lists them.
    pub code: &'a str,
    /// A sentence for people.
    pub message: &'a str,
    /// What exists, where the request named something that does not.
    pub known: &'a [String],
}

pub(crate) fn history(page: &HistoryPage<'_>, write: impl Fn(&Message) -> Value) -> Value {
    let messages: Vec<_> = page.messages.iter().map(write).collect();
    match page.before {
        None => json!({ "messages": messages, "hasMore": false }),
        Some(before) => json!({ "messages": messages, "hasMore": true, "cursor": before.to_string() }),
    }
}

pub(crate) fn session_list(list: &SessionList<'_>) -> Value {
    let conversations: Vec<_> = list
        .sessions
        .iter()
        .map(|session| {
            json!({ "id": session.id, "title": session.title, "lastMessageAt": rfc3339(session.updated) })
        })
        .collect();
    json!({ "conversations": conversations, "cursor": list.next, "hasMore": list.next.is_some() })
}

pub(crate) fn checkpoint_reply(reply: &CheckpointReply<'_>, write: impl Fn(&Message) -> Value) -> Value {
    match reply {
        CheckpointReply::List(entries) => json!(entries),
        CheckpointReply::Checkpoint { entry, messages, structured } => {
            let mut document = json!(entry);
            if let Value::Object(fields) = &mut document {
                fields.insert("structured".to_owned(), structured.clone());
                fields.insert("messages".to_owned(), messages.iter().map(write).collect());
            }
            document
        }
        CheckpointReply::RolledBack { checkpoint, streams, requests, .. } => json!({
            "checkpointId": checkpoint.id,
            "invalidatedStreamIds": streams,
            "invalidatedRequestIds": requests,
        }),
        CheckpointReply::Forked { session, checkpoint, .. } => {
            json!({ "sessionId": session, "checkpointId": checkpoint.id })
        }
    }
}

pub(crate) fn whole_answer(answer: &WholeAnswer<'_>, write: impl Fn(&Message) -> Value) -> Value {
    let mut state = RunState::default();
    for record in answer.records.iter().filter(|record| record.seq > answer.since) {
        // The journal has only what its writer's state could take.
        let _ = state.apply(record);
    }
    json!({ "messages": state.messages().iter().map(write).collect::<Vec<_>>() })
}
