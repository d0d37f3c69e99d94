//! A session as one JSON document, for backup or for moving it to another store.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use headwater_protocol::{CheckpointId, MessageId, Part, RequestId, Role, SessionId, check_id};
use headwater_store::Expect;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Session, Sessions,
    budget::is_instruction,
    checkpoint::{AncestorLink, MessageChange, Node, StoredInput, fresh_checkpoint, fresh_tree},
    garbage::ReachableNodes,
    head::Head,
    history_hash::HistoryHash,
    label::short,
    session_exists,
};
use crate::{
    Error, RawJson, Result,
    error::ErrorKind,
    id::{fresh_id, fresh_run},
    journal::RunSpec,
    keys, limits,
};

/// Format of exported documents.
const FORMAT: &str = "headwater.session/1";

/// The highest turn number accepted on import: later turns count from there, and computing ancestors takes
/// memory for each turn before.
const MAX_TURN: u64 = 1_000_000;

/// A session as one document: its turns with messages, structured streams and state, and its variants. It
/// contains no tokens and no server-side data about the author.
///
/// Serialise it to JSON; [`Agent::import_session`](crate::Agent::import_session) creates a session from that.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionDocument {
    format: &'static str,
    agent: String,
    session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    created: u64,
    /// The current checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointId>,
    retired: u64,
    /// All turns, parents first.
    turns: Vec<Node>,
    variants: Vec<DocumentBranch>,
}

/// An abandoned branch.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DocumentBranch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<CheckpointId>,
    child: CheckpointId,
    tip: CheckpointId,
}

impl From<SessionDocument> for Value {
    fn from(document: SessionDocument) -> Self {
        serde_json::to_value(document).unwrap_or_default()
    }
}

impl SessionDocument {
    /// Removes workflow state, for readers who must not see it. A session imported from the result continues
    /// without that state.
    #[must_use]
    pub fn without_state(mut self) -> Self {
        for node in &mut self.turns {
            node.state.clear();
            if let StoredInput::Message(said) = &mut node.input {
                said.spec.data = RawJson::default();
            }
        }
        self
    }

    /// Replaces the agent's name, for an agent served under another one.
    #[must_use]
    pub fn with_agent(mut self, name: impl Into<String>) -> Self {
        self.agent = name.into();
        self
    }

    /// Changes or removes parts of messages, for a reader who must not see all of them.
    #[must_use]
    pub fn retain_parts(mut self, mut sees: impl FnMut(&mut Part) -> bool) -> Self {
        retain_parts(&mut self.turns, |_, part| sees(part));
        self
    }
}

/// Removes parts from the messages of turns, which are ordered parents first.
fn retain_parts(turns: &mut [Node], mut sees: impl FnMut(Role, &mut Part) -> bool) {
    retain_changes(turns, |_, change, left| {
        let role = change.message.role;
        change.message.parts.retain_mut(|part| {
            let sees = sees(role, part);
            left.push(sees);
            sees
        });
        true
    });
}

/// A message as of an earlier turn.
struct EarlierMessage {
    role: Role,
    /// Which of its original parts are left.
    left: Vec<bool>,
}

