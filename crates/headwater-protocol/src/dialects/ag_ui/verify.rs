//! Which event may come when. The rules and their words are those of the client's `verifyEvents`.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    chunk::{Base, Chunk},
    wire::WireMessage,
};
use crate::event::Role;

const PARENT: &str = "(the parent agent)";

/// What is open in a run, and to whom it belongs.
#[derive(Debug, Clone, Default)]
pub(super) struct Verify {
    received: bool,
    started: bool,
    finished: bool,
    failed: bool,
    texts: Open,
    calls: Open,
    spans: Open,
    thoughts: Open,
    subagents: Open,
    /// Subagents that ended.
    gone: HashSet<String>,
    /// Open steps in the order in which they began, each with its owner.
    steps: Vec<(Option<String>, String)>,
    owners: Owners,
}

#[derive(Debug, Clone, Default)]
struct Owners {
    message: Owned,
    call: Owned,
    activity: Owned,
    thought: Owned,
}

/// The subagent that something belongs to; `None` is the agent itself.
type Owned = HashMap<String, Option<String>>;

/// Ids that are open, in the order in which they were opened.
#[derive(Debug, Clone, Default)]
struct Open {
    ids: HashMap<String, u64>,
    opened: u64,
}

impl Open {
    fn has(&self, id: &str) -> bool {
        self.ids.contains_key(id)
    }

    fn open(&mut self, id: &str) {
        self.opened += 1;
        self.ids.insert(id.to_owned(), self.opened);
    }

    fn close(&mut self, id: &str) -> bool {
        self.ids.remove(id).is_some()
    }

    fn list(&self) -> Option<String> {
        let mut ids: Vec<_> = self.ids.iter().map(|(id, opened)| (opened, id.as_str())).collect();
        ids.sort_unstable();
        let ids: Vec<_> = ids.into_iter().map(|(_, id)| id).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }
}

/// A complaint in the client's own words.
type Verified = Result<(), String>;

fn agrees(event: &str, tag: Option<&str>, owner: Option<&Option<String>>, kind: &str, id: &str) -> Verified {
    match (tag, owner) {
        (Some(tag), Some(owner)) if owner.as_deref() != Some(tag) => Err(format!(
            "Cannot send '{event}': subagentRunId '{tag}' does not match the {kind} '{id}' opener's subagent '{}'.",
            owner.as_deref().unwrap_or(PARENT)
        )),
        _ => Ok(()),
    }
}

impl Verify {
    /// Whether the run that was begun is still going.
    pub(super) fn is_running(&self) -> bool {
        self.started && !self.finished && !self.failed
    }

    /// Whether anything came at all.
    pub(super) fn has_begun(&self) -> bool {
        self.received
    }

    /// What holds for every event, before its own rules.
    fn enter(&mut self, event: &str, starts: bool, fails: bool) -> Verified {
        if self.failed && !starts {
            return Err(format!(
                "Cannot send event type '{event}': The run has already errored with 'RUN_ERROR'. No further events can be sent."
            ));
        }
        if self.finished && !starts && !fails {
            return Err(format!(
                "Cannot send event type '{event}': The run has already finished with 'RUN_FINISHED'. Start a new run with 'RUN_STARTED'."
            ));
        }
        if !self.received {
            self.received = true;
            if !starts && !fails {
                return Err("First event must be 'RUN_STARTED'".to_owned());
            }
        } else if starts {
            if self.is_running() {
                return Err("Cannot send 'RUN_STARTED' while a run is still active. The previous run must be finished with 'RUN_FINISHED' before starting a new run.".to_owned());
            }
            if self.finished || self.failed {
                *self = Self { received: true, started: true, ..Self::default() };
            }
        }
        Ok(())
    }

    /// A piece of text: the event that comes most often.
    pub(super) fn text_delta(&mut self, id: &str, tag: Option<&str>) -> Verified {
        const EVENT: &str = "TEXT_MESSAGE_CONTENT";
        self.enter(EVENT, false, false)?;
        if !self.texts.has(id) {
            return Err(format!(
                "Cannot send '{EVENT}' event: No active text message found with ID '{id}'. Start a text message with 'TEXT_MESSAGE_START' first."
            ));
        }
        if tag.is_some() {
            return agrees(EVENT, tag, self.owners.message.get(id), "message", id);
        }
        Ok(())
    }

