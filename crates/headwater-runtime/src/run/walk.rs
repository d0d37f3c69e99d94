//! The walk through the graph: which nodes to enter next, and with which input. Pure; the driver runs the
//! nodes.

use std::{collections::HashMap, sync::Arc};

use headwater_protocol::FinishReason;
use serde_json::{Map, Value};

use crate::{
    Error, RawJson, Result, Workflow,
    error::ErrorKind,
    journal::{Fork, NodeExit, SavedEntry, SavedWalk, Token, Visit},
    next::{Next, Transition, merge},
    node::{EntryState, NodeInput},
    workflow::{END, Edge, Graph, OnError, START},
};

/// The walk of one run.
#[derive(Debug)]
pub(crate) struct Walk {
    workflow: Workflow,
    raw: String,
    tokens: Vec<Token>,
    forks: Vec<Fork>,
    visits: HashMap<(String, String, String), u32>,
    workflow_state: Map<String, Value>,
    node_states: HashMap<(String, String), Map<String, Value>>,
    /// The merged output of all nodes of the workflow.
    data: Arc<Map<String, Value>>,
    transition: Option<Transition>,
    result: Option<Value>,
    finish: Option<FinishReason>,
    steps: u32,
    transitions: u32,
}

impl From<SavedEntry> for EntryState {
    fn from(saved: SavedEntry) -> Self {
        let SavedEntry { visit, raw, data, node_state, workflow_state } = saved;
        Self { visit, input: NodeInput { raw, data }, node_state, workflow_state }
    }
}

impl From<EntryState> for SavedEntry {
    fn from(entry: EntryState) -> Self {
        let EntryState { visit, input: NodeInput { raw, data }, node_state, workflow_state } = entry;
        Self { visit, raw, data, node_state, workflow_state }
    }
}

/// The continuation after a workflow has ended.
#[derive(Debug)]
pub(crate) enum WalkEnd {
    Transition(Transition),
    Finished { result: Option<Value>, reason: Option<FinishReason> },
}

impl Walk {
    pub(crate) fn new(workflow: Workflow, raw: String, data: &RawJson) -> Self {
        let mut walk = Self {
            workflow,
            raw,
            tokens: Vec::new(),
            forks: Vec::new(),
            visits: HashMap::new(),
            workflow_state: Map::new(),
            node_states: HashMap::new(),
            data: Arc::default(),
            transition: None,
            result: None,
            finish: None,
            steps: 0,
            transitions: 0,
        };
        walk.begin(data.object());
        walk
    }

    /// Continues from a saved walk, which does not include the entry states of active visits.
    pub(crate) fn restore(workflow: Workflow, saved: SavedWalk) -> Self {
        Self {
            workflow,
            raw: saved.raw,
            tokens: saved.tokens,
            forks: saved.forks,
            visits: saved.visits.into_iter().collect(),
            workflow_state: saved.workflow_state,
            node_states: saved.node_states.into_iter().collect(),
            data: saved.data,
            transition: saved.transition,
            result: saved.result,
            finish: saved.finish,
            steps: saved.steps,
            transitions: saved.transitions,
        }
    }