/// Calls `retain` with each change of a message: the role of the message before the change, the change, and
/// the flags of its remaining parts, to which `retain` adds one entry for each part. A change is removed if
/// it returns `false`.
///
/// A change counts the parts that it keeps of the previous message, and a branch does not see the changes of
/// another. So the tree is walked depth first, with one stack for each message: a document of many turns
/// takes linear time.
fn retain_changes(
    turns: &mut [Node],
    mut retain: impl FnMut(Option<Role>, &mut MessageChange, &mut Vec<bool>) -> bool,
) {
    enum Step {
        Enter(usize),
        Leave(Vec<MessageId>),
    }
    let mut children: HashMap<Option<CheckpointId>, Vec<usize>> = HashMap::new();
    let known: HashSet<CheckpointId> = turns.iter().map(|node| node.id().clone()).collect();
    for (at, node) in turns.iter().enumerate() {
        let parent = node.checkpoint.parent.clone().filter(|parent| known.contains(parent));
        children.entry(parent).or_default().push(at);
    }
    let mut earlier: HashMap<MessageId, Vec<EarlierMessage>> = HashMap::new();
    let mut steps: Vec<_> = children.remove(&None).unwrap_or_default().into_iter().map(Step::Enter).collect();
    while let Some(step) = steps.pop() {
        let at = match step {
            Step::Enter(at) => at,
            Step::Leave(changed) => {
                for id in changed {
                    earlier.get_mut(&id).and_then(Vec::pop);
                }
                continue;
            }
        };
        let Some(node) = turns.get_mut(at) else { continue };
        let mut changed = Vec::new();
        node.messages.retain_mut(|change| {
            let before = earlier.get(&change.message.id).and_then(|stack| stack.last());
            let mut left: Vec<_> = before
                .map(|before| before.left.iter().copied().take(change.keep).collect())
                .unwrap_or_default();
            change.keep = left.iter().filter(|left| **left).count();
            let retained = retain(before.map(|before| before.role), change, &mut left);
            if retained {
                let message = EarlierMessage { role: change.message.role, left };
                earlier.entry(change.message.id.clone()).or_default().push(message);
                changed.push(change.message.id.clone());
            }
            retained
        });
        steps.push(Step::Leave(changed));
        let next = children.remove(&Some(node.id().clone())).unwrap_or_default();
        steps.extend(next.into_iter().map(Step::Enter));
    }
}

impl Session {
    /// Exports the session as one document.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn export(&self) -> Result<SessionDocument> {
        let sessions = &self.sessions;
        let head = self.load().await?.head;
        let mut nodes: Vec<Node> = sessions
            .tree
            .nodes_of(&head.tree)
            .await?
            .0
            .into_iter()
            .map(|(node, _)| Arc::unwrap_or_clone(node))
            .collect();
        let known: HashMap<_, _> = nodes.iter().map(|node| (node.id(), node)).collect();
        let mut marked = ReachableNodes::default();
        sessions.garbage.mark(&head, &known, &mut marked).await?;
        nodes.retain(|node| marked.nodes.contains(node.id()));
        nodes.sort_by_key(|node| (node.turn(), node.checkpoint.created_at));
        nodes.iter_mut().for_each(strip);
        let variants = marked.branches.into_iter().filter_map(|(key, tip)| {
            let (parent, child) = keys::read_branch(&self.key, &key)?;
            Some(DocumentBranch { parent, child, tip })
        });
        Ok(SessionDocument {
            format: FORMAT,
            agent: sessions.env.agent.clone(),
            session: head.id,
            label: head.own_label.or(head.label),
            created: head.created,
            checkpoint: head.checkpoint,
            retired: head.retired,
            turns: nodes,
            variants: variants.collect(),
        })
    }
}

/// Decides whether to accept a part of a message in an imported document.
pub(crate) type PartFilter<'a> = dyn Fn(Role, &mut Part) -> bool + Send + Sync + 'a;

impl Sessions {
    /// Creates a session from a document made by [`Session::export`], of this store or another. `takes`
    /// filters the parts of its messages; without it the document is trusted.
    pub(crate) async fn import(
        self: &Arc<Self>,
        document: Value,
        owner: Option<&str>,
        name: Option<&str>,
        takes: Option<&PartFilter<'_>>,
    ) -> Result<Session> {
        let id: SessionId = match name {
            Some(name) => name.into(),
            None => fresh_id("session")?.into(),
        };
        let session = self.session(id.clone(), owner);
        let mut head = Head::new(id.clone(), fresh_tree()?, &self.env, session.owner.clone());
        limits::check(&limits::document(), "the document", &document)?;
        let (mut turns, variants) = read(document, &mut head)?;
        if let Some(takes) = takes {
            distrust(&mut turns, takes);
        }
        self.check_free(&session.key).await?;
        // If this process dies halfway, garbage collection removes the nodes written so far.
        self.garbage.record_sweep(&head.tree).await?;
        for node in turns {
            self.put_imported(node).await?;
        }
        for DocumentBranch { parent, child, tip } in &variants {
            self.tree.record_branch(&session.key, parent.as_ref(), child, tip).await?;
        }
        if self.heads.create(&head).await?.is_some() {
            return Ok(session);
        }
        for DocumentBranch { parent, child, .. } in &variants {
            let key = keys::branch(&session.key, parent.as_ref(), child);
            self.env.store.remove(&key, Expect::Any).await?;
        }
        Err(session_exists(&id))
    }
}

