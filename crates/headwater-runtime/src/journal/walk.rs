//! The walk through the graph as the journal keeps it: its steps, or where it stands.

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

/// The walk so far: where it stood once, and the steps since.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RecordedWalk {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<Box<SavedWalk>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<WalkStep>,
}

/// Where a walk stands. It replaces the steps that led there, so that a long run is resumed in the time that its state takes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedWalk {
    /// The workflow with its version: `email@1`.
    pub(crate) workflow: String,
    pub(crate) raw: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) forks: Vec<Fork>,
    /// How often each node of a workflow was visited in each branch.
    pub(crate) visits: Vec<((String, String, String), u32)>,
    pub(crate) workflow_state: Map<String, Value>,
    pub(crate) node_states: Vec<((String, String), Map<String, Value>)>,
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) transition: Option<Transition>,
    pub(crate) result: Option<Value>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) steps: u32,
    pub(crate) transitions: u32,
    /// What the visits that are under way saw when they were entered, in that order.
    pub(crate) entries: Vec<SavedEntry>,
    /// How often each of them failed.
    pub(crate) failures: Vec<(Visit, u32)>,
}

/// What a visit saw when it was entered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedEntry {
    pub(crate) visit: Visit,
    pub(crate) raw: String,
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) node_state: Map<String, Value>,
    pub(crate) workflow_state: Map<String, Value>,
}

/// Something that walks: one, or one for each branch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) node: String,
    pub(crate) branch: String,
    /// Shared with the walk and with the nodes that were given it, until one of them changes it.
    pub(crate) data: Arc<Map<String, Value>>,
    pub(crate) fork: Option<usize>,
    /// The visit that is under way.
    pub(crate) visit: Option<Visit>,
}

/// Where one token became several.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fork {
    pub(crate) join: Option<String>,
    pub(crate) branch: String,
    pub(crate) outer: Option<usize>,
    pub(crate) live: usize,
    /// What the branches brought, by their number.
    pub(crate) brought: Vec<Arc<Map<String, Value>>>,
    /// Where it goes on: at the join, if a branch came there; else where a branch left for, which is a join around it.
    pub(crate) reached: Option<String>,
}
