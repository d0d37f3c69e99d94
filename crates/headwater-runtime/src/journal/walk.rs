//! The walk through the graph as stored in the journal: its steps, or its position.

use std::sync::Arc;

use headwater_protocol::FinishReason;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{NodeExit, Visit};
use crate::next::Transition;

/// A step of the walk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WalkStep {
    Entered(Visit),
    Failed(Visit),
    Left(Box<NodeExit>),
}

/// The walk so far: a saved position, and the steps since.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RecordedWalk {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<Box<SavedWalk>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<WalkStep>,
}

/// Position of a walk. It replaces the steps that led there, so that the cost of resuming a long run depends
/// on its state only.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedWalk {
    /// The workflow with its version: `email@1`.
    pub(crate) workflow: String,
    pub(crate) raw: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) forks: Vec<Fork>,
    /// Number of visits of each node of a workflow in each branch.
    pub(crate) visits: Vec<((String, String, String), u32)>,
    pub(crate) workflow_state: Map<String, Value>,
    pub(crate) node_states: Vec<((String, String), Map<String, Value>)>,
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) transition: Option<Transition>,
    pub(crate) result: Option<Value>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) steps: u32,
    pub(crate) transitions: u32,
    /// The entry states of the active visits, in order.
    pub(crate) entries: Vec<SavedEntry>,
    /// Number of failures of each of them.
    pub(crate) failures: Vec<(Visit, u32)>,
}

/// The state of a visit's entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedEntry {
    pub(crate) visit: Visit,
    pub(crate) raw: String,
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) node_state: Map<String, Value>,
    pub(crate) workflow_state: Map<String, Value>,
}

/// A token of the walk: one, or one for each branch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) node: String,
    pub(crate) branch: String,
    /// Shared with the walk and with the nodes that received it, until one of them changes it.
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) fork: Option<usize>,
    /// The active visit.
    pub(crate) visit: Option<Visit>,
}

/// A fork of one token into several.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fork {
    pub(crate) join: Option<String>,
    pub(crate) branch: String,
    pub(crate) outer: Option<usize>,
    pub(crate) live: usize,
    /// The output of the branches, by number.
    pub(crate) brought: Vec<Arc<Map<String, Value>>>,
    /// Where the walk continues: at the join, if a branch reached it; else at the target of a branch, which
    /// is an enclosing join.
    pub(crate) reached: Option<String>,
}