impl Sessions {
    /// Stores a node, with its jump link. Its parent must be stored already.
    async fn put_imported(&self, mut node: Node) -> Result<()> {
        let parent = match &node.checkpoint.parent {
            Some(parent) => Some(self.tree.node(parent).await?),
            None => None,
        };
        self.tree.link(parent.as_deref(), &mut node).await?;
        self.tree.put_node(&node).await
    }
}

/// Removes everything but the conversation: tokens, keys, and server-side data about the author.
fn strip(node: &mut Node) {
    (node.history, node.jump, node.summarised) = (HistoryHash::default(), AncestorLink::default(), None);
    node.touched.clear();
    node.keys.clear();
    if let StoredInput::Message(said) = &mut node.input {
        said.keys.clear();
        let begun = std::mem::take(&mut said.spec);
        said.spec = RunSpec {
            input: begun.input,
            data: begun.data,
            client_tools: begun.client_tools,
            tool_choice: begun.tool_choice,
            answer_format: begun.answer_format,
            ..RunSpec::default()
        };
    }
    if let Some(base) = &mut node.base {
        base.merged.clear();
    }
    for part in node.messages.iter_mut().flat_map(|change| &mut change.message.parts) {
        if let Part::Tool(tool) = part
            && let Some(approval) = &mut tool.approval
        {
            approval.signature = None;
        }
    }
}

/// Reduces untrusted turns to content that a page could have sent.
fn distrust(turns: &mut [Node], takes: &PartFilter<'_>) {
    retain_changes(turns, |before, change, left| {
        if change.message.role == Role::Developer {
            // One provider's "developer" role is the "system" role of the others.
            change.message.role = Role::System;
        }
        let role = change.message.role;
        // Parts were accepted for the message's role at that time: under another role they would become
        // instructions or tool results.
        if before.is_some_and(|before| before != role) {
            return false;
        }
        change.message.parts.retain_mut(|part| {
            let takes = takes(role, part);
            left.push(takes);
            takes
        });
        change.message.metadata = None;
        change.keep > 0 || !change.message.parts.is_empty()
    });
    for node in turns {
        node.state.clear();
        node.structured.clear();
        node.instructed =
            node.instructed && node.messages.first().is_some_and(|first| is_instruction(&first.message));
        if let StoredInput::Message(said) = &mut node.input {
            (said.spec.data, said.workflow) = (RawJson::default(), None);
            said.message.role = Role::User;
            said.message.metadata = None;
            said.message.parts.retain_mut(|part| takes(Role::User, part));
        }
    }
}

/// Checks the ids of a document's turn, since all of them are stored.
fn check_ids(place: &str, node: &Node) -> Result<()> {
    let messages = node.messages.iter().map(|change| change.message.id.as_str());
    let checkpoint = &node.checkpoint;
    let others = [checkpoint.id.as_str(), checkpoint.workflow.as_str()];
    let questions = checkpoint.questions.iter().map(RequestId::as_str);
    let position = checkpoint.position.iter().map(String::as_str);
    let mut ids = messages.chain(others).chain(questions).chain(position).filter(|id| !id.is_empty());
    ids.try_for_each(check_id).map_err(|invalid| broken(place, format!("invalid id: {invalid}")))
}