    /// A piece of a thought.
    pub(super) fn thought_delta(&mut self, id: &str, tag: Option<&str>) -> Verified {
        self.enter("REASONING_MESSAGE_CONTENT", false, false)?;
        self.in_thought("REASONING_MESSAGE_CONTENT", id, tag)
    }

    fn in_thought(&self, event: &str, id: &str, tag: Option<&str>) -> Verified {
        if !self.thoughts.has(id) {
            return Err(format!(
                "Cannot send '{event}' event: No active reasoning message found with ID '{id}'. Start a reasoning message with 'REASONING_MESSAGE_START' first."
            ));
        }
        if tag.is_some() {
            return agrees(event, tag, self.owners.thought.get(id), "reasoning message", id);
        }
        Ok(())
    }

    /// A piece of a call's arguments.
    pub(super) fn args(&mut self, id: &str, tag: Option<&str>) -> Verified {
        const EVENT: &str = "TOOL_CALL_ARGS";
        self.enter(EVENT, false, false)?;
        if !self.calls.has(id) {
            return Err(format!(
                "Cannot send '{EVENT}' event: No active tool call found with ID '{id}'. Start a tool call with 'TOOL_CALL_START' first."
            ));
        }
        if tag.is_some() {
            return agrees(EVENT, tag, self.owners.call.get(id), "tool call", id);
        }
        Ok(())
    }