    /// The current position.
    pub(crate) fn save(&self) -> SavedWalk {
        SavedWalk {
            workflow: format!("{}@{}", self.workflow.id(), self.workflow.version()),
            raw: self.raw.clone(),
            tokens: self.tokens.clone(),
            forks: self.forks.clone(),
            visits: self.visits.iter().map(|(node, count)| (node.clone(), *count)).collect(),
            workflow_state: self.workflow_state.clone(),
            node_states: self.node_states.iter().map(|(node, state)| (node.clone(), state.clone())).collect(),
            data: self.data.clone(),
            transition: self.transition.clone(),
            result: self.result.clone(),
            finish: self.finish.clone(),
            steps: self.steps,
            transitions: self.transitions,
            entries: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn begin(&mut self, data: Map<String, Value>) {
        let mut start = Map::new();
        start.insert("rawInput".into(), Value::String(self.raw.clone()));
        merge(&mut start, data);
        let start = Arc::new(start);
        self.data.clone_from(&start);
        let token = Token { node: START.into(), branch: String::new(), data: start, fork: None, visit: None };
        self.follow(token, None);
    }

    fn graph(&self) -> &Graph {
        self.workflow.graph()
    }

    pub(crate) fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// The next node that can be entered, as a visit that is not active yet.
    pub(crate) fn next_visit(&self) -> Option<Visit> {
        let token = self.tokens.iter().find(|token| token.visit.is_none())?;
        let workflow = format!("{}@{}", self.workflow.id(), self.workflow.version());
        let key = (workflow.clone(), token.node.clone(), token.branch.clone());
        let visit = self.visits.get(&key).copied().unwrap_or(0) + 1;
        Some(Visit { workflow, node: token.node.clone(), visit, branch: token.branch.clone() })
    }

    /// Enters a node. It gets the current state.
    pub(crate) fn enter(&mut self, visit: &Visit) -> Result<EntryState> {
        self.steps += 1;
        let limit = self.graph().max_steps;
        if self.steps > limit {
            let message = format!(
                "workflow {} entered more than {limit} nodes, the last `{}`: is there a loop without an end? \
                 `max_steps` allows more",
                self.workflow.id(),
                visit.node
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("workflow.max-steps"));
        }
        let Some(token) = self
            .tokens
            .iter_mut()
            .find(|token| token.visit.is_none() && token.node == visit.node && token.branch == visit.branch)
        else {
            return Err(diverged(visit, "the workflow does not lead there any more"));
        };
        let key = (visit.workflow.clone(), visit.node.clone(), visit.branch.clone());
        self.visits.insert(key, visit.visit);
        token.visit = Some(visit.clone());
        let input = NodeInput { raw: self.raw.clone(), data: token.data.clone() };
        let node_state =
            self.node_states.get(&(visit.workflow.clone(), visit.node.clone())).cloned().unwrap_or_default();
        Ok(EntryState {
            visit: visit.clone(),
            input,
            node_state,
            workflow_state: self.workflow_state.clone(),
        })
    }

    /// Leaves a node with its result.
    pub(crate) fn leave(&mut self, left: &NodeExit) -> Result<()> {
        let NodeExit { visit, next, node_state, workflow_state, finish, error } = left;
        let Some(at) = self.tokens.iter().position(|token| token.visit.as_ref() == Some(visit)) else {
            return Err(diverged(visit, "it was left without having been entered"));
        };
        let mut token = self.tokens.swap_remove(at);
        token.visit = None;
        if let Some(state) = node_state {
            let key = (visit.workflow.clone(), visit.node.clone());
            self.node_states.insert(key, state.clone());
        }
        for (key, value) in workflow_state {
            self.workflow_state.insert(key.clone(), value.clone());
        }
        if !next.data.is_empty() {
            let shared = Arc::ptr_eq(&token.data, &self.data);
            if shared {
                // Drop one reference, so that the merge does not copy unshared data.
                self.data = Arc::default();
            }
            merge(Arc::make_mut(&mut token.data), next.data.clone());
            match shared {
                true => self.data.clone_from(&token.data),
                false => merge(Arc::make_mut(&mut self.data), next.data.clone()),
            }
        }
        if let Some(transition) = &next.transition {
            let mut transition = transition.clone();
            transition.payload.get_or_insert_with(|| Value::Object(next.data.clone()));
            self.transition = Some(transition);
        }
        if finish.is_some() {
            self.finish.clone_from(finish);
        }
        if next.result.is_some() {
            self.result.clone_from(&next.result);
        }
        if let Some(error) = error {
            let about = serde_json::json!({ "message": error.message(), "code": error.code() });
            Arc::make_mut(&mut token.data).insert("error".into(), about);
            let on_error = self.graph().nodes.get(&token.node).map(|node| node.options.on_error.clone());
            if let Some(OnError::GoTo(to)) = on_error {
                self.arrive(token, &to);
                return Ok(());
            }
        }
        self.follow(token, Some(next));
        Ok(())
    }

    /// Follows the edges of a node: those of the chosen condition, otherwise the unconditional ones.
    fn follow(&mut self, token: Token, next: Option<&Next>) {
        let edges = self.graph().edges.get(&token.node).cloned().unwrap_or_default();
        let said = next.and_then(|next| next.condition.as_ref().or(next.intent.as_ref()));
        let taken = |edge: &&Edge| edge.when.is_some() && edge.when.as_ref() == said;
        let mut targets: Vec<_> = edges.iter().filter(taken).map(|edge| edge.to.clone()).collect();
        if targets.is_empty() {
            targets = edges.iter().filter(|edge| edge.when.is_none()).map(|edge| edge.to.clone()).collect();
        }
        match &*targets {
            [] => self.end(token),
            [only] => self.arrive(token, only),
            _ => {
                let fork = self.forks.len();
                let join = self.graph().joins.get(&token.node).cloned();
                self.forks.push(Fork {
                    join,
                    branch: token.branch.clone(),
                    outer: token.fork,
                    live: targets.len(),
                    brought: vec![Arc::default(); targets.len()],
                    reached: None,
                });
                for (number, target) in targets.iter().enumerate() {
                    let branch = if token.branch.is_empty() {
                        number.to_string()
                    } else {
                        format!("{}.{number}", token.branch)
                    };
                    self.arrive(Token { branch, fork: Some(fork), ..token.clone() }, target);
                }
            }
        }
    }

    /// Moves a token to a node, or to the join where branches wait for each other.
    fn arrive(&mut self, mut token: Token, target: &str) {
        if target == END {
            return self.end(token);
        }
        let mut around = token.fork;
        while let Some(fork) = around.and_then(|fork| self.forks.get(fork)) {
            if fork.join.as_deref() == Some(target) {
                return self.bring(token, Some(target));
            }
            around = fork.outer;
        }
        target.clone_into(&mut token.node);
        self.tokens.push(token);
    }

    fn end(&mut self, token: Token) {
        if token.fork.is_some() {
            self.bring(token, None);
        }
    }

    /// Handles a branch that has reached its end or the join. The last one continues for all.
    fn bring(&mut self, token: Token, reached: Option<&str>) {
        let Some(fork) = token.fork.and_then(|fork| self.forks.get_mut(fork)) else {
            return;
        };
        let number = token.branch.rsplit('.').next().and_then(|number| number.parse::<usize>().ok());
        if let Some(brought) = number.and_then(|number| fork.brought.get_mut(number)) {
            *brought = token.data;
        }
        if reached.is_some() && (fork.reached.is_none() || reached == fork.join.as_deref()) {
            fork.reached = reached.map(str::to_owned);
        }
        fork.live -= 1;
        if fork.live > 0 {
            return;
        }
        let mut data = Map::new();
        for brought in std::mem::take(&mut fork.brought) {
            merge(&mut data, Arc::unwrap_or_clone(brought));
        }
        let reached = fork.reached.take();
        let (branch, data) = (fork.branch.clone(), Arc::new(data));
        let merged = Token { node: String::new(), branch, data, fork: fork.outer, visit: None };
        match reached {
            Some(target) => self.arrive(merged, &target),
            None => self.end(merged),
        }
    }

    /// Whether no token is left.
    pub(crate) fn is_over(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The continuation after the workflow.
    pub(crate) fn ended(&mut self) -> WalkEnd {
        match self.transition.take() {
            Some(transition) => WalkEnd::Transition(transition),
            None => WalkEnd::Finished { result: self.result.take(), reason: self.finish.take() },
        }
    }

    /// Continues with another workflow.
    pub(crate) fn transit(&mut self, workflow: Workflow, payload: Option<Value>, limit: u32) -> Result<()> {
        self.transitions += 1;
        if self.transitions > limit {
            let message = format!(
                "more than {limit} transitions in one run, the last to {}: do two workflows call each other?",
                workflow.id()
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("workflow.max-transitions"));
        }
        let mut data = Arc::unwrap_or_clone(std::mem::take(&mut self.data));
        if let Some(Value::Object(payload)) = payload {
            if let Some(Value::String(raw)) = payload.get("rawInput") {
                self.raw.clone_from(raw);
            }
            merge(&mut data, payload);
        }
        data.remove("rawInput");
        data.remove("error");
        self.workflow = workflow;
        self.begin(data);
        Ok(())
    }

    /// The size of the data that the run holds for its nodes.
    pub(crate) fn size(&self) -> usize {
        let size = |map: &Map<String, Value>| serde_json::to_string(map).map_or(0, |text| text.len());
        size(&self.workflow_state) + size(&self.data) + self.node_states.values().map(size).sum::<usize>()
    }
}

fn diverged(visit: &Visit, why: &str) -> Error {
    let message = format!("the journal has a visit of `{visit}`, but {why}: was the workflow changed?");
    Error::new(ErrorKind::Diverged, message)
}