/// Reads a document, replaces its ids by fresh ones, and moves the head to its current checkpoint.
fn read(mut document: Value, head: &mut Head) -> Result<(Vec<Node>, Vec<DocumentBranch>)> {
    let format: String = field(&mut document, "format")?;
    if format != FORMAT {
        return Err(broken("format", format!("unsupported document format {format:?}: expected {FORMAT:?}")));
    }
    let mut names: HashMap<CheckpointId, CheckpointId> = HashMap::new();
    let mut turns: HashMap<CheckpointId, u64> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for (at, turn) in field::<Vec<Value>>(&mut document, "turns")?.into_iter().enumerate() {
        let place = format!("turns[{at}]");
        let mut node: Node =
            serde_json::from_value(turn).map_err(|error| broken(&place, error.to_string()))?;
        check_ids(&place, &node)?;
        if node.turn() > MAX_TURN {
            let message = format!("it is {}, more than {MAX_TURN}", node.turn());
            return Err(broken(&format!("{place}.turnIndex"), message));
        }
        let (id, parent) = (node.id().clone(), node.checkpoint.parent.take());
        let before = match &parent {
            None => 0,
            Some(parent) => *turns.get(parent).ok_or_else(|| {
                broken(&format!("{place}.parent"), format!("there is no turn {parent} before this one"))
            })?,
        };
        if node.turn() < node.first_turn() || node.first_turn() != before + 1 {
            let message = format!("it is {}, and the turn before it is {before}", node.turn());
            return Err(broken(&format!("{place}.turnIndex"), message));
        }
        strip(&mut node);
        node.checkpoint.parent = parent.and_then(|parent| names.get(&parent).cloned());
        node.checkpoint.id = fresh_checkpoint(&head.tree)?;
        // A document may name runs of other principals: fresh ids give no access to them.
        node.checkpoint.run = fresh_run()?;
        node.checkpoint.session = head.id.clone();
        node.imported = true;
        if turns.insert(id.clone(), node.turn()).is_some() {
            return Err(broken(&format!("{place}.id"), format!("duplicate id {id}")));
        }
        names.insert(id, node.id().clone());
        nodes.push(node);
    }
    let named = |place: &str, id: &CheckpointId| -> Result<CheckpointId> {
        names.get(id).cloned().ok_or_else(|| broken(place, format!("there is no turn {id}")))
    };
    let mut variants = Vec::new();
    for (at, left) in field::<Vec<Value>>(&mut document, "variants")?.into_iter().enumerate() {
        let place = format!("variants[{at}]");
        let left: DocumentBranch =
            serde_json::from_value(left).map_err(|error| broken(&place, error.to_string()))?;
        variants.push(DocumentBranch {
            parent: left.parent.as_ref().map(|id| named(&place, id)).transpose()?,
            child: named(&place, &left.child)?,
            tip: named(&place, &left.tip)?,
        });
    }
    if let Some(at) = field::<Option<CheckpointId>>(&mut document, "checkpoint")? {
        head.checkpoint = Some(named("checkpoint", &at)?);
        head.turn = turns.get(&at).copied().unwrap_or(0);
        head.retired = field::<Option<u64>>(&mut document, "retired")?.unwrap_or(0).min(head.turn - 1);
        head.label = field::<Option<String>>(&mut document, "label")?.map(short);
    }
    Ok((nodes, variants))
}

fn field<T: DeserializeOwned>(document: &mut Value, name: &str) -> Result<T> {
    let Some(fields) = document.as_object_mut() else {
        return Err(broken("", "it is not an object".to_owned()));
    };
    let value = fields.remove(name).unwrap_or_default();
    serde_json::from_value(value).map_err(|error| broken(name, error.to_string()))
}

fn broken(place: &str, what: String) -> Error {
    let place = if place.is_empty() { "the document" } else { place };
    let message = format!("the session cannot be imported: {place}: {what}");
    Error::new(ErrorKind::Input, message).with_code("document.invalid")
}
