//! The JSON documents that pages request besides streams: their content, and the default format of dialects
//! without one of their own.

use headwater_protocol::{
    CheckpointId, Interrupt, Message, Record, RequestId, RunId, RunState, SessionId, ToolCall, rfc3339,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::names::ReaderNames;

/// A page of a conversation, the newest message last.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConversationPage<'a> {
    /// The messages of this page.
    pub messages: &'a [Message],
    /// The position where the page before this one ends, if there is one.
    pub before: Option<u64>,
    /// The active run, if the dialect names it.
    pub run: Option<&'a RunId>,
    /// The waiting run and its state, if the dialect names it.
    pub waiting: Option<(&'a RunId, &'a RunState)>,
}

/// A conversation in a list.
#[derive(Debug, Clone, Copy)]
pub struct SessionEntry<'a> {
    /// The id of the session.
    pub id: &'a SessionId,
    /// The title.
    pub title: Option<&'a str>,
    /// Whether it is archived.
    pub archived: bool,
    /// Creation time in milliseconds since 1970.
    pub created: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated: u64,
}

/// A page of the list of conversations, the newest first.
#[derive(Debug, Clone)]
pub struct SessionList<'a> {
    /// The agent of the conversations.
    pub agent: &'a str,
    /// The conversations of this page.
    pub sessions: Vec<SessionEntry<'a>>,
    /// The cursor of the next page, if there is one.
    pub next: Option<&'a str>,
}

/// An agent in a list.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AgentEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// A description for users.
    pub description: Option<&'a str>,
}

/// A checkpoint of a session.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointEntry<'a> {
    /// The id of the checkpoint.
    pub id: &'a CheckpointId,
    /// The session in which it was made.
    pub session_id: &'a SessionId,
    /// The number of the turn, from 1; 0 is the beginning of the session.
    pub turn_index: u64,
    /// A label for people.
    pub label: Option<&'a str>,
    /// When the turn ended, in milliseconds since 1970.
    pub created_at: u64,
    /// The run of the turn; `None` for the beginning of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<&'a RunId>,
    /// The checkpoint before it.
    pub parent_checkpoint_id: Option<&'a CheckpointId>,
    /// The workflow of the run, with its version.
    pub workflow: &'a str,
    /// The active node visits.
    pub nodes: &'a [String],
    /// How the turn ended.
    pub status: &'a str,
}

/// The response to a checkpoint request.
#[derive(Debug, Clone)]
pub enum CheckpointReply<'a> {
    /// The checkpoints of a session, the oldest first.
    List(Vec<CheckpointEntry<'a>>),
    /// One checkpoint.
    Checkpoint {
        /// Its metadata.
        entry: CheckpointEntry<'a>,
        /// The conversation up to the checkpoint.
        messages: &'a [Message],
        /// The structured objects at the checkpoint, by stream.
        structured: Value,
    },
    /// The session was rolled back.
    RolledBack {
        /// The rolled back session.
        session: &'a SessionId,
        /// The checkpoint that it was rolled back to.
        checkpoint: CheckpointEntry<'a>,
        /// Its open questions now.
        pending: Vec<PendingQuestion<'a>>,
        /// The structured streams that are invalid now.
        streams: &'a [String],
        /// The questions that are closed now.
        requests: &'a [RequestId],
        /// The tokens of these questions.
        tokens: &'a [String],
    },
    /// A session was forked.
    Forked {
        /// The new session.
        session: &'a SessionId,
        /// The session of the checkpoint.
        parent: &'a SessionId,
        /// The checkpoint of the fork.
        checkpoint: CheckpointEntry<'a>,
        /// The open questions of the new session.
        pending: Vec<PendingQuestion<'a>>,
    },
}

/// An open question of a session.
#[derive(Debug, Clone, Copy)]
pub struct PendingQuestion<'a> {
    /// The waiting run.
    pub run: &'a RunId,
    /// The node that asked.
    pub node: &'a str,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// The question.
    pub kind: PendingKind<'a>,
}

/// The kinds of open questions.
#[derive(Debug, Clone, Copy)]
pub enum PendingKind<'a> {
    /// A question that needs an answer.
    Interrupt(&'a Interrupt),
    /// A decision about a tool call.
    Approval {
        /// The id of the request.
        request: &'a RequestId,
        /// The tool call to decide about.
        tool: &'a ToolCall,
        /// The input of the call.
        input: &'a Value,
        /// The token that authorises the decision.
        signature: &'a str,
    },
}

/// The answer of a run, for a response without streaming.
#[derive(Debug, Clone, Copy)]
pub struct WholeAnswer<'a> {
    /// The records of the run from its beginning, up to the end of the answer or of the journal.
    pub records: &'a [Record],
    /// The last record of the run's earlier answers, each of which ended where the run waited; 0 for the
    /// first.
    pub since: u64,
    /// The names that the reader uses for the run.
    pub names: &'a ReaderNames,
    /// When the run was requested, in milliseconds since 1970.
    pub created: u64,
}

/// An error response.
#[derive(Debug, Clone, Copy)]
pub struct ErrorReply<'a> {
    /// The status of the response.
    pub status: u16,
    /// A machine-readable code; `docs/http.md` lists them.
    pub code: &'a str,
    /// A message for people.
    pub message: &'a str,
    /// The existing names, if the request named something unknown.
    pub known: &'a [String],
}

pub(crate) fn history(page: &ConversationPage<'_>, write: impl Fn(&Message) -> Value) -> Value {
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
        // A journal only contains records that its writer's state accepted.
        let _ = state.apply(record);
    }
    json!({ "messages": state.messages().iter().map(write).collect::<Vec<_>>() })
}
