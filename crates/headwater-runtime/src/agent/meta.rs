//! What is known about a run without reading its journal.

use headwater_protocol::{RunId, SessionId};
use serde::{Deserialize, Serialize};

/// What is known about a run without reading its journal, which is the truth: a process that died may have left this
/// behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunMeta {
    /// The run.
    pub run: RunId,
    /// The agent that it is of.
    pub agent: String,
    /// The workflow that it began with.
    pub workflow: String,
    /// Its version.
    pub version: String,
    /// How far it is.
    pub phase: RunPhase,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it began, in milliseconds since 1970.
    pub created: u64,
    /// When this was written.
    pub updated: u64,
    /// The newest snapshot in its journal, 0 if there is none.
    #[serde(default)]
    pub snapshot: u64,
    /// How long it waits at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Why it cannot go on, although it was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunPhase {
    /// It is being driven, or was when its process died.
    Running,
    /// It waits for somebody.
    Waiting,
    /// It has ended.
    Ended,
}
