//! Records as the steps of a run: which nodes and calls there were, without anything that they were given or gave.

use headwater_protocol::{ErrorInfo, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Effect, HookOutcome, Visit,
    record::{RecordKind, parse},
};
use crate::Result;

/// A step of a run: what readers are shown nothing of is among them.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStep {
    /// The sequence number of its record.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub time: u64,
    /// What happened.
    pub kind: TraceStepKind,
    /// The visit that it belongs to.
    pub node: Option<TraceNode>,
    /// The call.
    pub call: Option<TraceCall>,
    /// Why it failed.
    pub error: Option<ErrorInfo>,
}

/// What happened in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceStepKind {
    /// A node was entered.
    NodeEntered,
    /// A try of a node failed.
    NodeFailed,
    /// A node was left.
    NodeLeft,
    /// A model has answered, or failed.
    ModelCall,
    /// A tool has given its result.
    ToolCall,
    /// The driver left the run to another process, because its own was being stopped.
    HandedOver,
    /// A new driver continued the run.
    TakenOver,
}

/// A visit of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceNode {
    /// The workflow, without its version.
    pub workflow: String,
    /// The node.
    pub node: String,
    /// Counted from 1 for each node and branch.
    pub visit: u32,
    /// The parallel branch; empty outside of one.
    pub branch: String,
}

/// A call of a model or a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceCall {
    /// The id of a tool call.
    pub id: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started: Option<u64>,
    /// The model that answered.
    pub model: Option<String>,
    /// How often models were asked, failed attempts included; 0 if that is unknown.
    pub attempts: u32,
    /// The tokens of the answer.
    pub usage: Usage,
    /// Whether readers are shown the call, as events.
    pub is_shown: bool,
}

/// The step that a record is, if it is one. Text is skipped without being decoded.
pub(crate) fn step_of(record: &headwater_store::Record) -> Result<Option<TraceStep>> {
    let Some((effect, is_shown)) = effect_of(record)? else { return Ok(None) };
    let step =
        |kind| TraceStep { seq: record.seq, time: record.time.0, kind, node: None, call: None, error: None };
    Ok(Some(match effect {
        Effect::Entered { visit } => {
            TraceStep { node: Some(visit.into()), ..step(TraceStepKind::NodeEntered) }
        }
        Effect::Failed { visit, error } => TraceStep {
            node: Some(visit.into()),
            error: Some(error.info()),
            ..step(TraceStepKind::NodeFailed)
        },
        Effect::Left(left) => TraceStep {
            error: left.error.as_ref().map(crate::Error::info),
            node: Some(left.visit.into()),
            ..step(TraceStepKind::NodeLeft)
        },
        Effect::HandedOver => step(TraceStepKind::HandedOver),
        Effect::TakenOver => step(TraceStepKind::TakenOver),
        Effect::Done { key, kind, outcome, started, .. } => {
            let kind = match &*kind {
                "pass" | "relay" => TraceStepKind::ModelCall,
                "tool" => TraceStepKind::ToolCall,
                _ => return Ok(None),
            };
            let (mut call, error) = call_of(kind, started, is_shown, outcome);
            call.id = key.rsplit_once("/tool.").map(|(_, id)| id.to_owned());
            TraceStep { node: node_of(&key), call: Some(call), error, ..step(kind) }
        }
        _ => return Ok(None),
    }))
}

/// The effect of a record, and whether an event is in it too.
fn effect_of(record: &headwater_store::Record) -> Result<Option<(Effect, bool)>> {
    #[derive(Deserialize)]
    struct OnlyEffect {
        effect: Option<Effect>,
    }
    let (kind, content) = RecordKind::split(record)?;
    Ok(match kind {
        RecordKind::Event => parse::<OnlyEffect>(record.seq, content)?.effect.map(|effect| (effect, true)),
        RecordKind::Effect => Some((parse(record.seq, content)?, false)),
        RecordKind::Answer | RecordKind::Snapshot | RecordKind::Continuation => None,
    })
}

fn call_of(
    kind: TraceStepKind,
    started: Option<u64>,
    is_shown: bool,
    outcome: HookOutcome,
) -> (TraceCall, Option<ErrorInfo>) {
    let mut call = TraceCall { started, is_shown, ..TraceCall::default() };
    match outcome {
        HookOutcome::Error(error) => return (call, Some(error.info())),
        HookOutcome::Value(reply) if kind == TraceStepKind::ModelCall => {
            call.model = reply.get("model").and_then(Value::as_str).map(str::to_owned);
            let attempts = reply.get("attempts").and_then(Value::as_u64).unwrap_or_default();
            call.attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
            let usage = reply.get("usage").and_then(|usage| Usage::deserialize(usage).ok());
            call.usage = usage.unwrap_or_default();
        }
        HookOutcome::Value(_) => {}
    }
    (call, None)
}

impl From<Visit> for TraceNode {
    fn from(Visit { workflow, node, visit, branch }: Visit) -> Self {
        let workflow = workflow.split('@').next().unwrap_or_default().to_owned();
        Self { workflow, node, visit, branch }
    }
}

/// The visit that a hook's key begins with, as `Visit` is displayed: `email@1/draft#2~0/reason`. A node whose name looks
/// like a part of a key is not found.
fn node_of(key: &str) -> Option<TraceNode> {
    let (workflow, rest) = key.split_once('@')?;
    let (node, rest) = rest.split_once('/')?.1.split_once('#')?;
    let (number, _) = rest.split_once('/')?;
    let (visit, branch) = number.split_once('~').unwrap_or((number, ""));
    Some(TraceNode {
        workflow: workflow.to_owned(),
        node: node.to_owned(),
        visit: visit.parse().ok()?,
        branch: branch.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visit_is_found_in_the_key_of_a_hook() {
        for branch in ["", "0", "1.2"] {
            let visit = Visit {
                workflow: "email@1.2".to_owned(),
                node: "draft".to_owned(),
                visit: 3,
                branch: branch.to_owned(),
            };
            assert_eq!(node_of(&format!("{visit}/reason/pass.0")), Some(visit.into()));
        }
        assert_eq!(node_of("email/draft"), None);
    }
}