    /// Any event, once chunks are expanded.
    pub(super) fn event(&mut self, chunk: &Chunk<'_>) -> Verified {
        let (name, base) = chunk.name_and_base();
        let tag = base.subagent_run_id.as_deref();
        match chunk {
            Chunk::TextMessageContent(delta) => return self.text_delta(&delta.message_id, tag),
            Chunk::ReasoningMessageContent(delta) => return self.thought_delta(&delta.message_id, tag),
            Chunk::ToolCallArgs(delta) => return self.args(&delta.tool_call_id, tag),
            _ => {}
        }
        self.enter(name, matches!(chunk, Chunk::RunStarted(_)), matches!(chunk, Chunk::RunError(_)))?;
        match chunk {
            Chunk::TextMessageStart(start) => self.start_text(&start.message_id, tag),
            Chunk::TextMessageEnd(end) => {
                let id = &*end.message_id;
                if !self.texts.has(id) {
                    return Err(format!(
                        "Cannot send '{name}' event: No active text message found with ID '{id}'. A 'TEXT_MESSAGE_START' event must be sent first."
                    ));
                }
                agrees(name, tag, self.owners.message.get(id), "message", id)?;
                self.texts.close(id);
                Ok(())
            }
            Chunk::ToolCallStart(start) => {
                self.start_call(&start.tool_call_id, start.parent_message_id.as_deref(), tag)
            }
            Chunk::ToolCallEnd(end) => {
                let id = &*end.tool_call_id;
                if !self.calls.has(id) {
                    return Err(format!(
                        "Cannot send '{name}' event: No active tool call found with ID '{id}'. A 'TOOL_CALL_START' event must be sent first."
                    ));
                }
                agrees(name, tag, self.owners.call.get(id), "tool call", id)?;
                self.calls.close(id);
                Ok(())
            }
            Chunk::ToolCallResult(result) => {
                own(&mut self.owners.message, &result.message_id, tag);
                Ok(())
            }
            Chunk::StepStarted(step) => self.start_step(&step.step_name, tag),
            Chunk::StepFinished(step) => self.finish_step(&step.step_name, tag),
            Chunk::ReasoningStart(start) => self.start_thought(true, &start.message_id, tag),
            Chunk::ReasoningMessageStart(start) => self.start_thought(false, &start.message_id, tag),
            Chunk::ReasoningMessageEnd(end) => {
                self.in_thought(name, &end.message_id, tag)?;
                self.thoughts.close(&end.message_id);
                Ok(())
            }
            Chunk::ReasoningEnd(end) => {
                let id = &*end.message_id;
                if !self.spans.has(id) {
                    return Err(format!(
                        "Cannot send '{name}' event: No active reasoning span found with ID '{id}'. A 'REASONING_START' event must be sent first."
                    ));
                }
                agrees(name, tag, self.owners.thought.get(id), "reasoning message", id)?;
                self.spans.close(id);
                Ok(())
            }
            Chunk::ReasoningEncryptedValue(value) => {
                let id = &*value.entity_id;
                let (owner, kind) = match &*value.subtype {
                    "tool-call" => (self.owners.call.get(id), "tool call"),
                    _ => (self.owners.message.get(id).or_else(|| self.owners.thought.get(id)), "message"),
                };
                agrees(name, tag, owner, kind, id)
            }
            Chunk::ActivitySnapshot(activity) => {
                let id = &*activity.message_id;
                if activity.replace != Some(false) || !self.owners.activity.contains_key(id) {
                    own(&mut self.owners.activity, id, tag);
                }
                Ok(())
            }
            Chunk::ActivityDelta(activity) => {
                let id = &*activity.message_id;
                agrees(name, tag, self.owners.activity.get(id), "activity", id)
            }
            Chunk::SubagentStarted(started) => {
                self.start_subagent(tag.unwrap_or_default(), started.parent_subagent_run_id.as_deref())
            }
            Chunk::SubagentFinished(_) | Chunk::SubagentError(_) => {
                let id = tag.unwrap_or_default();
                if !self.subagents.close(id) {
                    return Err(format!(
                        "Cannot send '{name}': no active subagent found with ID '{id}'. A 'SUBAGENT_STARTED' event must be sent first."
                    ));
                }
                self.gone.insert(id.to_owned());
                Ok(())
            }
            Chunk::MessagesSnapshot(snapshot) => {
                if base.passing().is_some_and(|notes| notes.lost) {
                    for open in [&mut self.texts, &mut self.calls, &mut self.spans, &mut self.thoughts] {
                        *open = Open::default();
                    }
                }
                self.take_owners(&snapshot.messages, true);
                Ok(())
            }
            Chunk::RunStarted(started) => {
                self.started = true;
                if let Some(input) = &started.input {
                    self.take_owners(&input.messages, false);
                }
                Ok(())
            }
            Chunk::RunFinished(_) => self.finish(),
            Chunk::RunError(_) => {
                self.failed = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start_text(&mut self, id: &str, tag: Option<&str>) -> Verified {
        if self.texts.has(id) {
            return Err(format!(
                "Cannot send 'TEXT_MESSAGE_START' event: A text message with ID '{id}' is already in progress. Complete it with 'TEXT_MESSAGE_END' first."
            ));
        }
        let owner = self.owners.message.get(id);
        agrees("TEXT_MESSAGE_START", tag, owner, "message", id)?;
        if owner.is_none() {
            own(&mut self.owners.message, id, tag);
        }
        self.texts.open(id);
        Ok(())
    }

    fn start_call(&mut self, id: &str, parent: Option<&str>, tag: Option<&str>) -> Verified {
        if self.calls.has(id) {
            return Err(format!(
                "Cannot send 'TOOL_CALL_START' event: A tool call with ID '{id}' is already in progress. Complete it with 'TOOL_CALL_END' first."
            ));
        }
        let carrier = parent.and_then(|parent| self.owners.message.get(parent));
        let parent = parent.unwrap_or_default();
        if let (Some(tag), Some(owner)) = (tag, carrier)
            && owner.as_deref() != Some(tag)
        {
            return Err(format!(
                "Cannot send 'TOOL_CALL_START': subagentRunId '{tag}' does not match its parent message '{parent}' owner '{}'. A tool call belongs to the message that carries it.",
                owner.as_deref().unwrap_or(PARENT)
            ));
        }
        let owner = self.owners.call.get(id);
        agrees("TOOL_CALL_START", tag, owner, "tool call", id)?;
        match (owner, carrier) {
            (Some(owner), Some(carrier)) if tag.is_none() && owner != carrier => {
                return Err(format!(
                    "Cannot send 'TOOL_CALL_START': tool call '{id}' is owned by '{}' but its parent message '{parent}' is owned by '{}'. A tool call belongs to the message that carries it.",
                    owner.as_deref().unwrap_or(PARENT),
                    carrier.as_deref().unwrap_or(PARENT)
                ));
            }
            (Some(_), _) => {}
            (None, carrier) => {
                let owner = tag.map(str::to_owned).or_else(|| carrier.cloned().flatten());
                self.owners.call.insert(id.to_owned(), owner);
            }
        }
        self.calls.open(id);
        Ok(())
    }

    fn start_thought(&mut self, span: bool, id: &str, tag: Option<&str>) -> Verified {
        let (open, event, kind, end) = if span {
            (&mut self.spans, "REASONING_START", "span", "REASONING_END")
        } else {
            (&mut self.thoughts, "REASONING_MESSAGE_START", "message", "REASONING_MESSAGE_END")
        };
        if open.has(id) {
            return Err(format!(
                "Cannot send '{event}' event: A reasoning {kind} with ID '{id}' is already in progress. Complete it with '{end}' first."
            ));
        }
        let owner = self.owners.thought.get(id);
        agrees(event, tag, owner, "reasoning message", id)?;
        open.open(id);
        if owner.is_none() {
            own(&mut self.owners.thought, id, tag);
        }
        Ok(())
    }

    fn start_step(&mut self, step: &str, tag: Option<&str>) -> Verified {
        if self.step(step, tag).is_some() {
            let place = tag.map(|tag| format!(" in subagent '{tag}'")).unwrap_or_default();
            return Err(format!("Step \"{step}\" is already active for 'STEP_STARTED'{place}"));
        }
        self.steps.push((tag.map(str::to_owned), step.to_owned()));
        Ok(())
    }

    fn step(&self, step: &str, tag: Option<&str>) -> Option<usize> {
        self.steps.iter().position(|(owner, name)| owner.as_deref() == tag && name == step)
    }

    fn finish_step(&mut self, step: &str, tag: Option<&str>) -> Verified {
        if let Some(at) = self.step(step, tag) {
            self.steps.remove(at);
            return Ok(());
        }
        let whose = |owner: Option<&str>| match owner {
            Some(owner) => Cow::Owned(format!("subagent '{owner}'")),
            None => Cow::Borrowed("the parent agent"),
        };
        match self.steps.iter().find(|(_, name)| name == step) {
            Some((owner, _)) => Err(format!(
                "Cannot send 'STEP_FINISHED' for step \"{step}\" attributed to {}: that step is open under {}. A step must be finished by whoever started it.",
                whose(tag),
                whose(owner.as_deref())
            )),
            None => Err(format!("Cannot send 'STEP_FINISHED' for step \"{step}\" that was not started")),
        }
    }

    fn start_subagent(&mut self, id: &str, parent: Option<&str>) -> Verified {
        if self.subagents.has(id) {
            return Err(format!(
                "Cannot send 'SUBAGENT_STARTED': subagent '{id}' is already active. Finish it with 'SUBAGENT_FINISHED' first."
            ));
        }
        if self.gone.contains(id) {
            return Err(format!(
                "Cannot send 'SUBAGENT_STARTED': subagent '{id}' has already finished in this run. Subagent IDs are per-invocation and cannot be reused."
            ));
        }
        if let Some(parent) =
            parent.filter(|parent| !self.subagents.has(parent) && !self.gone.contains(*parent))
        {
            return Err(format!(
                "Cannot send 'SUBAGENT_STARTED': parentSubagentRunId '{parent}' has not been started in this run."
            ));
        }
        self.subagents.open(id);
        Ok(())
    }

    fn take_owners(&mut self, messages: &[WireMessage<'_>], authoritative: bool) {
        for message in messages {
            let tag = message.subagent_run_id.as_deref();
            let owners = match message.role {
                Role::Reasoning => &mut self.owners.thought,
                Role::Activity => &mut self.owners.activity,
                _ => &mut self.owners.message,
            };
            if authoritative || !owners.contains_key(&*message.id) {
                own(owners, &message.id, tag);
            }
            for call in &message.tool_calls {
                if authoritative || !self.owners.call.contains_key(&*call.id) {
                    own(&mut self.owners.call, &call.id, tag);
                }
            }
        }
    }

    fn finish(&mut self) -> Verified {
        let steps = (!self.steps.is_empty()).then(|| self.list_steps());
        let open = [
            ("steps", steps),
            ("text messages", self.texts.list()),
            ("reasoning messages", self.thoughts.list()),
            ("reasoning spans", self.spans.list()),
            ("tool calls", self.calls.list()),
            ("subagents", self.subagents.list()),
        ];
        for (what, ids) in open {
            if let Some(ids) = ids {
                return Err(format!("Cannot send 'RUN_FINISHED' while {what} are still active: {ids}"));
            }
        }
        self.finished = true;
        Ok(())
    }

    /// The open steps, those of one owner together, owners in the order in which they began their first.
    fn list_steps(&self) -> String {
        let mut owners: Vec<&Option<String>> = Vec::new();
        for (owner, _) in &self.steps {
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        let named = owners.into_iter().flat_map(|owner| {
            self.steps.iter().filter(move |(other, _)| other == owner).map(|(owner, name)| match owner {
                Some(owner) => format!("{name} (subagent '{owner}')"),
                None => name.clone(),
            })
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

fn own(owners: &mut Owned, id: &str, tag: Option<&str>) {
    owners.insert(id.to_owned(), tag.map(str::to_owned));
}

impl<'a> Chunk<'a> {
    /// The type as it is written, and what every event has.
    #[must_use]
    pub fn name_and_base(&self) -> (&'static str, &Base<'a>) {
        match self {
            Self::RunStarted(chunk) => ("RUN_STARTED", &chunk.base),
            Self::RunFinished(chunk) => ("RUN_FINISHED", &chunk.base),
            Self::RunError(chunk) => ("RUN_ERROR", &chunk.base),
            Self::StepStarted(chunk) => ("STEP_STARTED", &chunk.base),
            Self::StepFinished(chunk) => ("STEP_FINISHED", &chunk.base),
            Self::TextMessageStart(chunk) => ("TEXT_MESSAGE_START", &chunk.base),
            Self::TextMessageContent(chunk) => ("TEXT_MESSAGE_CONTENT", &chunk.base),
            Self::TextMessageEnd(chunk) => ("TEXT_MESSAGE_END", &chunk.base),
            Self::TextMessageChunk(chunk) => ("TEXT_MESSAGE_CHUNK", &chunk.base),
            Self::ToolCallStart(chunk) => ("TOOL_CALL_START", &chunk.base),
            Self::ToolCallArgs(chunk) => ("TOOL_CALL_ARGS", &chunk.base),
            Self::ToolCallEnd(chunk) => ("TOOL_CALL_END", &chunk.base),
            Self::ToolCallChunk(chunk) => ("TOOL_CALL_CHUNK", &chunk.base),
            Self::ToolCallResult(chunk) => ("TOOL_CALL_RESULT", &chunk.base),
            Self::StateSnapshot(chunk) => ("STATE_SNAPSHOT", &chunk.base),
            Self::StateDelta(chunk) => ("STATE_DELTA", &chunk.base),
            Self::MessagesSnapshot(chunk) => ("MESSAGES_SNAPSHOT", &chunk.base),
            Self::ActivitySnapshot(chunk) => ("ACTIVITY_SNAPSHOT", &chunk.base),
            Self::ActivityDelta(chunk) => ("ACTIVITY_DELTA", &chunk.base),
            Self::ReasoningStart(chunk) => ("REASONING_START", &chunk.base),
            Self::ReasoningMessageStart(chunk) => ("REASONING_MESSAGE_START", &chunk.base),
            Self::ReasoningMessageContent(chunk) => ("REASONING_MESSAGE_CONTENT", &chunk.base),
            Self::ReasoningMessageEnd(chunk) => ("REASONING_MESSAGE_END", &chunk.base),
            Self::ReasoningMessageChunk(chunk) => ("REASONING_MESSAGE_CHUNK", &chunk.base),
            Self::ReasoningEnd(chunk) => ("REASONING_END", &chunk.base),
            Self::ReasoningEncryptedValue(chunk) => ("REASONING_ENCRYPTED_VALUE", &chunk.base),
            Self::SubagentStarted(chunk) => ("SUBAGENT_STARTED", &chunk.base),
            Self::SubagentFinished(chunk) => ("SUBAGENT_FINISHED", &chunk.base),
            Self::SubagentError(chunk) => ("SUBAGENT_ERROR", &chunk.base),
            Self::Raw(chunk) => ("RAW", &chunk.base),
            Self::Custom(chunk) => ("CUSTOM", &chunk.base),
        }
    }
}
